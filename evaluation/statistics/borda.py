"""Borda count: one ranking out of several (H13 section 4.1.3).

With N items an item ranked r = 0..N-1 gets N - r points; items are ordered by their sums of points, ties
by the median of their ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.errors import BadShape, BadValue
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, encode, floats_of, one_per_row


@dataclass(frozen=True, slots=True)
class BordaResult:
    """The joint ranking of N items.

    points: (N,) sums. median: (N,) median ranks from 0. order: (N,) positions in `items`, best first.
    rank: (N,) from 0; items equal in points and median share the smallest rank of theirs and stand in
    `order` as in `items`. tied: (N,) whether an item shares its rank.
    """

    items: NDArray[Any]
    points: NDArray[np.int64]
    median: Floats
    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    tied: NDArray[np.bool_]
    rankings: int
    signature: str = ""

    def ranking(self) -> list[Any]:
        """The items, best first."""
        names = self.items.tolist()
        return [names[place] for place in self.order.tolist()]


@signed("borda", input="lists")
def borda_count(rankings: Iterable[Sequence[Any]]) -> BordaResult:
    """Join rankings, each a sequence of all N items (any names) from best to worst.

    Raises BadShape where a ranking lacks items or has too many, BadValue where it has one twice.
    """
    lists = [
        one_per_row(ranking, f"ranking {place}")
        for place, ranking in enumerate(one_per_row(rankings, "rankings"))
    ]
    if not lists:
        raise BadShape("there are no rankings, expected one or more")
    names, codes = encode([item for ranking in lists for item in ranking], "rankings")
    lengths = np.array([len(ranking) for ranking in lists])
    row = np.repeat(np.arange(len(lists)), lengths)
    keys = np.sort(row * len(names) + codes)
    twice = keys[:-1][keys[1:] == keys[:-1]]
    if twice.size:
        place, item = divmod(int(twice[0]), len(names))
        raise BadValue(f"ranking {place} has {names.tolist()[item]!r} twice, expected every item once")
    short = np.flatnonzero(lengths != len(names))
    if short.size:
        raise BadShape(
            f"ranking {short[0]} has {lengths[short[0]]} items of {len(names)}, expected all of them"
        )
    if not len(names):
        raise BadShape("the rankings are empty, expected one item or more")
    ranks = np.empty((len(lists), len(names)), dtype=np.int64)
    ranks[row, codes] = np.tile(np.arange(len(names)), len(lists))
    return _join(names, ranks)


@signed("borda", input="ranks")
def borda_of_ranks(ranks: ArrayLike) -> BordaResult:
    """Join (rankings, items) ranks, each row a permutation of 0..N-1; items are named by position.

    Raises BadShape, BadValue.
    """
    table = floats_of(ranks, "ranks")
    if table.ndim != 2 or not table.size:
        raise BadShape(f"ranks is of shape {table.shape}, expected rankings by items")
    expected = np.arange(table.shape[1])
    wrong = np.flatnonzero((np.sort(table, axis=1) != expected).any(axis=1))
    if wrong.size:
        raise BadValue(f"row {wrong[0]} of ranks is no permutation, expected every rank from 0 once")
    return _join(expected, table.astype(np.int64))


def _join(names: NDArray[Any], ranks: NDArray[np.int64]) -> BordaResult:
    rankings, items = ranks.shape
    points = (items - ranks).sum(axis=0)
    median = np.median(ranks, axis=0)
    order = np.lexsort((np.arange(items), median, -points))
    new = np.ones(items, dtype=bool)
    new[1:] = (np.diff(points[order]) != 0) | (np.diff(median[order]) != 0)
    first = np.maximum.accumulate(np.where(new, np.arange(items), 0))
    rank = np.empty(items, dtype=np.int64)
    rank[order] = first
    tied = np.bincount(rank, minlength=items)[rank] > 1
    return BordaResult(names, points, median, order, rank, tied, rankings)
