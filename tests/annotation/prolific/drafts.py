"""A study as a requester drafts it, and people who work on it."""

from collections.abc import Mapping

from annotation.crowds.prolific.client import ProlificClient, StudyAction
from tests.fakes.prolific import ProlificEmulator

REASON = "Four of the five control items in this page were answered against their pictures; the study's page says so."
DRAFT: dict[str, object] = {
    "name": "Which sentence is closer?",
    "internal_name": "quorum-1f0c",
    "description": "<p>Compare sentences.</p>",
    "external_study_url": "https://quorum.example/p/s/?pid={{%PROLIFIC_PID%}}&study={{%STUDY_ID%}}&work={{%SESSION_ID%}}",
    "prolific_id_option": "url_parameters",
    "completion_codes": [
        {"code": "DONE1", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]},
        {
            "code": "BACK1",
            "code_type": "OTHER",
            "actions": [{"action": "REQUEST_RETURN", "return_reason": "Returned on our page"}],
        },
    ],
    "total_available_places": 3,
    "estimated_completion_time": 10,
    "reward": 150,
    "device_compatibility": [],
    "peripheral_requirements": [],
    "submissions_config": {"max_submissions_per_participant": 1},
    "filters": [],
}


def published(client: ProlificClient, draft: Mapping[str, object] = DRAFT) -> str:
    """A study that people can take part in."""
    study = client.create_study(draft).id
    client.transition_study(study, StudyAction.PUBLISH)
    return study


def worked(prolific: ProlificEmulator, study: str, participant: str, code: str | None = "DONE1") -> str:
    """A submission that its participant came back from."""
    submission, _address = prolific.enter(study, participant)
    prolific.come_back(submission, code)
    return submission
