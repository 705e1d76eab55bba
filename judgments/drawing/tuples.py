"""Balanced lists of a few items out of many, for best-worst scaling. Pure; the generator is handed in.

Louviere, Flynn, Marley 2015, *Best-Worst Scaling*, ask for designs in which every item comes equally often and
together with every other one equally often. For most sizes there is none, so random lists are improved, as
Kiritchenko, Mohammad 2016 (*Capturing reliable fine-grained sentiment associations by crowdsourcing and best-worst
scaling*, NAACL) do: no list twice, no item twice in a list, items and pairs about equally often. Here items come as
evenly as arithmetic allows, and pairs as evenly as a seeded search by exchanges finds.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb

import numpy as np

TRIES_A_PLACE = 60  # exchanges looked at for each place of each list

List = frozenset[int]


def list_count(items: int, *, size: int, appearances: int) -> int:
    """How many lists of ``size`` give each of ``items`` its ``appearances``, as far as there are so many different
    ones."""
    return min(-(-items * appearances // size), comb(items, size))


def balanced_lists(
    items: int, *, size: int, appearances: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Different lists of ``size`` of the items 0 to ``items`` - 1, each in ascending order; [] for too few items.

    Every item stands in ``appearances`` lists, and some in one more where the places do not come out even. Where there
    are not so many different lists, all of them are taken.
    """
    if items < size:
        return []
    count = list_count(items, size=size, appearances=appearances)
    if count == comb(items, size):
        return list(combinations(range(items), size))
    design = _Design(items, _dealt(items, size, count, rng))
    design.improve(rng, TRIES_A_PLACE * size * count)
    return [tuple(sorted(one)) for one in design.lists]


def _dealt(items: int, size: int, count: int, rng: np.random.Generator) -> list[List]:
    """Lists that are filled one by one with those that came least often, and among them the ones that met the rest of
    the list least often; a lot decides between equals. Items come equally often, but for one."""
    came = [0] * items
    met = np.zeros((items, items), dtype=np.int64)
    lists = []
    for _ in range(count):
        order = rng.permutation(items).tolist()
        chosen: list[int] = []
        while len(chosen) < size:
            free = [item for item in order if item not in chosen]
            chosen.append(min(free, key=lambda item: (came[item], met[item, chosen].sum())))
        for item in chosen:
            came[item] += 1
        for first, second in combinations(chosen, 2):
            met[first, second] += 1
            met[second, first] += 1
        lists.append(frozenset(chosen))
    return lists


class _Design:
    """Lists, and how often every two items meet in them."""

    def __init__(self, items: int, lists: list[List]) -> None:
        self.lists = lists
        self._same = Counter(lists)
        self._met = [[0] * items for _ in range(items)]
        for one in lists:
            for first, second in combinations(one, 2):
                self._meet(first, second, 1)

    def improve(self, rng: np.random.Generator, tries: int) -> None:
        """Exchange items between two lists where no list comes twice for it and pairs meet no less evenly."""
        if len(self.lists) < 2:
            return
        lots = rng.random((tries, 4))
        for one, two, here, there in lots.tolist():
            first = int(one * len(self.lists))
            second = int(two * len(self.lists))
            mine = sorted(self.lists[first] - self.lists[second])
            theirs = sorted(self.lists[second] - self.lists[first])
            if mine:  # else they are the same list
                self._exchange(first, second, mine[int(here * len(mine))], theirs[int(there * len(theirs))])
            elif first != second:
                self._part(first, rng)

    def _exchange(self, first: int, second: int, gone: int, come: int) -> None:
        old = self.lists[first], self.lists[second]
        new = old[0] - {gone} | {come}, old[1] - {come} | {gone}
        if new[0] == old[1]:
            return
        more_copies = sum(self._same[one] for one in new) - sum(self._same[one] - 1 for one in old)
        if more_copies > 0 or (more_copies == 0 and self._cost(old, gone, come) > 0):
            return
        for mine, theirs, lost, got in ((old[0], old[1], gone, come), (old[1], old[0], come, gone)):
            for item in mine - theirs - {lost}:
                self._meet(lost, item, -1)
                self._meet(got, item, 1)
        self._same.subtract(old)
        self._same.update(new)
        self.lists[first], self.lists[second] = new

    def _part(self, place: int, rng: np.random.Generator) -> None:
        """Exchange any item of a list that comes twice for one of any other list."""
        other = int(rng.integers(len(self.lists)))
        mine, theirs = (
            sorted(self.lists[place] - self.lists[other]),
            sorted(self.lists[other] - self.lists[place]),
        )
        if mine:
            self._exchange(
                place, other, mine[int(rng.integers(len(mine)))], theirs[int(rng.integers(len(theirs)))]
            )

    def _cost(self, old: tuple[List, List], gone: int, come: int) -> int:
        """What the exchange adds to the sum of squared meetings, halved."""
        met = self._met
        return sum(met[come][item] - met[gone][item] + 1 for item in old[0] - old[1] - {gone}) + sum(
            met[gone][item] - met[come][item] + 1 for item in old[1] - old[0] - {come}
        )

    def _meet(self, first: int, second: int, times: int) -> None:
        self._met[first][second] += times
        self._met[second][first] += times
