"""A correlation coefficient of two columns, with its interval and p."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations
from typing import Unpack

import numpy as np
import scipy  # its submodules load at first use; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats
from quorum.statistics.correlation.coefficients import COEFFICIENTS, group_coefficients
from quorum.statistics.correlation.influences import correlation_influences, pearson_without_clusters
from quorum.statistics.correlation.observations import (
    observation_weights,
    read_observations,
    undefined_reason,
)
from quorum.statistics.correlation.raters_of_means import decreases_without_raters
from quorum.statistics.correlation.value_pairs import ValuePairs
from quorum.statistics.crossed import NO_DELETIONS, Clusters, Spread, coefficient_interval
from quorum.statistics.inference import Inference, Options, Sampling, signed
from quorum.statistics.inputs import ROUNDING, one_of

_MAX_ENUMERATED = 9  # largest n for which all n! orders are tried; 9! orders take a third of a second, once


@dataclass(frozen=True, slots=True)
class CorrelationResult(Inference):
    """A correlation coefficient with its interval and its two-sided p.

    n: number of observations. left_out: number of rows left out, because a score is missing.
    """

    coefficient: str
    value: float
    p: float
    n: int
    left_out: int


@signed("correlation", data=("weights",))
def correlation(
    first: ArrayLike,
    second: ArrayLike,
    coefficient: str = "pearson",
    *,
    missing: str = "refuse",
    weights: ArrayLike | None = None,
    **options: Unpack[Sampling],
) -> CorrelationResult:
    """Return one of COEFFICIENTS between two (N,) vectors, with its p and its interval.

    The p of Pearson and Spearman is by the density (1 - r^2)^(n/2 - 2) (Student 1908); for Spearman without ties and
    n <= 9 it is exact, by all orders. The p of Kendall is exact without ties for n <= 33, else by the normal
    distribution with the variance for ties of Kendall (1970).

    Args:
        weights: (N,) how many observations each row stands for (see `taus`). With weights nothing is resampled, and
            each row is a cluster if there are no `clusters`.
        resamples: number of resamples. With 0, there is no bootstrap interval.
        clusters: columns by which rows are clustered; p and interval are then computed without resampling. If the
            second vector holds people's means, "rater" may be these without each rater (`means_without_raters`).
    """
    checked_options, deletions = Options.with_raters(**options)  # means without each rater, or None
    one_of(coefficient, COEFFICIENTS, "coefficient")
    (x, y), is_complete = read_observations(missing, first=first, second=second)
    x, y = x[is_complete], y[is_complete]
    weight = observation_weights(weights, is_complete)
    kept_deletions = (deletions or NO_DELETIONS).of_rows(is_complete, "observation")
    value = p = math.nan
    inference = checked_options.undefined_inference(undefined_reason(x, y))
    if not inference.reason:
        value = float(group_coefficients(x, y, np.array([0, len(x)]), coefficient, weight)[0])
        if coefficient.startswith("kendall"):
            p = float(scipy.stats.kendalltau(x, y).pvalue) if weights is None else math.nan
        else:
            p = _linear_p(value, len(x))
            is_enumerated = coefficient == "spearman" and len(x) <= _MAX_ENUMERATED
            if is_enumerated and len(np.unique(x)) == len(np.unique(y)) == len(x):
                p = float((np.abs(_rhos_of_orders(len(x))) >= abs(value) - ROUNDING).mean())
        if checked_options.columns or deletions is not None or weights is not None:
            row_clusters = checked_options.clusters_of("observation", is_complete).with_weights(weight)
            spread = _spread(x, y, coefficient, value, row_clusters, weight)
            decreases = partial(decreases_without_raters, x, y, coefficient, kept_deletions, weight)
            # Add the variance between raters: how far the coefficient falls without each of them.
            spread, row_clusters = kept_deletions.widen(spread, row_clusters, decreases)
            p = spread.p(value)
            limits = coefficient_interval(
                value, spread, row_clusters.cluster_count, checked_options.confidence
            )
            inference = checked_options.interval_of_clusters(row_clusters, limits)
        elif checked_options.resamples:
            patterns = ValuePairs(x, y, coefficient)
            inference = checked_options.bootstrap(patterns, patterns.frequency, len(patterns.frequency))
    left_out = int((~is_complete).sum())
    return CorrelationResult(coefficient, value, p, len(x), left_out, **inference.fields_by_name())


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "pearson", resamples=0).value


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "spearman", resamples=0).value


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "kendall-tau-b", resamples=0).value


def _spread(
    x: Floats, y: Floats, coefficient: str, value: float, clusters: Clusters, weights: Floats
) -> Spread:
    """Return the spread of a coefficient over clusters, with (N,) weights.

    For Pearson's r it is by the jackknife, because single clusters may dominate r.
    """
    if coefficient != "pearson" or clusters.reason:
        influences = correlation_influences(x, y, coefficient, value, weights=weights)
        return clusters.spread(weights * influences)
    # r is nan without a cluster that has all the variation; such a cluster is left out of the sum.
    leave_one_out_values = (pearson_without_clusters(x, y, codes, weights) for codes in clusters.codes)
    return clusters.spread_of_squares([float(np.nansum(np.square(value - r))) for r in leave_one_out_values])


def _linear_p(r: float, n: int) -> float:
    """Return the two-sided p of r by Student's density, by which (1 + r) / 2 has a beta distribution.

    Two observations are always on a line, so their p is 1.
    """
    return float(2 * scipy.special.betainc(n / 2 - 1, n / 2 - 1, (1 - abs(r)) / 2)) if n > 2 else 1.0


@cache
def _rhos_of_orders(n: int) -> Floats:
    """Return the (n!,) values of rho between all orders of n ranks and the ranks in order."""
    ranks = np.arange(n) - (n - 1) / 2
    return np.array(list(permutations(ranks))) @ ranks / (ranks @ ranks)
