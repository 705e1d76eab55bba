"""Top-ups to a study's wage floor, and approval of unopposed work."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.models import Assignment, CrowdCall, CrowdSession
from annotation.money.costs import pay_of_sessions
from annotation.money.ledger import OverBudget
from annotation.money.limits import as_one_order, one_order
from annotation.money.payments import ENDED, ask_for_bonus
from annotation.quality.reviews import approve_assignments, reasons_against
from annotation.words import spell_cents
from common.errors import WrongState
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of


class TopUps(NamedTuple):
    """The written calls, and the workers for whom the budget does not suffice."""

    calls: list[CrowdCall]
    left_out: list[str]


@as_one_order
def pay_top_ups(*, study: Study, why: str, worker: str = "", by: User | None = None) -> TopUps:
    """Ask for a bonus for each approved session below the study's floor, of all people or of one.

    Each person's top-ups are paid or left out together, so that one person's do not block others'.

    Raises:
        OverBudget: nothing is left for anybody.
    """
    # lock before the wages are read, so that a concurrent request finds these bonuses
    approved = CrowdSession.objects.filter(study=study, status=CrowdSession.Status.APPROVED).order_by("pk")
    list(approved.select_for_update(no_key=True).values_list("pk", flat=True))
    wanting = {
        pay.session: pay
        for pay in pay_of_sessions(study)
        if pay.top_up_cents and pay.approved and worker in ("", pay.worker)
    }
    if not wanting:
        raise WrongState(_("Nothing was paid: no approved work lies below the floor."))
    rows = (
        CrowdSession.objects.filter(pk__in=wanting).select_related("study", "worker").order_by("worker", "pk")
    )
    calls: list[CrowdCall] = []
    left_out: list[str] = []
    problem: OverBudget | None = None
    for name, sessions in groupby(rows, key=lambda row: row.worker.name):
        try:
            with one_order(study, None), transaction.atomic():
                paid = [
                    ask_for_bonus(
                        session=session,
                        cents=wanting[session.pk].top_up_cents,
                        why=why,
                        number=CrowdCall.objects.filter(session=session, kind="bonus").count() + 1,
                        by=by,
                    )
                    for session in sessions
                ]
        except OverBudget as error:
            left_out.append(name)
            problem = error
        else:
            calls += paid
    if not calls and problem is not None:
        raise problem
    total = spell_cents(sum(int(call.payload["bonus_cents"]) for call in calls), design_of(study).currency)
    words = f"Bonuses of {total} for {len(calls)} pieces of work below the floor."
    if left_out:
        words += f" The budget does not reach for {', '.join(left_out)}."
    note_event(study=study, what="top-up", words=words, by=by)
    return TopUps(calls, left_out)


def assignments_without_objection(study: Study, *, submitted_before: datetime | None = None) -> list[UUID]:
    """Return submitted assignments that nothing speaks against, oldest first.

    Leave out those with a pending or refused call to approve or reject.
    """
    calls = CrowdCall.objects.filter(study=study, kind__in=["approve", "reject"], session__isnull=False)
    asked = calls.exclude(state__in=ENDED)
    waiting = Assignment.objects.filter(study=study, state=Assignment.State.SUBMITTED)
    waiting = waiting.exclude(session__in=asked.values("session"))
    # Decided as a whole, once it is over.
    waiting = waiting.exclude(session__status=CrowdSession.Status.WORKING)
    if submitted_before is not None:
        waiting = waiting.filter(submitted_at__lt=submitted_before)
    rows = list(waiting.order_by("submitted_at", "pk").values_list("pk", "worker"))
    against = reasons_against(study, {worker for _, worker in rows})
    return [pk for pk, worker in rows if worker not in against]


@transaction.atomic
def approve_unopposed(
    *, study: Study, submitted_before: datetime | None = None, by: User | None = None
) -> int:
    """Approve work without objections and return its number; the rest waits for a person."""
    pages = assignments_without_objection(study, submitted_before=submitted_before)
    count = approve_assignments(study=study, assignments=pages, by=by)
    if count:
        note_event(
            study=study,
            what="approve",
            words=f"{count} pages of work were approved, which nothing speaks against.",
            by=by,
        )
    return count
