"""Coefficients of many groups at once.

N rows are sorted by group. `group_starts` (G + 1,), as of `starts_of`, says where the groups begin, and where the last
one ends: group g has the rows group_starts[g] to group_starts[g + 1] - 1. The coefficient of a group with fewer than
two rows, or with a constant variable, is nan.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quorum.numeric.arrays import Floats, Ints, ratio

COEFFICIENTS = ("pearson", "spearman", "kendall-tau-b", "kendall-tau-c")


def group_coefficients(
    x: Floats, y: Floats, group_starts: Ints, coefficient: str, weights: Floats | None = None
) -> Floats:
    """Return the (G,) coefficients, one of COEFFICIENTS, of two (N,) vectors. Rows may have (N,) `weights`."""
    weights = np.ones(len(x)) if weights is None else weights
    if coefficient == "pearson":
        return pearson_groups(x, y, group_starts, weights)
    if coefficient == "spearman":
        groups = groups_of_rows(group_starts)
        ranks = [mid_ranks(group_levels(values, groups)[0], weights) for values in (x, y)]
        return pearson_groups(ranks[0], ranks[1], group_starts, weights)
    codes = kendall_codes(x, y, group_starts)
    sums = kendall_groups(codes.rows, codes.columns, weights[codes.order], group_starts, codes.levels)
    return taus(sums, coefficient)


def groups_of_rows(group_starts: Ints) -> Ints:
    return np.repeat(np.arange(len(group_starts) - 1), np.diff(group_starts))


class KendallCodes(NamedTuple):
    """The arguments of `kendall_sums`, and the order in which they have the rows.

    rows: (N,) codes of x, ascending within each group. columns: (N,) codes of y, from 0 in each group. levels: (G,)
    numbers of different y. order: (N,) positions of the rows in x and y.
    """

    rows: Ints
    columns: Ints
    levels: Ints
    order: Ints


def kendall_codes(x: Floats, y: Floats, group_starts: Ints) -> KendallCodes:
    """Return the codes of two (N,) vectors, whose rows are sorted by group.

    group_starts: (G + 1,) the first row of each group, and N, as of `starts_of`.
    """
    groups = groups_of_rows(group_starts)
    rows, _, order = sorted_levels(x, groups)
    columns, bounds = group_levels(y, groups)
    if len(group_starts) > 2:  # in a single group, the codes are from 0 already
        columns -= bounds[groups]
    return KendallCodes(rows, columns[order], np.diff(bounds), order)


def pearson_groups(x: Floats, y: Floats, group_starts: Ints, weights: Floats) -> Floats:
    """Return (G,) Pearson correlations. Values are scaled within each group to avoid overflow."""
    sizes = np.diff(group_starts)
    starts = group_starts[:-1]
    centred_columns = []
    varies = sizes >= 2
    for values in (x, y):
        maximum, minimum = np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts)
        varies = varies & (maximum != minimum)
        means = np.add.reduceat(values * weights, starts) / np.add.reduceat(weights, starts)
        spread = np.where(maximum > minimum, np.maximum(maximum - means, means - minimum), 1.0)
        centred_columns.append((values - np.repeat(means, sizes)) / np.repeat(spread, sizes))
    x, y = centred_columns
    squares = np.add.reduceat(weights * x * x, starts) * np.add.reduceat(weights * y * y, starts)
    return np.clip(ratio(np.add.reduceat(weights * x * y, starts), np.sqrt(squares), where=varies), -1, 1)


def group_levels(values: Floats, groups: Ints) -> tuple[Ints, Ints]:
    """Return (N,) codes of the values within each group, and the (G + 1,) bounds of each group's codes.

    The codes of the first group come first, then the codes of the second, and so on. `groups` (N,) must be ascending.
    """
    sorted_codes, bounds, order = sorted_levels(values, groups)
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = sorted_codes
    return codes, bounds


def sorted_levels(values: Floats, groups: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the codes and bounds of `group_levels`, and the (N,) order that sorts the values within their groups.

    The codes are in this order, so they ascend.
    """
    has_groups = groups[-1] > 0
    order = np.lexsort((values, groups)) if has_groups else np.argsort(values)
    sorted_values = values[order]
    starts_level = np.ones(len(values), dtype=np.bool_)
    np.not_equal(sorted_values[1:], sorted_values[:-1], out=starts_level[1:])
    if has_groups:  # sorting does not change the groups, which are ascending
        starts_level[1:] |= groups[1:] != groups[:-1]
    codes = np.cumsum(starts_level) - 1
    if has_groups:
        group_of_code = groups[starts_level]  # ascending
        bounds = np.searchsorted(group_of_code, np.arange(groups[-1] + 2)).astype(np.int64)
    else:
        bounds = np.array([0, codes[-1] + 1])
    return codes, bounds, order


def mid_ranks(codes: Ints, weights: Floats | None = None) -> Floats:
    """Return the (N,) mid-ranks over all groups, which differ from those within a group by a constant of the group."""
    counts = np.bincount(codes, weights)
    return (np.cumsum(counts) - (counts - 1) / 2)[codes]


def kendall_groups(rows: Ints, columns: Ints, weights: Floats, group_starts: Ints, levels: Ints) -> Floats:
    """Return the (G, 6) `kendall_sums` of groups, by `KendallCodes` and by (N,) weights in the order of its rows."""
    from quorum.statistics.kernels.concordance import kendall_sums

    # Pass contiguous arrays, because the kernel is compiled again for another layout.
    return kendall_sums(
        rows, np.ascontiguousarray(columns), np.ascontiguousarray(weights), group_starts, levels
    )


def taus(sums: Floats, coefficient: str) -> Floats:
    """Return the (G,) tau-b or tau-c from (G, 6) `kendall_sums`.

    With S = concordant - discordant pairs of n observations and m the smaller number of different values:
    tau-b = S / sqrt((n0 - n1)(n0 - n2)), n0 = n (n - 1) / 2, n1 and n2 the pairs tied in each variable
    (Kendall 1945); tau-c = 2 S m / (n^2 (m - 1)) (Stuart 1953). With weights w_i, each pair of observations counts
    w_i w_j times in S, n0, n1 and n2, and n is the sum of the weights.
    """
    # S, n, the sums of squared numbers of equal values (n^2 - row_squares is 2 (n0 - n1)), and numbers of values.
    balance, n, row_squares, column_squares, row_levels, column_levels = sums.T
    fewer_levels = np.minimum(row_levels, column_levels)
    is_defined = fewer_levels > 1
    if coefficient == "kendall-tau-b":
        # Multiply the roots, because the product of two numbers of pairs may be too large to be exact.
        scale = np.sqrt(n**2 - row_squares) * np.sqrt(n**2 - column_squares)
        numerator = 2 * balance
    else:
        scale = n**2 * (fewer_levels - 1)
        numerator = 2 * balance * fewer_levels
    return np.clip(ratio(numerator, scale, where=is_defined), -1, 1)
