"""Ratings on a raw scale, and standardised by rater as WMT does.

Graham, Baldwin, Moffat, Zobel 2013, *Continuous measurement scales in human evaluation of machine translation*, and
Bojar et al. 2016 (WMT16): people use a scale from 0 to 100 each in their own way, so a rating becomes
z = (x - mean of the rater) / (standard deviation of the rater) before the ratings of a unit are averaged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, encode, finite_vector, one_per_row, same_length

# A deviation that is a smaller part of the ratings' size is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class StandardisedResult:
    """Means of U units, raw and standardised by rater.

    units: (U,) names ascending. n: (U,) ratings, and mean: (U,) their mean. z_n: (U,) ratings by raters who have a
    z, and z: (U,) the mean of those, nan where there is none. raters: (R,) names ascending, with rater_mean and
    rater_deviation (n - 1; nan for one rating). `left_out` raters gave one rating, or the same throughout: they have
    no z.
    """

    units: NDArray[Any]
    n: NDArray[np.int64]
    mean: Floats
    z_n: NDArray[np.int64]
    z: Floats
    raters: NDArray[Any]
    rater_mean: Floats
    rater_deviation: Floats
    left_out: int
    signature: str = ""


@signed("standardised-mean")
def standardised_mean(
    units: Iterable[Any], raters: Iterable[Any], values: Iterable[Any]
) -> StandardisedResult:
    """Mean rating of each unit, raw and as z-scores, of one rating a row: three (N,) columns.

    Raises BadShape, BadValue.
    """
    unit_names, unit = encode(units, "units")
    rater_names, rater = encode(raters, "raters")
    rating = finite_vector(
        values if isinstance(values, np.ndarray) else one_per_row(values, "values"), "values"
    )
    same_length(units=unit, raters=rater, values=rating)
    given = np.bincount(rater, minlength=len(rater_names))
    centre = np.bincount(rater, weights=rating, minlength=len(rater_names)) / given
    away = np.bincount(rater, weights=(rating - centre[rater]) ** 2, minlength=len(rater_names))
    deviation = np.full(len(rater_names), math.nan)
    np.divide(away, given - 1, out=deviation, where=given > 1)
    deviation = np.sqrt(deviation)
    size = np.abs(rating).max(initial=0.0)
    usable = np.nan_to_num(deviation) > _ROUNDING * size
    scored = usable[rater]
    z = (rating[scored] - centre[rater[scored]]) / deviation[rater[scored]]
    n = np.bincount(unit, minlength=len(unit_names))
    z_n = np.bincount(unit[scored], minlength=len(unit_names))
    mean_z = np.full(len(unit_names), math.nan)
    np.divide(np.bincount(unit[scored], weights=z, minlength=len(unit_names)), z_n, out=mean_z, where=z_n > 0)
    return StandardisedResult(
        units=unit_names,
        n=n,
        mean=np.bincount(unit, weights=rating, minlength=len(unit_names)) / n,
        z_n=z_n,
        z=mean_z,
        raters=rater_names,
        rater_mean=centre,
        rater_deviation=deviation,
        left_out=int((~usable).sum()),
    )
