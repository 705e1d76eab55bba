"""People's mean ratings without each rater, and the effect on their correlation with a metric."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, ratio
from quorum.statistics.correlation.influences import correlation_influences
from quorum.statistics.crossed import RaterDeletions, answers_by_cell, positions_and_raters
from quorum.statistics.inputs import finite_vector, same_length


def means_without_raters(
    rows: ArrayLike, raters: Iterable[Any], ratings: ArrayLike, number: int
) -> RaterDeletions:
    """Return the mean ratings of `number` rows without each of their raters, to pass as the raters of `clusters`.

    rows, raters, ratings: (V,) columns with one rating in each row of the table; `rows` are positions from 0. A rater
    may rate a row several times.
    """
    rating = finite_vector(ratings, "ratings")
    position, rater = positions_and_raters("rows", rows, raters, number)
    same_length(rows=position, ratings=rating)
    first, cell = answers_by_cell(position, rater)
    row, rated = position[first], np.bincount(cell, minlength=len(first))
    left = np.bincount(position, rating)[row] - np.bincount(cell, rating, minlength=len(first))
    return RaterDeletions(row, rater[first], ratio(left, np.bincount(position)[row] - rated), means=True)


def changes_without_raters(
    x: Floats, y: Floats, coefficient: str, value: float, left: RaterDeletions, weights: Floats
) -> Floats:
    """Return the (V,) decreases of the coefficient if one rater is left out of one of people's means `y`."""
    gone = np.isnan(left.value)
    means = np.where(gone, y[left.row], left.value)
    influences = correlation_influences(x, y, coefficient, value, (x[left.row], means), weights)
    changes = influences[left.row] - np.where(gone, 0.0, influences[len(x) :])
    return np.asarray(weights[left.row] * changes, dtype=np.float64)
