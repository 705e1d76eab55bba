"""The last step of every kind: groups of units onto pages, with control groups at random places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgments.controls import Known, Make, Makers, control_dealer
from judgments.draws import rng_for
from judgments.material import Group, HITSpec, Image
from judgments.packing import make_hits, pack_groups

if TYPE_CHECKING:
    from judgments.design import StudyDesign


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
