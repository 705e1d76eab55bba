"""Mean grades of units: raw, weighted, and standardised by rater.

Grades are standardised as at WMT (Graham, Baldwin, Moffat, Zobel 2013; Bojar et al. 2016): z = (x - mean of the rater's
grades) / (their standard deviation), averaged over the judgments of a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.aggregation.weights import ZERO_WEIGHTS, judgment_weights
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import ROUNDING, encode, finite_column, same_length

# The thresholds at which Table 1 of Hodosh et al. 2013 reports mean grades.
GRADE_THRESHOLDS = (4.0, 3.66, 3.33, 3.0, 2.66, 2.33, 2.0)

# A divisor below this share of the sum of weights is a rounding error, because one judgment has all the weight.
_MIN_FREEDOM_SHARE = 1e-9


@dataclass(frozen=True, slots=True)
class StandardisedResult(Result):
    """Mean ratings and mean z-scores of U units.

    units: (U,) names, ascending. n: (U,) number of ratings. mean: (U,) mean rating. z_n: (U,) number of ratings by
    raters with z-scores. z: (U,) mean z-score. raters: (R,) names, ascending. left_out: number of raters without
    z-scores, because they gave a single rating, or all their ratings are equal.
    """

    units: NDArray[Any]
    n: Ints
    mean: Floats
    z_n: Ints
    z: Floats
    raters: NDArray[Any]
    left_out: int


@signed("standardised-mean")
def standardised_mean(
    units: Iterable[Any], raters: Iterable[Any], values: Iterable[Any]
) -> StandardisedResult:
    """Return the mean rating of each unit, raw and as z-scores."""
    unit_names, unit = encode(units, "units")
    rater_names, rater = encode(raters, "raters")
    rating = finite_column(values, "values")
    same_length(units=unit, raters=rater, values=rating)
    ratings_of_rater = np.bincount(rater, minlength=len(rater_names))
    rater_means = np.bincount(rater, weights=rating, minlength=len(rater_names)) / ratings_of_rater
    squares = np.bincount(rater, weights=(rating - rater_means[rater]) ** 2, minlength=len(rater_names))
    deviation = np.sqrt(ratio(squares, ratings_of_rater - 1))
    largest_rating = np.abs(rating).max(initial=0.0)
    has_deviation = np.nan_to_num(deviation) > ROUNDING * largest_rating  # more than a rounding error
    has_z_score = has_deviation[rater]
    z = (rating[has_z_score] - rater_means[rater[has_z_score]]) / deviation[rater[has_z_score]]
    rating_counts = np.bincount(unit, minlength=len(unit_names))
    z_counts = np.bincount(unit[has_z_score], minlength=len(unit_names))
    return StandardisedResult(
        units=unit_names,
        n=rating_counts,
        mean=np.bincount(unit, weights=rating, minlength=len(unit_names)) / rating_counts,
        z_n=z_counts,
        z=ratio(np.bincount(unit[has_z_score], weights=z, minlength=len(unit_names)), z_counts),
        raters=rater_names,
        left_out=int((~has_deviation).sum()),
    )


@dataclass(frozen=True, slots=True)
class MeanResult(Result):
    """Mean grades of U units.

    units: (U,) names, ascending. mean: (U,) mean grade. n: (U,) number of judgments. deviation: (U,) standard
    deviation, with the divisor n - 1. With weights, the divisor is sum(w) - sum(w^2) / sum(w), which corresponds to n -
    1. weight: (U,) sum of the weights, None without weights.
    """

    units: NDArray[Any]
    mean: Floats
    n: Ints
    deviation: Floats
    weight: Floats | None = None


@signed("mean-grade")
def mean_grade(units: Iterable[Any], values: Iterable[Any]) -> MeanResult:
    """Return the mean grade of each unit (Hodosh et al. 2013, section 4.2.1)."""
    return _mean(units, values, None)


@signed("weighted-mean")
def weighted_mean(units: Iterable[Any], values: Iterable[Any], weights: ArrayLike) -> MeanResult:
    """Return the mean grade of each unit, weighted by (N,) weights of zero or more."""
    return _mean(units, values, judgment_weights(weights))


def _mean(units: Iterable[Any], values: Iterable[Any], weights: Floats | None) -> MeanResult:
    names, unit_codes = encode(units, "units")
    grades = finite_column(values, "values")
    same_length(units=unit_codes, values=grades)
    n = np.bincount(unit_codes, minlength=len(names))
    weight_of_grade = np.ones(len(grades)) if weights is None else weights
    same_length(units=unit_codes, weights=weight_of_grade)
    weight_sums: Floats = np.bincount(unit_codes, weights=weight_of_grade, minlength=len(names)).astype(
        np.float64
    )
    # Scale by a power of two, which is exact, so that large grades do not overflow.
    exponent = int(np.frexp(np.abs(grades).max(initial=0.0))[1])
    grades = np.ldexp(grades, -exponent)
    has_no_weight = weight_sums == 0
    sums_or_nan = np.where(has_no_weight, math.nan, weight_sums)
    mean = np.bincount(unit_codes, weights=weight_of_grade * grades, minlength=len(names)) / sums_or_nan
    squared_deviations = np.bincount(
        unit_codes, weights=weight_of_grade * (grades - mean[unit_codes]) ** 2, minlength=len(names)
    )
    squared_weights = np.bincount(unit_codes, weights=weight_of_grade**2, minlength=len(names))
    divisor = sums_or_nan - squared_weights / sums_or_nan
    variance = ratio(squared_deviations, divisor, where=divisor > _MIN_FREEDOM_SHARE * sums_or_nan)
    with np.errstate(over="ignore"):  # the difference of two large grades may overflow
        deviation = np.ldexp(np.sqrt(variance), exponent)
    return MeanResult(
        units=names,
        mean=np.ldexp(mean, exponent),
        n=n,
        deviation=deviation,
        weight=None if weights is None else weight_sums,
        reason=ZERO_WEIGHTS.format(int(has_no_weight.sum()), len(names)) if has_no_weight.any() else "",
    )


def unit_medians(units: Iterable[Any], values: Iterable[Any]) -> tuple[NDArray[Any], Floats]:
    """Return the (U,) units and their (U,) median grades."""
    names, codes = encode(units, "units")
    grades = finite_column(values, "values")
    same_length(units=codes, values=grades)
    sorted_grades = grades[np.lexsort((grades, codes))]
    n = np.bincount(codes, minlength=len(names))
    # The median is the mean of the two middle grades, which are the same one if n is odd.
    first_of_unit = np.cumsum(n) - n
    return names, (sorted_grades[first_of_unit + (n - 1) // 2] + sorted_grades[first_of_unit + n // 2]) / 2
