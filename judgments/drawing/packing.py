"""Pack groups of units into HITs, and items into balanced lists for best-worst scaling.

Louviere, Flynn, Marley 2015, *Best-Worst Scaling*, ask for lists where every item, and every pair of items, comes
equally often. Few sizes have such a design, so random lists are improved as in Kiritchenko, Mohammad 2016 (*Capturing
reliable fine-grained sentiment associations by crowdsourcing and best-worst scaling*, NAACL): no repeated list, no
repeated item within one, items as even as possible; a seeded exchange search evens out pairs.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from judgments.drawing.controls import Known, Makers, control_dealer
from judgments.drawing.material import Group, HITSpec, Image, UnitSpec, content_key, rng_for, shuffled

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


TRIES = 50  # random orders for each distance
OPEN_PAGES = 50  # unfilled pages that are looked at for room


def pack_groups(
    groups: Sequence[Group], *, per_hit: int, rng: np.random.Generator, repeat_images: bool
) -> list[list[Group]]:
    """Fill pages of ``per_hit`` groups, images with the most groups left first.

    That order minimises repeated images on a page. When too few images are left, ``repeat_images`` allows repeats;
    otherwise the page stays short. Pages and the groups within are shuffled.
    """
    queues: dict[str, list[Group]] = defaultdict(list)
    for group in shuffled(groups, rng):
        queues[group.image].append(group)
    names = shuffled(sorted(queues), rng)
    heap = [(-len(queues[name]), order, name) for order, name in enumerate(names)]
    heapq.heapify(heap)
    pages: list[list[Group]] = []
    while heap:
        page: list[Group] = []
        while len(page) < per_hit and heap:
            used: list[tuple[int, int, str]] = []
            while len(page) < per_hit and heap:
                left, order, name = heapq.heappop(heap)
                page.append(queues[name].pop())
                if left < -1:
                    used.append((left + 1, order, name))
            for entry in used:
                heapq.heappush(heap, entry)
            if not repeat_images:
                break
        pages.append(shuffled(page, rng))
    full = [page for page in pages if len(page) == per_hit]
    short = [page for page in pages if len(page) != per_hit]
    return shuffled(full, rng) + short


def pack_runs(groups: Sequence[Group], *, size: int, rng: np.random.Generator) -> list[list[Group]]:
    """Fill pages of up to ``size`` units with whole groups; a longer group gets its own page.

    The order is random. No page has two groups of an image.
    """
    pages: list[list[Group]] = []
    open_pages: list[tuple[list[Group], set[str], int]] = []
    for group in shuffled(groups, rng):
        count = len(group.units)
        for index, (page, images, left) in enumerate(open_pages):
            if count <= left and group.image not in images:
                page.append(group)
                open_pages[index] = page, images | {group.image}, left - count
                break
        else:
            pages.append([group])
            open_pages.append((pages[-1], {group.image}, size - count))
        open_pages = [entry for entry in open_pages if entry[2] > 0][-OPEN_PAGES:]
    return pages


def order_with_twins_apart(count: int, twins: Mapping[int, int], rng: np.random.Generator) -> list[int]:
    """Order 0 to ``count`` - 1 with each of ``twins`` a third of the page apart.

    A suitable first draw is returned unchanged. If impossible, twins are nearer, but never adjacent: such a twin is
    left out.
    """
    order = np.arange(count)
    for least in range(max(2, count // 3), 1, -1):
        for _ in range(TRIES):
            positions = np.argsort(order)
            if all(
                abs(int(positions[first]) - int(positions[second])) >= least
                for first, second in twins.items()
            ):
                return [int(number) for number in order]
            order = rng.permutation(count)
    return [number for number in range(count) if number not in twins]


def hits_with_an_image_twice(hits: Sequence[HITSpec]) -> int:
    images = ([unit.image for unit in hit.units if not unit.control] for hit in hits)
    return sum(len(set(names)) < len(names) for names in images)


def make_hits(
    pages: Sequence[Sequence[Group]],
    *,
    seed: int,
    protocol: str,
    controls: Callable[[int, Sequence[Group]], Sequence[Group]],
    rng: np.random.Generator,
) -> list[HITSpec]:
    """Build HITs from pages, inserting ``controls(page number, page)`` at random places."""
    hits = []
    for number, page in enumerate(pages):
        groups = list(page)
        for control in controls(number, page):
            groups.insert(int(rng.integers(len(groups) + 1)), control)
        units: list[UnitSpec] = [unit for group in groups for unit in group.units]
        numbered = () if page else (number,)  # pages of an arena are all alike before they are drawn
        key = content_key("hit", seed, protocol, [unit.key for unit in units], *numbered)
        hits.append(HITSpec(key=key, units=tuple(units)))
    return hits


def hits_of(
    groups: Sequence[Group],
    *,
    design: StudyDesign,
    size: int,
    repeat_images: bool,
    control_images: Sequence[Image],
    makers: Makers,
    known: Sequence[Known],
) -> tuple[HITSpec, ...]:
    """Build HITs of ``size`` groups, including the design's control groups.

    ``repeat_images`` allows a page to repeat an image that workers do not see, if too few are left. Pages of an
    arena get control groups only; their pairs are drawn later.
    """
    deal = control_dealer(design, control_images, makers=makers, known=known, shows_picture=not repeat_images)
    pages: Sequence[Sequence[Group]] = [()] * design.arena.pages or pack_groups(
        groups,
        per_hit=size - design.controls.per_hit,
        rng=rng_for(design.seed, "packing"),
        repeat_images=repeat_images,
    )
    return tuple(
        make_hits(
            pages,
            seed=design.seed,
            protocol=design.protocol,
            controls=deal,
            rng=rng_for(design.seed, "control places"),
        )
    )


TRIES_A_PLACE = 60  # exchanges tried per place of each list

List = frozenset[int]


def list_count(items: int, *, size: int, appearances: int) -> int:
    """Return how many distinct lists of ``size`` give each item its ``appearances``."""
    return min(-(-items * appearances // size), comb(items, size))


def balanced_lists(
    items: int, *, size: int, appearances: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Draw distinct ascending lists of ``size`` from 0 to ``items`` - 1.

    Every item is in ``appearances`` lists, some in one more to fill the last list, or in all distinct ones.
    """
    if items < size:
        return []
    count = list_count(items, size=size, appearances=appearances)
    if count == comb(items, size):
        return list(combinations(range(items), size))
    design = _Design(items, _deal_lists(items, size, count, rng))
    design.improve(rng, TRIES_A_PLACE * size * count)
    return [tuple(sorted(members)) for members in design.lists]


def _deal_lists(items: int, size: int, count: int, rng: np.random.Generator) -> list[List]:
    """Use the least used items, of these the ones that met the list's items least."""
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
    def __init__(self, items: int, lists: list[List]) -> None:
        self.lists = lists
        self._same = Counter(lists)
        self._met = [[0] * items for _ in range(items)]
        for members in lists:
            for first, second in combinations(members, 2):
                self._meet(first, second, 1)

    def improve(self, rng: np.random.Generator, tries: int) -> None:
        """Exchange items between lists if no list repeats and pairs stay as even."""
        if len(self.lists) < 2:
            return
        lots = rng.random((tries, 4))
        for first_lot, second_lot, here, there in lots.tolist():
            first = int(first_lot * len(self.lists))
            second = int(second_lot * len(self.lists))
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
        more_copies = sum(self._same[members] for members in new) - sum(
            self._same[members] - 1 for members in old
        )
        if more_copies > 0 or (more_copies == 0 and self._cost(old, gone, come) > 0):
            return
        for mine, theirs, lost, got in ((old[0], old[1], gone, come), (old[1], old[0], come, gone)):
            for item in mine - theirs - {lost}:
                self._meet(lost, item, -1)
                self._meet(got, item, 1)
        self._same.subtract(old)
        self._same.update(new)
        self.lists[first], self.lists[second] = new

    def _part(self, first: int, rng: np.random.Generator) -> None:
        """Exchange an item of a repeated list for one of another list."""
        second = int(rng.integers(len(self.lists)))
        mine = sorted(self.lists[first] - self.lists[second])
        theirs = sorted(self.lists[second] - self.lists[first])
        if mine:
            gone, come = (items[int(rng.integers(len(items)))] for items in (mine, theirs))
            self._exchange(first, second, gone, come)

    def _cost(self, old: tuple[List, List], gone: int, come: int) -> int:
        """Return half of the change in the sum of squared co-occurrences."""
        met = self._met
        return sum(met[come][item] - met[gone][item] + 1 for item in old[0] - old[1] - {gone}) + sum(
            met[gone][item] - met[come][item] + 1 for item in old[1] - old[0] - {come}
        )

    def _meet(self, first: int, second: int, times: int) -> None:
        self._met[first][second] += times
        self._met[second][first] += times
