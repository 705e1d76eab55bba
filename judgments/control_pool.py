"""How far the control items of a study reach before a worker meets one again. Pure functions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judgments.controls import REPEATED
from judgments.material import HITSpec

Mark = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class ControlPool:
    """The control items of a study, as a worker meets them.

    Attributes:
        items: how many different ones there are.
        lasts: how many HITs a worker can do before one of them comes again, as HITs are handed out: those of which
            the control items are new first.
        comes_again: whether any stands in two HITs at all.
    """

    items: int
    lasts: int
    comes_again: bool


def mark_of(image: Hashable, *texts: Hashable, grouped: bool) -> Mark:
    """By what a worker would know a control item again: the image and the captions in question, in whatever order;
    where many captions stand under one image, the image alone.

    Args:
        image, texts: names, or row ids; None for a caption that the kind does not have.
    """
    if grouped:
        return (image,)
    return (image, *sorted((text for text in texts if text is not None), key=str))


def pool_of(hits: Sequence[HITSpec], *, grouped: bool) -> ControlPool:
    """The figures of HITs that were drawn. A repeated unit is met in one HIT alone, as the judged one is."""
    known: set[Mark] = set()
    met: set[Mark] = set()
    lasts, comes_again = 0, False
    for hit in hits:
        items = {
            mark_of(
                unit.image,
                unit.first.key if unit.first else None,
                unit.second.key if unit.second else None,
                grouped=grouped,
            )
            for unit in hit.units
            if unit.control and unit.control_kind != REPEATED
        }
        comes_again = comes_again or not items.isdisjoint(known)
        known |= items
        if items.isdisjoint(met):
            lasts += 1
            met |= items
    return ControlPool(items=len(known), lasts=lasts, comes_again=comes_again)
