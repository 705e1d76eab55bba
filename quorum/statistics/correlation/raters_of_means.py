"""People's mean ratings without each rater, and the effect of leaving a rater out on the correlation with a metric."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, ratio
from quorum.statistics.correlation.coefficients import group_coefficients
from quorum.statistics.correlation.influences import correlation_influences
from quorum.statistics.crossed import RaterDeletions, answers_by_cell, positions_and_raters
from quorum.statistics.inputs import finite_vector, same_length

FEW_RATERS = 20  # more raters take longer, and their tastes hardly cancel out by chance


def means_without_raters(
    rows: ArrayLike, raters: Iterable[Any], ratings: ArrayLike, row_count: int
) -> RaterDeletions:
    """Return the mean ratings of `row_count` rows without each of their raters, to pass as `clusters["rater"]`.

    rows, raters, ratings: (V,) columns with one rating in each entry. A row is given by its position from 0. A rater
    may rate a row several times.
    """
    rating = finite_vector(ratings, "ratings")
    position, rater = positions_and_raters("rows", rows, raters, row_count)
    same_length(rows=position, ratings=rating)
    first_answers, cell = answers_by_cell(position, rater)
    # A cell is a row with a rater. Subtract the cell's ratings from all ratings of the row.
    row, cell_counts = position[first_answers], np.bincount(cell, minlength=len(first_answers))
    cell_sums = np.bincount(cell, rating, minlength=len(first_answers))
    other_sums = np.bincount(position, rating)[row] - cell_sums
    other_counts = np.bincount(position)[row] - cell_counts
    return RaterDeletions(row, rater[first_answers], ratio(other_sums, other_counts), has_means=True)


def decreases_without_raters(
    x: Floats, y: Floats, coefficient: str, deletions: RaterDeletions, weights: Floats
) -> Iterator[Floats]:
    """Yield (V,) decreases of the coefficient of a metric's `x` if a rater is left out of one of people's means `y`.

    V is the number of `deletions`, one for each row and each of its raters. A decrease is the coefficient minus the
    coefficient after the deletion, to the first order: as the influence functions at given means predict it.
    `RaterDeletions.spread` averages the variances of the arrays.

    With more than FEW_RATERS, there is one array, computed at the means of all raters. With few raters, there is one
    for each rater, computed at the means without this rater, because the tastes of few raters may cancel out by chance.
    Then the coefficient is near its maximum at the means of all raters: every decrease is near 0, although other raters
    would give a lower coefficient. If no rater can be left out, there is one array, as with many.
    """
    has_no_other_rater = np.isnan(deletions.value)  # the row is lost as a whole
    # In each array, a deletion moves a row's mean as it would move `y`, even if the array lacks this rater already.
    mean_decrease = np.where(has_no_other_rater, 0.0, y[deletions.row] - deletions.value)
    has_few_raters = deletions.rater_count <= FEW_RATERS
    means_without_rater = _means_without_raters(y, deletions, ~has_no_other_rater) if has_few_raters else []
    for means in means_without_rater or [y]:
        value = float(group_coefficients(x, means, np.array([0, len(x)]), coefficient, weights)[0])
        points_after_deletion = x[deletions.row], means[deletions.row] - mean_decrease
        influences = correlation_influences(x, means, coefficient, value, points_after_deletion, weights)
        row_influences, influences_after_deletion = np.split(influences, [len(x)])
        influences_after_deletion[has_no_other_rater] = 0.0
        row_decreases = row_influences[deletions.row] - influences_after_deletion
        yield np.asarray(weights[deletions.row] * row_decreases, dtype=np.float64)


def _means_without_raters(y: Floats, deletions: RaterDeletions, has_mean: NDArray[np.bool_]) -> list[Floats]:
    """Return people's means `y` without each rater, leaving out raters without whom all means are equal.

    `has_mean` (V,) says after which deletions the row still has a mean.
    """
    means_without_rater = []
    for rater in range(deletions.rater_count):
        means, rater_mask = y.copy(), (deletions.rater == rater) & has_mean
        means[deletions.row[rater_mask]] = deletions.value[rater_mask]
        if means.min() < means.max():
            means_without_rater.append(means)
    return means_without_rater
