"""The influence of each observation on a coefficient, and Pearson's r without each cluster.

Variances of coefficients are computed from influences; the variance of r is by the jackknife over clusters.
"""

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

    value: the coefficient of the N observations. further_points: x and y of points that are no observations, for which
    the influence of an additional observation is computed. weights: (N,) weights of the observations; an influence is
    then that of one unit of weight.
    """
    row_weights = weights = np.ones(len(x)) if weights is None else weights
    if further_points is not None:
        x, y = np.concatenate([x, further_points[0]]), np.concatenate([y, further_points[1]])
        weights = np.concatenate([weights, np.zeros(len(further_points[0]))])
    if coefficient == "pearson":
        return _pearson_influences(x, y, value, row_weights)
    x_codes, y_codes = (np.unique(column, return_inverse=True)[1] for column in (x, y))
    if coefficient == "spearman":
        return _spearman_influences(x_codes, y_codes, value, weights, row_weights)
    return _kendall_influences(x_codes, y_codes, coefficient, value, weights, row_weights)


# In the following functions, x and y (or their codes) have the observations, then the further points, whose `weights`
# are zero. `row_weights` are the weights of the observations alone.


def _pearson_influences(x: Floats, y: Floats, value: float, row_weights: Floats) -> Floats:
    """Return the influences on Pearson's r: of standardised x and y, x y - r (x^2 + y^2) / 2, divided by n."""
    n = float(row_weights.sum())
    x, y = (_standardise_values(_scale_to_one(column), row_weights) for column in (x, y))
    return np.asarray((x * y - value * (x**2 + y**2) / 2) / n, dtype=np.float64)


def _spearman_influences(
    x_codes: Ints, y_codes: Ints, value: float, weights: Floats, row_weights: Floats
) -> Floats:
    """Return the influences on Spearman's rho, from codes of the values.

    An observation counts as it does for Pearson's r of the ranks. It also shifts the ranks of other observations.
    """
    rows, n = len(row_weights), float(row_weights.sum())
    # The mean is zero, as ranks go from 1 to n.
    x_ranks, y_ranks = ((mid_ranks(codes, weights) - 0.5) / n - 0.5 for codes in (x_codes, y_codes))
    x_influences = _rank_influences(x_ranks, x_codes, weights)
    y_influences = _rank_influences(y_ranks, y_codes, weights)
    x_spread, y_spread = (float(row_weights @ ranks[:rows] ** 2) / n for ranks in (x_ranks, y_ranks))
    rank_shifts = _sums_over_rising(x_codes, y_ranks, weights)
    rank_shifts = rank_shifts + _sums_over_rising(y_codes, x_ranks, weights)
    influences = (x_ranks * y_ranks + rank_shifts / n) / np.sqrt(x_spread * y_spread)
    influences -= value * (x_influences / x_spread + y_influences / y_spread) / 2
    influences -= np.average(influences[:rows], weights=row_weights)
    return np.asarray(influences / n, dtype=np.float64)


def _kendall_influences(
    x_codes: Ints, y_codes: Ints, coefficient: str, value: float, weights: Floats, row_weights: Floats
) -> Floats:
    """Return the influences on Kendall's tau-b or tau-c, as `taus` defines them, from codes of the values."""
    from quorum.statistics.kernels.concordance import balances

    rows, n = len(row_weights), float(row_weights.sum())
    sizes = [np.bincount(codes, weights) for codes in (x_codes, y_codes)]  # of each code
    order = np.argsort(x_codes, kind="stable")
    balance = np.empty(len(x_codes))  # the weight of concordant others minus that of discordant ones
    balance[order] = balances(x_codes[order], y_codes[order], weights[order], len(sizes[1]))
    untied_pairs = [n**2 - float(np.square(size).sum()) for size in sizes]
    if coefficient == "kendall-tau-b":
        influences = 2 * balance / np.sqrt(untied_pairs[0] * untied_pairs[1])
        # An observation also adds 2 (n - size) untied pairs, of which the coefficient has the root in its denominator.
        for codes, size, pairs in zip((x_codes, y_codes), sizes, untied_pairs, strict=True):
            influences -= value * (n - size[codes]) / pairs
    else:
        min_levels = min(np.count_nonzero(size) for size in sizes)
        influences = 2 * balance * min_levels / (n**2 * (min_levels - 1))
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
    sums_above = np.cumsum(sums[::-1])[::-1] - sums / 2
    return np.asarray(sums_above[codes], dtype=np.float64)


def pearson_without_clusters(x: Floats, y: Floats, clusters: Ints, weights: Floats) -> Floats:
    """Return the (G,) values of r without each of G clusters. `clusters` (N,) has the cluster of each observation."""
    x, y = ((column - column.mean()) / column.std() for column in (_scale_to_one(x), _scale_to_one(y)))
    moments = (weights * column for column in (np.ones(len(x)), x, y, x * x, y * y, x * y))
    n, sum_x, sum_y, square_x, square_y, products = (
        moment.sum() - np.bincount(clusters, weights=moment) for moment in moments
    )
    spread = (n * square_x - sum_x**2) * (n * square_y - sum_y**2)
    is_varied = spread > _MIN_SPREAD
    return ratio(n * products - sum_x * sum_y, np.sqrt(np.maximum(spread, 0)), where=is_varied)


def _scale_to_one(values: Floats) -> Floats:
    """Return the values divided by the largest magnitude, so that no square overflows."""
    return np.asarray(values / np.abs(values).max(), dtype=np.float64)
