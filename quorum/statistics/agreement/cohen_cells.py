"""Cohen's kappa of many resamples at once, from the numbers of units with each pair of labels."""

from __future__ import annotations

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.numeric.packing import declare

MAX_TABLE_SIZE = 1 << 16  # cells of a table of all pairs of labels; a larger one is built only for many units


def label_distances(first: Ints, second: Ints, weights: str | None) -> Floats:
    """Return the (N,) distances d(i, j) of labels at two positions."""
    distance = np.abs(first - second).astype(np.float64)
    if weights is None:
        return np.minimum(distance, 1)
    return distance**2 if weights == "quadratic" else distance


@declare  # other processes may call it for resamples
class KappaOfCells:
    """The function that returns (B,) values of kappa of B resamples from (B, P) weights of the P pairs that occur.

    A pair is the two labels that the raters gave to a unit. frequency: (P,) number of units with each pair. n: number
    of all units. The argument `weights` names the distances: None, "linear" or "quadratic".
    """

    def __init__(self, first: Ints, second: Ints, label_count: int, weights: str | None) -> None:
        self._weights = weights
        self.label_count = label_count
        self.n = len(first)
        codes = first * label_count + second
        if self.label_count**2 <= max(MAX_TABLE_SIZE, 4 * self.n):
            table = np.bincount(codes, minlength=self.label_count**2)
            pairs = np.flatnonzero(table)
            self.frequency = table[pairs]
        else:
            pairs, self.frequency = np.unique(codes, return_counts=True)
        rows, columns = np.divmod(pairs, max(self.label_count, 1))
        self._distance = label_distances(rows, columns, weights)
        # (P, L) tables with 1 for the label of each rater in a pair.
        ones = np.ones(len(pairs))
        shape = (len(pairs), self.label_count)
        self._first = scipy.sparse.csr_array((ones, (np.arange(len(pairs)), rows)), shape=shape)
        self._second = scipy.sparse.csr_array((ones, (np.arange(len(pairs)), columns)), shape=shape)

    def __call__(self, pair_weights: Floats) -> Floats:
        first = np.asarray(pair_weights @ self._first)
        second = np.asarray(pair_weights @ self._second)
        observed = pair_weights @ self._distance * pair_weights.sum(axis=1)
        return 1 - ratio(observed, self._expected(first, second))

    def _expected(self, first: Floats, second: Floats) -> Floats:
        """Return the (B,) sums over i and j of d(i, j) n_i. n_.j, from both raters' (B, L) numbers n_i. and n_.j."""
        n = first.sum(axis=1)
        if self._weights is None:
            return n**2 - (first * second).sum(axis=1)
        if self._weights == "linear":
            # |i - j| is the number of steps between the positions, so sum over steps instead of cells.
            below_first = np.cumsum(first, axis=1)[:, :-1]
            below_second = np.cumsum(second, axis=1)[:, :-1]
            total = n[:, np.newaxis]
            return (below_first * (total - below_second) + below_second * (total - below_first)).sum(axis=1)
        # (i - j)^2 is i^2 + j^2 - 2 i j.
        position = np.arange(self.label_count, dtype=np.float64)
        return (
            n * (first @ position**2)
            + n * (second @ position**2)
            - 2 * (first @ position) * (second @ position)
        )
