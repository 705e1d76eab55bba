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

TRIES_PER_ITEM = 60  # exchanges tried for each item of each list

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
    design.improve_balance(rng, TRIES_PER_ITEM * size * count)
    return [tuple(sorted(members)) for members in design.lists]


def _deal_lists(items: int, size: int, count: int, rng: np.random.Generator) -> list[List]:
    """Fill lists greedily with the least used item.

    Of several such items, take the one that was least often in a list with the items of this list.
    """
    uses = [0] * items
    meetings = np.zeros((items, items), dtype=np.int64)
    lists = []
    for _ in range(count):
        order = rng.permutation(items).tolist()
        list_items: list[int] = []
        while len(list_items) < size:
            candidates = [item for item in order if item not in list_items]
            order_key = {item: (uses[item], meetings[item, list_items].sum()) for item in candidates}
            list_items.append(min(candidates, key=order_key.__getitem__))
        for item in list_items:
            uses[item] += 1
        for first, second in combinations(list_items, 2):
            meetings[first, second] += 1
            meetings[second, first] += 1
        lists.append(frozenset(list_items))
    return lists


class _Design:
    """Lists, and how often each list and each pair of items occurs."""

    def __init__(self, items: int, lists: list[List]) -> None:
        self.lists = lists
        self._copies = Counter(lists)
        self._meetings = [[0] * items for _ in range(items)]
        for members in lists:
            for first, second in combinations(members, 2):
                self._count_meeting(first, second, 1)

    def improve_balance(self, rng: np.random.Generator, tries: int) -> None:
        """Try exchanges of items between lists. Each must repeat no list and must not make pairs less even."""
        numbers = rng.random((tries, 4))
        for first_number, second_number, own_place, other_place in numbers.tolist():
            first = int(first_number * len(self.lists))
            second = int(second_number * len(self.lists))
            own_items = sorted(self.lists[first] - self.lists[second])
            other_items = sorted(self.lists[second] - self.lists[first])
            if own_items:  # they are empty if the two lists are equal
                own_item = own_items[int(own_place * len(own_items))]
                other_item = other_items[int(other_place * len(other_items))]
                self._exchange_items(first, second, own_item, other_item)
            elif first != second:
                self._exchange_with_other_list(first, rng)

    def _exchange_items(self, first: int, second: int, own_item: int, other_item: int) -> None:
        """Exchange an item of the first list for an item of the second list, unless this makes the lists worse."""
        old = self.lists[first], self.lists[second]
        new = old[0] - {own_item} | {other_item}, old[1] - {other_item} | {own_item}
        if new[0] == old[1]:
            return
        more_copies = sum(self._copies[members] for members in new)
        more_copies -= sum(self._copies[members] - 1 for members in old)
        if more_copies > 0 or (more_copies == 0 and self._cost(old, own_item, other_item) > 0):
            return
        exchanges = (*old, own_item, other_item), (*old[::-1], other_item, own_item)
        for changed, other, removed, added in exchanges:
            for item in changed - other - {removed}:
                self._count_meeting(removed, item, -1)
                self._count_meeting(added, item, 1)
        self._copies.subtract(old)
        self._copies.update(new)
        self.lists[first], self.lists[second] = new

    def _exchange_with_other_list(self, first: int, rng: np.random.Generator) -> None:
        """Exchange an item of a repeated list for one of another list."""
        second = int(rng.integers(len(self.lists)))
        own_items = sorted(self.lists[first] - self.lists[second])
        other_items = sorted(self.lists[second] - self.lists[first])
        if own_items:
            drawn_items = (items[int(rng.integers(len(items)))] for items in (own_items, other_items))
            self._exchange_items(first, second, *drawn_items)

    def _cost(self, old: tuple[List, List], own_item: int, other_item: int) -> int:
        """Return half of the change in the sum over pairs of items of squared numbers of common lists."""
        own, other = self._meetings[own_item], self._meetings[other_item]
        change = sum(other[item] - own[item] + 1 for item in old[0] - old[1] - {own_item})
        return change + sum(own[item] - other[item] + 1 for item in old[1] - old[0] - {other_item})

    def _count_meeting(self, first: int, second: int, change: int) -> None:
        self._meetings[first][second] += change
        self._meetings[second][first] += change
