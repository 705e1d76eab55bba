"""Top-ups to a study's wage floor, and approval of unopposed work."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Assignment, CrowdCall, CrowdSession
from annotation.money.costs import pay_of_sessions
from annotation.money.limits import as_one_order
from annotation.money.payments import ENDED, ask_for_bonus
from annotation.quality.reviews import approve_assignments, reasons_against
from annotation.words import spell_cents
from common.errors import WrongState
from judgments.models import Study
from judgments.studies.log import note_event


@as_one_order
def pay_top_ups(*, study: Study, why: str, by: User | None = None) -> list[CrowdCall]:
    """Ask for a bonus for each approved session below the study's floor, atomically."""
    # lock before the wages are read, so that a concurrent request finds these bonuses
    approved = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.APPROVED).order_by("pk")
    list(approved.select_for_update(no_key=True).values_list("pk", flat=True))
    wanting = {pay.session: pay for pay in pay_of_sessions(study) if pay.top_up_cents and pay.approved}
    if not wanting:
        raise WrongState("Nothing was paid: no approved work lies below the floor.")
    sessions = CrowdSession.objects.filter(pk__in=wanting).select_related("study", "worker").order_by("pk")
    calls = []
    for session in sessions:
        number = CrowdCall.objects.filter(session=session, kind="bonus").count() + 1
        cents = wanting[session.pk].top_up_cents
        calls.append(ask_for_bonus(session=session, cents=cents, why=why, number=number, by=by))
    total = sum(int(call.payload["bonus_cents"]) for call in calls)
    note_event(
        study=study,
        what="top-up",
        words=f"Bonuses of {spell_cents(total)} for {len(calls)} pieces of work below the floor.",
        by=by,
    )
    return calls


def unopposed(study: Study, *, submitted_before: datetime | None = None) -> list[UUID]:
    """Return submitted assignments that nothing speaks against, the oldest first.

    Leave out those with a pending or refused call to approve or reject.
    """
    calls = CrowdCall.objects.filter(study=study, kind__in=["approve", "reject"], session__isnull=False)
    asked = calls.exclude(state__in=ENDED)
    waiting = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    waiting = waiting.exclude(session__in=asked.values("session"))
    waiting = waiting.exclude(
        session__status=CrowdSession.Status.WORKING
    )  # decided as a whole, once it is over
    if submitted_before is not None:
        waiting = waiting.filter(submitted_at__lt=submitted_before)
    rows = list(waiting.order_by("submitted_at", "pk").values_list("pk", "worker"))
    against = reasons_against(study, {worker for _, worker in rows})
    return [pk for pk, worker in rows if worker not in against]


@transaction.atomic
def approve_unopposed(
    *, study: Study, submitted_before: datetime | None = None, by: User | None = None
) -> int:
    """Approve ``unopposed`` work and return its number; the rest waits for a person."""
    pages = unopposed(study, submitted_before=submitted_before)
    count = approve_assignments(study=study, assignments=pages, by=by)
    if count:
        note_event(
            study=study,
            what="approve",
            words=f"{count} pages of work were approved, which nothing speaks against.",
            by=by,
        )
    return count
