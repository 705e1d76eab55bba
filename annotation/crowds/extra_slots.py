"""Add slots to full HITs for workers whom a crowd sends, and remove such extra slots again.

The crowd decides who gets a HIT. If the slot of a worker who left without notice is still taken, the next worker needs
another one.
"""

from __future__ import annotations

from itertools import count

from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone

from annotation.models import Assignment, Publication
from annotation.models.assignments import LIVE_STATES
from annotation.work.slots.release import release_slots
from annotation.work.stopping import lock_for_settling
from judgments.models import HIT, Study

# limit of ``ensure_open_slot`` for people of whom the crowd does not say whether it gave them the HIT
MAX_EXTRA_SLOTS = 20


def ensure_open_slot(hit: HIT, *, max_extra_slots: int | None = None) -> None:
    """Give the HIT an open slot if it has none: release its expired leases or, if there are none, add a slot.

    No slot is added if the HIT has reached the limit. Call this function in a transaction.

    Args:
        max_extra_slots: number of slots that the HIT may have beyond its places at the crowd; None for no limit.
    """
    if HIT.objects.filter(pk=hit.pk, open_slots__gt=0).exists():
        return
    release_slots(Assignment.objects.overdue(timezone.now()).filter(hit=hit), Assignment.State.EXPIRED)
    # a guarded update: it changes nothing if the HIT has an open slot now, or has reached the limit
    hit_to_extend = HIT.objects.filter(pk=hit.pk, open_slots=0)
    if max_extra_slots is not None:
        places_at_crowd = Publication.objects.filter(hit=hit).aggregate(n=Sum("places"))["n"] or 0
        hit_to_extend = hit_to_extend.filter(required__lt=places_at_crowd + max_extra_slots)
    hit_to_extend.update(required=F("required") + 1, open_slots=F("open_slots") + 1)


def remove_extra_slots(*, study: Study) -> int:
    """Remove the open slots of a study's HITs that exceed the design's judgments per unit; return their number."""
    designed_slots = int(study.design["judgments_per_unit"])
    hits = HIT.objects.filter(study=study, required__gt=designed_slots, open_slots__gt=0)
    return sum(_remove_excess_slots(study, pk, designed_slots) for pk in hits.values_list("pk", flat=True))


@transaction.atomic
def _remove_excess_slots(study: Study, hit_pk: int, designed_slots: int) -> int:
    # Lock assignments, then candidate pairs (``lock_for_settling``), then the HIT, as others do, to avoid deadlocks.
    assignments = Assignment.objects.filter(hit=hit_pk, state__in=LIVE_STATES)
    live_assignments = list(assignments.select_for_update().order_by("pk"))
    lock_for_settling(study=study, hits=[hit_pk])
    hit = HIT.objects.select_for_update(no_key=True).get(pk=hit_pk)
    # only open slots are removed; slots of live assignments and slots that early stopping spared stay
    kept_slots = max(designed_slots, len(live_assignments) + hit.spared)
    excess_count = min(hit.open_slots, hit.required - kept_slots)
    if excess_count <= 0:
        return 0
    slot_count = hit.required - excess_count
    # slots are numbered from 0; assignments whose number is now too high move to the lowest free one
    taken_slots = {assignment.slot for assignment in live_assignments if assignment.slot < slot_count}
    for assignment in live_assignments:
        if assignment.slot >= slot_count:
            assignment.slot = next(slot for slot in count() if slot not in taken_slots)
            taken_slots.add(assignment.slot)
            assignment.save(update_fields=["slot"])
    HIT.objects.filter(pk=hit_pk).update(required=slot_count, open_slots=F("open_slots") - excess_count)
    return excess_count
