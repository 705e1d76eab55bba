"""How far the control items of a study reach before a worker meets one again. Pure functions.

Two control items are the same to a worker where both show one image or, in a kind that shows none, where they have a
sentence in common. A repeated unit is never met again, as a judged unit stands in one HIT alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judgments.controls import REPEATED
from judgments.material import HITSpec, UnitSpec


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


def marks_of(unit: UnitSpec, *, shows_picture: bool) -> frozenset[str]:
    """What a worker would know the control item by; nothing for judged units and repeated ones."""
    if not unit.control or unit.control_kind == REPEATED:
        return frozenset()
    if shows_picture:
        return frozenset((unit.image,))
    return frozenset(text.key for text in (unit.first, unit.second) if text is not None)


def pool_of(hits: Sequence[HITSpec], *, shows_picture: bool) -> ControlPool:
    """The figures of HITs that were drawn."""
    items: set[frozenset[str]] = set()
    met: set[str] = set()
    known: set[str] = set()
    lasts, comes_again = 0, False
    for hit in hits:
        marks = [marks_of(unit, shows_picture=shows_picture) for unit in hit.units]
        items.update(one for one in marks if one)
        of_hit = _together(marks)
        comes_again = comes_again or bool(of_hit & known)
        known |= of_hit
        if not of_hit & met:
            lasts += 1
            met |= of_hit
    return ControlPool(items=len(items), lasts=lasts, comes_again=comes_again)


def _together(marks: Iterable[frozenset[str]]) -> set[str]:
    return {mark for one in marks for mark in one}
