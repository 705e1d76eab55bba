"""Control items that a worker has met: a HIT with new ones is preferred, and what was met is not shown again.

Two items are the same to a worker where both show one image or, in a kind that shows none, where they have a sentence
in common (``judgments.control_pool``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db.models import Q

from annotation.models import Assignment, StudyAlarm, Worker
from judgments.controls import REPEATED
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study, Unit

AHEAD = 64  # HITs that are looked at for new control items before old ones are left out


def may_come_again(study: Study) -> bool:
    """Whether any control item stands in two HITs; where none does, nothing need be asked of the database."""
    pool = study.notes.get("control_pool")
    return bool(pool["comes_again"]) if pool else False


def items_met(study: Study, worker: Worker, *, besides: int | None = None) -> frozenset[int]:
    """Row ids of the images, or of the sentences, of the control items in all HITs that the worker ever took.

    Args:
        besides: row id of a HIT that does not count: who takes it again finds its control items in it.
    """
    taken = Assignment.objects.filter(study=study, worker=worker, hit__isnull=False).exclude(hit=besides)
    names = _names(study)
    rows = _control_places(HITUnit.objects.filter(hit__in=taken.values("hit"))).values_list(
        *(f"unit__{name}" for name in names)
    )
    return frozenset(pk for row in rows.distinct() for pk in row if pk is not None)


def stale_units(study: Study, units: Sequence[Unit], met: Collection[int]) -> frozenset[int]:
    """Row ids of the control items among ``units`` that show something of what was met."""
    names = _names(study)
    return frozenset(
        unit.pk
        for unit in units
        if unit.control
        and unit.control_kind != REPEATED
        and any(getattr(unit, name) in met for name in names)
    )


def with_new_items(study: Study, hits: Sequence[HIT], met: Collection[int]) -> list[HIT]:
    """Those of ``hits`` of which every control item is new to the worker, in their order; one query."""
    old = Q()
    for name in _names(study):
        old |= Q(**{f"unit__{name}__in": met})
    places = _control_places(HITUnit.objects.filter(hit__in=[hit.pk for hit in hits])).filter(old)
    stale = set(places.values_list("hit_id", flat=True).distinct())
    return [hit for hit in hits if hit.pk not in stale]


def has_met_all(study: Study, worker: Worker) -> bool:
    """Whether control items were left out for the worker before: then there is no use in looking far ahead."""
    return StudyAlarm.objects.filter(
        study=study, worker=worker, what=StudyAlarm.What.CONTROLS_USED_UP
    ).exists()


def _names(study: Study) -> tuple[str, ...]:
    """The columns of a unit by which a worker knows it again."""
    return ("item_id",) if KINDS[study.protocol].shows_picture else ("first_id", "second_id")


def _control_places(places: Any) -> Any:
    return places.filter(unit__control=True, unit__struck=False).exclude(unit__control_kind=REPEATED)
