"""The difference of two metrics' correlations with people, on the same observations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.statistics.correlation.coefficients import COEFFICIENTS, group_coefficients
from quorum.statistics.correlation.influences import correlation_influences
from quorum.statistics.correlation.observations import (
    observation_weights,
    read_observations,
    undefined_reason,
)
from quorum.statistics.correlation.raters_of_means import decreases_without_raters
from quorum.statistics.crossed import NO_DELETIONS, NO_SPREAD, Spread
from quorum.statistics.inference import Clustering, Inference, Options, signed
from quorum.statistics.inputs import one_of

EQUAL_RANKINGS = (
    "both metrics rank the observations equally, so the difference between the metrics does not vary"
)


@dataclass(frozen=True, slots=True)
class CorrelationDifference(Inference):
    """Two metrics' correlations with people, and their difference with its interval.

    p: the two-sided p by t that there is no difference. n: number of observations. spread: the variance of the
    difference, with its degrees of freedom.
    """

    coefficient: str
    first: float
    second: float
    difference: float
    p: float
    n: int
    spread: Spread


@signed("correlation-difference", data=("weights",))
def correlation_difference(
    first: ArrayLike,
    second: ArrayLike,
    people: ArrayLike,
    coefficient: str = "kendall-tau-b",
    *,
    missing: str = "refuse",
    weights: ArrayLike | None = None,
    **options: Unpack[Clustering],
) -> CorrelationDifference:
    """Return the correlation of the first metric's (N,) scores with people's, minus that of the second metric's scores.

    The variance is computed from the differences of influences, so the metrics may be correlated. `missing`,
    `clusters` and `weights` are as in `correlation`.
    """
    checked_options, deletions = Options.with_raters(resamples=0, **options)
    # `deletions` say how people's mean scores change without each rater; None if clusters do not have them
    checked_options = replace(checked_options, seed=None)  # nothing is random
    one_of(coefficient, COEFFICIENTS, "coefficient")
    columns, complete = read_observations(missing, first=first, second=second, people=people)
    first_scores, second_scores, people_scores = (column[complete] for column in columns)
    n, weight = len(people_scores), observation_weights(weights, complete)
    bounds = np.array([0, n])
    kept_deletions = (deletions or NO_DELETIONS).of_rows(complete, "observation")
    reasons = (undefined_reason(first_scores, people_scores), undefined_reason(second_scores, people_scores))
    values = [
        math.nan
        if reason
        else float(group_coefficients(scores, people_scores, bounds, coefficient, weight)[0])
        for scores, reason in zip((first_scores, second_scores), reasons, strict=True)
    ]
    difference, spread = values[0] - values[1], NO_SPREAD
    # Where the second reason names "the first variable", this is the second metric.
    inference = checked_options.undefined_inference(
        reasons[0] or reasons[1].replace("first", "second metric's")
    )
    if not inference.reason:
        metrics = tuple(zip((first_scores, second_scores), values, strict=True))
        influences = [
            weight * correlation_influences(scores, people_scores, coefficient, value, weights=weight)
            for scores, value in metrics
        ]
        row_clusters = checked_options.clusters_of("observation", complete).with_weights(weight)
        spread = row_clusters.spread(influences[0] - influences[1])

        def decreases() -> Iterator[Floats]:  # of the difference if a rater is left out
            decreases_by_metric = (
                decreases_without_raters(scores, people_scores, coefficient, kept_deletions, weight)
                for scores, _ in metrics
            )
            return map(np.subtract, *decreases_by_metric)  # `widen` averages the arrays' variances

        spread, row_clusters = kept_deletions.widen(spread, row_clusters, decreases)
        half = spread.half_width(checked_options.confidence)
        inference = checked_options.interval_of_clusters(row_clusters, (difference - half, difference + half))
        if not inference.reason and math.isnan(spread.p(difference)):
            inference = replace(inference, reason=EQUAL_RANKINGS)
    return CorrelationDifference(
        coefficient,
        values[0],
        values[1],
        difference,
        spread.p(difference),
        n,
        spread,
        **inference.fields_by_name(),
    )
