"""The influence of each observation on a coefficient, and Pearson's r without each cluster."""

from __future__ import annotations

import numpy as np

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.correlation.coefficients import mid_ranks

# A smaller product of sums of squares, of standardised values, is a rounding error of zero.
_MIN_SPREAD = 1e-9


def correlation_influences(
    x: Floats,
    y: Floats,
    coefficient: str,
    value: float,
    further_points: tuple[Floats, Floats] | None = None,
    weights: Floats | None = None,
) -> Floats:
    """Return the (N,) influences of observations on the coefficient, followed by those of (V,) `further_points`.

    Further points do not count in the coefficient. With `weights` (N,), an influence is that of one unit of weight.
    """
    rows = len(x)
    row_weights = weights = np.ones(rows) if weights is None else weights
    n = float(row_weights.sum())
    if further_points is not None:
        x, y = np.concatenate([x, further_points[0]]), np.concatenate([y, further_points[1]])
        weights = np.concatenate([weights, np.zeros(len(further_points[0]))])
    if coefficient == "pearson":
        x, y = (_standardise_values(_scale_to_one(column), row_weights) for column in (x, y))
        return np.asarray((x * y - value * (x**2 + y**2) / 2) / n, dtype=np.float64)
    x_codes, y_codes = (np.unique(column, return_inverse=True)[1] for column in (x, y))
    if coefficient == "spearman":
        # The mean is zero, as ranks go from 1 to n.
        first, second = ((mid_ranks(codes, weights) - 0.5) / n - 0.5 for codes in (x_codes, y_codes))
        ranks_and_codes = (first, x_codes), (second, y_codes)
        own_influences = [_rank_influences(ranks, codes, weights) for ranks, codes in ranks_and_codes]
        spread = [float(row_weights @ ranks[:rows] ** 2) / n for ranks in (first, second)]
        rank_shifts = _sums_over_rising(x_codes, second, weights) + _sums_over_rising(y_codes, first, weights)
        influences = (first * second + rank_shifts / n) / np.sqrt(spread[0] * spread[1])
        influences -= value * (own_influences[0] / spread[0] + own_influences[1] / spread[1]) / 2
        influences -= np.average(influences[:rows], weights=row_weights)
        return np.asarray(influences / n, dtype=np.float64)
    from quorum.statistics.kernels.concordance import balances

    sizes = [np.bincount(codes, weights) for codes in (x_codes, y_codes)]
    order = np.argsort(x_codes, kind="stable")
    balance = np.empty(len(x))
    balance[order] = balances(x_codes[order], y_codes[order], weights[order], len(sizes[1]))
    untied_pairs = [n**2 - float(np.square(size).sum()) for size in sizes]
    if coefficient == "kendall-tau-b":
        influences = 2 * balance / np.sqrt(untied_pairs[0] * untied_pairs[1])
        for codes, size, pairs in zip((x_codes, y_codes), sizes, untied_pairs, strict=True):
            influences -= value * (n - size[codes]) / pairs
    else:
        fewer_levels = min(np.count_nonzero(size) for size in sizes)
        influences = 2 * balance * fewer_levels / (n**2 * (fewer_levels - 1))
    return np.asarray(influences - np.average(influences[:rows], weights=row_weights), dtype=np.float64)


def _standardise_values(values: Floats, weights: Floats) -> Floats:
    """Return all values, standardised by the weighted mean and standard deviation of the first len(weights) values."""
    weighted_values = values[: len(weights)]
    mean = np.average(weighted_values, weights=weights)
    return np.asarray(
        (values - mean) / np.sqrt(np.average((weighted_values - mean) ** 2, weights=weights)),
        dtype=np.float64,
    )


def _rank_influences(ranks: Floats, codes: Ints, weights: Floats) -> Floats:
    """Return the influences on the variance of ranks whose mean is zero, times n."""
    rises = 2 * _sums_over_rising(codes, ranks, weights) / weights.sum()
    return np.asarray(ranks * ranks + rises, dtype=np.float64)


def _sums_over_rising(codes: Ints, values: Floats, weights: Floats) -> Floats:
    """Return, for each observation, the sum of `values` over the observations whose mid-rank rises if it is repeated.

    Observations with the same code rise by a half, so they count half.
    """
    sums = np.bincount(codes, weights=values * weights)
    above = np.cumsum(sums[::-1])[::-1] - sums / 2
    return np.asarray(above[codes], dtype=np.float64)


def pearson_without_each(x: Floats, y: Floats, owner: Ints, weights: Floats) -> Floats:
    """Return the (G,) values of r without each cluster, where `owner` (N,) has the clusters of the observations."""
    x, y = ((column - column.mean()) / column.std() for column in (_scale_to_one(x), _scale_to_one(y)))
    moments = (weights * column for column in (np.ones(len(x)), x, y, x * x, y * y, x * y))
    n, sum_x, sum_y, square_x, square_y, products = (
        moment.sum() - np.bincount(owner, weights=moment) for moment in moments
    )
    spread = (n * square_x - sum_x**2) * (n * square_y - sum_y**2)
    is_varied = spread > _MIN_SPREAD
    return ratio(n * products - sum_x * sum_y, np.sqrt(np.maximum(spread, 0)), where=is_varied)


def _scale_to_one(values: Floats) -> Floats:
    return np.asarray(values / np.abs(values).max(), dtype=np.float64)
