"""People's means, and a coefficient with them, recomputed without each rater."""

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
    """Return the means of `number` rows if one of their raters had not rated them.

    rows: (V,) positions of rows from 0 on. raters, ratings: (V,). A rater may rate a row several times. Pass the result
    as the raters of `clusters`.
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
    """Return (V,) how much of the coefficient with people's means `y` is lost where a rater leaves a mean."""
    gone = np.isnan(left.value)
    means = np.where(gone, y[left.row], left.value)
    influences = correlation_influences(x, y, coefficient, value, (x[left.row], means), weights)
    changes = influences[left.row] - np.where(gone, 0.0, influences[len(x) :])
    return np.asarray(weights[left.row] * changes, dtype=np.float64)
