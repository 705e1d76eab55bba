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

ItemSet = frozenset[int]  # the items of a list, without order


def count_lists(items: int, *, size: int, appearances: int) -> int:
    """Return the number of distinct lists of ``size`` items that are needed for ``appearances`` of each item."""
    return min(-(-items * appearances // size), comb(items, size))  # -(-a // b) is a / b rounded up


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
    count = count_lists(items, size=size, appearances=appearances)
    if count == comb(items, size):
        return list(combinations(range(items), size))
    design = _ListDesign(items, _deal_lists(items, size, count, rng))
    design.improve_balance(rng, TRIES_PER_ITEM * size * count)
    return [tuple(sorted(members)) for members in design.lists]


def _deal_lists(items: int, size: int, count: int, rng: np.random.Generator) -> list[ItemSet]:
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
            sort_key = {item: (uses[item], meetings[item, list_items].sum()) for item in candidates}
            list_items.append(min(candidates, key=sort_key.__getitem__))
        for item in list_items:
            uses[item] += 1
        for first, second in combinations(list_items, 2):
            meetings[first, second] += 1
            meetings[second, first] += 1
        lists.append(frozenset(list_items))
    return lists


class _ListDesign:
    """Lists of items, which are improved by exchanges.

    It counts how often each list occurs, and how often each pair of items meets in a list.
    """

    def __init__(self, items: int, lists: list[ItemSet]) -> None:
        self.lists = lists
        self._copies = Counter(lists)
        self._meetings = [[0] * items for _ in range(items)]
        for members in lists:
            for first, second in combinations(members, 2):
                self._count_meeting(first, second, 1)

    def improve_balance(self, rng: np.random.Generator, tries: int) -> None:
        """Try exchanges of items between lists. Each must repeat no list and must not make pairs less even."""
        # Four numbers from 0 to 1 choose two lists, and an item of each.
        random_numbers = rng.random((tries, 4))
        for first_number, second_number, first_item_number, second_item_number in random_numbers.tolist():
            first, second = (int(number * len(self.lists)) for number in (first_number, second_number))
            first_items = sorted(self.lists[first] - self.lists[second])
            second_items = sorted(self.lists[second] - self.lists[first])
            if first_items:  # they are empty if the two lists are equal
                first_item = first_items[int(first_item_number * len(first_items))]
                second_item = second_items[int(second_item_number * len(second_items))]
                self._exchange_items(first, second, first_item, second_item)
            elif first != second:
                self._exchange_with_other_list(first, rng)

    def _exchange_items(self, first: int, second: int, first_item: int, second_item: int) -> None:
        """Exchange an item of the first list for an item of the second list, unless this makes the lists worse."""
        old_lists = self.lists[first], self.lists[second]
        new_lists = old_lists[0] - {first_item} | {second_item}, old_lists[1] - {second_item} | {first_item}
        if new_lists[0] == old_lists[1]:  # the exchange would only swap the two lists
            return
        # How many more lists would repeat another list.
        more_copies = sum(self._copies[members] for members in new_lists)
        more_copies -= sum(self._copies[members] - 1 for members in old_lists)
        if more_copies > 0 or (more_copies == 0 and self._cost(old_lists, first_item, second_item) > 0):
            return
        exchanges = (*old_lists, first_item, second_item), (*old_lists[::-1], second_item, first_item)
        for changed_list, other_list, removed_item, added_item in exchanges:
            # The meetings with items that both lists have do not change.
            for item in changed_list - other_list - {removed_item}:
                self._count_meeting(removed_item, item, -1)
                self._count_meeting(added_item, item, 1)
        self._copies.subtract(old_lists)
        self._copies.update(new_lists)
        self.lists[first], self.lists[second] = new_lists

    def _exchange_with_other_list(self, first: int, rng: np.random.Generator) -> None:
        """Exchange an item of a repeated list for one of another list."""
        second = int(rng.integers(len(self.lists)))
        first_items = sorted(self.lists[first] - self.lists[second])
        second_items = sorted(self.lists[second] - self.lists[first])
        if first_items:
            drawn_items = (items[int(rng.integers(len(items)))] for items in (first_items, second_items))
            self._exchange_items(first, second, *drawn_items)

    def _cost(self, old_lists: tuple[ItemSet, ItemSet], first_item: int, second_item: int) -> int:
        """Return half of the change in the sum over pairs of items of squared numbers of common lists."""
        # A number n that falls by one, and another m that rises by one, change the sum of squares by 2 (m - n + 1).
        first_meetings, second_meetings = self._meetings[first_item], self._meetings[second_item]
        only_in_first = old_lists[0] - old_lists[1] - {first_item}
        only_in_second = old_lists[1] - old_lists[0] - {second_item}
        change = sum(second_meetings[item] - first_meetings[item] + 1 for item in only_in_first)
        return change + sum(first_meetings[item] - second_meetings[item] + 1 for item in only_in_second)

    def _count_meeting(self, first: int, second: int, change: int) -> None:
        self._meetings[first][second] += change
        self._meetings[second][first] += change
