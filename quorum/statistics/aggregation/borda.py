"""Borda's count (Hodosh et al. 2013, section 4.1.3).

Of N items, the item at rank r = 0..N-1 gets N - r points; items with equal sums are ordered by their median rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import BadShape, BadValue, encode, first_repeated, list_of_values


@dataclass(frozen=True, slots=True)
class BordaResult(Result):
    """The joint ranking of (N,) items.

    points: (N,) sums of points. median: (N,) median rank. order: positions in `items`, best first. rank: (N,) joint
    rank. Ranks begin at 0. Items with equal points and medians are `tied` and share the smallest of their ranks.
    rankings: number of rankings.
    """

    items: NDArray[Any]
    points: Ints
    median: Floats
    order: Ints
    rank: Ints
    tied: Flags
    rankings: int

    def ranking(self) -> list[Any]:
        names = self.items.tolist()
        return [names[position] for position in self.order.tolist()]


@signed("borda", input="lists")
def borda_count(rankings: Iterable[Sequence[Any]]) -> BordaResult:
    """Return the joint ranking from several rankings, each a sequence of all N items from best to worst."""
    lists = [
        list_of_values(ranking, f"ranking {number}")
        for number, ranking in enumerate(list_of_values(rankings, "rankings"))
    ]
    if not lists:
        raise BadShape("there are no rankings, expected one or more")
    names, codes = encode([item for ranking in lists for item in ranking], "rankings")
    lengths = np.array([len(ranking) for ranking in lists])
    row = np.repeat(np.arange(len(lists)), lengths)
    repetition = first_repeated(row, codes)
    if repetition is not None:
        number, item = repetition
        raise BadValue(f"ranking {number} has {names.tolist()[item]!r} twice, expected every item once")
    short_lists = np.flatnonzero(lengths != len(names))
    if short_lists.size:
        raise BadShape(
            f"ranking {short_lists[0]} has {lengths[short_lists[0]]} items of {len(names)}, expected all of them"
        )
    if not len(names):
        raise BadShape("the rankings are empty, expected one item or more")
    ranks = np.empty((len(lists), len(names)), dtype=np.int64)
    ranks[row, codes] = np.tile(np.arange(len(names)), len(lists))
    return _join_rankings(names, ranks)


def _join_rankings(names: NDArray[Any], ranks: Ints) -> BordaResult:
    """Return the joint ranking of N items from the (rankings, N) ranks."""
    ranking_count, item_count = ranks.shape
    points = (item_count - ranks).sum(axis=0)
    median = np.median(ranks, axis=0)
    order = np.lexsort((np.arange(item_count), median, -points))
    # Items equal to the item before them, by points and median, share the position of the first of them.
    starts_rank = np.ones(item_count, dtype=bool)
    starts_rank[1:] = (np.diff(points[order]) != 0) | (np.diff(median[order]) != 0)
    first_positions = np.maximum.accumulate(np.where(starts_rank, np.arange(item_count), 0))
    rank = np.empty(item_count, dtype=np.int64)
    rank[order] = first_positions
    is_tied = np.bincount(rank, minlength=item_count)[rank] > 1
    return BordaResult(names, points, median, order, rank, is_tied, ranking_count)
