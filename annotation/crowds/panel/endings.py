"""End the sessions of people sent by a panel, and release their work."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from annotation.crowds.outbox.effects import release_unfilled
from annotation.crowds.panel.sessions import count_submitted, end_session_with_status, idle_sessions
from annotation.errors import CountryProblem, RequirementNotMet, WorkerExcluded, WorkPaused
from annotation.models import Assignment, CrowdSession
from annotation.models.assignments import LEASED_STATES
from annotation.work.slots.release import release_slots
from common.errors import QuorumError
from judgments.models import Study
from judgments.studies.designs import design_of

Status = CrowdSession.Status
# errors for which a person is screened out
SCREENING_ERRORS = (CountryProblem, RequirementNotMet, WorkPaused, WorkerExcluded)


@transaction.atomic
def end_panel_session(*, session: CrowdSession, status: str, why: str = "") -> bool:
    """End a session. Its submitted work is kept, and its other assignments are released.

    Return False if the session had ended before.
    """
    work = Assignment.objects.filter(session=session)
    # lock assignments before sessions, as a submission does, to avoid deadlocks
    list(work.filter(state__in=LEASED_STATES).select_for_update().order_by("pk"))
    if not end_session_with_status(session=session, status=status, why=why):
        return False
    release_slots(work, Assignment.State.EXPIRED if status == Status.TIMED_OUT else Assignment.State.RETURNED)
    release_unfilled(publication=session.publication)  # the money of its free places, if nobody new may come
    return True


@transaction.atomic
def end_session_without_work(*, session: CrowdSession) -> bool:
    """End the session of a person for whom no work is left. It is complete if the person submitted a HIT.

    Return False if the person claimed a HIT in another window, or the session had ended.
    """
    CrowdSession.objects.select_for_update().get(pk=session.pk)  # wait for simultaneous claims of the session
    if Assignment.objects.with_lease(timezone.now()).filter(session=session).exists():
        return False
    status = Status.SUBMITTED if count_submitted(session) else Status.FULL
    return end_panel_session(session=session, status=status)


def screen_out(*, session: CrowdSession, error: QuorumError) -> bool:
    """End the session if ``error`` is a reason to screen the person out; return whether it is."""
    if not isinstance(error, SCREENING_ERRORS):
        return False
    end_panel_session(session=session, status=Status.SCREENED_OUT, why=str(error))
    return True


@transaction.atomic
def time_out_sessions(*, study: Study, minutes: int) -> int:
    """End running sessions that began at least ``minutes`` ago and hold no lease now; return their number."""
    sessions = idle_sessions(study, minutes=minutes).select_related("study", "publication").order_by("pk")
    return sum(end_panel_session(session=session, status=Status.TIMED_OUT) for session in sessions)


def end_abandoned_sessions(*, study: Study) -> int:
    """End abandoned sessions of a closed study; return their number.

    In an open study, nothing is done: abandoned sessions end when the next person needs a place.
    """
    if study.state == Study.State.OPEN:
        return 0
    return time_out_sessions(study=study, minutes=design_of(study).crowd.lease_minutes)
