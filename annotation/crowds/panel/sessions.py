"""Sessions of people sent by a panel: which one, how many assignments, when complete."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotation.crowds.panel.ids import code_for
from annotation.models import Assignment, CrowdSession, Worker
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.studies import design_of

Status = CrowdSession.Status
# states of a session's assignments; returned and expired ones do not count
ITS_PAGES = ("reserved", "accepted", "submitted", "approved", "rejected", "invalidated")


def panel_sessions(study: Study) -> QuerySet[CrowdSession]:
    """Return sessions in a study that is published as a whole."""
    return CrowdSession.objects.filter(study=study, publication__hit=None).select_related("publication")


def session_of(*, study: Study, worker: Worker) -> CrowdSession | None:
    """Return the worker's latest session; make no query for people who came by themselves."""
    if worker.source != Worker.Source.CROWD:
        return None
    return panel_sessions(study).filter(worker=worker).order_by("pk").last()


def session_with_room(*, study: Study, design: StudyDesign, worker: Worker) -> CrowdSession | None:
    """Return the running session if it has room for another assignment."""
    session = session_of(study=study, worker=worker)
    if session is None or session.status != Status.WORKING:
        return None
    taken = Assignment.objects.filter(session=session, state__in=ITS_PAGES).count()
    return session if taken < design.panel.hits else None


def pages_handed_in(session: CrowdSession) -> int:
    return Assignment.objects.filter(session=session, submitted_at__isnull=False).count()


def note_page(*, assignment: Assignment) -> None:
    """Complete a panel's session after its last submission, within the caller's transaction.

    The completion must be stored before anybody is notified (Dallinger PR#6183).
    """
    if assignment.session_id is None:
        return
    session = panel_sessions(assignment.study).filter(pk=assignment.session_id).first()
    if session is not None and pages_handed_in(session) >= design_of(assignment.study).panel.hits:
        end_with(session=session, status=Status.SUBMITTED)


OUTCOME_OF: dict[str, str] = {
    Status.SUBMITTED: "completed",
    Status.APPROVED: "completed",
    Status.REJECTED: "completed",
    Status.SCREENED_OUT: "screened-out",
    Status.TIMED_OUT: "timed-out",
    Status.RETURNED: "returned",
    Status.FULL: "full",
}


def end_with(*, session: CrowdSession, status: str, why: str = "") -> bool:
    """End a running session with its code. Return False if it was over."""
    now = timezone.now()
    ended = CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(
        status=status,
        code=code_for(session.study, design_of(session.study), OUTCOME_OF[status]),
        feedback=why[:1024],
        **({"submitted_at": now} if status == Status.SUBMITTED else {"decided_at": now}),
    )
    session.refresh_from_db()
    return bool(ended)


def idle_since(study: Study, *, minutes: int) -> QuerySet[CrowdSession]:
    """Return running sessions without a lease in the last ``minutes``."""
    now = timezone.now()
    held = Assignment.objects.filter(session=OuterRef("pk"), expires_at__gt=now)
    before = now - timedelta(minutes=minutes)
    return panel_sessions(study).filter(~Exists(held), status=Status.WORKING, arrived_at__lte=before)
