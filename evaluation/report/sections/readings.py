"""Report further readings of an evaluation (``evaluation.results.readings``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.report.content import Section, Table, estimate_of
from evaluation.report.loading import ReportInputs
from evaluation.report.rendering import say, section, table

# Reading -> what its coefficients are called.
COEFFICIENTS = {
    "tau_c": {"": "tau-c"},
    "single_grades": {"kendall_tau_b": "tau-b", "kendall_tau_c": "tau-c"},
    "own_kept": {"kendall_tau_b": "tau-b", "spearman": "rho"},
}


def readings(inputs: ReportInputs) -> Section | None:
    """Show the requested readings, or None."""
    found: Mapping[str, Any] = inputs.evaluation.result.get("readings", {}) if inputs.evaluation else {}
    if not found:
        return None
    tables = [_all_pairs(found), _references(found), _coefficients(found), _thresholds(found)]
    return section("readings", [say("readings")], tables=[one for one in tables if one is not None])


def _all_pairs(found: Mapping[str, Any]) -> Table | None:
    if "all_pairs" not in found:
        return None
    kinds = list(next(iter(found["all_pairs"].values())))
    rows = [
        (name, *(estimate_of(cells[kind]) for kind in kinds)) for name, cells in found["all_pairs"].items()
    ]
    columns = [("metric", "text"), *((f"{kind}, %", "share") for kind in kinds)]
    return table("readings-all-pairs", rows, columns)


def _references(found: Mapping[str, Any]) -> Table | None:
    if "references" not in found:
        return None
    rows = [
        (kind, name, row["references"], estimate_of(row), row["draws"])
        for name, curves in found["references"].items()
        for kind, curve in curves.items()
        for row in curve
    ]
    return table("readings-references", rows)


def _coefficients(found: Mapping[str, Any]) -> Table | None:
    rows = [
        (metric, say("reading", name=reading), head, estimate_of(cells[key] if key else cells))
        for reading, heads in COEFFICIENTS.items()
        for metric, cells in found.get(reading, {}).items()
        for key, head in heads.items()
    ]
    return table("readings-coefficients", rows) if rows else None


def _thresholds(found: Mapping[str, Any]) -> Table | None:
    rows = [
        (metric, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell))
        for metric, cells in found.get("thresholds", {}).items()
        for cell in cells
    ]
    return table("readings-thresholds", rows) if rows else None
