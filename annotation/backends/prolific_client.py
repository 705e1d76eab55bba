"""Prolific's public API, version 1 (docs.prolific.com): each method is one call, asked once.

Nothing is repeated in here. Whoever asks must know what became of an order that costs money, and only three things can:
it was refused (``ProlificRefused``), it was not carried out and may be asked again (``ProlificThrottled``,
``ProlificNotReached``), or nobody knows (``ProlificUnknown``) and the state has to be read before anything is asked
again. Of the orders, the reference calls the transitions of submissions idempotent, and *paying bonuses not*: paying
the same set-up twice pays the people twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.backends.prolific_errors import WrongRequest
from annotation.backends.prolific_http import ProlificConnection
from annotation.backends.prolific_shapes import (
    SHORTEST_REJECTION,
    Balance,
    BonusSetUp,
    PanelStudy,
    ParticipantGroup,
    RejectionCategory,
    StudyAction,
    StudyDraft,
    Submission,
    decimal_text,
    known_id,
    read_id,
    upwards,
)

MOST_BONUSES = 200  # of one set-up, as the reference of "Set up bonuses" recommends
MOST_APPROVALS = 1_000  # of one call, as the reference of "Bulk approve submissions" recommends


class ProlificClient(ProlificConnection):
    """The calls that a study's crowd needs."""

    # --- studies ----------------------------------------------------------------------------------
    def create_study(self, draft: StudyDraft) -> PanelStudy:
        """Creates a draft: nobody sees it and nothing is held. No token makes it idempotent, so look for it first."""
        return PanelStudy.read(self.answered("POST", "studies/", body=draft.as_json()))

    def list_studies(self, *, project: str = "") -> list[PanelStudy]:
        """All studies of a project, or of the account, the oldest first (ids grow with time)."""
        path = f"projects/{known_id(project, 'project')}/studies/" if project else "studies/"
        found = self.listed(path, {}, PanelStudy.read, key=lambda study: study.id)
        return sorted(found, key=lambda study: study.id)

    def find_studies(self, internal_name: str, *, project: str = "") -> list[PanelStudy]:
        """All studies of that internal name, the oldest first."""
        return [study for study in self.list_studies(project=project) if study.internal_name == internal_name]

    def get_study(self, study: str) -> PanelStudy:
        """The study as it stands."""
        return PanelStudy.read(self.answered("GET", f"studies/{known_id(study, 'study')}/"))

    def transition_study(self, study: str, action: StudyAction) -> None:
        """Publishes, pauses, starts again or stops; a step that the state does not allow is refused."""
        path = f"studies/{known_id(study, 'study')}/transition/"
        self.ask("POST", path, body={"action": action.value})

    def increase_places(self, study: str, places: int) -> None:
        """Sets how many places there are in all; a published study refuses fewer, and a completed one reopens."""
        path = f"studies/{known_id(study, 'study')}/"
        self.ask("PATCH", path, body={"total_available_places": places})

    def cost_cents(self, *, reward_cents: int, places: int) -> int:
        """What so many places cost with this account's fee and tax."""
        body = {"reward": reward_cents, "total_available_places": places}
        answer = self.answered("POST", "study-cost-calculator/", body=body)
        return upwards(answer.get("total_cost"), "total_cost")

    def balance(self, workspace: str) -> Balance:
        """The money of a workspace."""
        return Balance.read(self.answered("GET", f"workspaces/{known_id(workspace, 'workspace')}/balance/"))

    # --- submissions ------------------------------------------------------------------------------
    def submissions(self, study: str) -> list[Submission]:
        """All submissions of a study, the first started first; their bonuses are not in the list."""
        parameters = {"study": known_id(study, "study"), "ordering": "started_at"}
        return self.listed(
            "submissions/", parameters, lambda row: Submission.read(row, study=study), key=lambda one: one.id
        )

    def submission(self, submission: str) -> Submission:
        """One submission with the bonuses that were paid for it."""
        return Submission.read(self.answered("GET", f"submissions/{known_id(submission, 'submission')}/"))

    def approve(self, submission: str) -> None:
        """Pays a submission. Asking twice changes nothing."""
        self._decide(submission, {"action": "APPROVE"})

    def reject(self, submission: str, *, category: RejectionCategory, message: str) -> None:
        """Rejects a submission with a reason that its author reads. Asking twice changes nothing."""
        if len(message) < SHORTEST_REJECTION:
            raise WrongRequest(
                f"Not asked of Prolific: the reason of a rejection has {len(message)} characters; "
                f"expected {SHORTEST_REJECTION} or more."
            )
        body = {"action": "REJECT", "rejection_category": category.value, "message": message}
        self._decide(submission, body)

    def approve_many(self, submissions: Sequence[str]) -> None:
        """Approves submissions one after another on Prolific's side, later; read their states to see it done."""
        if not 0 < len(submissions) <= MOST_APPROVALS:
            raise WrongRequest(
                f"Not asked of Prolific: {len(submissions)} submissions to approve at once; "
                f"expected 1 to {MOST_APPROVALS}."
            )
        body = {"submission_ids": [known_id(one, "submission") for one in submissions]}
        self.ask("POST", "submissions/bulk-approve/", body=body)

    def request_return(self, submission: str, *, reason: str) -> None:
        """Asks a person to give their submission back, unpaid and without a mark against them."""
        path = f"submissions/{known_id(submission, 'submission')}/request-return/"
        self.ask("POST", path, body={"request_return_reasons": [reason]})

    def _decide(self, submission: str, body: Mapping[str, object]) -> None:
        path = f"submissions/{known_id(submission, 'submission')}/transition/"
        self.ask("POST", path, body=body)

    # --- bonuses ----------------------------------------------------------------------------------
    def set_up_bonuses(self, study: str, bonuses: Mapping[str, int]) -> BonusSetUp:
        """Announces bonuses, in cents by submission. Nothing is paid; a set-up never paid costs nothing."""
        if not 0 < len(bonuses) <= MOST_BONUSES:
            raise WrongRequest(
                f"Not asked of Prolific: {len(bonuses)} bonuses at once; expected 1 to {MOST_BONUSES}."
            )
        rows = [f"{known_id(one, 'submission')},{decimal_text(cents)}" for one, cents in bonuses.items()]
        body = {"study_id": known_id(study, "study"), "csv_bonuses": "\n".join(rows)}
        return BonusSetUp.read(self.answered("POST", "submissions/bonus-payments/", body=body))

    def pay_bonuses(self, set_up: str) -> None:
        """Pays a set-up within the next minutes. *Asking twice pays twice*: never ask again after ``Unknown``."""
        self.ask("POST", f"bulk-bonus-payments/{known_id(set_up, 'bonus payment')}/pay/")

    # --- groups and messages ----------------------------------------------------------------------
    def groups(self, workspace: str) -> list[ParticipantGroup]:
        """A workspace's groups of participants that were not deleted."""
        parameters = {"workspace_id": known_id(workspace, "workspace"), "active": "true"}
        return self.listed("participant-groups/", parameters, ParticipantGroup.read, key=lambda one: one.id)

    def create_group(self, workspace: str, *, name: str, description: str = "") -> ParticipantGroup:
        """Makes an empty group. No token makes it idempotent, so look for its name first."""
        body = {
            "workspace_id": known_id(workspace, "workspace"),
            "name": name,
            "description": description,
        }
        return ParticipantGroup.read(self.answered("POST", "participant-groups/", body=body))

    def group_members(self, group: str) -> list[str]:
        """The participants in a group."""
        path = f"participant-groups/{known_id(group, 'participant group')}/participants/"
        return self.listed(path, {}, _participant, key=lambda one: one)

    def add_to_group(self, group: str, participants: Sequence[str]) -> None:
        """Adds people to a group; who is in it already stays."""
        self._change_group("POST", group, participants)

    def remove_from_group(self, group: str, participants: Sequence[str]) -> None:
        """Takes people out of a group; who is not in it is passed over."""
        self._change_group("DELETE", group, participants)

    def _change_group(self, method: str, group: str, participants: Sequence[str]) -> None:
        path = f"participant-groups/{known_id(group, 'participant group')}/participants/"
        members = [known_id(one, "participant") for one in participants]
        self.ask(method, path, body={"participant_ids": members})

    def send_message(self, *, participant: str, study: str, text: str) -> None:
        """Writes to one person about a study. There is no way to see afterwards that it was sent."""
        body = {
            "recipient_id": known_id(participant, "participant"),
            "study_id": known_id(study, "study"),
            "body": text,
        }
        self.ask("POST", "messages/", body=body)


def _participant(row: Mapping[str, Any]) -> str:
    return read_id(row.get("participant_id"), "participant")
