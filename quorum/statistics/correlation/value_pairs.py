"""The distinct pairs of values of two columns, for coefficients of resamples."""

from __future__ import annotations

import math

import numpy as np

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.numeric.packing import declare
from quorum.statistics.correlation.coefficients import kendall_groups, taus
from quorum.statistics.inputs import encode

# A spread below this share of the sum of squares is a rounding error.
_ROUNDING = 1e-12


@declare  # other processes may call it for resamples
class ValuePairs:
    """The function that returns (B,) coefficients from (B, P) weights of the P distinct pairs of values of two vectors.

    B resamples of N observations then need only weights of pairs, and no new sorting. No vector may be constant.

    rows, columns: (P,) codes of both values of each pair, ascending by `rows`; `columns` are those of the vector with
    fewer different values. frequency: (P,) number of observations with each pair. pattern: (N,) pair of each
    observation.
    """

    def __init__(self, x: Floats, y: Floats, coefficient: str) -> None:
        x_levels, x_codes = encode(x, "first")
        y_levels, y_codes = encode(y, "second")
        if len(x_levels) < len(y_levels):  # coefficients are symmetric, and few columns are faster
            x, x_levels, x_codes, y, y_levels, y_codes = y, y_levels, y_codes, x, x_levels, x_codes
        keys, pattern, frequency = np.unique(
            x_codes * len(y_levels) + y_codes, return_inverse=True, return_counts=True
        )
        self.rows, self.columns = np.divmod(keys, len(y_levels))
        self.pattern: Ints = pattern.astype(np.int64, copy=False)
        self.frequency: Ints = frequency.astype(np.int64, copy=False)
        self._coefficient = coefficient
        self._group_starts = np.array([0, len(keys)])  # all pairs are one group of `kendall_groups`
        self._column_levels = np.array([len(y_levels)])
        self._x = _centre_and_scale(x_levels, x)[self.rows]
        self._y = _centre_and_scale(y_levels, y)[self.columns]

    def __call__(self, weights: Floats) -> Floats:
        if self._coefficient == "pearson":
            return _weighted_pearson(weights, self._x, self._y)
        if self._coefficient == "spearman":
            return np.array([self._spearman(row) for row in weights], dtype=np.float64)
        sums = [self._kendall_sums(row) for row in weights]
        return taus(np.concatenate(sums), self._coefficient)

    def _kendall_sums(self, weights: Floats) -> Floats:
        return kendall_groups(self.rows, self.columns, weights, self._group_starts, self._column_levels)

    def _spearman(self, weights: Floats) -> float:
        centred_ranks = []
        for codes in (self.rows, self.columns):
            totals = np.bincount(codes, weights=weights)
            centred_ranks.append((np.cumsum(totals) - totals / 2 - weights.sum() / 2)[codes])
        x, y = centred_ranks
        spread = float(weights @ x**2) * float(weights @ y**2)
        return float(weights @ (x * y)) / math.sqrt(spread) if spread > 0 else math.nan


def _centre_and_scale(levels: Floats, values: Floats) -> Floats:
    """Return the levels minus the mean of the values, scaled so that the largest deviation is 1."""
    deviations = levels - values.mean()
    return np.asarray(deviations / np.abs(deviations).max(), dtype=np.float64)


def _weighted_pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Return (B,) values of r from (B, P) weights of pairs of values."""
    n = weights.sum(axis=1)
    sum_x, sum_y = weights @ x, weights @ y
    squares_x, squares_y = weights @ x**2, weights @ y**2
    spread_x = n * squares_x - sum_x**2
    spread_y = n * squares_y - sum_y**2
    covariance = n * (weights @ (x * y)) - sum_x * sum_y
    # Equal values do not vary, except by rounding errors.
    is_varied = (spread_x > _ROUNDING * n * squares_x) & (spread_y > _ROUNDING * n * squares_y)
    scale = np.sqrt(np.where(is_varied, spread_x * spread_y, 1.0))
    return np.clip(ratio(covariance, scale, where=is_varied), -1, 1)
