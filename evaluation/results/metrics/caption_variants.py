"""Variants of a metric's correlation with people over captions, computed on request in addition to the usual ones.

They are Kendall's tau-c, kappa at other thresholds, and correlation with single judgments. A stored result has them
under the key ``readings``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from common.amounts import as_json
from evaluation.data.judgment_sets.records import JudgmentTable
from evaluation.errors import EvaluationError
from evaluation.results.metrics.figures import MetricResults, kappa_at_cuts, resample_count_for
from evaluation.results.metrics.options import EvaluationOptions
from evaluation.results.metrics.texts import CaptionTexts, weights_of_captions
from quorum.numeric.arrays import Floats, Ints, places_in
from quorum.statistics.correlation import correlation
from quorum.statistics.crossed import ITEM, RATER, ClusterColumns

# Coefficients of single judgments: the key of the result, and the name that `correlation` takes.
SINGLE_COEFFICIENTS = {"kendall_tau_b": "kendall-tau-b", "kendall_tau_c": "kendall-tau-c"}
MIN_RESAMPLES = 50
GRADES_DRAWN = 2_000_000  # grades drawn in all resamples together, which limits the number of resamples
ESTIMATE_FIELDS = ("value", "low", "high", "n", "reason")


def compute_caption_variants(
    options: EvaluationOptions,
    captions: Sequence[CaptionTexts],
    metric_results: MetricResults,
    table: JudgmentTable,
    *,
    cuts: Sequence[float],
    seed: int,
    clusters: ClusterColumns,
) -> dict[str, Any]:
    """Return the requested variants that need no further scores, by option and metric.

    `cuts` are people's thresholds for kappa. Raise EvaluationError if a variant does not fit the study's judgments.
    """
    people = np.array([caption.people for caption in captions], dtype=np.float64)
    weights = weights_of_captions(captions)
    scores_by_metric = {name: scores[:, 0] for name, scores in metric_results.scores.items()}  # of (N, 1)
    variants: dict[str, Any] = {}
    if options.tau_c:
        variants["tau_c"] = {}
        for name, scores in scores_by_metric.items():
            tau = correlation(scores, people, "kendall-tau-c", weights=weights, clusters=clusters)
            variants["tau_c"][name] = as_json(tau, *ESTIMATE_FIELDS)
    if options.people_at_least or options.metric_at_least:
        metric_thresholds = options.metric_at_least  # if empty, quantiles of the scores
        variants["thresholds"] = {
            name: kappa_at_cuts(scores, people, cuts, seed, clusters, metric_thresholds, weights)
            for name, scores in scores_by_metric.items()
        }
    if options.single_grades:
        caption_index, grades, grade_clusters = _single_grades(captions, table, clusters)
        correlation_options: dict[str, Any] = {
            "resamples": resample_count_for(len(grades), drawn=GRADES_DRAWN, fewest=MIN_RESAMPLES),
            "seed": seed,
            "clusters": grade_clusters,
            "weights": None if weights is None else weights[caption_index],
        }
        variants["single_grades"] = {}
        for name, scores in scores_by_metric.items():
            coefficients = {
                key: correlation(scores[caption_index], grades, coefficient, **correlation_options)
                for key, coefficient in SINGLE_COEFFICIENTS.items()
            }
            variants["single_grades"][name] = {
                key: as_json(estimate, *ESTIMATE_FIELDS) for key, estimate in coefficients.items()
            }
    return variants


def _single_grades(
    captions: Sequence[CaptionTexts], table: JudgmentTable, clusters: ClusterColumns
) -> tuple[Ints, Floats, ClusterColumns]:
    """Return the counted judgments of the captions: (J,) indices of the captions, (J,) values, and the clusters.

    Raises:
        EvaluationError: the judgments are of lists of captions, or their values are not numbers.
    """
    units = [caption.unit for caption in captions]
    if None in units:
        raise EvaluationError(
            "single_grades needs a judgment of each caption; this study judges several at once."
        )
    caption_index = places_in(np.array(units, dtype=np.int64), table.unit)
    is_included = table.is_counted & ~np.isnan(table.value) & (caption_index >= 0)
    if not is_included.any():
        raise EvaluationError(
            "single_grades needs judgments that are numbers; this study has none of these captions."
        )
    caption_index = caption_index[is_included]
    if isinstance(clusters, Mapping):  # else they are naive: judgments are regarded as independent
        raters = {RATER: table.worker[is_included]} if RATER in clusters else {}
        clusters = {ITEM: np.asarray(clusters[ITEM])[caption_index], **raters}
    return caption_index, table.value[is_included], clusters
