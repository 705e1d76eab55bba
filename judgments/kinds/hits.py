"""The last step of every kind: groups of units onto pages, with control groups at random places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgments.controls import control_dealer
from judgments.draws import rng_for
from judgments.material import Group, HITSpec, Image
from judgments.packing import make_hits, pack_groups

if TYPE_CHECKING:
    from judgments.design import StudyDesign

MakeControl = Callable[[str, Image, Sequence[Image], np.random.Generator], Group]


def hits_of(
    groups: Sequence[Group],
    *,
    design: StudyDesign,
    size: int,
    repeat_images: bool,
    control_images: Sequence[Image],
    make_control: MakeControl,
    least_references: int = 1,
) -> tuple[HITSpec, ...]:
    """HITs of ``size`` groups, the design's control groups among them.

    Args:
        repeat_images: whether an image may come again on a page where too few different ones are left.
        control_images: the images of the control split.
        make_control: (place, image, all control images, generator) -> a control group.
        least_references: how many references an image needs to give a control item.

    Raises:
        DesignError: the control split cannot give what the design asks for.
    """
    rng = rng_for(design.seed, "controls")
    deal = control_dealer(
        control_images,
        split=design.controls.split,
        per_hit=design.controls.per_hit,
        least_references=least_references,
        rng=rng,
        make=lambda place, image, images: make_control(place, image, images, rng),
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
