"""Count a study's distinct control items, and the HITs that a worker can do before a control item repeats."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.material import HITSpec

Mark = tuple[Hashable, ...]  # what a worker can recognise a control item by


@dataclass(frozen=True, slots=True)
class ControlPool:
    """The distinct control items of a study.

    Attributes:
        items: number of distinct control items.
        lasts: number of HITs that a worker can do before an item repeats, if HITs with new items come first.
        comes_again: whether an item is in two HITs.
    """

    items: int
    lasts: int
    comes_again: bool


def mark_of(image: Hashable, *texts: Hashable, grouped: bool) -> Mark:
    """Return what a worker can recognise a control item by: its image and, unless ``grouped``, its captions.

    Image and texts are names or row ids; None stands for a missing caption.
    """
    if grouped:
        return (image,)
    return (image, *sorted((text for text in texts if text is not None), key=str))


def count_control_pool(hits: Sequence[HITSpec], *, grouped: bool) -> ControlPool:
    """Return the counts of a study's control items. ``grouped`` is that of its kind."""
    all_items: set[Mark] = set()
    used_items: set[Mark] = set()
    lasts, comes_again = 0, False
    for hit in hits:
        # a repetition is as new as its original
        items = {
            mark_of(unit.image, *(text and text.key for text in (unit.first, unit.second)), grouped=grouped)
            for unit in hit.units
            if unit.control and unit.control_kind != REPEATED
        }
        comes_again = comes_again or not items.isdisjoint(all_items)
        all_items |= items
        if items.isdisjoint(used_items):  # a worker can do this HIT before an item repeats
            lasts += 1
            used_items |= items
    return ControlPool(items=len(all_items), lasts=lasts, comes_again=comes_again)
