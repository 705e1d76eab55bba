"""Correlation coefficients of many groups of observations at once.

Observations of a group lie together: group g holds starts[g] to starts[g + 1]. A coefficient is nan where
a group has fewer than two observations, or one value throughout in either variable.
"""

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.tables import Codes, Floats

COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b", "kendall-tau-c")


def group_coefficients(x: Floats, y: Floats, starts: Codes, coefficient: str) -> Floats:
    """(G,) coefficients, one of COEFFICIENTS, between (N,) vectors whose groups lie together."""
    if coefficient == "pearson":
        return pearson_groups(x, y, starts)
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rows, _ = group_levels(x, groups)
    columns, bounds = group_levels(y, groups)
    if coefficient == "spearman":
        return pearson_groups(mid_ranks(rows), mid_ranks(columns), starts)
    local = columns - bounds[groups]
    levels = np.diff(bounds)
    # Sorting keys is cheaper than sorting places; equal observations need no order among themselves.
    width = int(levels.max(initial=1))
    rows, local = np.divmod(np.sort(rows * width + local), width)
    return taus(kendall_groups(rows, local, np.ones(len(rows)), starts, levels), coefficient)


def pearson_groups(x: Floats, y: Floats, starts: Codes) -> Floats:
    """(G,) Pearson correlations: centred and scaled within each group, so that no size overflows."""
    sizes = np.diff(starts)
    first = starts[:-1]
    centred = []
    constant = sizes < 2
    for values in (x, y):
        largest, smallest = np.maximum.reduceat(values, first), np.minimum.reduceat(values, first)
        constant = constant | (largest == smallest)
        means = np.add.reduceat(values, first) / sizes
        spread = np.where(largest > smallest, np.maximum(largest - means, means - smallest), 1.0)
        centred.append((values - np.repeat(means, sizes)) / np.repeat(spread, sizes))
    x, y = centred
    squares = np.add.reduceat(x * x, first) * np.add.reduceat(y * y, first)
    result = np.full(len(sizes), np.nan)
    np.divide(
        np.add.reduceat(x * y, first),
        np.sqrt(squares),
        out=result,
        where=~constant,
    )
    return np.clip(result, -1, 1)


def group_levels(values: Floats, groups: Codes) -> tuple[Codes, Codes]:
    """(N,) codes of the distinct values of each group, numbered on through the groups, and (G + 1,) bounds.

    Group g has the codes bounds[g] to bounds[g + 1], in the order of its values. `groups` ascends.
    """
    order = np.lexsort((values, groups)) if groups[-1] else np.argsort(values)
    ordered, owners = values[order], groups[order]
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]) | (owners[1:] != owners[:-1])
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.cumsum(new) - 1
    bounds = np.searchsorted(owners[new], np.arange(groups[-1] + 2))
    return codes, bounds.astype(np.int64)


def mid_ranks(codes: Codes) -> Floats:
    """(N,) mid-ranks from codes of ascending values; all groups together, which a centred rank ignores."""
    counts = np.bincount(codes)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]


def kendall_groups(
    rows: Codes, columns: Codes, weights: Floats, starts: Codes, levels: Codes
) -> NDArray[np.float64]:
    """`kendall_sums` of observations in the order of `rows`, group by group."""
    from evaluation.statistics.correlation_kernels import kendall_sums  # numba loads when it is needed

    return kendall_sums(rows, columns, weights, starts, levels)


def taus(sums: Floats, coefficient: str) -> Floats:
    """(G,) tau-b or tau-c of (G, 6) sums of the kernel; nan where undefined.

    With S = concordant - discordant pairs of n observations and m the smaller number of different values:
    tau-b = S / sqrt((n0 - n1)(n0 - n2)), n0 = n (n - 1) / 2, n1 and n2 the pairs tied in each variable
    (Kendall 1945); tau-c = 2 S m / (n^2 (m - 1)) (Stuart 1953).
    """
    balance, n, row_squares, column_squares, rows, columns = sums.T
    smaller = np.minimum(rows, columns)
    defined = smaller > 1
    if coefficient == "kendall-tau-b":
        # Two roots, since the product of two counts of pairs can outgrow a double's whole numbers.
        scale = np.sqrt(n**2 - row_squares) * np.sqrt(n**2 - column_squares)
        numerator = 2 * balance
    else:
        scale = n**2 * (smaller - 1)
        numerator = 2 * balance * smaller
    result = np.full(len(sums), np.nan)
    np.divide(numerator, scale, out=result, where=defined)
    return np.clip(result, -1, 1)
