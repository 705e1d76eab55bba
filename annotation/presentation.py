"""What a worker sees of a HIT. The server decides the sides; a page never tells them back.

Nothing here reveals a control item, a right answer, a system, or whether sides were swapped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.models import Assignment, Worker
from judgments.design import StudyDesign
from judgments.draws import balanced_sides, rng_for
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Unit


@dataclass(frozen=True, slots=True)
class Place:
    """A unit at its position in an assignment (from 1)."""

    position: int
    unit: Unit
    flipped: bool


def draw_flips(*, design: StudyDesign, hit: HIT, worker: Worker, count: int) -> list[bool]:
    """Per position, whether the second candidate is shown first: from the study's seed, the HIT and the worker's
    name; the sides of an assignment differ by at most one. Empty for kinds without sides."""
    if not KINDS[design.protocol].two_sided:
        return []
    return balanced_sides(count, rng_for(design.seed, f"sides {hit.key} {worker.name}"))


def units_of_hit(hit_id: int) -> list[Unit]:
    """The HIT's units with their texts, in order, in one query."""
    rows = (
        HITUnit.objects.filter(hit_id=hit_id)
        .select_related("unit__item", "unit__reference", "unit__first", "unit__second")
        .order_by("position")
    )
    return [row.unit for row in rows]


def placed(units: Sequence[Unit], flips: Sequence[bool]) -> list[Place]:
    """Units numbered from 1, each with its side."""
    return [
        Place(position=index + 1, unit=unit, flipped=bool(flips[index]) if flips else False)
        for index, unit in enumerate(units)
    ]


def places_of(assignment: Assignment) -> list[Place]:
    """The assignment's units in the order shown, in one query."""
    if assignment.hit_id is None:  # imported judgments of an unknown HIT
        return []
    return placed(units_of_hit(assignment.hit_id), assignment.flips)


def shown_unit(place: Place, *, design: StudyDesign, picture_url: Callable[[Place], str]) -> dict[str, Any]:
    """One unit as in docs/api.md: position, protocol, question, and what the kind shows."""
    kind = KINDS[design.protocol]
    return {
        "position": place.position,
        "protocol": kind.name,
        "question": design.question,
        **kind.shown(place.unit, flipped=place.flipped, picture_url=picture_url(place)),
    }
