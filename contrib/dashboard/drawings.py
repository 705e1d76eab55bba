"""Draw the plots of a dashboard's snapshot as SVG, with a sentence about each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.verdict import verdict_sentence


def draw_plots(snapshot_result: Mapping[str, Any]) -> dict[str, Any]:
    """Draw agreement by number of judgments, and metrics by pair kind, from a snapshot (``BoardSnapshot.result``)."""
    # Imported lazily, since matplotlib costs every process 60 MB and 0.3 s.
    from contrib.dashboard.plots import earlier_figure, growth_figure, growth_sentence, metrics_figure

    defined_rows = [row for row in snapshot_result["growth"] if row["value"] is not None]
    has_scores = snapshot_result["evaluation"]["correlated"]  # by people; otherwise metrics name winners
    kinds = {}
    for kind, results in snapshot_result["evaluation"]["kinds"].items():
        verdict = results["verdict"]
        sentence = f"{verdict_sentence(verdict, results['metrics'])} {scope_sentence(results)}"
        kinds[kind] = {
            "now": metrics_figure(kind, results, correlated=has_scores),
            "settled": verdict["settled"],  # whether one metric is significantly better than all others
            "said": sentence.strip(),
            "earlier": earlier_figure(kind, results, correlated=has_scores),  # over the number of judgments
            "n": verdict["n"],  # number of pairs or captions on which metrics are compared with people
        }
    return {
        "growth": growth_figure(defined_rows) if len(defined_rows) > 1 else "",
        "growth_said": growth_sentence(defined_rows),
        "kinds": kinds,
    }
