"""A client of Prolific's public API, version 1 (docs.prolific.com).

No method repeats a call. All methods raise ``CrowdRefusal``, ``OutOfFunds`` or ``RetryLater`` if the call fails.
According to the reference, transitions of submissions are idempotent, but *paying bonuses is not*: paying a set-up
twice pays the people twice.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from annotation.crowds.base import CrowdRefusal, RetryLater
from common.features import feature_settings
from common.http.addresses import keeps_secrets
from common.http.client import CallFailed, Client, HTTPReply
from contrib.prolific.records import (
    BonusSetUp,
    Hook,
    ListedFilter,
    PanelStudy,
    PanelSubmission,
    ParticipantGroup,
    StudyAction,
    decimal_text,
    read_cents_rounded_up,
    read_whole_number,
    valid_id,
)
from contrib.prolific.responses import (
    error_of_response,
    normalise_column,
    object_of_response,
    rows_of_response,
    setting_error,
)

# The least number of characters of a rejection's message ("Approve or reject a submission" in the reference).
MIN_REJECTION_LENGTH = 100
SCREEN_OUT = "FIXED_SCREEN_OUT_PAYMENT"  # an action of a completion code, which only some workspaces have
PAGE_SIZE = 100
MAX_PAGES = 1_000  # a list with more pages is taken for an error
Row = TypeVar("Row", PanelStudy, PanelSubmission, ParticipantGroup, ListedFilter, Hook)
Parameters = Mapping[str, str | int]


def open_client(*, timeout: float = 30.0) -> ProlificClient:
    """Return a client with the address and the token of the settings. Raise RetryLater if they cannot be used."""
    url, token = feature_settings.PROLIFIC_API_URL, feature_settings.PROLIFIC_TOKEN
    return ProlificClient(url=url, token=token, timeout=timeout)


class ProlificClient(Client):
    """A client of the API. Amounts of money are in cents."""

    def __init__(self, *, url: str, token: str, timeout: float = 30.0) -> None:
        if not token:
            raise setting_error("the setting PROLIFIC_TOKEN is empty.")
        if not keeps_secrets(url):
            raise setting_error(
                f"PROLIFIC_API_URL is {url!r}; expected an https address, since the token is sent with every call."
            )
        super().__init__(
            f"{url.rstrip('/')}/api/v1",
            seconds=timeout,
            credentials={"Authorization": f"Token {token}", "Accept": "application/json"},
            secret=token,
        )

    def create_study(self, draft: Mapping[str, object]) -> PanelStudy:
        """Create a draft of a study, which nobody sees and which costs nothing.

        A repeated call creates another draft, so search for an existing draft first.
        """
        return PanelStudy.read(self._request_object("POST", "studies/", body=dict(draft)))

    def list_studies(self, *, project: str = "") -> list[PanelStudy]:
        """Return the studies of a project or, without one, of the account, oldest first."""
        path = f"projects/{valid_id(project, 'project')}/studies/" if project else "studies/"
        studies = self._list_rows(path, {}, PanelStudy.read)
        return sorted(studies, key=lambda study: study.id)  # ids increase with time

    def find_studies(self, internal_name: str, *, project: str = "") -> list[PanelStudy]:
        return [study for study in self.list_studies(project=project) if study.internal_name == internal_name]

    def get_study(self, study: str) -> PanelStudy:
        return PanelStudy.read(self._request_object("GET", f"studies/{valid_id(study, 'study')}/"))

    def transition_study(self, study: str, action: StudyAction) -> None:
        path = f"studies/{valid_id(study, 'study')}/transition/"
        self._send_call("POST", path, body={"action": action.value})

    def increase_places(self, study: str, places: int) -> None:
        """Set the total number of places. The number cannot be reduced. A completed study is opened again."""
        path = f"studies/{valid_id(study, 'study')}/"
        self._send_call("PATCH", path, body={"total_available_places": places})

    def set_screen_outs(self, study: str, *, code: str, count: int) -> None:
        """Set the total number of people who are paid although they are screened out ("FixedScreenOut").

        The number can be raised for a published study.

        Args:
            code: the completion code of people who are screened out.
        """
        completion_code = {"code": code, "actions": [{"action": SCREEN_OUT, "slots": count}]}
        path = f"studies/{valid_id(study, 'study')}/"
        self._send_call("PATCH", path, body={"completion_codes": [completion_code]})

    def fetch_cost_cents(self, *, reward_cents: int, places: int) -> int:
        """Return the cost of places, including this account's fee and tax."""
        body = {"reward": reward_cents, "total_available_places": places}
        answer = self._request_object("POST", "study-cost-calculator/", body=body)
        return read_cents_rounded_up(answer.get("total_cost"), "total_cost")

    def fetch_balance_cents(self, workspace: str) -> int:
        """Return the money of a workspace that is not reserved for running studies."""
        return read_whole_number(
            self._fetch_balance_json(workspace).get("available_balance", 0), "available_balance"
        )

    def fetch_currency(self, workspace: str) -> str:
        """Return the currency of all amounts of a workspace, such as GBP."""
        return str(self._fetch_balance_json(workspace).get("currency_code") or "")

    def _fetch_balance_json(self, workspace: str) -> dict[str, Any]:
        return self._request_object("GET", f"workspaces/{valid_id(workspace, 'workspace')}/balance/")

    def list_filters(self, *, workspace: str = "") -> list[ListedFilter]:
        parameters = {"workspace_id": valid_id(workspace, "workspace")} if workspace else {}
        return self._list_rows("filters/", parameters, ListedFilter.read)

    def list_submissions(self, study: str) -> list[PanelSubmission]:
        """Return a study's submissions by start time. Bonuses are not included."""
        parameters = {"study": valid_id(study, "study"), "ordering": "started_at"}
        return self._list_rows("submissions/", parameters, lambda row: PanelSubmission.read(row, study=study))

    def get_submission(self, submission: str) -> PanelSubmission:
        return PanelSubmission.read(
            self._request_object("GET", f"submissions/{valid_id(submission, 'submission')}/")
        )

    def approve(self, submission: str) -> None:
        self._send_decision(submission, {"action": "APPROVE"})

    def reject(self, submission: str, *, message: str) -> None:
        if len(message) < MIN_REJECTION_LENGTH:
            raise CrowdRefusal(
                f"Not asked of Prolific: the reason of a rejection has {len(message)} characters; "
                f"expected {MIN_REJECTION_LENGTH} or more."
            )
        self._send_decision(
            submission, {"action": "REJECT", "rejection_category": "OTHER", "message": message}
        )

    def _send_decision(self, submission: str, body: Mapping[str, object]) -> None:
        path = f"submissions/{valid_id(submission, 'submission')}/transition/"
        self._send_call("POST", path, body=body)

    def set_up_bonus(self, study: str, submission: str, cents: int) -> BonusSetUp:
        """Set up a bonus without paying it. ``pay_bonus`` then pays it."""
        body = {
            "study_id": valid_id(study, "study"),
            "csv_bonuses": f"{valid_id(submission, 'submission')},{decimal_text(cents)}",
        }
        return BonusSetUp.read(self._request_object("POST", "submissions/bonus-payments/", body=body))

    def pay_bonus(self, set_up: str) -> None:
        """Pay a bonus that was set up. The service pays within minutes.

        *A repeated call pays twice*: never repeat it after a lost response.

        Args:
            set_up: the id of a ``BonusSetUp``.
        """
        self._send_call("POST", f"bulk-bonus-payments/{valid_id(set_up, 'bonus payment')}/pay/")

    def list_groups(self, workspace: str) -> list[ParticipantGroup]:
        parameters = {"workspace_id": valid_id(workspace, "workspace"), "active": "true"}
        return self._list_rows("participant-groups/", parameters, ParticipantGroup.read)

    def create_group(self, workspace: str, *, name: str) -> ParticipantGroup:
        """Create an empty group. A repeated call creates another one, so search for its name first."""
        body = {"workspace_id": valid_id(workspace, "workspace"), "name": name, "description": ""}
        return ParticipantGroup.read(self._request_object("POST", "participant-groups/", body=body))

    def add_to_group(self, group: str, participants: Sequence[str]) -> None:
        self._change_group("POST", group, participants)

    def remove_from_group(self, group: str, participants: Sequence[str]) -> None:
        self._change_group("DELETE", group, participants)

    def _change_group(self, method: str, group: str, participants: Sequence[str]) -> None:
        path = f"participant-groups/{valid_id(group, 'participant group')}/participants/"
        members = [valid_id(participant, "participant") for participant in participants]
        self._send_call(method, path, body={"participant_ids": members})

    def send_message(self, *, participant: str, study: str, text: str) -> None:
        """Send a person a message about a study. Afterwards it is impossible to find out whether it was sent."""
        body = {
            "recipient_id": valid_id(participant, "participant"),
            "study_id": valid_id(study, "study"),
            "body": text,
        }
        self._send_call("POST", "messages/", body=body)

    def export_demographics(self, study: str) -> list[dict[str, str]]:
        """Return a row for each submission, with column names in lower case.

        The export can be requested again. The reference describes JSON, but Prolific's own command-line client gets a
        CSV file. Both are read.
        """
        path = f"studies/{valid_id(study, 'study')}/demographic-export/"
        answer = self._send_call("POST", path, body={"filters": []})
        text = answer.content.decode("utf-8-sig", errors="replace")
        if text.lstrip()[:1] in ("[", "{"):
            rows = rows_of_response(answer, path)
        else:
            rows = list(csv.DictReader(io.StringIO(text)))
        # A row is wrong if the file is incomplete, or the response is another text. DictReader writes None for cells
        # that are missing, and as the name of cells that are too many.
        if any(None in row or None in row.values() or len(row) < 2 for row in rows):
            raise RetryLater(f"Prolific's answer to POST {path} is no table of demographics.")
        return [{normalise_column(name): str(value or "") for name, value in row.items()} for row in rows]

    def fetch_hook_secret(self, workspace: str) -> str:
        """Return the secret that signs the workspace's webhooks; "" if there is none."""
        parameters = {"workspace_id": valid_id(workspace, "workspace")}
        rows = self._request_object("GET", "hooks/secrets/", parameters=parameters).get("results") or []
        values = [str(row.get("value") or "") for row in rows if row.get("workspace_id") == workspace]
        return values[0] if values else ""

    def create_hook_secret(self, workspace: str) -> str:
        """Create a new secret. It replaces an existing secret for all subscriptions."""
        body = {"workspace_id": valid_id(workspace, "workspace")}
        return str(self._request_object("POST", "hooks/secrets/", body=body).get("value") or "")

    def list_hooks(self, workspace: str) -> list[Hook]:
        parameters = {"workspace_id": valid_id(workspace, "workspace"), "is_enabled": "true"}
        return self._list_rows("hooks/subscriptions/", parameters, Hook.read)

    def subscribe_to_event(self, workspace: str, *, event: str, address: str) -> None:
        """Subscribe to an event, and confirm the subscription, as the reference requires."""
        body = {"workspace_id": valid_id(workspace, "workspace"), "event_type": event, "target_url": address}
        answer = self._send_call("POST", "hooks/subscriptions/", body=body)
        hook = Hook.read(object_of_response(answer, "POST hooks/subscriptions/"))
        secret = answer.headers.get("X-Hook-Secret", "")
        self._send_call("POST", f"hooks/subscriptions/{hook.id}/", body={"secret": secret})

    def _list_rows(
        self, path: str, parameters: Parameters, read_row: Callable[[Mapping[str, Any]], Row]
    ) -> list[Row]:
        """Return every row of a paged list once, even if rows move between pages meanwhile."""
        rows = {row.id: row for page in self._fetch_pages(path, parameters) for row in map(read_row, page)}
        return list(rows.values())

    def _fetch_pages(self, path: str, parameters: Parameters) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the pages of a list.

        Some endpoints link to the next page. Others take page numbers, or have a single page and ignore the number.
        """
        query: dict[str, str | int] = {**parameters, "page": 1, "page_size": PAGE_SIZE}
        previous_rows: list[Mapping[str, Any]] = []
        for next_number in range(2, MAX_PAGES + 2):
            answer = self._request_object("GET", path, parameters=query)
            rows = answer.get("results")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise RetryLater(f"Prolific's list of {path} holds no results; expected a list of objects.")
            if rows == previous_rows:  # the endpoint has no pages, and sent the same rows again
                return
            yield rows
            previous_rows = rows
            links = answer.get("_links")
            if isinstance(links, dict):
                next_address = (links.get("next") or {}).get("href")
                if not next_address:
                    return
                # Use only the parameters of the link: the token must be sent only to the configured address.
                query = {**query, "page": next_number, **dict(parse_qsl(urlsplit(str(next_address)).query))}
            elif len(rows) < PAGE_SIZE:
                return
            else:
                query = {**query, "page": next_number}
        raise RetryLater(f"Prolific's list of {path} did not end after {MAX_PAGES} pages.")

    def _request_object(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return the JSON object of a response. A truncated response counts as lost."""
        return object_of_response(self._send_call(method, path, **request), f"{method} {path}")

    def _send_call(self, method: str, path: str, **request: Any) -> HTTPReply:
        """Send a call once, with a ``body`` or ``parameters``. The outbox decides whether and when to repeat it."""
        try:
            answer = self.send(method, path, **request)
        except CallFailed as error:
            if not error.was_sent:
                raise RetryLater(
                    f"{method} {path} was not sent: no connection to Prolific ({error.reason}).",
                    had_no_effect=True,
                ) from error
            raise RetryLater(
                f"{method} {path} was sent and no answer came ({type(error.__cause__).__name__}); "
                "Prolific may have carried it out or not."
            ) from error
        if answer.is_success:
            return answer
        raise error_of_response(method, path, answer)
