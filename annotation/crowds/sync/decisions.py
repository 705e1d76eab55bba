"""Approve work whose waiting time is over, and delete external HITs (offers of work) that are no longer needed."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.crowds import Ability, backend_of
from annotation.crowds.outbox.messages import ask_to_delete
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication, at_crowd
from annotation.money.payments import decide_session
from annotation.quality.reviews import find_objections
from common.amounts import with_noun
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
State = Publication.State
# for how long Mechanical Turk allows to approve work after its rejection
OVERRIDE_PERIOD = timedelta(days=30)


def approve_due_work(*, study: Study) -> int:
    """Write messages that approve work, once the design's waiting time is over, and return their number.

    A person must decide on the work of workers who were excluded, were flagged or failed too many control items.
    """
    hours = design_of(study).crowd.approve_after_hours
    if not hours or Ability.APPROVE not in backend_of(study).can:
        return 0
    decision_calls = CrowdCall.objects.filter(
        study=study, kind__in=[Ability.APPROVE, Ability.REJECT], session__isnull=False
    ).exclude(state=CrowdCall.State.DROPPED)
    due_sessions = at_crowd(CrowdSession, study).filter(confirmed=True, status=Status.SUBMITTED)
    due_sessions = due_sessions.filter(submitted_at__lte=timezone.now() - timedelta(hours=hours))
    due_sessions = due_sessions.exclude(pk__in=decision_calls.values("session"))
    has_answers = Exists(Assignment.objects.filter(session=OuterRef("pk"), state=Assignment.State.SUBMITTED))
    due_sessions = due_sessions.filter(has_answers).select_related("study", "worker", "publication")
    sessions = list(due_sessions.order_by("pk"))
    objections = find_objections(study, {session.worker_id for session in sessions})
    approved_count = 0
    for session in sessions:
        if session.worker_id in objections or not _is_all_submitted(session):
            continue
        try:
            decide_session(session=session, approve=True)
        except WrongState:  # somebody decided meanwhile
            continue
        approved_count += 1
    if approved_count:
        submissions = with_noun(approved_count, "submission")
        note_event(
            study=study,
            what="approve",
            sentence=f"Approved {hours} hours after they were submitted: {submissions}.",
            count=approved_count,
        )
    return approved_count


def delete_finished_publications(*, study: Study) -> int:
    """Write messages that delete external HITs that are no longer needed; return their number."""
    if Ability.DELETE not in backend_of(study).can:
        return 0
    with transaction.atomic():
        publications = list(
            deletable_publications()
            .filter(study=study, platform=study.platform)
            .select_related("study")
            .order_by("pk")
        )
        for publication in publications:
            ask_to_delete(publication=publication)
    return len(publications)


def deletable_publications() -> QuerySet[Publication]:
    """Return finished external HITs that can be deleted.

    They are full, or their study is closed, and all of their work and money is stored. HITs with a rejection are
    kept as long as the crowd allows the rejection to be overridden.
    """
    calls = CrowdCall.objects.filter(Q(publication=OuterRef("pk")) | Q(session__publication=OuterRef("pk")))
    states = CrowdCall.State
    unfinished_calls = calls.filter(state__in=[states.WAITING, states.STARTED, states.FAILED])
    sessions = CrowdSession.objects.filter(publication=OuterRef("pk"))
    rejections = sessions.filter(status=Status.REJECTED, decided_at__gt=timezone.now() - OVERRIDE_PERIOD)
    answers = Assignment.objects.filter(session=OuterRef("pk"), submitted_at__isnull=False)
    # confirmed by the crowd, but their answers have not arrived
    unanswered_sessions = sessions.filter(~Exists(answers), confirmed=True)
    return (
        Publication.objects.filter(state=State.FINISHED)
        .exclude(external_id="")
        .annotate(decided_count=Count("sessions", filter=~Q(sessions__booked="")))  # spent or released
        .filter(
            Q(study__state=Study.State.CLOSED) | Q(decided_count__gte=F("places")),
            ~Exists(calls.filter(kind=Ability.DELETE)),
            ~Exists(unfinished_calls),
            ~Exists(rejections),
            ~Exists(unanswered_sessions),
        )
    )


def _is_all_submitted(session: CrowdSession) -> bool:
    """Return whether all assignments of a session are submitted, except those that were returned or expired."""
    states = set(session.assignments.values_list("state", flat=True))
    ended_states = {Assignment.State.RETURNED, Assignment.State.EXPIRED}
    return states - ended_states == {Assignment.State.SUBMITTED}
