"""People's mean ratings without each rater, and the effect of leaving a rater out on the correlation with a metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints, ratio
from quorum.statistics.correlation.coefficients import group_coefficients
from quorum.statistics.correlation.influences import correlation_influences
from quorum.statistics.crossed import RaterDeletions, answers_by_cell, positions_and_raters
from quorum.statistics.inputs import finite_vector, same_length

FEW_RATERS = 20


def means_without_raters(
    rows: ArrayLike, raters: Iterable[Any], ratings: ArrayLike, number: int
) -> RaterDeletions:
    """Return the mean ratings of `number` rows without each of their raters, to pass as the raters of `clusters`.

    rows, raters, ratings: (V,) columns with one rating in each entry; `rows` are positions from 0. A rater may rate
    a row several times.
    """
    rating = finite_vector(ratings, "ratings")
    position, rater = positions_and_raters("rows", rows, raters, number)
    same_length(rows=position, ratings=rating)
    first, cell = answers_by_cell(position, rater)
    row, rated = position[first], np.bincount(cell, minlength=len(first))
    left = np.bincount(position, rating)[row] - np.bincount(cell, rating, minlength=len(first))
    return RaterDeletions(row, rater[first], ratio(left, np.bincount(position)[row] - rated), means=True)


def changes_without_raters(
    x: Floats, y: Floats, coefficient: str, left: RaterDeletions, weights: Floats
) -> Iterator[Floats]:
    """Yield the (V,) decreases of the coefficient if one rater is left out of one of people's means `y`.

    Yield them for the means without each rater in turn. Where the tastes of few raters cancel out by chance, the
    coefficient is near its maximum: there it hardly changes if a single rater is left out, although other raters would
    give a lower one. The means without a rater lie beside the maximum. With more than FEW_RATERS, one rater hardly
    moves the means, so the changes are yielded once, for the means of all raters.
    """
    ends, lost = np.array([0, len(x)]), np.isnan(left.value)
    of_row = y[left.row]
    decrease = of_row - np.where(lost, of_row, left.value)  # of the row's mean
    is_undefined = True
    for rater in range(left.raters if left.raters <= FEW_RATERS else 0):
        means, answers = y.copy(), (left.rater == rater) & ~lost
        means[left.row[answers]] = left.value[answers]
        value = float(group_coefficients(x, means, ends, coefficient, weights)[0])
        if not np.isnan(value):
            is_undefined = False
            yield _changes(x, means, decrease, coefficient, value, left.row, lost, weights)
    if is_undefined:
        value = float(group_coefficients(x, y, ends, coefficient, weights)[0])
        yield _changes(x, y, decrease, coefficient, value, left.row, lost, weights)


def _changes(
    x: Floats,
    y: Floats,
    decrease: Floats,
    coefficient: str,
    value: float,
    row: Ints,
    lost: Flags,
    weights: Floats,
) -> Floats:
    """Return the (V,) decreases of the coefficient `value` of x and y if y of `row` decreases by `decrease`.

    row: (V,) positions. lost: (V,) whether the row is lost as a whole.
    """
    influences = correlation_influences(x, y, coefficient, value, (x[row], y[row] - decrease), weights)
    changes = influences[row] - np.where(lost, 0.0, influences[len(x) :])
    return np.asarray(weights[row] * changes, dtype=np.float64)
