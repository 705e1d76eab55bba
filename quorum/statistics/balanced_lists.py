"""Draw lists of items in which every item, and every pair of items, occurs about equally often.

Louviere, Flynn, Marley 2015, *Best-Worst Scaling*, require that every item, and every pair of items, occurs equally
often. Few sizes have such a design, so random lists are improved as in Kiritchenko, Mohammad 2016 (*Capturing
reliable fine-grained sentiment associations by crowdsourcing and best-worst scaling*, NAACL): no repeated list, no
repeated item within a list, and items as even as possible. A seeded exchange search makes pairs more even.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np

from quorum.statistics.inputs import check_positive_int

TRIES_PER_PLACE = 60  # exchanges tried per place of each list

List = frozenset[int]  # the items of a list, without order


def list_count(items: int, *, size: int, appearances: int) -> int:
    """Return the number of distinct lists of ``size`` items in which each item appears ``appearances`` times."""
    return min(-(-items * appearances // size), comb(items, size))


def balanced_lists(
    items: int, *, size: int, appearances: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Draw distinct ascending lists of ``size`` numbers from 0 to ``items`` - 1.

    Every item is in ``appearances`` lists; some are in one more to fill the last list. If this takes all distinct
    lists, return all of them.
    """
    check_positive_int(size, "size")
    check_positive_int(appearances, "appearances")
    if items < size:
        return []
    count = list_count(items, size=size, appearances=appearances)
    if count == comb(items, size):
        return list(combinations(range(items), size))
    design = _Design(items, _deal_lists(items, size, count, rng))
    design.improve_balance(rng, TRIES_PER_PLACE * size * count)
    return [tuple(sorted(members)) for members in design.lists]


def _deal_lists(items: int, size: int, count: int, rng: np.random.Generator) -> list[List]:
    """Fill lists greedily with the least used item.

    Of several such items, take the one that was least often in a list with the items of this list.
    """
    came = [0] * items
    met = np.zeros((items, items), dtype=np.int64)
    lists = []
    for _ in range(count):
        order = rng.permutation(items).tolist()
        list_items: list[int] = []
        while len(list_items) < size:
            free = [item for item in order if item not in list_items]
            list_items.append(min(free, key=lambda item: (came[item], met[item, list_items].sum())))
        for item in list_items:
            came[item] += 1
        for first, second in combinations(list_items, 2):
            met[first, second] += 1
            met[second, first] += 1
        lists.append(frozenset(list_items))
    return lists


class _Design:
    """Lists, and how often each list and each pair of items occurs."""

    def __init__(self, items: int, lists: list[List]) -> None:
        self.lists = lists
        self._same = Counter(lists)
        self._met = [[0] * items for _ in range(items)]
        for members in lists:
            for first, second in combinations(members, 2):
                self._count_meeting(first, second, 1)

    def improve_balance(self, rng: np.random.Generator, tries: int) -> None:
        """Exchange items between lists while this repeats no list and does not make pairs less even."""
        lots = rng.random((tries, 4))
        for first_lot, second_lot, here, there in lots.tolist():
            first = int(first_lot * len(self.lists))
            second = int(second_lot * len(self.lists))
            mine = sorted(self.lists[first] - self.lists[second])
            theirs = sorted(self.lists[second] - self.lists[first])
            if mine:  # it is empty if the two lists are equal
                self._exchange_items(
                    first, second, mine[int(here * len(mine))], theirs[int(there * len(theirs))]
                )
            elif first != second:
                self._exchange_with_other_list(first, rng)

    def _exchange_items(self, first: int, second: int, gone: int, come: int) -> None:
        """Exchange item `gone` of the first list for item `come` of the second, unless this makes the lists worse."""
        old = self.lists[first], self.lists[second]
        new = old[0] - {gone} | {come}, old[1] - {come} | {gone}
        if new[0] == old[1]:
            return
        more_copies = sum(self._same[members] for members in new) - sum(
            self._same[members] - 1 for members in old
        )
        if more_copies > 0 or (more_copies == 0 and self._cost(old, gone, come) > 0):
            return
        for mine, theirs, lost, got in ((old[0], old[1], gone, come), (old[1], old[0], come, gone)):
            for item in mine - theirs - {lost}:
                self._count_meeting(lost, item, -1)
                self._count_meeting(got, item, 1)
        self._same.subtract(old)
        self._same.update(new)
        self.lists[first], self.lists[second] = new

    def _exchange_with_other_list(self, first: int, rng: np.random.Generator) -> None:
        """Exchange an item of a repeated list for one of another list."""
        second = int(rng.integers(len(self.lists)))
        mine = sorted(self.lists[first] - self.lists[second])
        theirs = sorted(self.lists[second] - self.lists[first])
        if mine:
            gone, come = (items[int(rng.integers(len(items)))] for items in (mine, theirs))
            self._exchange_items(first, second, gone, come)

    def _cost(self, old: tuple[List, List], gone: int, come: int) -> int:
        """Return half of the change in the sum of squared co-occurrences."""
        met = self._met
        return sum(met[come][item] - met[gone][item] + 1 for item in old[0] - old[1] - {gone}) + sum(
            met[gone][item] - met[come][item] + 1 for item in old[1] - old[0] - {come}
        )

    def _count_meeting(self, first: int, second: int, times: int) -> None:
        self._met[first][second] += times
        self._met[second][first] += times
