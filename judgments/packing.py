"""Groups of units into HITs. Pure functions; the random generator is handed in."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from judgments.draws import content_key, shuffled
from judgments.material import Group, HITSpec, UnitSpec


def pack_groups(
    groups: Sequence[Group], *, per_hit: int, rng: np.random.Generator, repeat_images: bool
) -> list[list[Group]]:
    """Fill pages of ``per_hit`` groups, taking first from the images that have most left.

    That order gives the fewest pages on which no image stands twice. Where too few different images are left,
    ``repeat_images`` decides: an image stands on the page again, or the page stays short. Each page's groups
    and the pages themselves are in random order.
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


def make_hits(
    pages: Sequence[Sequence[Group]],
    *,
    seed: int,
    protocol: str,
    controls: Callable[[int, Sequence[Group]], Sequence[Group]],
    rng: np.random.Generator,
) -> list[HITSpec]:
    """HITs from pages, with the control groups of ``controls(page number, page)`` put in at random places."""
    hits = []
    for number, page in enumerate(pages):
        groups = list(page)
        for control in controls(number, page):
            groups.insert(int(rng.integers(len(groups) + 1)), control)
        units: list[UnitSpec] = [unit for group in groups for unit in group.units]
        hits.append(
            HITSpec(key=content_key("hit", seed, protocol, [unit.key for unit in units]), units=tuple(units))
        )
    return hits
