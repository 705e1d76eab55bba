"""Draw the plots of a snapshot, with captions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.verdict import verdict_sentence


def draw_plots(result: Mapping[str, Any]) -> dict[str, Any]:
    """Draw agreement over time, and metrics by pair kind, with captions."""
    # Imported lazily, since matplotlib costs every process 60 MB and 0.3 s.
    from contrib.dashboard.plots import earlier_figure, growth_figure, growth_sentence, metrics_figure

    defined = [row for row in result["growth"] if row["value"] is not None]
    correlated = result["evaluation"]["correlated"]
    kinds = {
        kind: {
            "now": metrics_figure(kind, cell, correlated=correlated),
            "settled": cell["verdict"]["settled"],
            "said": f"{verdict_sentence(cell['verdict'], cell['metrics'])} {scope_sentence(cell)}".strip(),
            "earlier": earlier_figure(kind, cell, correlated=correlated),
            "n": cell["verdict"]["n"],
        }
        for kind, cell in result["evaluation"]["kinds"].items()
    }
    return {
        "growth": growth_figure(defined) if len(defined) > 1 else "",
        "growth_said": growth_sentence(defined),
        "kinds": kinds,
    }
