"""Lay out a HIT for a worker, and show its texts in the reader's language.

Built-in texts (questions of kinds, texts of presets, the ready test) are translated by the catalogues, also when a
design repeats them word for word; other texts are shown as written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from annotation.models import Assignment, Worker
from judgments.design.study_design import StudyDesign
from judgments.drawing.controls import REPEATED, REPEATS
from judgments.drawing.draws import rng_for, shuffled
from judgments.drawing.packing import apart
from judgments.kinds import KINDS, Kind
from judgments.models import HIT, HITUnit, Unit


def worded(text: str) -> str:
    """Strip a design's text and translate it if it is a built-in one."""
    text = text.strip()
    return gettext(text) if text else ""


@dataclass(frozen=True, slots=True)
class Place:
    """A unit at its position (from 1) in an assignment, with what its kind drew (``Kind.sides``)."""

    position: int
    unit: Unit
    side: Any = None


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a HIT for one worker.

    Attributes:
        order: index of the HIT's unit at each position, from 0.
        sides: what the kind drew at each position; empty if it draws nothing.
    """

    order: list[int]
    sides: list[Any]


def draw_layout(
    *,
    design: StudyDesign,
    hit: HIT,
    worker: Worker,
    units: Sequence[Unit],
    left_out: Collection[int] = (),
    struck_too: bool = False,
) -> Layout:
    """Draw the order and the sides of ``hit`` for ``worker``.

    Seed, HIT and the worker's name fix the draw, so that a reclaimed HIT looks the same. A unit and its repetition are
    kept apart; a repetition for which that is impossible is left out.

    Args:
        units: the HIT's units in order.
        left_out: ids of units to omit. Withdrawn units are always omitted.
        struck_too: include withdrawn units, to read a page as it was published.
    """
    kind = KINDS[design.protocol]
    rng = rng_for(design.seed, f"order {hit.key} {worker.name}")
    drawn = [shuffled(group, rng) for group in shuffled(_groups(kind, units), rng)]
    unseen = {
        index for index, unit in enumerate(units) if (unit.struck and not struck_too) or unit.pk in left_out
    }
    groups = [kept for group in drawn if (kept := [index for index in group if index not in unseen])]
    twins = _twins(units, groups)
    places = apart(len(groups), twins, rng) if twins else range(len(groups))
    order = [index for number in places for index in groups[number]]
    shown = sorted(order)
    rng = rng_for(design.seed, f"sides {hit.key} {worker.name}")
    side_of = dict(zip(shown, kind.sides.draw([units[index] for index in shown], rng), strict=False))
    return Layout(order=order, sides=[side_of[index] for index in order] if side_of else [])


def _groups(kind: Kind, units: Sequence[Unit]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for index, unit in enumerate(units):
        mark = (unit.item_id, unit.control_kind == REPEATED) if kind.grouped else index
        groups.setdefault(mark, []).append(index)
    return list(groups.values())


def _twins(units: Sequence[Unit], groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """Map the index of each repeated group to that of its original."""
    of_key = {units[index].key: number for number, group in enumerate(groups) for index in group}
    heads = [units[group[0]] for group in groups]
    return {
        number: of_key[unit.content[REPEATS]]
        for number, unit in enumerate(heads)
        if unit.control_kind == REPEATED and unit.content[REPEATS] in of_key
    }


def units_of_hit(hit_id: int) -> list[Unit]:
    """Return the HIT's units with their texts, in order, in one query."""
    rows = (
        HITUnit.objects.filter(hit_id=hit_id)
        .select_related("unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("position")
    )
    return [row.unit for row in rows]


def placed(units: Sequence[Any], order: Sequence[int], sides: Sequence[Any]) -> list[Place]:
    """Return the units in the given order; an empty ``order`` is the HIT's own (imported work, previews).

    A preview passes ``UnitSpec``, which has the attributes that kinds need.
    """
    shown = [units[index] for index in order] if order else units
    return [
        Place(position=index + 1, unit=unit, side=sides[index] if sides else None)
        for index, unit in enumerate(shown)
    ]


def places_of(assignment: Assignment) -> list[Place]:
    """Return the assignment's units in the order shown, in one query."""
    if assignment.hit_id is None:  # imported judgments of an unknown HIT
        return []
    return placed(units_of_hit(assignment.hit_id), assignment.order, assignment.flips)


def shown_unit(place: Place, *, design: StudyDesign, picture_url: Callable[[Place], str]) -> dict[str, Any]:
    kind = KINDS[design.protocol].of(design)
    return {
        "position": place.position,
        "protocol": kind.name,
        "question": worded(design.question),
        **texts_shown(place, design=design, kind=kind, picture_url=picture_url(place)),
    }


def texts_shown(place: Place, *, design: StudyDesign, kind: Kind, picture_url: str) -> dict[str, Any]:
    """Return the source text, if shown, and the kind's texts. Without an address, an image has no ``alt``."""
    shown = kind.shown(place.unit, side=place.side, picture_url=picture_url)
    if not picture_url and "image" in shown:
        shown["image"] = {"url": "", "alt": ""}
    if not design.source.show:
        return shown
    source = {"text": place.unit.source_text, "language": design.source.language}
    return {"source": source, **shown}
