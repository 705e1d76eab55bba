"""Give assignments back or let them expire, and release their slots for others."""

from __future__ import annotations

from collections import Counter

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded
from annotation.models import Assignment
from annotation.models.assignments import LEASED_STATES, AssignmentQuerySet
from annotation.work.stopping import reopen_slots
from judgments.models import Study


def return_assignment(*, assignment: Assignment) -> None:
    """Give a HIT back, and keep its draft. A repeated call changes nothing.

    Raises:
        AlreadyEnded: the answers were submitted.
    """
    if release_slots(Assignment.objects.filter(pk=assignment.pk), Assignment.State.RETURNED):
        assignment.state = Assignment.State.RETURNED
        return
    assignment.refresh_from_db(fields=["state"])
    if assignment.state not in (Assignment.State.RETURNED, Assignment.State.EXPIRED):
        raise AlreadyEnded(
            _(
                "You cannot return this page of work any more. Your answers are submitted and stay as they are."
            )
        )


def expire_overdue(*, study: Study) -> int:
    """Expire the study's leases that have ended, and return their number."""
    assignments = Assignment.objects.overdue(timezone.now()).filter(study=study)
    return release_slots(assignments, Assignment.State.EXPIRED)


def release_reserved(*, study: Study) -> int:
    """Release the HITs of the study that participants' pages loaded in advance, and return their number."""
    assignments = Assignment.objects.filter(study=study, state=Assignment.State.RESERVED)
    return release_slots(assignments, Assignment.State.EXPIRED)


@transaction.atomic
def release_slots(assignments: AssignmentQuerySet, state: Assignment.State) -> int:
    """Give ``state`` to those of the assignments that are accepted or reserved, and reopen their slots.

    Return how many these are.

    To avoid deadlocks, assignments are locked before HITs, in the order of their ids.
    """
    ending_assignments = assignments.filter(state__in=LEASED_STATES).select_for_update().order_by("pk")
    rows = list(ending_assignments.values_list("pk", "hit_id", "study_id"))
    Assignment.objects.filter(pk__in=[pk for pk, _hit, _study in rows]).update(state=state)
    for study in Study.objects.filter(pk__in={study for _pk, _hit, study in rows}):
        freed_slots = Counter(
            hit for _pk, hit, hit_study in rows if hit_study == study.pk and hit is not None
        )
        reopen_slots(study=study, counts_by_hit=freed_slots)
    return len(rows)
