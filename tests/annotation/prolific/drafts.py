"""A study as a requester drafts it, and people who work on it."""

from annotation.crowds.prolific.client import ProlificClient
from annotation.crowds.prolific.shapes import CompletionCode, StudyAction, StudyDraft
from tests.fakes.prolific import ProlificEmulator

REASON = "Four of the five control items in this page were answered against their pictures; the study's page says so."
DRAFT = StudyDraft(
    name="Which sentence is closer?",
    internal_name="quorum-1f0c",
    description="<p>Compare sentences.</p>",
    external_study_url="https://quorum.example/p/s/?pid={{%PROLIFIC_PID%}}&study={{%STUDY_ID%}}&work={{%SESSION_ID%}}",
    completion_codes=(
        CompletionCode("DONE1", "COMPLETED", ({"action": "MANUALLY_REVIEW"},)),
        CompletionCode(
            "BACK1", "OTHER", ({"action": "REQUEST_RETURN", "return_reason": "Returned on our page"},)
        ),
    ),
    places=3,
    minutes=10,
    reward_cents=150,
)


def published(client: ProlificClient, draft: StudyDraft = DRAFT) -> str:
    """A study that people can take part in."""
    study = client.create_study(draft).id
    client.transition_study(study, StudyAction.PUBLISH)
    return study


def worked(prolific: ProlificEmulator, study: str, participant: str, code: str | None = "DONE1") -> str:
    """A submission that its participant came back from."""
    submission, _address = prolific.enter(study, participant)
    prolific.come_back(submission, code)
    return submission
