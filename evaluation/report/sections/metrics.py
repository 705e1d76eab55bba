"""Report further readings of an evaluation (``evaluation.results.readings``), and metrics against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.judgment_sets.records import Floats
from evaluation.provenance import json_float
from evaluation.report.content import (
    Estimate,
    Heat,
    HeatPanel,
    Level,
    Plot,
    Section,
    Table,
    estimate_of,
    levels_of,
)
from evaluation.report.loading import ReportInputs
from evaluation.report.rendering import plot, say, section, table
from evaluation.report.sections.captions import PEOPLE, RHO, TAU, People, R, why_no_ceiling
from evaluation.statistics.correlation import correlation

# Reading -> what its coefficients are called.
COEFFICIENTS = {
    "tau_c": {"": "tau-c"},
    "single_grades": {"kendall_tau_b": "tau-b", "kendall_tau_c": "tau-c"},
    "own_kept": {"kendall_tau_b": "tau-b", "spearman": "rho"},
}


def readings_section(inputs: ReportInputs) -> Section | None:
    found: Mapping[str, Any] = inputs.evaluation.result.get("readings", {}) if inputs.evaluation else {}
    if not found:
        return None
    tables = [
        _all_pairs_table(found),
        _references_table(found),
        _coefficients_table(found),
        _thresholds_table(found),
    ]
    return section("readings", [say("readings")], tables=[one for one in tables if one is not None])


def _all_pairs_table(found: Mapping[str, Any]) -> Table | None:
    if "all_pairs" not in found:
        return None
    kinds = list(next(iter(found["all_pairs"].values())))
    rows = [
        (name, *(estimate_of(cells[kind]) for kind in kinds)) for name, cells in found["all_pairs"].items()
    ]
    columns = [("metric", "text"), *((f"{kind}, %", "share") for kind in kinds)]
    return table("readings-all-pairs", rows, columns)


def _references_table(found: Mapping[str, Any]) -> Table | None:
    if "references" not in found:
        return None
    rows = [
        (kind, name, row["references"], estimate_of(row), row["draws"])
        for name, curves in found["references"].items()
        for kind, curve in curves.items()
        for row in curve
    ]
    return table("readings-references", rows)


def _coefficients_table(found: Mapping[str, Any]) -> Table | None:
    rows = [
        (metric, say("reading", name=reading), head, estimate_of(cells[key] if key else cells))
        for reading, heads in COEFFICIENTS.items()
        for metric, cells in found.get(reading, {}).items()
        for key, head in heads.items()
    ]
    return table("readings-coefficients", rows) if rows else None


def _thresholds_table(found: Mapping[str, Any]) -> Table | None:
    rows = [
        (metric, cell["metric_at_least"], cell["people_at_least"], estimate_of(cell))
        for metric, cells in found.get("thresholds", {}).items()
        for cell in cells
    ]
    return table("readings-thresholds", rows) if rows else None


MEAN = "people"  # the mean of all judges
# Coefficient -> suffix of its plot's name, its own name, its place in a row.
NAMES = {R: ("r", "Pearson's r", 4), RHO: ("rho", "Spearman's rho", 3), TAU: ("tau-b", "Kendall's tau-b", 2)}
Rows = list[tuple[Any, ...]]


def between_metrics_section(inputs: ReportInputs, one_judge: People) -> Section | None:
    """Show r, rho and tau-b between every two metrics, and with people for captions."""
    if len(inputs.scores) < 2:
        return None
    flat = {name: own.ravel() for name, own in inputs.scores.items()}
    people = inputs.people
    with_people = people is not None and bool((~np.isnan(people)).sum() > 1)
    rows = _rows(flat, people if with_people else None)
    known = [row for row in rows if row[2] is not None and row[1] != MEAN]
    of_tau = [row[2] for row in known]
    alike = say(
        "metrics-alike",
        wording=inputs.wording,
        most=[row for row in known if row[2] == max(of_tau)],
        least=[row for row in known if row[2] == min(of_tau)] if len(known) > 1 else [],
    )
    data = table("metric-correlation", rows, with_people=with_people)
    plots = [
        _matrix_plot(inputs, which, list(flat), rows, one_judge, alike if which == TAU else "")
        for which in NAMES
    ]
    sentence = alike if one_judge else f"{alike} {why_no_ceiling(inputs)}"
    return section("between-metrics", [sentence], plots, [data])


def _rows(flat: dict[str, Floats], people: Floats | None) -> Rows:
    names = list(flat)
    pairs = [
        (one, two, flat[one], flat[two]) for place, one in enumerate(names) for two in names[place + 1 :]
    ]
    if people is not None:
        there = ~np.isnan(people)
        pairs += [(name, MEAN, flat[name][there], people[there]) for name in names]
    rows: Rows = []
    for one, two, first, second in pairs:
        found = [correlation(first, second, which, resamples=0) for which in (TAU, RHO, R)]
        rows.append((one, two, *(json_float(result.value) for result in found), found[0].n))
    return rows


def _matrix_plot(
    inputs: ReportInputs, which: str, names: list[str], rows: Rows, one_judge: People, alike: str
) -> Plot:
    end, coefficient, place = NAMES[which]
    value = {(row[0], row[1]): row[place] for row in rows}
    cells = [
        [1.0 if one == two else value.get((one, two), value.get((two, one))) for two in names]
        for one in names
    ]
    heads = list(names)
    with_people = any(row[1] == MEAN for row in rows)
    if with_people:
        cells.append([value[name, MEAN] for name in names])
        heads.append(MEAN)
    ceiling = one_judge.get(which, Estimate(None))
    levels = [Level("unrelated", 0.0), *levels_of(PEOPLE, ceiling)]
    sentence = say(
        "metric-correlation", coefficient=coefficient, with_people=with_people, ceiling=ceiling, alike=alike,
        no_ceiling=why_no_ceiling(inputs),
    )  # fmt: skip
    data = table(
        "metric-correlation-matrix",
        [(head, *own) for head, own in zip(heads, cells, strict=True)],
        [("metric", "text"), *((one, "coefficient") for one in names)],
        name=f"metric-correlation-{end}",
        coefficient=coefficient,
    )
    panel = HeatPanel(
        coefficient,
        tuple(heads),
        tuple(names),
        tuple(tuple(row) for row in cells),
        apart=int(with_people),
        levels=tuple(levels),
    )
    return plot(sentence, Heat((panel,), "", "", -1.0), data)
