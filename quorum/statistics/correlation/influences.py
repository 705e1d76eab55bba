"""The influence of each observation on a coefficient, and Pearson's r without each cluster."""

from __future__ import annotations

import numpy as np

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.correlation.coefficients import mid_ranks


def correlation_influences(
    x: Floats,
    y: Floats,
    coefficient: str,
    value: float,
    points: tuple[Floats, Floats] | None = None,
    weights: Floats | None = None,
) -> Floats:
    """Return the (N,) influences of observations on the coefficient, followed by those of (V,) further `points`.

    Further points do not count in the coefficient. With `weights` (N,), an influence is that of one unit of weight.
    """
    rows = len(x)
    mass = weights = np.ones(rows) if weights is None else weights
    n = float(mass.sum())
    if points is not None:
        x, y = np.concatenate([x, points[0]]), np.concatenate([y, points[1]])
        weights = np.concatenate([weights, np.zeros(len(points[0]))])
    if coefficient == "pearson":
        x, y = (_standardise_values(_scale_to_one(column), mass) for column in (x, y))
        return np.asarray((x * y - value * (x**2 + y**2) / 2) / n, dtype=np.float64)
    x_codes, y_codes = (np.unique(column, return_inverse=True)[1] for column in (x, y))
    if coefficient == "spearman":
        # The mean is zero, as ranks go from 1 to n.
        first, second = ((mid_ranks(codes, weights) - 0.5) / n - 0.5 for codes in (x_codes, y_codes))
        varied = [
            _rank_influences(ranks, codes, ranks, weights)
            for ranks, codes in ((first, x_codes), (second, y_codes))
        ]
        spread = [float(mass @ ranks[:rows] ** 2) / n for ranks in (first, second)]
        moved = _sums_over_moved(x_codes, second, weights) + _sums_over_moved(y_codes, first, weights)
        influences = (first * second + moved / n) / np.sqrt(spread[0] * spread[1])
        influences -= value * (varied[0] / spread[0] + varied[1] / spread[1]) / 2
        return np.asarray((influences - np.average(influences[:rows], weights=mass)) / n, dtype=np.float64)
    from quorum.statistics.kernels.concordance import balances

    sizes = [np.bincount(codes, weights) for codes in (x_codes, y_codes)]
    order = np.argsort(x_codes, kind="stable")
    balance = np.empty(len(x))
    balance[order] = balances(x_codes[order], y_codes[order], weights[order], len(sizes[1]))
    untied = [n**2 - float(np.square(size).sum()) for size in sizes]
    if coefficient == "kendall-tau-b":
        influences = 2 * balance / np.sqrt(untied[0] * untied[1])
        for codes, size, pairs in zip((x_codes, y_codes), sizes, untied, strict=True):
            influences -= value * (n - size[codes]) / pairs
    else:
        smaller = min(np.count_nonzero(size) for size in sizes)
        influences = 2 * balance * smaller / (n**2 * (smaller - 1))
    return np.asarray(influences - np.average(influences[:rows], weights=mass), dtype=np.float64)


def _standardise_values(values: Floats, weights: Floats) -> Floats:
    """Return all values, standardised by the weighted mean and standard deviation of the first len(weights) values."""
    weighted = values[: len(weights)]
    mean = np.average(weighted, weights=weights)
    return np.asarray(
        (values - mean) / np.sqrt(np.average((weighted - mean) ** 2, weights=weights)), dtype=np.float64
    )


def _rank_influences(ranks: Floats, codes: Ints, others: Floats, weights: Floats) -> Floats:
    return np.asarray(
        ranks * others + 2 * _sums_over_moved(codes, others, weights) / weights.sum(), dtype=np.float64
    )


def _sums_over_moved(codes: Ints, others: Floats, weights: Floats) -> Floats:
    """Return, for each observation, the sum of `others` over the observations whose mid-rank rises if it is repeated.

    Observations with the same code rise by a half, so they count half.
    """
    sums = np.bincount(codes, weights=others * weights)
    above = np.cumsum(sums[::-1])[::-1] - sums / 2
    return np.asarray(above[codes], dtype=np.float64)


def pearson_without(x: Floats, y: Floats, owner: Ints, weights: Floats) -> Floats:
    x, y = ((column - column.mean()) / column.std() for column in (_scale_to_one(x), _scale_to_one(y)))
    columns = (np.ones(len(x)), x, y, x * x, y * y, x * y)
    n, sum_x, sum_y, square_x, square_y, both = (
        column.sum() - np.bincount(owner, weights=column) for column in (weights * each for each in columns)
    )
    spread = (n * square_x - sum_x**2) * (n * square_y - sum_y**2)
    return ratio(n * both - sum_x * sum_y, np.sqrt(np.maximum(spread, 0)), where=spread > 1e-9)


def _scale_to_one(values: Floats) -> Floats:
    return np.asarray(values / np.abs(values).max(), dtype=np.float64)
