"""The report section on correlations between metrics: which metrics order the texts alike."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from common.amounts import json_float
from evaluation.presentation.content import Estimate, Heatmap, HeatmapPanel, Level, Plot, Section, levels_of
from evaluation.presentation.rendering import plot, render_sentence, section, table
from evaluation.reports.inputs import ReportInputs
from evaluation.reports.sections.correlations import RHO, TAU, JudgeEstimates, R, no_ceiling_sentence
from evaluation.results.metrics.tables import ONE_JUDGE
from quorum.numeric.arrays import Floats
from quorum.statistics.correlation import correlation

PEOPLE_LABEL = "people"  # name for the mean of all judges

# Field of ``MetricPair``, suffix of the plot's name, and name in texts, by coefficient.
COEFFICIENT_NAMES = {
    R: ("r", "r", "Pearson's r"),
    RHO: ("rho", "rho", "Spearman's rho"),
    TAU: ("tau_b", "tau-b", "Kendall's tau-b"),
}


class MetricPair(NamedTuple):
    """A row of the table: the coefficients of two metrics, or of a metric and people, over n texts."""

    metric: str
    other: str
    tau_b: float | None
    rho: float | None
    r: float | None
    n: int


def between_metrics_section(inputs: ReportInputs, one_judge: JudgeEstimates) -> Section | None:
    """Return the section on r, rho and tau-b of metrics and, for captions, people. ``one_judge`` is the ceiling."""
    if inputs.evaluation is None or len(inputs.scores) < 2:
        return None
    # Both scores of a pair count as scores of single texts.
    flat_scores = {name: scores.ravel() for name, scores in inputs.scores.items()}
    people = inputs.evaluation.people
    with_people = people is not None and bool((~np.isnan(people)).sum() > 1)
    rows = _correlate_all(flat_scores, people if with_people else None, inputs.weights)
    metric_pairs = [row for row in rows if row.tau_b is not None and row.other != PEOPLE_LABEL]
    taus = [row.tau_b for row in metric_pairs if row.tau_b is not None]
    likeness = render_sentence(
        "metrics-alike",
        wording=inputs.method.wording,
        most=[row for row in metric_pairs if row.tau_b == max(taus)],
        least=[row for row in metric_pairs if row.tau_b == min(taus)] if len(metric_pairs) > 1 else [],
    )
    data = table("metric-correlation", rows, with_people=with_people)
    metrics = list(flat_scores)
    plots = [
        _matrix_plot(inputs, coefficient, metrics, rows, one_judge, likeness if coefficient == TAU else "")
        for coefficient in COEFFICIENT_NAMES
    ]
    sentence = likeness if one_judge else f"{likeness} {no_ceiling_sentence(inputs)}"
    return section("between-metrics", [sentence], plots, [data])


def _correlate_all(scores: dict[str, Floats], people: Floats | None, weights: Floats) -> list[MetricPair]:
    """Return the correlations of every two metrics, and of each metric with ``people``, if given."""
    rows = [_correlate(name, other, scores[name], scores[other]) for name, other in combinations(scores, 2)]
    if people is not None:
        # Weights are those of people's scores, so pairs of two metrics have none.
        is_judged = ~np.isnan(people)
        judged_weights = None if (weights == 1).all() else weights[is_judged]
        rows += [
            _correlate(name, PEOPLE_LABEL, metric_scores[is_judged], people[is_judged], judged_weights)
            for name, metric_scores in scores.items()
        ]
    return rows


def _correlate(
    name: str, other_name: str, first: Floats, second: Floats, weights: Floats | None = None
) -> MetricPair:
    """Return the coefficients of the (N,) scores ``first`` of a metric, and ``second`` of another or of people."""
    tau_b = correlation(first, second, TAU, weights=weights, resamples=0)
    rho = correlation(first, second, RHO, weights=weights, resamples=0)
    r = correlation(first, second, R, weights=weights, resamples=0)
    return MetricPair(
        name,
        other_name,
        tau_b=json_float(tau_b.value),
        rho=json_float(rho.value),
        r=json_float(r.value),
        n=tau_b.n,
    )


def _matrix_plot(
    inputs: ReportInputs,
    coefficient: str,
    names: list[str],
    rows: list[MetricPair],
    one_judge: JudgeEstimates,
    likeness: str,
) -> Plot:
    """Return a heatmap of a coefficient of all metrics. ``likeness`` says which ones are the most and least alike."""
    field, suffix, label = COEFFICIENT_NAMES[coefficient]
    value_by_pair: dict[tuple[str, str], float | None] = {}
    for row in rows:
        value_by_pair[row.metric, row.other] = getattr(row, field)
        value_by_pair[row.other, row.metric] = getattr(row, field)
    value_by_pair |= {(name, name): 1.0 for name in names}
    cells = [[value_by_pair.get((name, other_name)) for other_name in names] for name in names]
    row_labels = list(names)
    with_people = any(row.other == PEOPLE_LABEL for row in rows)
    if with_people:
        cells.append([value_by_pair[name, PEOPLE_LABEL] for name in names])
        row_labels.append(PEOPLE_LABEL)
    ceiling = one_judge.get(coefficient, Estimate(None))  # correlation of one judge with the others
    levels = [Level("unrelated", 0.0), *levels_of(ONE_JUDGE, ceiling)]
    sentence = render_sentence(
        "metric-correlation", coefficient=label, with_people=with_people, ceiling=ceiling, alike=likeness,
        no_ceiling=no_ceiling_sentence(inputs),
    )  # fmt: skip
    data = table(
        "metric-correlation-matrix",
        [(row_label, *row) for row_label, row in zip(row_labels, cells, strict=True)],
        [("metric", "text"), *((name, "coefficient") for name in names)],
        name=f"metric-correlation-{suffix}",
        coefficient=label,
    )
    panel = HeatmapPanel(
        label,
        tuple(row_labels),
        tuple(names),
        tuple(tuple(row) for row in cells),
        separate_rows=int(with_people),
        levels=tuple(levels),
    )
    return plot(sentence, Heatmap((panel,), y_axis="", x_axis="", scale_min=-1.0), data)
