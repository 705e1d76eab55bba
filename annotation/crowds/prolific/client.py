"""A client of Prolific's public API, version 1 (docs.prolific.com): each method makes one call, once.

All methods raise ``Refused``, ``OutOfFunds`` or ``TryLater``. The reference calls transitions of submissions
idempotent, and *paying bonuses not*: paying a set-up twice pays the people twice.

Answers become frozen records, after "Prolific API for Data Collectors", OpenAPI 3.1, version 1.0.0 as of August 2026.
Money is in whole cents; the API writes it as JSON numbers in cents, some as floating point ("double"), and takes
bonuses as decimal text in the main unit.
"""

from __future__ import annotations

import csv
import io
import re
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings

from annotation.crowds.base import CrowdProblem, OutOfFunds, Refused, TryLater
from common.incoming import load_json
from common.incoming.services import THIS_MACHINE, Caller, open_http, seconds_to_wait

if TYPE_CHECKING:
    import httpx  # 8 MiB, which a web server without Prolific does without


# Every id in the reference has 24 hexadecimal digits; bulk payments and pools have longer ones. A participant can
# write the id that comes by the browser, so only these characters may reach a path or a CSV row.
_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
State = TypeVar("State", bound=StrEnum)
# characters of a rejection's message, by the reference of "Approve or reject a submission"
SHORTEST_REJECTION = 100
SCREEN_OUT = "FIXED_SCREEN_OUT_PAYMENT"  # a completion code's action; for some workspaces only


class StudyState(StrEnum):
    """The states of a study ("StudyStatus")."""

    UNPUBLISHED = "UNPUBLISHED"
    SCHEDULED = "SCHEDULED"
    PUBLISHING = "PUBLISHING"
    ACTIVE = "ACTIVE"
    AWAITING_REVIEW = "AWAITING REVIEW"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    UNKNOWN = "UNKNOWN"


class StudyAction(StrEnum):
    """The steps of a study that we use ("StudyTransitionAction")."""

    PUBLISH = "PUBLISH"
    PAUSE = "PAUSE"
    START = "START"
    STOP = "STOP"


class SubmissionState(StrEnum):
    """The states of a submission ("SubmissionDetailStatus"). PROCESSING was seen by Mephisto's authors."""

    RESERVED = "RESERVED"
    ACTIVE = "ACTIVE"
    TIMED_OUT = "TIMED-OUT"
    AWAITING_REVIEW = "AWAITING REVIEW"
    APPROVED = "APPROVED"
    PARTIALLY_APPROVED = "PARTIALLY APPROVED"
    RETURNED = "RETURNED"
    REJECTED = "REJECTED"
    SCREENED_OUT = "SCREENED OUT"
    PROCESSING = "PROCESSING"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True)
class PanelStudy:
    id: str
    internal_name: str
    state: StudyState
    places: int
    reward_cents: int

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> PanelStudy:
        """Build it from an answer; lists omit some fields."""
        return cls(
            id=read_id(row.get("id"), "study"),
            internal_name=str(row.get("internal_name") or ""),
            state=_state(StudyState, row.get("status"), StudyState.UNKNOWN),
            places=read_whole(row.get("total_available_places", 0), "total_available_places"),
            reward_cents=read_whole(row.get("reward", 0), "reward"),
        )


@dataclass(frozen=True)
class Submission:
    """One person's submission. ``bonus_cents`` is known only if it was requested by id."""

    id: str
    participant: str
    state: SubmissionState
    code: str
    started_at: datetime | None
    completed_at: datetime | None
    study: str = ""
    bonus_cents: tuple[int, ...] | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any], *, study: str = "") -> Submission:
        """Build it from a list's row or a single answer, which use different names."""
        bonuses = row.get("bonus_payments")
        return cls(
            id=read_id(row.get("id"), "submission"),
            participant=read_id(row.get("participant_id") or row.get("participant"), "participant"),
            state=_state(SubmissionState, row.get("status"), SubmissionState.UNKNOWN),
            code=str(row.get("study_code") or row.get("entered_code") or ""),
            started_at=_time(row.get("started_at")),
            completed_at=_time(row.get("completed_at")),
            study=str(row.get("study_id") or study),
            bonus_cents=None
            if bonuses is None
            else tuple(read_whole(amount, "bonus_payments") for amount in bonuses),
        )


@dataclass(frozen=True)
class BonusSetUp:
    """Announced bonuses that are not yet paid; ``total_cents`` is their total cost."""

    id: str
    total_cents: int

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> BonusSetUp:
        return cls(
            id=read_id(row.get("id"), "bonus payment"),
            total_cents=read_cents_rounded_up(row.get("total_amount", 0), "total_amount"),
        )


@dataclass(frozen=True)
class ParticipantGroup:
    id: str
    name: str

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> ParticipantGroup:
        return cls(id=read_id(row.get("id"), "participant group"), name=str(row.get("name") or ""))


@dataclass(frozen=True)
class Hook:
    id: str
    event: str
    address: str

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Hook:
        return cls(
            id=read_id(row.get("id"), "subscription"),
            event=str(row.get("event_type") or ""),
            address=str(row.get("target_url") or ""),
        )


@dataclass(frozen=True)
class ListedFilter:
    """A filter of Prolific's list: its answers (id -> words), or the bounds of its range."""

    id: str
    choices: Mapping[str, str]
    least: int | None = None
    most: int | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> ListedFilter:
        choices = row.get("choices")
        return cls(
            id=read_id(row.get("filter_id"), "filter"),
            choices={str(choice): str(text) for choice, text in choices.items()}
            if isinstance(choices, dict)
            else {},
            least=_bound(row.get("min")),
            most=_bound(row.get("max")),
        )


def _bound(value: object) -> int | None:
    """Return a whole bound; None for a missing one or a date."""
    return int(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else None


def known_id(value: object, what: str) -> str:
    """Return a valid id; other text could change the meaning of a path or a CSV row."""
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise Refused(f"Not asked of Prolific: {str(value)[:60]!r} is no id of a {what}.")


def read_id(value: object, what: str) -> str:
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise TryLater(f"Prolific's id of a {what} is {str(value)[:60]!r}; expected letters and digits.")


def decimal_text(cents: int) -> str:
    """Return cents as the decimal text of a bonus CSV: 150 is "1.50"."""
    if cents <= 0:
        raise Refused(f"Not asked of Prolific: a bonus of {cents} cents; expected one cent or more.")
    return f"{cents // 100}.{cents % 100:02d}"


def read_whole(value: object, what: str) -> int:
    number = _number(value, what)
    if number != number.to_integral_value():
        raise TryLater(f"Prolific's {what} is {value}; expected a whole number.")
    return int(number)


def read_cents_rounded_up(value: object, what: str) -> int:
    """Return a cost in cents, rounded up, so that budgets suffice."""
    return int(_number(value, what).to_integral_value(rounding=ROUND_CEILING))


def _number(value: object, what: str) -> Decimal:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Decimal(value)
    raise TryLater(f"Prolific's {what} is {str(value)[:60]!r}; expected a number.")


def _time(value: object) -> datetime | None:
    """Parse a time; the API writes UTC, sometimes without a zone."""
    if not isinstance(value, str) or not value:
        return None
    text = value if value.endswith("Z") or re.search(r"[+-]\d\d:?\d\d$", value) else f"{value}Z"
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise TryLater(f"Prolific's time {value[:60]!r} is none; expected ISO 8601.") from error


def _state(kind: type[State], value: object, otherwise: State) -> State:
    """Return the state of that name, or ``otherwise`` for one newer than this code."""
    return kind(str(value)) if value in set(kind) else otherwise


Row = TypeVar("Row", PanelStudy, Submission, ParticipantGroup, ListedFilter, Hook)
Parameters = Mapping[str, str | int]

PAGE_SIZE = 100
MOST_PAGES = 1_000  # endless paging is a fault, not a long list
_LONGEST_DETAIL = 400
# The reference has no error code for an empty account; people reported these words.
_OUT_OF_FUNDS = re.compile(r"balance|funds|top[ -]?up|wallet", re.IGNORECASE)


@cache
def _certificates() -> ssl.SSLContext:
    """Load the trusted authorities once: it takes longer than a call."""
    import httpx

    return httpx.create_ssl_context()


def open_client(*, timeout: float = 30.0) -> ProlificClient:
    url, token = settings.PROLIFIC_API_URL, settings.PROLIFIC_TOKEN
    return ProlificClient(url=url, token=token, timeout=timeout)


class ProlificClient(Caller):
    def __init__(self, *, url: str, token: str, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if not token:
            raise _not_configured("the setting PROLIFIC_TOKEN is empty.")
        if parts.scheme != "https" and parts.hostname not in THIS_MACHINE:
            raise _not_configured(
                f"PROLIFIC_API_URL is {url!r}; expected an https address, since the token is sent with every call."
            )
        self._http = open_http(
            f"{url.rstrip('/')}/api/v1/",
            seconds=timeout,
            headers={"Authorization": f"Token {token}", "Accept": "application/json"},
            verify=_certificates(),
        )

    def create_study(self, draft: Mapping[str, object]) -> PanelStudy:
        """Create a draft, which nobody sees and which costs nothing. Not idempotent: look for it first."""
        return PanelStudy.read(self._answered("POST", "studies/", json=dict(draft)))

    def list_studies(self, *, project: str = "") -> list[PanelStudy]:
        """Return the studies of a project or the account, oldest first (ids grow with time)."""
        path = f"projects/{known_id(project, 'project')}/studies/" if project else "studies/"
        studies = self._listed(path, {}, PanelStudy.read)
        return sorted(studies, key=lambda study: study.id)

    def find_studies(self, internal_name: str, *, project: str = "") -> list[PanelStudy]:
        return [study for study in self.list_studies(project=project) if study.internal_name == internal_name]

    def get_study(self, study: str) -> PanelStudy:
        return PanelStudy.read(self._answered("GET", f"studies/{known_id(study, 'study')}/"))

    def transition_study(self, study: str, action: StudyAction) -> None:
        path = f"studies/{known_id(study, 'study')}/transition/"
        self._ask("POST", path, json={"action": action.value})

    def increase_places(self, study: str, places: int) -> None:
        """Set the total of slots. A published study refuses fewer; a completed one reopens."""
        path = f"studies/{known_id(study, 'study')}/"
        self._ask("PATCH", path, json={"total_available_places": places})

    def set_screen_outs(self, study: str, *, code: str, slots: int) -> None:
        """Set the total of paid screen-outs ("FixedScreenOut": slots of a published study may be raised)."""
        changed = {"code": code, "actions": [{"action": SCREEN_OUT, "slots": slots}]}
        path = f"studies/{known_id(study, 'study')}/"
        self._ask("PATCH", path, json={"completion_codes": [changed]})

    def cost_cents(self, *, reward_cents: int, places: int) -> int:
        """Return the cost of slots with this account's fee and tax."""
        body = {"reward": reward_cents, "total_available_places": places}
        answer = self._answered("POST", "study-cost-calculator/", json=body)
        return read_cents_rounded_up(answer.get("total_cost"), "total_cost")

    def balance_cents(self, workspace: str) -> int:
        """Return the money that is not reserved for running studies."""
        return read_whole(self._balance(workspace).get("available_balance", 0), "available_balance")

    def currency(self, workspace: str) -> str:
        """Return the currency of all amounts of a workspace, such as GBP."""
        return str(self._balance(workspace).get("currency_code") or "")

    def _balance(self, workspace: str) -> dict[str, Any]:
        return self._answered("GET", f"workspaces/{known_id(workspace, 'workspace')}/balance/")

    def filters(self, *, workspace: str = "") -> list[ListedFilter]:
        parameters = {"workspace_id": known_id(workspace, "workspace")} if workspace else {}
        return self._listed("filters/", parameters, ListedFilter.read)

    def submissions(self, study: str) -> list[Submission]:
        """Return a study's submissions by start; bonuses are not included."""
        parameters = {"study": known_id(study, "study"), "ordering": "started_at"}
        return self._listed("submissions/", parameters, lambda row: Submission.read(row, study=study))

    def submission(self, submission: str) -> Submission:
        return Submission.read(self._answered("GET", f"submissions/{known_id(submission, 'submission')}/"))

    def approve(self, submission: str) -> None:
        self._decide(submission, {"action": "APPROVE"})

    def reject(self, submission: str, *, message: str) -> None:
        if len(message) < SHORTEST_REJECTION:
            raise Refused(
                f"Not asked of Prolific: the reason of a rejection has {len(message)} characters; "
                f"expected {SHORTEST_REJECTION} or more."
            )
        self._decide(submission, {"action": "REJECT", "rejection_category": "OTHER", "message": message})

    def _decide(self, submission: str, body: Mapping[str, object]) -> None:
        path = f"submissions/{known_id(submission, 'submission')}/transition/"
        self._ask("POST", path, json=body)

    def set_up_bonus(self, study: str, submission: str, cents: int) -> BonusSetUp:
        """Announce a bonus without paying it."""
        body = {
            "study_id": known_id(study, "study"),
            "csv_bonuses": f"{known_id(submission, 'submission')},{decimal_text(cents)}",
        }
        return BonusSetUp.read(self._answered("POST", "submissions/bonus-payments/", json=body))

    def pay_bonus(self, set_up: str) -> None:
        """Pay a set-up within minutes. *A repeated call pays twice*: never repeat it after a lost answer."""
        self._ask("POST", f"bulk-bonus-payments/{known_id(set_up, 'bonus payment')}/pay/")

    def groups(self, workspace: str) -> list[ParticipantGroup]:
        parameters = {"workspace_id": known_id(workspace, "workspace"), "active": "true"}
        return self._listed("participant-groups/", parameters, ParticipantGroup.read)

    def create_group(self, workspace: str, *, name: str) -> ParticipantGroup:
        """Create an empty group. Not idempotent: look for its name first."""
        body = {"workspace_id": known_id(workspace, "workspace"), "name": name, "description": ""}
        return ParticipantGroup.read(self._answered("POST", "participant-groups/", json=body))

    def add_to_group(self, group: str, participants: Sequence[str]) -> None:
        self._change_group("POST", group, participants)

    def remove_from_group(self, group: str, participants: Sequence[str]) -> None:
        self._change_group("DELETE", group, participants)

    def _change_group(self, method: str, group: str, participants: Sequence[str]) -> None:
        path = f"participant-groups/{known_id(group, 'participant group')}/participants/"
        members = [known_id(participant, "participant") for participant in participants]
        self._ask(method, path, json={"participant_ids": members})

    def send_message(self, *, participant: str, study: str, text: str) -> None:
        """Message a person about a study. Nothing shows later whether it was sent."""
        body = {
            "recipient_id": known_id(participant, "participant"),
            "study_id": known_id(study, "study"),
            "body": text,
        }
        self._ask("POST", "messages/", json=body)

    def demographics(self, study: str) -> list[dict[str, str]]:
        """Return a row for each submission, by column names in lower case.

        Without filters it is the basic export, which may be repeated. The reference promises JSON and no more;
        Prolific's own command-line client gets a CSV file. Both are read.
        """
        path = f"studies/{known_id(study, 'study')}/demographic-export/"
        answer = self._ask("POST", path, json={"filters": []})
        text = answer.content.decode("utf-8-sig", errors="replace")
        if text.lstrip()[:1] in ("[", "{"):
            rows = _object_rows(answer, path)
        else:
            rows = list(csv.DictReader(io.StringIO(text)))
        # A file that was cut short, or none.
        if any(None in row or None in row.values() or len(row) < 2 for row in rows):
            raise TryLater(f"Prolific's answer to POST {path} is no table of demographics.")
        return [{_column(name): str(value or "") for name, value in row.items()} for row in rows]

    def hook_secret(self, workspace: str) -> str:
        """Return the secret that signs the workspace's webhooks; "" if there is none."""
        parameters = {"workspace_id": known_id(workspace, "workspace")}
        rows = self._answered("GET", "hooks/secrets/", params=parameters).get("results") or []
        values = [str(row.get("value") or "") for row in rows if row.get("workspace_id") == workspace]
        return values[0] if values else ""

    def create_hook_secret(self, workspace: str) -> str:
        """Create the secret, which replaces an existing one for all subscriptions."""
        body = {"workspace_id": known_id(workspace, "workspace")}
        return str(self._answered("POST", "hooks/secrets/", json=body).get("value") or "")

    def hooks(self, workspace: str) -> list[Hook]:
        parameters = {"workspace_id": known_id(workspace, "workspace"), "is_enabled": "true"}
        return self._listed("hooks/subscriptions/", parameters, Hook.read)

    def subscribe(self, workspace: str, *, event: str, address: str) -> None:
        """Subscribe to an event and confirm it, as the reference asks."""
        body = {
            "workspace_id": known_id(workspace, "workspace"),
            "event_type": event,
            "target_url": address,
        }
        answer = self._ask("POST", "hooks/subscriptions/", json=body)
        hook = Hook.read(_object(answer, "POST hooks/subscriptions/"))
        secret = answer.headers.get("X-Hook-Secret", "")
        self._ask("POST", f"hooks/subscriptions/{hook.id}/", json={"secret": secret})

    def _listed(
        self, path: str, parameters: Parameters, read: Callable[[Mapping[str, Any]], Row]
    ) -> list[Row]:
        """Return every row of a paged list once, even if pages shift meanwhile."""
        rows = {row.id: row for page in self._pages(path, parameters) for row in map(read, page)}
        return list(rows.values())

    def _pages(self, path: str, parameters: Parameters) -> Iterator[list[Mapping[str, Any]]]:
        """Yield the pages of a list. Some endpoints link the next page, some count, some do not page."""
        query: dict[str, str | int] = {**parameters, "page": 1, "page_size": PAGE_SIZE}
        before: list[Mapping[str, Any]] = []
        for number in range(2, MOST_PAGES + 2):
            answer = self._answered("GET", path, params=query)
            rows = answer.get("results")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise TryLater(f"Prolific's list of {path} holds no results; expected a list of objects.")
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
                query = {**query, "page": number, **dict(parse_qsl(urlsplit(str(following)).query))}
            elif len(rows) < PAGE_SIZE:
                return
            else:
                query = {**query, "page": number}
        raise TryLater(f"Prolific's list of {path} did not end after {MOST_PAGES} pages.")

    def _answered(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """Return an answer's JSON object; a truncated answer counts as lost."""
        return _object(self._ask(method, path, **request), f"{method} {path}")

    def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Send a call once; ``request`` are httpx's ``json`` and ``params``."""
        import httpx

        try:
            answer = self._http.request(method, path, **request)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise TryLater(
                f"{method} {path} was not sent: no connection to Prolific ({error}).", undone=True
            ) from error
        except httpx.RequestError as error:
            raise TryLater(
                f"{method} {path} was sent and no answer came ({type(error).__name__}); "
                "Prolific may have carried it out or not."
            ) from error
        if answer.is_success:
            return answer
        raise _failure(method, path, answer)


def _column(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).lower()


def _object_rows(answer: httpx.Response, path: str) -> list[dict[str, Any]]:
    try:
        read = load_json(answer.content)
    except ValueError as error:
        raise TryLater(f"Prolific's answer to POST {path} was cut short.") from error
    rows = read.get("results") if isinstance(read, dict) else read
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TryLater(f"Prolific's answer to POST {path} holds no rows; expected a list of objects.")
    return rows


def _object(answer: httpx.Response, request: str) -> dict[str, Any]:
    try:
        read = load_json(answer.content, parse_float=Decimal)
    except ValueError as error:
        raise TryLater(f"Prolific's answer to {request} was cut short.") from error
    if not isinstance(read, dict):
        raise TryLater(f"Prolific's answer to {request} is no object.")
    return read


def _not_configured(why: str) -> TryLater:
    return TryLater(f"Nothing was asked of Prolific: {why}", after=60.0, undone=True, final=True)


def _failure(method: str, path: str, answer: httpx.Response) -> CrowdProblem:
    status = answer.status_code
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        message = f"{method} {path} was not carried out: Prolific asks to wait."
        return TryLater(message, after=seconds_to_wait(answer.headers), undone=True)
    if status >= 500 or status == HTTPStatus.REQUEST_TIMEOUT:
        return TryLater(
            f"{method} {path} was answered with {status}; Prolific may have carried it out or not."
        )
    token = answer.request.headers["Authorization"].partition(" ")[2]  # some repeat what they were sent
    detail = _detail(answer).replace(token, "***")[:_LONGEST_DETAIL]
    message = f"Prolific refused {method} {path} ({status}): {detail}"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return TryLater(f"{message} Check PROLIFIC_TOKEN.", after=60.0, undone=True, final=True)
    return OutOfFunds(message) if _OUT_OF_FUNDS.search(detail) else Refused(message)


def _detail(answer: httpx.Response) -> str:
    """Return the API's error message. It may be bare or in ``error``, as text, list or fields."""
    try:
        read = load_json(answer.content)
    except ValueError:
        return answer.text.strip() or answer.reason_phrase
    error = read.get("error", read) if isinstance(read, dict) else read
    if isinstance(error, dict):
        error = error.get("detail") or error.get("message") or error.get("title") or error
    return _words(error)


def _words(error: object) -> str:
    if isinstance(error, dict):
        return "; ".join(f"{name}: {_words(what)}" for name, what in error.items())
    if isinstance(error, list):
        return " ".join(_words(part) for part in error)
    return str(error)
