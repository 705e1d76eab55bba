"""Find the person, the submission or the study at Prolific that a call is about, and store facts with a call."""

from __future__ import annotations

from annotation.crowds.base import CrowdRefusal, RetryLater
from annotation.models import CrowdCall
from contrib.prolific.client import ProlificClient
from contrib.prolific.records import PanelSubmission
from judgments.design.panel_links import session_parameter, worker_parameter
from judgments.studies.designs import design_of


def store_facts(call: CrowdCall, **facts: object) -> None:
    """Store facts with a call, so that its next attempt finds them. A fact that is None is deleted.

    Raises:
        RetryLater: another process carries out the call by now.
    """
    if not call.store_facts(**facts):
        raise RetryLater("Somebody else carries this call out by now.")


def submission_of(client: ProlificClient, call: CrowdCall) -> PanelSubmission:
    """Return the submission that a call is about, as read from Prolific.

    Its id was sent by a browser. Therefore, it is verified that the submission is of the person and the study of the
    session.

    Raises:
        CrowdRefusal: the id was deleted here, or the submission belongs to another person or study.
    """
    session = call.current_session()
    panel = design_of(session.study).panel
    raw_id = session.raw_ids.filter(name=session_parameter(panel)).first()
    if raw_id is None:
        raise CrowdRefusal(
            f"The ids of session {session.external_id} were deleted here; decide it on Prolific's own pages."
        )
    submission = client.get_submission(raw_id.value)
    if submission.participant != person_of_call(call) or submission.study != session.publication.external_id:
        raise CrowdRefusal(
            f"Submission {submission.id} belongs to another person or study at Prolific than to session "
            f"{session.external_id}."
        )
    return submission


def person_of_call(call: CrowdCall) -> str:
    """Return Prolific's id of the person whom a call is about. Raise CrowdRefusal if it was deleted here."""
    worker = call.worker or call.current_session().worker
    panel = design_of(call.study).panel
    raw_id = worker.raw_ids.filter(session=None, name=worker_parameter(panel)).first()
    if raw_id is None:
        raise CrowdRefusal(f"The id of {worker.name} was deleted here; Prolific's own pages know the person.")
    return raw_id.value


def panel_study_id(call: CrowdCall) -> str:
    """Return Prolific's id of the study that a call is about. Raise CrowdRefusal if there is none."""
    session = call.session
    if session is None and call.worker is not None:
        # For a call about a person, it is the study of the last session.
        sessions = call.worker.crowd_sessions.filter(study=call.study, platform=call.platform)
        session = sessions.select_related("publication").order_by("pk").last()
    publication = call.publication or (session.publication if session else None)
    if publication is None or not publication.external_id:
        raise CrowdRefusal("The call names nothing that was published at Prolific.")
    return publication.external_id
