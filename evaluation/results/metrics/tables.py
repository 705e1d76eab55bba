"""Tables and sentences about metrics' accuracy and correlation with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import npgettext

from common.amounts import describe_range, thousands
from evaluation.presentation import rendering
from evaluation.presentation.content import Estimate, Table, estimate_of, format_cell
from evaluation.results.metrics.texts import pair_kinds
from quorum.statistics.crossed import RATER

ONE_JUDGE = "one judge"
COEFFICIENT_HEADINGS = {"kendall_tau_b": "tau-b", "spearman": "rho", "pearson": "r"}


def compares_pairs(result: Mapping[str, Any]) -> bool:
    return all("accuracy" in figures for figures in result["metrics"].values())


def kinds_with_all(kinds: list[str]) -> list[str]:
    """Return the pair kinds, with "all" last if there are several."""
    return kinds if len(kinds) == 1 else [*kinds, "all"]


def accuracy_by_metric(
    metrics: Mapping[str, Mapping[str, Any]],
) -> tuple[list[str], dict[str, Mapping[str, Any]]]:
    """Return the pair kinds, with "all" last, and accuracy by metric and kind, best metric first."""
    accuracy = {name: figures["accuracy"] for name, figures in metrics.items()}
    kinds = kinds_with_all(pair_kinds(kind for by_kind in accuracy.values() for kind in by_kind))
    best_first = sorted(accuracy, key=lambda name: -(accuracy[name][kinds[-1]]["value"] or 0.0))
    return kinds, {name: accuracy[name] for name in best_first}


def accuracy_table(
    result: Mapping[str, Any],
    levels: Mapping[str, tuple[str, Estimate]] | None = None,
    *,
    clustered: bool = True,
) -> Table:
    """Return the table of accuracy by pair kind, best metric first. Its last rows are ``levels`` of people."""
    kinds, accuracy = accuracy_by_metric(result["metrics"])
    if levels is None:
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


def share_columns(head: str, kinds: Iterable[str]) -> list[tuple[str, str]]:
    return [(head, "text"), *((f"{kind}, %", "share") for kind in kinds)]


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
    """Return the table of how often people choose the longer text.

    Return [] for captions, and for results before 0.6.
    """
    by_kind: Mapping[str, Any] = result.get("longer", {})
    rows = [
        (
            kind,
            estimate_of(by_kind[kind]["liked"]),
            by_kind[kind]["liked"]["n"],
            estimate_of(by_kind[kind]["rule"]),
        )
        for kind in kinds_with_all(pair_kinds(by_kind))
        if kind in by_kind
    ]
    return [rendering.table("longer", rows, raters=generalises_to_raters(result))] if rows else []


def coefficient_headings(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the names of columns by coefficient. Results of versions before 0.6 have no r."""
    return {
        key: head
        for key, head in COEFFICIENT_HEADINGS.items()
        if all(key in figures for figures in metrics.values())
    }


def correlation_table(result: Mapping[str, Any]) -> Table:
    """Return the table of correlations with people, best metric first, with the highest kappa over thresholds."""
    metrics = result["metrics"]
    has_within_items = any("per_image" in figures for figures in metrics.values())
    has_kappas = any(figures["kappa"] for figures in metrics.values())
    heads = coefficient_headings(metrics)
    rows: list[tuple[Any, ...]] = []
    for name in sorted(metrics, key=lambda name: -(metrics[name]["kendall_tau_b"]["value"] or 0.0)):
        figures = metrics[name]
        cells = [estimate_of(figures[key], with_n=False) for key in heads]
        cells += [estimate_of(figures["per_image"]["kendall_tau_b"])] if has_within_items else []
        rows.append(
            (
                name,
                *cells,
                *(_best_kappa(figures["kappa"]) if has_kappas else ()),
                figures["kendall_tau_b"]["n"],
            )
        )
    columns = [("metric", "text"), *((head, "coefficient") for head in heads.values())]
    columns += [("tau-b within items", "coefficient")] if has_within_items else []
    columns += (
        [("best kappa", "coefficient"), ("thresholds of metric / people", "text")] if has_kappas else []
    )
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


def _best_kappa(cells: Sequence[Mapping[str, Any]]) -> tuple[Any, str]:
    defined_cells = [cell for cell in cells if cell["value"] is not None]
    if not defined_cells:
        return None, ""
    best = max(defined_cells, key=lambda cell: cell["value"])
    cuts = format_cell(best["metric_at_least"], "score"), f"{best['people_at_least']:.3g}"
    return estimate_of(best), " / ".join(cuts)


def generalises_to_raters(result: Mapping[str, Any]) -> bool:
    """Return whether an evaluation's intervals generalise to other people."""
    cells = (
        figures["accuracy"].get("all", {}) if "accuracy" in figures else figures["kendall_tau_b"]
        for figures in result["metrics"].values()
    )
    return any(RATER in cell.get("clusters", ()) for cell in cells)
