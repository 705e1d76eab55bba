"""Distribute groups of units (each of one image) over pages of work, and build HITs from the pages."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from judgments.drawing.controls.dealing import ControlDealer
from judgments.drawing.controls.makers import ControlMakers, KnownItem
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Group, HITSpec, Image, UnitSpec

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


MAX_TRIES = 50  # number of random orders that are tried for each distance

# The images with groups that are on no page yet. An entry is minus the number of these groups, so that the image with
# the most groups comes first; a random number that orders images with equally many groups; and the image's name.
ImageHeap = list[tuple[int, int, str]]


def pack_groups(
    groups: Sequence[Group],
    *,
    per_hit: int,
    rng: np.random.Generator,
    repeat_images: bool,
    balance_lengths: bool = False,
) -> list[list[Group]]:
    """Distribute groups over pages of at most ``per_hit`` groups, with as few repetitions of an image as possible.

    Each page takes groups of the images that have the most groups left. Then the groups on each page are shuffled, and
    the pages themselves, except that short pages come last.

    Args:
        repeat_images: whether a page may repeat an image when too few images are left; otherwise it stays short.
        balance_lengths: whether the lengths of pages differ by at most one group. For example, 21 groups with at most
            10 per page then fill three pages of 7.
    """
    queues: dict[str, list[Group]] = defaultdict(list)
    for group in shuffle(groups, rng):
        queues[group.image].append(group)
    names = shuffle(sorted(queues), rng)
    heap: ImageHeap = [(-len(queues[name]), tie_break, name) for tie_break, name in enumerate(names)]
    heapq.heapify(heap)
    pages: list[list[Group]] = []
    while heap:
        size = _balanced_size(queues, per_hit, repeat_images) if balance_lengths else per_hit
        page = _take_groups(heap, queues, size)
        while repeat_images and heap and len(page) < size:
            page += _take_groups(heap, queues, size - len(page))
        pages.append(shuffle(page, rng))
    full_size = max(map(len, pages), default=0) if balance_lengths else per_hit
    full_pages = [page for page in pages if len(page) == full_size]
    short_pages = [page for page in pages if len(page) != full_size]
    return shuffle(full_pages, rng) + short_pages


def _balanced_size(queues: Mapping[str, Sequence[Group]], per_hit: int, repeat_images: bool) -> int:
    """Return the length of the next page, if the remaining groups fill as few pages as possible equally."""
    counts = [len(queue) for queue in queues.values()]
    page_count = ceil(sum(counts) / per_hit)
    if not repeat_images:  # each group of an image needs a page of its own
        page_count = max(page_count, *counts)
    return ceil(sum(counts) / page_count)


def _take_groups(heap: ImageHeap, queues: Mapping[str, list[Group]], count: int) -> list[Group]:
    """Take one group of each of up to ``count`` images, those with the most groups left first."""
    groups: list[Group] = []
    used_entries: ImageHeap = []
    while len(groups) < count and heap:
        minus_group_count, tie_break, name = heapq.heappop(heap)
        groups.append(queues[name].pop())
        if minus_group_count < -1:
            used_entries.append((minus_group_count + 1, tie_break, name))
    for entry in used_entries:
        heapq.heappush(heap, entry)
    return groups


def order_with_repeats_apart(count: int, originals: Mapping[int, int], rng: np.random.Generator) -> list[int]:
    """Return an order of a page's groups 0 to ``count`` - 1 that separates each repetition from its original.

    The distance is at least a third of the page. The given order is kept if it fits. If no order fits, the distance is
    lowered, but a repetition is never adjacent to its original. If that is impossible, the repetitions are left out.

    Args:
        originals: the number of each repetition's original, by the number of the repetition.
    """
    order = np.arange(count)
    for min_distance in range(max(2, count // 3), 1, -1):
        for _ in range(MAX_TRIES):
            positions = np.argsort(order)  # the position of each number in the order
            if all(
                abs(int(positions[repetition]) - int(positions[original])) >= min_distance
                for repetition, original in originals.items()
            ):
                return [int(number) for number in order]
            order = rng.permutation(count)
    return [number for number in range(count) if number not in originals]


def count_hits_with_an_image_twice(hits: Sequence[HITSpec]) -> int:
    """Return the number of HITs that judge two units of the same image. Control items are not counted."""
    images = ([unit.image for unit in hit.units if not unit.control] for hit in hits)
    return sum(len(set(names)) < len(names) for names in images)


def make_hits(
    pages: Sequence[Sequence[Group]],
    *,
    seed: int,
    protocol: str,
    deal_controls: Callable[[int, Sequence[Group]], Sequence[Group]],
    rng: np.random.Generator,
) -> list[HITSpec]:
    """Build HITs from pages.

    ``deal_controls`` gets a page's number and groups, and returns groups of control items, which get random places.
    """
    hits = []
    for number, page in enumerate(pages):
        groups = list(page)
        for control in deal_controls(number, page):
            groups.insert(int(rng.integers(len(groups) + 1)), control)
        units: list[UnitSpec] = [unit for group in groups for unit in group.units]
        # pages of an arena are empty until they are drawn, so that only their numbers distinguish them
        page_number = () if page else (number,)
        key = content_key("hit", seed, protocol, [unit.key for unit in units], *page_number)
        hits.append(HITSpec(key=key, units=tuple(units)))
    return hits


def build_hits(
    groups: Sequence[Group],
    *,
    design: StudyDesign,
    size: int,
    shows_picture: bool,
    balance_lengths: bool,
    control_images: Sequence[Image],
    makers: ControlMakers,
    known_items: Sequence[KnownItem],
) -> tuple[HITSpec, ...]:
    """Build HITs of ``size`` groups, including the design's groups of control items.

    In an arena, pairs are drawn when a worker accepts a page, so its HITs have only control items.

    Args:
        shows_picture: whether the page shows the image. Only a page without it may repeat an image.
        balance_lengths: as for ``pack_groups``.
        control_images, makers, known_items: what control items are made from, and the functions that make them.
    """
    dealer = ControlDealer(
        design, control_images, makers=makers, known_items=known_items, avoids_images=shows_picture
    )
    pages: Sequence[Sequence[Group]] = [()] * design.arena.pages  # [] without an arena
    pages = pages or pack_groups(
        groups,
        per_hit=size - design.controls.per_hit,
        rng=rng_for(design.seed, "packing"),
        repeat_images=not shows_picture,
        balance_lengths=balance_lengths,
    )
    return tuple(
        make_hits(
            pages,
            seed=design.seed,
            protocol=design.protocol,
            deal_controls=dealer.deal_controls,
            rng=rng_for(design.seed, "control places"),
        )
    )
