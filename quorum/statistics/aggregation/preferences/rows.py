"""Read comparisons with degrees of preference, and turn them into the design and the counts of a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.bradley_terry.existence import (
    TOO_FEW_ITEMS,
    UNBOUNDED_REASON,
    connected_groups,
    group_names,
)
from quorum.statistics.aggregation.bradley_terry.likelihood import OutcomeCounts
from quorum.statistics.inputs import BadShape, BadValue, encode_both, finite_vector, floats_of, same_length

MAX_LEVELS = 10  # largest preference that is accepted, although pages of work ask for -2 to 2 at most
NO_WINNER = "no comparison has a winner"


@dataclass(frozen=True, slots=True)
class PreferenceRows:
    """N comparisons of K items with a degree of preference, (N, P) covariates and (N,) weights.

    items: (K,) ascending. first, second: (N,) positions in `items`. levels: (C,) ascending levels, as in
    `PreferenceModel`. level: (N,) position of the preference in `levels`.
    """

    items: NDArray[Any]
    first: Ints
    second: Ints
    levels: Ints
    level: Ints
    covariates: Floats
    weights: Floats

    @classmethod
    def from_columns(
        cls,
        first: Iterable[Any],
        second: Iterable[Any],
        preferences: ArrayLike,
        covariates: ArrayLike | None,
        weights: ArrayLike | None,
    ) -> PreferenceRows:
        items, first_item, second_item = encode_both(first, second, "first", "second")
        preference = finite_vector(preferences, "preferences")
        same_length(first=first_item, preferences=preference)
        if (first_item == second_item).any():
            row = int(np.flatnonzero(first_item == second_item)[0])
            raise BadValue(
                f"row {row} sets {items.tolist()[first_item[row]]!r} against itself, expected two items"
            )
        whole_preference = preference.astype(np.int64)
        if (whole_preference != preference).any() or (np.abs(whole_preference) > MAX_LEVELS).any():
            row = int(np.flatnonzero((whole_preference != preference) | (np.abs(preference) > MAX_LEVELS))[0])
            raise BadValue(
                f"preferences[{row}] is {preference[row]:g}, expected a whole number, -{MAX_LEVELS} to {MAX_LEVELS}"
            )
        if len(np.unique(np.abs(whole_preference[whole_preference != 0]))) == 1:
            # If all preferences have the same magnitude, such as 2, there are no degrees. Use 1 and -1, with which
            # strengths are log-odds.
            whole_preference = np.sign(whole_preference)
        magnitudes = np.unique(np.abs(whole_preference))
        levels = np.unique(np.r_[-magnitudes, magnitudes])
        return cls(
            items=items,
            first=first_item,
            second=second_item,
            levels=levels,
            level=np.searchsorted(levels, whole_preference),
            covariates=_covariate_table(covariates, len(first_item)),
            weights=_weight_column(weights, first_item),
        )

    def no_maximum_reason(self) -> str:
        """Return the reason why the likelihood has no maximum, or "" if none is found."""
        items = len(self.items)
        if items < 2:
            return TOO_FEW_ITEMS
        if not self.levels.any():
            return NO_WINNER
        # Count comparisons by sign. A sign is also a position in the table: 0 for a tie, 1 if the first item won, and
        # -1, which is the last position, if the second item won.
        counts_by_sign = np.zeros((3, items, items))
        np.add.at(counts_by_sign, (np.sign(self.levels[self.level]), self.first, self.second), 1.0)
        outcomes = OutcomeCounts(first=counts_by_sign[1], second=counts_by_sign[-1], tied=counts_by_sign[0])
        group_count, groups = connected_groups(outcomes)
        if group_count == 1:
            return ""
        return UNBOUNDED_REASON.format(group_count, group_names(groups, self.items))

    def design_and_counts(self) -> tuple[scipy.sparse.csr_array, Floats]:
        """Return the (R, K + P) design matrix, and the (R, C) weighted counts of comparisons by level.

        A row of the design has 1 for the first item, -1 for the second, and then the covariates. Its product with
        (strengths, coefficients) is the difference d that sets the chances of levels (`models`). Without covariates,
        comparisons of the same two items in the same order share a row. With covariates, each has a row (R = N).
        """
        item_count, covariate_count = len(self.items), self.covariates.shape[1]
        if covariate_count:
            first, second, covariates = self.first, self.second, self.covariates
            design_row = np.arange(len(first))  # of each comparison
        else:
            pairs, design_row = np.unique(self.first * item_count + self.second, return_inverse=True)
            first, second = pairs // item_count, pairs % item_count
            covariates = np.zeros((len(pairs), 0))
        row_count = len(first)
        rows = np.arange(row_count)
        entries = np.concatenate([np.ones(row_count), -np.ones(row_count), covariates.ravel()])
        entry_rows = np.concatenate([rows, rows, np.repeat(rows, covariate_count)])
        covariate_columns = np.tile(item_count + np.arange(covariate_count), row_count)
        entry_columns = np.concatenate([first, second, covariate_columns])
        shape = (row_count, item_count + covariate_count)
        design = scipy.sparse.csr_array((entries, (entry_rows, entry_columns)), shape=shape)
        # Add up the weights in each cell of the table of design rows and levels.
        cells = design_row * len(self.levels) + self.level
        counts = np.bincount(cells, weights=self.weights, minlength=row_count * len(self.levels))
        return design, counts.reshape(row_count, -1).astype(np.float64, copy=False)


def _covariate_table(covariates: ArrayLike | None, row_count: int) -> Floats:
    """Return (N, P) covariates of `row_count` comparisons; P is 0 if there are none."""
    if covariates is None:
        return np.zeros((row_count, 0))
    table = floats_of(covariates, "covariates", "something that is no number, expected numbers")
    table = table[:, np.newaxis] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != row_count:
        raise BadShape(f"covariates is of shape {table.shape}, expected a row for each comparison")
    if not np.isfinite(table).all():
        raise BadValue("covariates holds a number that is not finite")
    return table


def _weight_column(weights: ArrayLike | None, first_item: Ints) -> Floats:
    if weights is None:
        return np.ones(len(first_item))
    weight = finite_vector(weights, "weights")
    same_length(first=first_item, weights=weight)
    if (weight <= 0).any():
        raise BadValue("weights holds a number that is not above zero")
    return weight
