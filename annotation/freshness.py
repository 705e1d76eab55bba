"""Control items that a worker has met: a HIT with new ones is preferred, and what was met is not shown again.

Which items are the same to a worker is said by ``judgments.control_pool.mark_of``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from annotation.models import Assignment, StudyAlarm, Worker
from judgments.control_pool import Mark, mark_of
from judgments.controls import REPEATED
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study, Unit

AHEAD = 64  # HITs that are looked at for new control items before old ones are left out


def may_come_again(study: Study) -> bool:
    """Whether any control item stands in two HITs; where none does, nothing need be asked of the database."""
    pool = study.notes.get("control_pool")
    return bool(pool["comes_again"]) if pool else False


def items_met(study: Study, worker: Worker) -> dict[int, set[Mark]]:
    """Row id of each HIT that the worker ever took -> its control items; one query."""
    taken = Assignment.objects.filter(study=study, worker=worker, hit__isnull=False)
    return _items_of(study, HITUnit.objects.filter(hit__in=taken.values("hit")))


def stale_units(study: Study, units: Sequence[Unit], met: Collection[Mark]) -> frozenset[int]:
    """Row ids of the control items among ``units`` that are among those that were ``met``."""
    grouped = KINDS[study.protocol].grouped
    return frozenset(
        unit.pk
        for unit in units
        if unit.control
        and unit.control_kind != REPEATED
        and mark_of(unit.item_id, unit.first_id, unit.second_id, grouped=grouped) in met
    )


def left_out_before(hit: HIT, worker: Worker, units: Sequence[Unit]) -> frozenset[int]:
    """Row ids of what the worker did not see of a HIT they take again: they find it as it was."""
    before = Assignment.objects.filter(hit=hit, worker=worker).order_by("-accepted_at").first()
    if before is None or not before.order:
        return frozenset()
    return frozenset(
        unit.pk for index, unit in enumerate(units) if index not in before.order and unit.control
    )


def with_new_items(study: Study, hits: Sequence[HIT], met: Collection[Mark]) -> list[HIT]:
    """Those of ``hits`` of which every control item is new to the worker, in their order; one query."""
    items = _items_of(study, HITUnit.objects.filter(hit__in=[hit.pk for hit in hits]))
    return [hit for hit in hits if items.get(hit.pk, set()).isdisjoint(met)]


def used_up(study: Study, worker: Worker) -> Any:
    """The worker's alarm, as a query to ask for along with another."""
    return StudyAlarm.objects.filter(study=study, worker=worker, what=StudyAlarm.What.CONTROLS_USED_UP)


def _items_of(study: Study, places: Any) -> dict[int, set[Mark]]:
    grouped = KINDS[study.protocol].grouped
    controls = places.filter(unit__control=True, unit__struck=False).exclude(unit__control_kind=REPEATED)
    names = (
        ("hit_id", "unit__item_id")
        if grouped
        else ("hit_id", "unit__item_id", "unit__first_id", "unit__second_id")
    )
    found: dict[int, set[Mark]] = {}
    for hit, item, *texts in controls.values_list(*names).distinct():
        found.setdefault(hit, set()).add(mark_of(item, *texts, grouped=grouped))
    return found
