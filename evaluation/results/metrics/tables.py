"""Tables and sentences of a stored evaluation: metrics' accuracy, or their correlation with people.

The JSON of an evaluation has figures of each metric, ``result["metrics"]["meteor"]``: for pairs ``accuracy`` by pair
kind, or else coefficients, also as means over items (``per_image``), and ``kappa``, a list with one entry for each pair
of thresholds. A figure is such as ``{"value": 0.7, "low": 0.6, "high": 0.8, "n": 50, "clusters": {"rater": 12}}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import npgettext

from common.amounts import describe_range, thousands
from evaluation.presentation import rendering
from evaluation.presentation.content import Estimate, Table, estimate_of, format_cell
from evaluation.results.metrics.texts import pair_kinds
from quorum.statistics.crossed import RATER

ONE_JUDGE = "one judge"  # label of the row of people, each compared with the others
COEFFICIENT_HEADINGS = {"kendall_tau_b": "tau-b", "spearman": "rho", "pearson": "r"}


def compares_pairs(result: Mapping[str, Any]) -> bool:
    return all("accuracy" in figures for figures in result["metrics"].values())


def kinds_with_all(kinds: list[str]) -> list[str]:
    return kinds if len(kinds) == 1 else [*kinds, "all"]


def accuracy_by_metric(
    metrics: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Return the pair kinds (then "all", unless there is one), and accuracy by metric and kind, best metric first."""
    accuracy = {name: figures["accuracy"] for name, figures in metrics.items()}
    kinds = kinds_with_all(pair_kinds(chain.from_iterable(accuracy.values())))
    best_first = sorted(accuracy, key=lambda name: -(accuracy[name][kinds[-1]]["value"] or 0.0))
    return kinds, {name: accuracy[name] for name in best_first}


def accuracy_table(
    result: Mapping[str, Any],
    levels: Mapping[str, tuple[str, Estimate]] | None = None,
    *,
    clustered: bool = True,
) -> Table:
    """Return the table of accuracy by pair kind, best metric first.

    Its last rows are levels of people for comparison. ``levels`` has the label and the estimate by pair kind; by
    default, they are the agreement of one participant with the others. The table's note says whether intervals are
    by item (``clustered``) or Wilson's.
    """
    kinds, accuracy = accuracy_by_metric(result["metrics"])
    if levels is None:
        # Results with halves compare metrics and people on the same halves of votes, in another table.
        people = {} if "halves" in result else result.get("people") or {}
        levels = {kind: (_(ONE_JUDGE), estimate_of(people[kind])) for kind in kinds if kind in people}
    rows: list[tuple[Any, ...]] = [
        (name, *(estimate_of(by_kind[kind]) for kind in kinds)) for name, by_kind in accuracy.items()
    ]
    for label in dict.fromkeys(label for label, _level in levels.values()):
        rows.append((label, *(levels[kind][1] if kind in levels else None for kind in kinds)))
    return rendering.table(
        "accuracy",
        rows,
        share_columns("metric", kinds),
        no_consensus=result["counts"]["no_consensus"],
        clustered=clustered,
        raters=generalises_to_raters(result),
    )


def share_columns(first_heading: str, kinds: Iterable[str]) -> list[tuple[str, str]]:
    """Return the columns of a table of shares by pair kind, as (heading, format). The first column is text."""
    return [(first_heading, "text"), *((f"{kind}, %", "share") for kind in kinds)]


def accuracy_and_ties_table(result: Mapping[str, Any]) -> Table:
    accuracy = {name: figures["accuracy"] for name, figures in result["metrics"].items()}
    kinds = list(next(iter(accuracy.values())))
    rows = [
        (name, *(estimate_of(by_kind[kind]) for kind in kinds), by_kind["all"]["metric_ties"])
        for name, by_kind in accuracy.items()
    ]
    columns = [("metric", "text"), *((kind, "share") for kind in kinds), ("ties", "count")]
    return rendering.table("accuracy-and-ties", rows, columns)


def longer_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the table of how often people choose the longer text, or [] for captions and results before 0.6."""
    by_kind: Mapping[str, Any] = result.get("longer", {})
    rows = [
        (
            kind,
            estimate_of(by_kind[kind]["liked"]),  # how often people choose the longer of two texts
            by_kind[kind]["liked"]["n"],
            estimate_of(by_kind[kind]["rule"]),  # accuracy of naming the longer one; equal lengths are errors
        )
        for kind in kinds_with_all(pair_kinds(by_kind))
        if kind in by_kind
    ]
    return [rendering.table("longer", rows, raters=generalises_to_raters(result))] if rows else []


def coefficient_headings(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the headings by coefficient. Results before 0.6 have no r."""
    return {
        key: heading
        for key, heading in COEFFICIENT_HEADINGS.items()
        if all(key in figures for figures in metrics.values())
    }


def correlation_table(result: Mapping[str, Any]) -> Table:
    """Return the table of correlations with people, best metric first, with the highest kappa over thresholds."""
    metrics = result["metrics"]
    has_within_items = any("per_image" in figures for figures in metrics.values())
    has_kappas = any(figures["kappa"] for figures in metrics.values())
    headings = coefficient_headings(metrics)
    rows: list[tuple[Any, ...]] = []
    for name in sorted(metrics, key=lambda name: -(metrics[name]["kendall_tau_b"]["value"] or 0.0)):
        figures = metrics[name]
        cells: list[Any] = [estimate_of(figures[key], with_n=False) for key in headings]
        if has_within_items:
            cells.append(estimate_of(figures["per_image"]["kendall_tau_b"]))
        if has_kappas:
            cells += _highest_kappa(figures["kappa"])
        rows.append((name, *cells, figures["kendall_tau_b"]["n"]))
    columns = [("metric", "text"), *((heading, "coefficient") for heading in headings.values())]
    if has_within_items:
        columns.append(("tau-b within items", "coefficient"))
    if has_kappas:
        columns += [("best kappa", "coefficient"), ("thresholds of metric / people", "text")]
    return rendering.table("correlation-in-short", rows, [*columns, ("n", "count")])


def within_items_sentence(result: Mapping[str, Any]) -> str:
    """Return sentences on the number of items over which correlations are averaged; "" if no item was left out."""
    cells = [row["per_image"]["kendall_tau_b"] for row in result["metrics"].values() if "per_image" in row]
    if not any(cell["images_undefined"] for cell in cells):
        return ""
    item_count = cells[0]["images"] + cells[0]["images_undefined"]
    return _(
        "“Within items” is the mean over %(n)s of %(items)s. In the other items, people or "
        "the metric give all texts the same score."
    ) % {
        "n": describe_range([cell["images"] for cell in cells], thousands),
        "items": npgettext("of", "%(n)s item", "%(n)s items", item_count) % {"n": thousands(item_count)},
    }


def _highest_kappa(cells: Sequence[Mapping[str, Any]]) -> tuple[Any, str]:
    defined_cells = [cell for cell in cells if cell["value"] is not None]
    if not defined_cells:
        return None, ""
    best_cell = max(defined_cells, key=lambda cell: cell["value"])
    metric_threshold = format_cell(best_cell["metric_at_least"], "score")
    return estimate_of(best_cell), f"{metric_threshold} / {best_cell['people_at_least']:.3g}"


def generalises_to_raters(result: Mapping[str, Any]) -> bool:
    for figures in result["metrics"].values():
        figure = figures["accuracy"].get("all", {}) if "accuracy" in figures else figures["kendall_tau_b"]
        if RATER in figure.get("clusters", ()):
            return True
    return False
