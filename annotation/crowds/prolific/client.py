"""A client of Prolific's public API, version 1 (docs.prolific.com): each method makes one call, once.

It never repeats a call. An order that costs money was refused (``ProlificRefused``), was not carried out and may
be repeated (``ProlificThrottled``, ``ProlificNotReached``), or is indeterminate (``ProlificUnknown``), and the
state must be read first. The reference calls transitions of submissions idempotent, and *paying bonuses not*:
paying a set-up twice pays the people twice.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

import httpx

from annotation.crowds.prolific.shapes import (
    SHORTEST_REJECTION,
    Balance,
    BonusSetUp,
    PanelStudy,
    ParticipantGroup,
    ProlificError,
    ProlificNotConfigured,
    ProlificNotReached,
    ProlificRefused,
    ProlificThrottled,
    ProlificUnknown,
    RejectionCategory,
    StudyAction,
    StudyDraft,
    Submission,
    UnreadableAnswer,
    WrongRequest,
    decimal_text,
    known_id,
    read_id,
    upwards,
)

Row = TypeVar("Row")
Parameters = Mapping[str, str | int]

PAGE_SIZE = 100
MOST_PAGES = 1_000  # endless paging is a fault, not a long list
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
_LONGEST_DETAIL = 400


@cache
def _certificates() -> ssl.SSLContext:
    """Load the trusted authorities once: it takes longer than a call."""
    return httpx.create_ssl_context()


class ProlificConnection:
    """An address and a token for many calls."""

    def __init__(self, *, url: str, token: str, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if not token:
            raise ProlificNotConfigured("Nothing was asked of Prolific: the setting PROLIFIC_TOKEN is empty.")
        if parts.scheme != "https" and parts.hostname not in _OWN_HOSTS:
            raise ProlificNotConfigured(
                f"Nothing was asked of Prolific: PROLIFIC_API_URL is {url!r}; expected an https address, "
                "since the token is sent with every call."
            )
        self._http = httpx.Client(
            base_url=f"{url.rstrip('/')}/api/v1/",
            headers={"Authorization": f"Token {token}", "Accept": "application/json", "User-Agent": "Quorum"},
            timeout=httpx.Timeout(timeout, connect=min(10.0, timeout)),
            verify=_certificates(),
            trust_env=parts.hostname not in _OWN_HOSTS,  # an emulator on this machine is not behind a proxy
            auth=lambda request: request,  # else a .netrc of the environment could replace the token
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def listed(
        self,
        path: str,
        parameters: Parameters,
        read: Callable[[Mapping[str, Any]], Row],
        *,
        key: Callable[[Row], str],
    ) -> list[Row]:
        """Return every row of a paged list once, even if pages shift meanwhile."""
        rows = {key(row): row for page in self._pages(path, parameters) for row in map(read, page)}
        return list(rows.values())

    def _pages(self, path: str, parameters: Parameters) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the pages of a list. Some endpoints link the next page, some count, some do not page."""
        asked: dict[str, str | int] = {**parameters, "page": 1, "page_size": PAGE_SIZE}
        before: list[Mapping[str, Any]] = []
        for number in range(2, MOST_PAGES + 2):
            answer = self.answered("GET", path, parameters=asked)
            rows = answer.get("results")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise UnreadableAnswer(
                    f"Prolific's list of {path} holds no results; expected a list of objects."
                )
            if rows == before:  # the endpoint does not page and repeated itself
                return
            yield rows
            before = rows
            links = answer.get("_links")
            if isinstance(links, dict):
                following = (links.get("next") or {}).get("href")
                if not following:
                    return
                # Follow the link's parameters only: the token is sent to the configured address alone.
                asked = {**asked, "page": number, **dict(parse_qsl(urlsplit(str(following)).query))}
            elif len(rows) < PAGE_SIZE:
                return
            else:
                asked = {**asked, "page": number}
        raise UnreadableAnswer(f"Prolific's list of {path} did not end after {MOST_PAGES} pages.")

    def answered(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        parameters: Parameters | None = None,
    ) -> dict[str, Any]:
        """Return an answer's JSON object. A truncated answer counts as lost."""
        answer = self.ask(method, path, body=body, parameters=parameters)
        try:
            read = json.loads(answer.content, parse_float=Decimal)
        except ValueError as error:
            raise ProlificUnknown(f"Prolific's answer to {method} {path} was cut short.") from error
        if not isinstance(read, dict):
            raise UnreadableAnswer(f"Prolific's answer to {method} {path} is no object.")
        return read

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        parameters: Parameters | None = None,
    ) -> httpx.Response:
        """Send a call once. Raise a ProlificError unless it succeeds."""
        try:
            answer = self._http.request(method, path, json=body, params=parameters)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise ProlificNotReached(
                f"{method} {path} was not sent: no connection to Prolific ({error})."
            ) from error
        except httpx.RequestError as error:
            raise ProlificUnknown(
                f"{method} {path} was sent and no answer came ({type(error).__name__}); "
                "Prolific may have carried it out or not."
            ) from error
        if answer.is_success:
            return answer
        raise _failure(method, path, answer)


def _failure(method: str, path: str, answer: httpx.Response) -> ProlificError:
    if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        return ProlificThrottled(
            f"{method} {path} was not carried out: Prolific asks to wait.", retry_after=_seconds(answer)
        )
    if answer.status_code >= 500 or answer.status_code == httpx.codes.REQUEST_TIMEOUT:
        return ProlificUnknown(
            f"{method} {path} was answered with {answer.status_code}; Prolific may have carried it out or not."
        )
    detail, code = _detail(answer)
    return ProlificRefused(
        f"Prolific refused {method} {path} ({answer.status_code}): {detail}",
        answered=answer.status_code,
        error_code=code,
        said=detail,
    )


def _seconds(answer: httpx.Response) -> float | None:
    """Return ``Retry-After`` in seconds; ignore dates, which were never seen here."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _detail(answer: httpx.Response) -> tuple[str, int]:
    """Return the API's error message and code. It may be bare or in ``error``, as text, list or fields."""
    try:
        read = json.loads(answer.content)
    except ValueError:
        return (answer.text.strip()[:_LONGEST_DETAIL] or answer.reason_phrase), 0
    error = read.get("error", read) if isinstance(read, dict) else read
    if not isinstance(error, dict):
        return _words(error)[:_LONGEST_DETAIL], 0
    said = error.get("detail") or error.get("message") or error.get("title") or error
    code = error.get("error_code")
    return _words(said)[:_LONGEST_DETAIL], code if isinstance(code, int) else 0


def _words(said: object) -> str:
    if isinstance(said, dict):
        return "; ".join(f"{name}: {_words(what)}" for name, what in said.items())
    if isinstance(said, list):
        return " ".join(_words(one) for one in said)
    return str(said)


MOST_BONUSES = 200  # per set-up, as recommended by the reference of "Set up bonuses"
MOST_APPROVALS = 1_000  # per call, as recommended by the reference of "Bulk approve submissions"


class ProlificClient(ProlificConnection):
    # --- studies ----------------------------------------------------------------------------------
    def create_study(self, draft: StudyDraft) -> PanelStudy:
        """Create a draft, which nobody sees and which costs nothing. It is not idempotent: look for it first."""
        return PanelStudy.read(self.answered("POST", "studies/", body=draft.as_json()))

    def list_studies(self, *, project: str = "") -> list[PanelStudy]:
        """Return the studies of a project or the account, the oldest first (ids grow with time)."""
        path = f"projects/{known_id(project, 'project')}/studies/" if project else "studies/"
        found = self.listed(path, {}, PanelStudy.read, key=lambda study: study.id)
        return sorted(found, key=lambda study: study.id)

    def find_studies(self, internal_name: str, *, project: str = "") -> list[PanelStudy]:
        return [study for study in self.list_studies(project=project) if study.internal_name == internal_name]

    def get_study(self, study: str) -> PanelStudy:
        return PanelStudy.read(self.answered("GET", f"studies/{known_id(study, 'study')}/"))

    def transition_study(self, study: str, action: StudyAction) -> None:
        """Publish, pause, start or stop a study; an invalid step is refused."""
        path = f"studies/{known_id(study, 'study')}/transition/"
        self.ask("POST", path, body={"action": action.value})

    def increase_places(self, study: str, places: int) -> None:
        """Set the total of slots. A published study refuses fewer; a completed one reopens."""
        path = f"studies/{known_id(study, 'study')}/"
        self.ask("PATCH", path, body={"total_available_places": places})

    def cost_cents(self, *, reward_cents: int, places: int) -> int:
        """Return the cost of slots with this account's fee and tax."""
        body = {"reward": reward_cents, "total_available_places": places}
        answer = self.answered("POST", "study-cost-calculator/", body=body)
        return upwards(answer.get("total_cost"), "total_cost")

    def balance(self, workspace: str) -> Balance:
        return Balance.read(self.answered("GET", f"workspaces/{known_id(workspace, 'workspace')}/balance/"))

    # --- submissions ------------------------------------------------------------------------------
    def submissions(self, study: str) -> list[Submission]:
        """Return a study's submissions by start; bonuses are not included."""
        parameters = {"study": known_id(study, "study"), "ordering": "started_at"}
        return self.listed(
            "submissions/", parameters, lambda row: Submission.read(row, study=study), key=lambda one: one.id
        )

    def submission(self, submission: str) -> Submission:
        return Submission.read(self.answered("GET", f"submissions/{known_id(submission, 'submission')}/"))

    def approve(self, submission: str) -> None:
        """Pay a submission. A repeated call changes nothing."""
        self._decide(submission, {"action": "APPROVE"})

    def reject(self, submission: str, *, category: RejectionCategory, message: str) -> None:
        """Reject a submission with a reason for its author. A repeated call changes nothing."""
        if len(message) < SHORTEST_REJECTION:
            raise WrongRequest(
                f"Not asked of Prolific: the reason of a rejection has {len(message)} characters; "
                f"expected {SHORTEST_REJECTION} or more."
            )
        body = {"action": "REJECT", "rejection_category": category.value, "message": message}
        self._decide(submission, body)

    def approve_many(self, submissions: Sequence[str]) -> None:
        """Approve submissions asynchronously; read their states to see the result."""
        if not 0 < len(submissions) <= MOST_APPROVALS:
            raise WrongRequest(
                f"Not asked of Prolific: {len(submissions)} submissions to approve at once; "
                f"expected 1 to {MOST_APPROVALS}."
            )
        body = {"submission_ids": [known_id(one, "submission") for one in submissions]}
        self.ask("POST", "submissions/bulk-approve/", body=body)

    def request_return(self, submission: str, *, reason: str) -> None:
        """Ask a person to return a submission, unpaid and without a mark against them."""
        path = f"submissions/{known_id(submission, 'submission')}/request-return/"
        self.ask("POST", path, body={"request_return_reasons": [reason]})

    def _decide(self, submission: str, body: Mapping[str, object]) -> None:
        path = f"submissions/{known_id(submission, 'submission')}/transition/"
        self.ask("POST", path, body=body)

    # --- bonuses ----------------------------------------------------------------------------------
    def set_up_bonuses(self, study: str, bonuses: Mapping[str, int]) -> BonusSetUp:
        """Announce bonuses, in cents by submission. Nothing is paid yet."""
        if not 0 < len(bonuses) <= MOST_BONUSES:
            raise WrongRequest(
                f"Not asked of Prolific: {len(bonuses)} bonuses at once; expected 1 to {MOST_BONUSES}."
            )
        rows = [f"{known_id(one, 'submission')},{decimal_text(cents)}" for one, cents in bonuses.items()]
        body = {"study_id": known_id(study, "study"), "csv_bonuses": "\n".join(rows)}
        return BonusSetUp.read(self.answered("POST", "submissions/bonus-payments/", body=body))

    def pay_bonuses(self, set_up: str) -> None:
        """Pay a set-up within minutes. *A repeated call pays twice*: never repeat it after ``Unknown``."""
        self.ask("POST", f"bulk-bonus-payments/{known_id(set_up, 'bonus payment')}/pay/")

    # --- groups and messages ----------------------------------------------------------------------
    def groups(self, workspace: str) -> list[ParticipantGroup]:
        parameters = {"workspace_id": known_id(workspace, "workspace"), "active": "true"}
        return self.listed("participant-groups/", parameters, ParticipantGroup.read, key=lambda one: one.id)

    def create_group(self, workspace: str, *, name: str, description: str = "") -> ParticipantGroup:
        """Create an empty group. It is not idempotent: look for its name first."""
        body = {
            "workspace_id": known_id(workspace, "workspace"),
            "name": name,
            "description": description,
        }
        return ParticipantGroup.read(self.answered("POST", "participant-groups/", body=body))

    def group_members(self, group: str) -> list[str]:
        path = f"participant-groups/{known_id(group, 'participant group')}/participants/"
        return self.listed(path, {}, _participant, key=lambda one: one)

    def add_to_group(self, group: str, participants: Sequence[str]) -> None:
        self._change_group("POST", group, participants)

    def remove_from_group(self, group: str, participants: Sequence[str]) -> None:
        self._change_group("DELETE", group, participants)

    def _change_group(self, method: str, group: str, participants: Sequence[str]) -> None:
        path = f"participant-groups/{known_id(group, 'participant group')}/participants/"
        members = [known_id(one, "participant") for one in participants]
        self.ask(method, path, body={"participant_ids": members})

    def send_message(self, *, participant: str, study: str, text: str) -> None:
        """Message a person about a study. It cannot be found out later whether it was sent."""
        body = {
            "recipient_id": known_id(participant, "participant"),
            "study_id": known_id(study, "study"),
            "body": text,
        }
        self.ask("POST", "messages/", body=body)


def _participant(row: Mapping[str, Any]) -> str:
    return read_id(row.get("participant_id"), "participant")
