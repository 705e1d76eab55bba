"""The sessions of people sent by a panel: their ids, their outcome, and their completion codes.

In a session, a person does ``panel.hits`` HITs. When it ends, its outcome (completed, screened out, ...) decides which
completion code the person gets, and the address at the panel to which they return.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotation.crowds.panel.links import PanelIds
from annotation.crowds.people import keyed_hash, session_pseudonym, worker_token
from annotation.models import Assignment, CrowdSession, RawId, Worker
from judgments.design.panel_links import return_address, session_parameter, worker_parameter
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.codes import CAPITALS
from judgments.studies.designs import design_of

Status = CrowdSession.Status
CODE_LENGTH = 10
# states in which an assignment counts for its session; returned and expired ones do not count
COUNTED_STATES = ("reserved", "accepted", "submitted", "approved", "rejected", "invalidated")
OUTCOMES_BY_STATUS: dict[str, str] = {
    Status.SUBMITTED: "completed",
    Status.APPROVED: "completed",
    Status.REJECTED: "completed",
    Status.SCREENED_OUT: "screened-out",
    Status.TIMED_OUT: "timed-out",
    Status.RETURNED: "returned",
    Status.UNKNOWN: "returned",  # unknown to the crowd, so it gets no code that pays
    Status.FULL: "full",
}


def external_id_for(study: Study, ids: PanelIds) -> str:
    """Return the pseudonym of a submission, which is stored as the session's external id.

    If the panel has no submission ids, the person's id stands for the submission, since such a panel sends a person to
    a study only once. A panel without an API may use the same id in several studies, so the study's id is added.
    """
    if ids.session and design_of(study).panel.api:
        return session_pseudonym(study.platform, ids.session)
    return session_pseudonym(study.platform, f"{study.pk} {ids.session or ids.worker}")


def panel_sessions(study: Study) -> QuerySet[CrowdSession]:
    return CrowdSession.objects.filter(study=study, publication__hit=None).select_related("publication")


def latest_session(*, study: Study, worker: Worker) -> CrowdSession | None:
    return panel_sessions(study).filter(worker=worker).order_by("pk").last()


def session_for_next_hit(*, study: Study, design: StudyDesign, worker: Worker) -> CrowdSession | None:
    """Return the worker's running session if it may have another HIT, else None."""
    session = latest_session(study=study, worker=worker)
    if session is None or session.status != Status.WORKING:
        return None
    hit_count = Assignment.objects.filter(session=session, state__in=COUNTED_STATES).count()
    return session if hit_count < design.panel.hits else None


def idle_sessions(study: Study, *, minutes: int) -> QuerySet[CrowdSession]:
    """Return running sessions that began at least ``minutes`` ago and hold no lease now."""
    now = timezone.now()
    current_leases = Assignment.objects.filter(session=OuterRef("pk"), expires_at__gt=now)
    latest_arrival = now - timedelta(minutes=minutes)
    sessions = panel_sessions(study).filter(status=Status.WORKING, arrived_at__lte=latest_arrival)
    return sessions.filter(~Exists(current_leases))


def count_submitted(session: CrowdSession) -> int:
    return Assignment.objects.filter(session=session, submitted_at__isnull=False).count()


def complete_session_if_done(*, assignment: Assignment) -> None:
    """Complete the session of a submitted assignment if its person has now submitted ``panel.hits`` HITs.

    Call this in the transaction of the submission: the completion must be stored before anybody is notified
    (Dallinger PR#6183).
    """
    session = panel_sessions(assignment.study).filter(assignments=assignment).first()
    if session is not None and count_submitted(session) >= design_of(assignment.study).panel.hits:
        end_session_with_status(session=session, status=Status.SUBMITTED)


def end_session_with_status(*, session: CrowdSession, status: str, why: str = "") -> bool:
    """End a running session, and store the completion code for its outcome. Return False if it had ended before.

    Its assignments are not changed; ``panel.endings.end_panel_session`` also releases them.
    """
    end_field = "submitted_at" if status == Status.SUBMITTED else "decided_at"
    end_time = {end_field: timezone.now()}
    outcome = OUTCOMES_BY_STATUS[status]
    row_count = CrowdSession.objects.filter(pk=session.pk, status=Status.WORKING).update(
        status=status,
        code=completion_code_for(session.study, design_of(session.study), outcome, session.external_id),
        feedback=why[:1024],
        **end_time,
    )
    session.refresh_from_db()
    return bool(row_count)


def outcome_of(session: CrowdSession) -> str:
    """Return the session's outcome, a value of ``judgments.design.panels.OUTCOMES``; "" while it is running."""
    return OUTCOMES_BY_STATUS.get(session.status, "")


def completion_code_for(study: Study, design: StudyDesign, outcome: str, session: str = "") -> str:
    """Return the completion code for an outcome, from the design or else derived from a key of this installation.

    Args:
        outcome: one of ``judgments.design.panels.OUTCOMES``.
        session: external id of a session. With ``panel.personal_codes``, each session gets a code of its own.
    """
    code = design.panel.code_of(outcome)
    if code:
        return code
    session_part = [session] if design.panel.personal_codes and session else []
    hash_value = int(keyed_hash("code", str(study.pk), study.slug, outcome, *session_part), 16)
    # write the hash as a number whose digits are capital letters, and keep the last CODE_LENGTH digits
    letters = []
    for _position in range(CODE_LENGTH):
        hash_value, letter_index = divmod(hash_value, len(CAPITALS))
        letters.append(CAPITALS[letter_index])
    return "".join(letters)


def completion_code_of(session: CrowdSession) -> str:
    """Return the completion code that was stored when the session ended, or else the code for its outcome."""
    if session.code:
        return session.code
    return completion_code_for(
        session.study, design_of(session.study), outcome_of(session), session.external_id
    )


def return_address_for(design: StudyDesign, outcome: str, *, code: str, ids: PanelIds) -> str:
    """Return the address at the panel to which a person returns.

    Return "" if the person copies a code instead, or if the address needs an id that is missing.

    Args:
        outcome: one of ``judgments.design.panels.OUTCOMES``, such as "completed".
    """
    return return_address(design.panel, outcome, code=code, worker=ids.worker, session=ids.session)


def panel_ids_of(session: CrowdSession) -> PanelIds:
    """Return the panel's ids of the session's person and submission; "" for ids that were deleted."""
    design = design_of(session.study)
    raw_ids = RawId.objects.filter(worker=session.worker_id)
    worker_id = raw_ids.filter(session=None, name=worker_parameter(design.panel)).first()
    submission_id = raw_ids.filter(session=session, name=session_parameter(design.panel)).first()
    return PanelIds(
        worker=worker_id.value if worker_id else "", session=submission_id.value if submission_id else ""
    )


def session_token_of(session: CrowdSession) -> str:
    """Return the token by which the browser of the session's person is recognised."""
    return worker_token(session.worker.platform, session.worker.name)
