"""Tables of the readings that an evaluation computes besides the usual figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.presentation import rendering
from evaluation.presentation.content import Table, estimate_of
from evaluation.results.metrics.tables import generalises_to_raters, longer_tables, share_columns

# Names of the coefficients of a reading. The reading "tau_c" has a single coefficient.
COEFFICIENTS = {
    "single_grades": {"kendall_tau_b": "tau-b", "kendall_tau_c": "tau-c"},
    "own_kept": {"kendall_tau_b": "tau-b", "spearman": "rho"},
}


def tables_beside_metrics(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables that the page and the command show next to the table of metrics."""
    return [*longer_tables(result), *readings_tables(result), *ties_tables(result)]


def readings_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the tables of the requested readings, but not that of ties."""
    readings: Mapping[str, Any] = result.get("readings", {})
    raters = generalises_to_raters(result)
    tables = (
        _all_pairs_table(readings, raters),
        _references_table(readings, raters),
        _coefficients_table(readings, raters),
        _thresholds_table(readings, raters),
    )
    return [table for table in tables if table is not None]


def _all_pairs_table(readings: Mapping[str, Any], raters: bool) -> Table | None:
    if "all_pairs" not in readings:
        return None
    kinds = list(next(iter(readings["all_pairs"].values())))
    rows = [
        (name, *(estimate_of(cells[kind]) for kind in kinds)) for name, cells in readings["all_pairs"].items()
    ]
    return rendering.table("readings-all-pairs", rows, share_columns("metric", kinds), raters=raters)


def _references_table(readings: Mapping[str, Any], raters: bool) -> Table | None:
    if "references" not in readings:
        return None
    rows = [
        (kind, name, row["references"], estimate_of(row), row["draws"])
        for name, by_kind in readings["references"].items()
        for kind, curve in by_kind.items()
        for row in curve
    ]
    return rendering.table("readings-references", rows, raters=raters)


def _coefficients_table(readings: Mapping[str, Any], raters: bool) -> Table | None:
    cells = [("tau_c", metric, "tau-c", cell) for metric, cell in readings.get("tau_c", {}).items()]
    cells += [
        (reading, metric, coefficient, by_key[key])
        for reading, coefficients in COEFFICIENTS.items()
        for metric, by_key in readings.get(reading, {}).items()
        for key, coefficient in coefficients.items()
    ]
    rows = [
        (metric, rendering.render_sentence("reading", name=reading), coefficient, estimate_of(cell))
        for reading, metric, coefficient, cell in cells
    ]
    return rendering.table("readings-coefficients", rows, raters=raters) if rows else None


def _thresholds_table(readings: Mapping[str, Any], raters: bool) -> Table | None:
    rows = [
        (metric, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell))
        for metric, cells in readings.get("thresholds", {}).items()
        for cell in cells
    ]
    return rendering.table("readings-thresholds", rows, raters=raters) if rows else None


def ties_tables(result: Mapping[str, Any]) -> list[Table]:
    """Return the table of metrics' accuracies with ties, which reports do not have, or [] if it was not requested."""
    ties = result.get("readings", {}).get("ties", {})
    rows = [
        (name, *(estimate_of(accuracies[key]) for key in ("plain", "calibrated", "soft")))
        for name, accuracies in ties.items()
    ]
    return [rendering.table("readings-ties", rows)] if rows else []
