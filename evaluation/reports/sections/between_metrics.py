"""The report section on correlations between metrics."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from common.amounts import json_float
from evaluation.presentation.content import Estimate, Heatmap, HeatmapPanel, Level, Plot, Section, levels_of
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.loading import ReportInputs
from evaluation.reports.sections.correlations import (
    ONE_JUDGE_LABEL,
    RHO,
    TAU,
    JudgeEstimates,
    R,
    why_no_ceiling,
)
from quorum.numeric.arrays import Floats
from quorum.statistics.correlation import correlation

PEOPLE_LABEL = "people"  # name for the mean of all judges

# Suffix of the plot's name, name, and index in a row of the table, by coefficient.
COEFFICIENT_NAMES = {
    R: ("r", "Pearson's r", 4),
    RHO: ("rho", "Spearman's rho", 3),
    TAU: ("tau-b", "Kendall's tau-b", 2),
}
Rows = list[tuple[Any, ...]]


def between_metrics_section(inputs: ReportInputs, one_judge: JudgeEstimates) -> Section | None:
    """Return the section on r, rho and tau-b of every two metrics. For captions, people are added as a metric."""
    if len(inputs.scores) < 2:
        return None
    flat = {name: scores.ravel() for name, scores in inputs.scores.items()}
    people = inputs.people
    with_people = people is not None and bool((~np.isnan(people)).sum() > 1)
    rows = _rows(flat, people if with_people else None, inputs.weights)
    known = [row for row in rows if row[2] is not None and row[1] != PEOPLE_LABEL]
    of_tau = [row[2] for row in known]
    alike = render_sentence(
        "metrics-alike",
        wording=inputs.wording,
        most=[row for row in known if row[2] == max(of_tau)],
        least=[row for row in known if row[2] == min(of_tau)] if len(known) > 1 else [],
    )
    data = table("metric-correlation", rows, with_people=with_people)
    plots = [
        _matrix_plot(inputs, coefficient, list(flat), rows, one_judge, alike if coefficient == TAU else "")
        for coefficient in COEFFICIENT_NAMES
    ]
    sentence = alike if one_judge else f"{alike} {why_no_ceiling(inputs)}"
    return section("between-metrics", [sentence], plots, [data])


def _rows(flat: dict[str, Floats], people: Floats | None, weights: Floats) -> Rows:
    pairs: list[tuple[str, str, Floats, Floats, Floats | None]] = [
        (name, other, flat[name], flat[other], None) for name, other in combinations(flat, 2)
    ]
    if people is not None:
        judged = ~np.isnan(people)
        of = None if (weights == 1).all() else weights[judged]
        pairs += [(name, PEOPLE_LABEL, scores[judged], people[judged], of) for name, scores in flat.items()]
    rows: Rows = []
    for name, other, first, second, of in pairs:
        estimates = [
            correlation(first, second, coefficient, weights=of, resamples=0) for coefficient in (TAU, RHO, R)
        ]
        rows.append((name, other, *(json_float(estimate.value) for estimate in estimates), estimates[0].n))
    return rows


def _matrix_plot(
    inputs: ReportInputs,
    coefficient: str,
    names: list[str],
    rows: Rows,
    one_judge: JudgeEstimates,
    alike: str,
) -> Plot:
    suffix, label, column = COEFFICIENT_NAMES[coefficient]
    value = {(row[0], row[1]): row[column] for row in rows}
    cells = [
        [1.0 if name == other else value.get((name, other), value.get((other, name))) for other in names]
        for name in names
    ]
    heads = list(names)
    with_people = any(row[1] == PEOPLE_LABEL for row in rows)
    if with_people:
        cells.append([value[name, PEOPLE_LABEL] for name in names])
        heads.append(PEOPLE_LABEL)
    ceiling = one_judge.get(coefficient, Estimate(None))
    levels = [Level("unrelated", 0.0), *levels_of(ONE_JUDGE_LABEL, ceiling)]
    sentence = render_sentence(
        "metric-correlation", coefficient=label, with_people=with_people, ceiling=ceiling, alike=alike,
        no_ceiling=why_no_ceiling(inputs),
    )  # fmt: skip
    data = table(
        "metric-correlation-matrix",
        [(head, *row) for head, row in zip(heads, cells, strict=True)],
        [("metric", "text"), *((name, "coefficient") for name in names)],
        name=f"metric-correlation-{suffix}",
        coefficient=label,
    )
    panel = HeatmapPanel(
        label,
        tuple(heads),
        tuple(names),
        tuple(tuple(row) for row in cells),
        footer=int(with_people),
        levels=tuple(levels),
    )
    return plot(sentence, Heatmap((panel,), "", "", -1.0), data)
