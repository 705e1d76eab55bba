"""Mean grades of units, raw, weighted and standardised by rater.

Grades are standardised as WMT does: Graham, Baldwin, Moffat, Zobel 2013; Bojar et al. 2016 (WMT16): z = (x - mean of
the rater) / (standard deviation of the rater), averaged over a unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.aggregation.weights import WEIGHTLESS, judgment_weights
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import ROUNDING, encode, finite_column, same_length

# H13 Table 1: the thresholds at which mean grades are reported.
GRADE_THRESHOLDS = (4.0, 3.66, 3.33, 3.0, 2.66, 2.33, 2.0)

# Freedom that is a smaller part of the weight is rounding: one judgment has all of it.
_LIGHT = 1e-9


@dataclass(frozen=True, slots=True)
class StandardisedResult(Result):
    """Mean of (U,) n ratings, and mean z of the z_n ratings whose raters have one.

    `left_out` of the (R,) raters have no z: one rating, or all equal.
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
    judged = np.bincount(rater, minlength=len(rater_names))
    centre = np.bincount(rater, weights=rating, minlength=len(rater_names)) / judged
    away = np.bincount(rater, weights=(rating - centre[rater]) ** 2, minlength=len(rater_names))
    deviation = np.sqrt(ratio(away, judged - 1))
    size = np.abs(rating).max(initial=0.0)
    usable = np.nan_to_num(deviation) > ROUNDING * size
    scored = usable[rater]
    z = (rating[scored] - centre[rater[scored]]) / deviation[rater[scored]]
    n = np.bincount(unit, minlength=len(unit_names))
    z_n = np.bincount(unit[scored], minlength=len(unit_names))
    return StandardisedResult(
        units=unit_names,
        n=n,
        mean=np.bincount(unit, weights=rating, minlength=len(unit_names)) / n,
        z_n=z_n,
        z=ratio(np.bincount(unit[scored], weights=z, minlength=len(unit_names)), z_n),
        raters=rater_names,
        left_out=int((~usable).sum()),
    )


@dataclass(frozen=True, slots=True)
class MeanResult(Result):
    """(U,) mean grades of n judgments, and standard deviations (n - 1).

    With sums of weights the deviation divides by sum(w) - sum(w^2) / sum(w), which is n - 1 for equal ones.
    """

    units: NDArray[Any]
    mean: Floats
    n: Ints
    deviation: Floats
    weight: Floats | None = None


@signed("mean-grade")
def mean_grade(units: Iterable[Any], values: Iterable[Any]) -> MeanResult:
    """Return the mean grade of each unit (H13 section 4.2.1)."""
    return _mean(units, values, None)


@signed("weighted-mean")
def weighted_mean(units: Iterable[Any], values: Iterable[Any], weights: ArrayLike) -> MeanResult:
    """Return the mean grade of each unit with (N,) weights from zero on."""
    return _mean(units, values, judgment_weights(weights))


def _mean(units: Iterable[Any], values: Iterable[Any], weights: Floats | None) -> MeanResult:
    names, unit_codes = encode(units, "units")
    grades = finite_column(values, "values")
    same_length(units=unit_codes, values=grades)
    n = np.bincount(unit_codes, minlength=len(names))
    weighted = np.ones(len(grades)) if weights is None else weights
    same_length(units=unit_codes, weights=weighted)
    weight: Floats = np.bincount(unit_codes, weights=weighted, minlength=len(names)).astype(np.float64)
    # Grades of any size, without overflow: a power of two changes no digit.
    size = int(np.frexp(np.abs(grades).max(initial=0.0))[1])
    scaled = np.ldexp(grades, -size)
    empty = weight == 0
    whole = np.where(empty, math.nan, weight)
    mean = np.bincount(unit_codes, weights=weighted * scaled, minlength=len(names)) / whole
    away = weighted * (scaled - mean[unit_codes]) ** 2
    squares = np.bincount(unit_codes, weights=away, minlength=len(names))
    freedom = whole - np.bincount(unit_codes, weights=weighted**2, minlength=len(names)) / whole
    deviation = ratio(squares, freedom, where=freedom > _LIGHT * whole)
    with np.errstate(over="ignore"):  # grades near both ends of the doubles differ by more than a double
        deviation = np.ldexp(np.sqrt(deviation), size)
    return MeanResult(
        units=names,
        mean=np.ldexp(mean, size),
        n=n,
        deviation=deviation,
        weight=None if weights is None else weight,
        reason=WEIGHTLESS.format(int(empty.sum()), len(names)) if empty.any() else "",
    )


def unit_medians(units: Iterable[Any], values: Iterable[Any]) -> tuple[NDArray[Any], Floats]:
    """Return (U,) units and their median grades."""
    names, codes = encode(units, "units")
    grades = finite_column(values, "values")
    same_length(units=codes, values=grades)
    ordered = grades[np.lexsort((grades, codes))]
    n = np.bincount(codes, minlength=len(names))
    starts = np.cumsum(n) - n
    return names, (ordered[starts + (n - 1) // 2] + ordered[starts + n // 2]) / 2
