"""Optional variants of the figures of captions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from common.amounts import as_json
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.errors import EvaluationError
from evaluation.results.metrics.figures import MetricResults, kappa_at_cuts, resamples_for
from evaluation.results.metrics.options import EvaluationOptions
from evaluation.results.metrics.texts import CaptionTexts, weights_of_captions
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import ITEM, RATER, ClusterColumns

SINGLE_COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "kendall_tau_c": "kendall-tau-c"}
MIN_RESAMPLES = 50
GRADES_DRAWN = 2_000_000  # grades drawn in all resamples together, which limits the number of resamples
ESTIMATE = ("value", "low", "high", "n", "reason")


def compute_caption_readings(
    options: EvaluationOptions,
    captions: Sequence[CaptionTexts],
    judged: MetricResults,
    table: JudgmentTable,
    *,
    cuts: Sequence[float],
    seed: int,
    clusters: ClusterColumns,
) -> dict[str, Any]:
    """Return the requested variants of the figures of captions that need no further scores, by metric.

    Raise EvaluationError if a variant does not fit the study's judgments.
    """
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    weights = weights_of_captions(captions)
    figures: dict[str, Any] = {}

    def by_metric(figure: Callable[[Floats], Any]) -> dict[str, Any]:
        return {name: figure(both[:, 0]) for name, both in judged.scores.items()}

    def tau_c(metric: Floats) -> Any:
        tau = correlation(metric, people, "kendall-tau-c", weights=weights, clusters=clusters)
        return as_json(tau, *ESTIMATE)

    if options.tau_c:
        figures["tau_c"] = by_metric(tau_c)
    if options.people_at_least or options.metric_at_least:
        at_least = options.metric_at_least
        figures["thresholds"] = by_metric(
            lambda metric: kappa_at_cuts(metric, people, cuts, seed, clusters, at_least, weights)
        )
    if options.single_grades:
        position, grades, grade_clusters = _single_grades(captions, table, clusters)
        resamples = resamples_for(len(grades), drawn=GRADES_DRAWN, fewest=MIN_RESAMPLES)
        bootstrap: dict[str, Any] = {"resamples": resamples, "seed": seed, "clusters": grade_clusters}
        bootstrap["weights"] = None if weights is None else weights[position]
        figures["single_grades"] = by_metric(
            lambda metric: {
                key: as_json(correlation(metric[position], grades, name, **bootstrap), *ESTIMATE)
                for key, name in SINGLE_COEFFICIENTS.items()
            }
        )
    return figures


def _single_grades(
    captions: Sequence[CaptionTexts], table: JudgmentTable, clusters: ClusterColumns
) -> tuple[Ints, Floats, ClusterColumns]:
    """Return all counted judgments of the captions, as positions of the captions, values, and clusters.

    Raises:
        EvaluationError: the judgments are of lists of captions, or their values are not numbers.
    """
    units = [caption.unit for caption in captions]
    if None in units:
        raise EvaluationError(
            "single_grades needs a judgment of each caption; this study judges several at once."
        )
    position = places_in(np.array(units, dtype=np.int64), table.unit)
    rows = table.is_counted & ~np.isnan(table.value) & (position >= 0)
    if not rows.any():
        raise EvaluationError(
            "single_grades needs judgments that are numbers; this study has none of these captions."
        )
    position = position[rows]
    if isinstance(clusters, Mapping):
        raters = {RATER: table.worker[rows]} if RATER in clusters else {}
        clusters = {ITEM: np.asarray(clusters[ITEM])[position], **raters}
    return position, table.value[rows], clusters
