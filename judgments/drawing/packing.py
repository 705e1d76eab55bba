"""Groups of units into HITs. Pure functions; the random generator is handed in."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgments.drawing.controls import Known, Make, Makers, control_dealer
from judgments.drawing.draws import content_key, rng_for, shuffled
from judgments.drawing.material import Group, HITSpec, Image, UnitSpec

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


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


TRIES = 50  # random orders for each distance


def apart(count: int, twins: Mapping[int, int], rng: np.random.Generator) -> list[int]:
    """0 to ``count`` - 1 in an order in which each of ``twins`` stands a third of the page away from its other one.

    The first order drawn is the one given, so that a page whose repetition stands well is left as it is. Where no order
    keeps so far apart, they stand nearer, but never side by side: a twin that must is left out.
    """
    order = np.arange(count)
    for least in range(max(2, count // 3), 1, -1):
        for _ in range(TRIES):
            place = np.argsort(order)
            if all(abs(int(place[one]) - int(place[other])) >= least for one, other in twins.items()):
                return [int(number) for number in order]
            order = rng.permutation(count)
    return [number for number in range(count) if number not in twins]


def hits_with_an_image_twice(hits: Sequence[HITSpec]) -> int:
    """How many HITs ask about an image more than once; where workers see it, that is for a repeated unit alone."""
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


def hits_of(
    groups: Sequence[Group],
    *,
    design: StudyDesign,
    size: int,
    repeat_images: bool,
    control_images: Sequence[Image],
    make_control: Make | Makers,
    least_references: int = 1,
    known: Sequence[Known] = (),
) -> tuple[HITSpec, ...]:
    """HITs of ``size`` groups, the design's control groups among them.

    Args:
        repeat_images: whether an image may come again on a page where too few different ones are left: only where
            workers do not see it.
        control_images: the images of the control split.
        make_control: how the kind makes its control items; a function makes reference items alone.
        least_references: how many references an image needs to give a control item, where a function makes them.
        known: the designer's items.

    Raises:
        DesignError: the kind or the control split cannot give what the design asks for.
    """
    makers = (
        make_control
        if isinstance(make_control, Makers)
        else Makers(make_control, least_references=least_references)
    )
    deal = control_dealer(
        control_images,
        split=design.controls.split,
        per_hit=design.controls.per_hit,
        kinds=design.controls.kinds,
        makers=makers,
        known=known,
        shows_picture=not repeat_images,
        seed=design.seed,
    )
    pages = pack_groups(
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
