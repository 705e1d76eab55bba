"""Correlation of two columns, and Williams' test of two correlations.

Spearman's rho is Pearson's r of mid-ranks; Kendall's tau: see `coefficients.taus`. Williams' test (Williams 1959,
T2 of Steiger 1980; for metrics Graham, Baldwin 2014) asks whether one metric correlates better with people than
another on the same observations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from evaluation.numeric.arrays import Flags, Floats
from evaluation.statistics.clustering import (
    Clusters,
    Spread,
    coefficient_interval,
)
from evaluation.statistics.correlation.coefficients import (
    COEFFICIENTS,
    Patterns,
    correlation_influences,
    group_coefficients,
    kendall_codes,
    kendall_groups,
    pearson_without,
    taus,
)
from evaluation.statistics.inputs import BadValue, gappy_vector, is_real, one_of, same_length, score_vector
from evaluation.statistics.results import Clustering, Inference, Options, Result, Sampling, signed

# Kendall's p is exact up to this size, and where at most one pair is out of order, if nothing is tied.
_EXACT = 33

TOO_FEW = "there are fewer than two observations"
CONSTANT = "{} has the same value throughout"

# Rounded correlations may miss being a correlation matrix by so much.
_ROUNDING = 1e-9
FEWER_THAN_FOUR = "there are fewer than four observations"
CONSTANT_SCORES = "{} scores have the same value throughout"
ALIKE = "both metrics order the observations alike, so that their difference does not vary"
SAME = "one metric is the other on another scale, so that nothing tells them apart"


@dataclass(frozen=True, slots=True)
class CorrelationResult(Inference):
    """A coefficient, its interval over observations, and its two-sided p."""

    coefficient: str
    value: float
    p: float
    n: int
    left_out: int


@signed("correlation")
def correlation(
    first: ArrayLike,
    second: ArrayLike,
    coefficient: str = "pearson",
    *,
    missing: str = "refuse",
    **options: Unpack[Sampling],
) -> CorrelationResult:
    """Return one of COEFFICIENTS between two (N,) vectors; `resamples` 0 gives no interval.

    p of Pearson and Spearman: density (1 - r^2)^(n/2 - 2) (Student 1908); of Kendall: exact without ties for
    n <= 33, else normal with the variance for ties of Kendall (1970). With `clusters`, p is of them too.
    """
    chosen = Options.of(**options)
    one_of(coefficient, COEFFICIENTS, "coefficient")
    x, y, complete = paired_observations(first, second, missing)
    x, y = x[complete], y[complete]
    value = p = math.nan
    inference = chosen.undefined(_undefined(x, y))
    if not inference.reason:
        if coefficient.startswith("kendall"):
            value, p = _kendall(x, y, coefficient)
        else:
            value = float(group_coefficients(x, y, np.array([0, len(x)]), coefficient)[0])
            p = _linear_p(value, len(x))
        if chosen.columns:
            grouped = Clusters.of(chosen.columns, len(complete), complete)
            spread = _spread(x, y, coefficient, value, grouped)
            p = spread.p(value)
            inference = chosen.clustered(grouped, coefficient_interval(value, spread, chosen.confidence))
        elif chosen.resamples:
            patterns = Patterns(x, y, coefficient)
            inference = chosen.resampled(patterns, patterns.frequency, len(patterns.frequency))
    left_out = int((~complete).sum())
    return CorrelationResult(coefficient, value, p, len(x), left_out, **inference.shared())


def _spread(x: Floats, y: Floats, coefficient: str, value: float, clusters: Clusters) -> Spread:
    """Return the variance of a coefficient; that of r is a jackknife's, as single clusters can carry it."""
    if coefficient != "pearson" or clusters.reason:
        return clusters.spread(correlation_influences(x, y, coefficient, value))
    without = (pearson_without(x, y, codes) for codes in clusters.codes)
    return clusters.spread_of([float(np.nansum(np.square(value - others))) for others in without])


@dataclass(frozen=True, slots=True)
class CorrelationDifference(Inference):
    """Two metrics' coefficients with people, and their difference with its interval and two-sided p of t."""

    coefficient: str
    first: float
    second: float
    difference: float
    p: float
    n: int


@signed("correlation-difference")
def correlation_difference(
    first: ArrayLike,
    second: ArrayLike,
    people: ArrayLike,
    coefficient: str = "kendall-tau-b",
    **options: Unpack[Clustering],
) -> CorrelationDifference:
    """Return how much better (N,) scores of a first metric correlate with people's (N,) than those of a second.

    Its variance is that of the difference of influences: the metrics may be correlated.
    """
    chosen = Options.without_draws(**options)
    one_of(coefficient, COEFFICIENTS, "coefficient")
    first_scores, second_scores = score_vector(first, "first"), score_vector(second, "second")
    human = score_vector(people, "people")
    n = same_length(first=first_scores, second=second_scores, people=human)
    reasons = (_undefined(first_scores, human), _undefined(second_scores, human))
    values = [
        math.nan if why else float(group_coefficients(scores, human, np.array([0, n]), coefficient)[0])
        for scores, why in zip((first_scores, second_scores), reasons, strict=True)
    ]
    difference, p = values[0] - values[1], math.nan
    inference = chosen.undefined(reasons[0] or reasons[1].replace("first", "second metric's"))
    if not inference.reason:
        influences = [
            correlation_influences(scores, human, coefficient, value)
            for scores, value in zip((first_scores, second_scores), values, strict=True)
        ]
        inference, p = chosen.of_difference(difference, influences[0] - influences[1], "observation")
        if not inference.reason and math.isnan(p):
            inference = replace(inference, reason=ALIKE)
    return CorrelationDifference(coefficient, values[0], values[1], difference, p, n, **inference.shared())


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "pearson", resamples=0).value


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "spearman", resamples=0).value


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "kendall-tau-b", resamples=0).value


def kendall_tau_c(first: ArrayLike, second: ArrayLike) -> float:
    return correlation(first, second, "kendall-tau-c", resamples=0).value


def paired_observations(first: ArrayLike, second: ArrayLike, missing: str) -> tuple[Floats, Floats, Flags]:
    one_of(missing, ("refuse", "leave-out"), "missing")
    if missing == "refuse":
        x, y = score_vector(first, "first"), score_vector(second, "second")
        same_length(first=x, second=y)
        return x, y, np.ones(len(x), dtype=np.bool_)
    x, y = gappy_vector(first, "first"), gappy_vector(second, "second")
    same_length(first=x, second=y)
    return x, y, ~(np.isnan(x) | np.isnan(y))


def _undefined(x: Floats, y: Floats) -> str:
    if len(x) < 2:
        return TOO_FEW
    if np.all(x == x[0]):
        return CONSTANT.format("the first variable")
    if np.all(y == y[0]):
        return CONSTANT.format("the second variable")
    return ""


def _linear_p(r: float, n: int) -> float:
    # Two observations always lie on a line, whether by value or by rank.
    return float(2 * scipy.special.betainc(n / 2 - 1, n / 2 - 1, (1 - abs(r)) / 2)) if n > 2 else 1.0


def _kendall(x: Floats, y: Floats, coefficient: str) -> tuple[float, float]:
    n = len(x)
    ends = np.array([0, n])
    rows, columns, levels = kendall_codes(x, y, ends)
    sums = kendall_groups(rows, columns, np.ones(n), ends, levels)
    value, balance = float(taus(sums, coefficient)[0]), float(sums[0, 0])
    x_sizes, y_sizes = (np.bincount(codes).astype(np.float64) for codes in (rows, columns))
    pairs = n * (n - 1) / 2
    if len(x_sizes) == n == len(y_sizes) and (n <= _EXACT or pairs - abs(balance) <= 2):
        return value, float(scipy.stats.kendalltau(x, y, method="exact").pvalue)
    tied, once, twice = [], [], []
    for sizes in (x_sizes, y_sizes):
        tied.append(float((sizes * (sizes - 1)).sum()))
        once.append(float((sizes * (sizes - 1) * (2 * sizes + 5)).sum()))
        twice.append(float((sizes * (sizes - 1) * (sizes - 2)).sum()))
    ordered = n * (n - 1.0)
    variance = (ordered * (2 * n + 5) - sum(once)) / 18 + tied[0] * tied[1] / (2 * ordered)
    # Two observations that differ in both variables have no ties, so there are three or more here.
    variance += twice[0] * twice[1] / (9 * ordered * (n - 2))
    return value, float(2 * scipy.special.ndtr(-abs(balance) / math.sqrt(variance)))


@dataclass(frozen=True, slots=True)
class WilliamsResult(Result):
    """Williams' t of the difference between two correlations with people; `between` is that of the metrics."""

    first: float
    second: float
    between: float
    n: int
    t: float
    degrees_of_freedom: int
    p: float
    p_first_higher: float
    p_second_higher: float


@signed("williams", input="scores")
def williams_test(first: ArrayLike, second: ArrayLike, people: ArrayLike) -> WilliamsResult:
    """Test whether two metrics' (N,) scores correlate differently (Pearson) with people's (N,) scores."""
    columns = {"first": first, "second": second, "people": people}
    vectors = {name: score_vector(values, name) for name, values in columns.items()}
    n = same_length(**vectors)
    constant = [name for name, vector in vectors.items() if n and np.all(vector == vector[0])]
    if n < 4 or constant:
        name = f"the {constant[0]}".replace("the people", "people's") if constant else ""
        reason = FEWER_THAN_FOUR if n < 4 else CONSTANT_SCORES.format(name)
        return _no_test(math.nan, math.nan, math.nan, n, reason)
    first_scores, second_scores, human = vectors.values()
    return williams_correlations(
        pearson(first_scores, human), pearson(second_scores, human), pearson(first_scores, second_scores), n
    )


@signed("williams", input="correlations")
def williams_correlations(first: float, second: float, between: float, n: int) -> WilliamsResult:
    """Do Williams' test from r13 = `first`, r23 = `second`, r12 = `between` of `n` observations.

    t = (r13 - r23) sqrt((n - 1)(1 + r12)) / sqrt(2 K (n - 1) / (n - 3) + (r13 + r23)^2 / 4 (1 - r12)^3), K =
    1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23, with n - 3 degrees of freedom.
    """
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
        raise BadValue(f"n is {n!r}, expected a whole number from zero on")
    for name, r in (("first", first), ("second", second), ("between", between)):
        if not (is_real(r) and -1 - _ROUNDING <= r <= 1 + _ROUNDING):
            raise BadValue(f"{name} is {r!r}, expected a correlation between -1 and 1")
    r13, r23, r12 = (min(1.0, max(-1.0, float(r))) for r in (first, second, between))
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    if determinant < -_ROUNDING:
        raise BadValue(
            f"correlations {r13:g}, {r23:g} and {r12:g} cannot occur together, expected those of one data set"
        )
    if n < 4:
        return _no_test(r13, r23, r12, int(n), FEWER_THAN_FOUR)
    if 1 - abs(r12) < _ROUNDING:
        return _no_test(r13, r23, r12, int(n), SAME)
    spread = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + (r13 + r23) ** 2 / 4 * (1 - r12) ** 3
    gap = (r13 - r23) * math.sqrt((n - 1) * (1 + r12))
    # Both metrics determine people's scores together: the gap has no error, and t no bound.
    t = gap / math.sqrt(spread) if spread > 0 else math.copysign(math.inf, gap)
    above, below = (float(tail) for tail in scipy.special.stdtr(n - 3, [-t, t]))
    return WilliamsResult(r13, r23, r12, int(n), t, int(n) - 3, min(1.0, 2 * min(above, below)), above, below)


def _no_test(first: float, second: float, between: float, n: int, reason: str) -> WilliamsResult:
    nan = math.nan
    return WilliamsResult(first, second, between, n, nan, n - 3, nan, nan, nan, reason=reason)
