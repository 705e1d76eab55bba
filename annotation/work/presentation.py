"""The texts of a study's design in the reader's language.

They are the study's own, in whatever language they were written. The built-in ones (questions of the kinds, texts of
the presets, the ready test) stand in the catalogues: where a design says just the same, its worker reads it translated.
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
    """``text`` of a design without white space around it, translated where it is a built-in one."""
    text = text.strip()
    return gettext(text) if text else ""


@dataclass(frozen=True, slots=True)
class Place:
    """A unit at its position in an assignment (from 1), with what its kind drew for this worker (``Kind.sides``)."""

    position: int
    unit: Unit
    side: Any = None


@dataclass(frozen=True, slots=True)
class Layout:
    """How a HIT is laid out for one worker.

    Attributes:
        order: per position, which of the HIT's units stands there, from 0.
        sides: per position, what the kind drew; empty where it draws nothing.
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
    """The order and the sides of ``hit`` for ``worker``: from the study's seed, the HIT and the worker's name, so that
    whoever takes a HIT again finds it as it was.

    A unit and its repetition stand apart; a repetition that no order keeps apart is left out.

    Args:
        units: the HIT's, in its order.
        left_out: row ids of units that this worker does not see; struck ones nobody sees.
        struck_too: lay struck ones out as well, for a page that was published once and must be read as it was.
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
    side_of = dict(zip(shown, kind.sides([units[index] for index in shown], rng), strict=False))
    return Layout(order=order, sides=[side_of[index] for index in order] if side_of else [])


def _groups(kind: Kind, units: Sequence[Unit]) -> list[list[int]]:
    """Indices of the units that stay together."""
    groups: dict[Any, list[int]] = {}
    for index, unit in enumerate(units):
        mark = (unit.item_id, unit.control_kind == REPEATED) if kind.grouped else index
        groups.setdefault(mark, []).append(index)
    return list(groups.values())


def _twins(units: Sequence[Unit], groups: Sequence[Sequence[int]]) -> dict[int, int]:
    """Number of a repeated group -> number of the one that it shows again."""
    of_key = {units[index].key: number for number, group in enumerate(groups) for index in group}
    heads = [units[group[0]] for group in groups]
    return {
        number: of_key[unit.content[REPEATS]]
        for number, unit in enumerate(heads)
        if unit.control_kind == REPEATED and unit.content[REPEATS] in of_key
    }


def units_of_hit(hit_id: int) -> list[Unit]:
    """The HIT's units with their texts, in the HIT's order, in one query."""
    rows = (
        HITUnit.objects.filter(hit_id=hit_id)
        .select_related("unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("position")
    )
    return [row.unit for row in rows]


def placed(units: Sequence[Any], order: Sequence[int], sides: Sequence[Any]) -> list[Place]:
    """The HIT's ``units`` as they are shown; an empty ``order`` is the HIT's own (imported work, previews).

    For a preview they are ``UnitSpec``, which has the names a kind needs.
    """
    shown = [units[index] for index in order] if order else units
    return [
        Place(position=index + 1, unit=unit, side=sides[index] if sides else None)
        for index, unit in enumerate(shown)
    ]


def places_of(assignment: Assignment) -> list[Place]:
    """The assignment's units in the order shown, in one query."""
    if assignment.hit_id is None:  # imported judgments of an unknown HIT
        return []
    return placed(units_of_hit(assignment.hit_id), assignment.order, assignment.flips)


def shown_unit(place: Place, *, design: StudyDesign, picture_url: Callable[[Place], str]) -> dict[str, Any]:
    """One unit as in docs/api.md: position, protocol, question, and what the kind shows."""
    kind = KINDS[design.protocol].of(design)
    return {
        "position": place.position,
        "protocol": kind.name,
        "question": worded(design.question),
        **texts_shown(place, design=design, kind=kind, picture_url=picture_url(place)),
    }


def texts_shown(place: Place, *, design: StudyDesign, kind: Kind, picture_url: str) -> dict[str, Any]:
    """The source text, where the study shows it, and what the kind shows. An image without an address has no ``alt``:
    there is nothing to describe."""
    shown = kind.shown(place.unit, side=place.side, picture_url=picture_url)
    if not picture_url and "image" in shown:
        shown["image"] = {"url": "", "alt": ""}
    if not design.source.show:
        return shown
    source = {"text": place.unit.source_text, "language": design.source.language}
    return {"source": source, **shown}
