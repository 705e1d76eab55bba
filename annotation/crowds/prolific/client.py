"""Prolific's public API, version 1 (docs.prolific.com): each method is one call, asked once.

Nothing is repeated in here. Whoever asks must know what became of an order that costs money, and only three things can:
it was refused (``ProlificRefused``), it was not carried out and may be asked again (``ProlificThrottled``,
``ProlificNotReached``), or nobody knows (``ProlificUnknown``) and the state has to be read before anything is asked
again. Of the orders, the reference calls the transitions of submissions idempotent, and *paying bonuses not*: paying
the same set-up twice pays the people twice.
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
MOST_PAGES = 1_000  # a paging that does not end by itself is a fault, not a very long list
_OWN_HOSTS = ("localhost", "127.0.0.1", "::1")
_LONGEST_DETAIL = 400


@cache
def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted, read once: it takes longer than a call."""
    return httpx.create_ssl_context()


class ProlificConnection:
    """An address and a token. One may be used for many calls; close it, or use it in a ``with``."""

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
        """Lets the connections go."""
        self._http.close()

    def listed(
        self,
        path: str,
        parameters: Parameters,
        read: Callable[[Mapping[str, Any]], Row],
        *,
        key: Callable[[Row], str],
    ) -> list[Row]:
        """Every row of a paged list once, though pages may shift while they are read."""
        rows = {key(row): row for page in self._pages(path, parameters) for row in map(read, page)}
        return list(rows.values())

    def _pages(self, path: str, parameters: Parameters) -> Iterator[list[Mapping[str, Any]]]:
        """The pages of a list. Some endpoints link the next one, some only count, some do not page at all."""
        asked: dict[str, str | int] = {**parameters, "page": 1, "page_size": PAGE_SIZE}
        before: list[Mapping[str, Any]] = []
        for number in range(2, MOST_PAGES + 2):
            answer = self.answered("GET", path, parameters=asked)
            rows = answer.get("results")
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                raise UnreadableAnswer(
                    f"Prolific's list of {path} holds no results; expected a list of objects."
                )
            if rows == before:  # the endpoint knows no pages and said the same again
                return
            yield rows
            before = rows
            links = answer.get("_links")
            if isinstance(links, dict):
                following = (links.get("next") or {}).get("href")
                if not following:
                    return
                # Only the link's parameters are followed: the token goes to no address but the one in the settings.
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
        """An answer that is a JSON object. One that is cut short counts as lost: the call was carried out or not."""
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
        """Sends a call once; an answer is a success, anything else a named error."""
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
    """What an answer that is no success means for the call."""
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
    """``Retry-After`` in seconds; a date, which nobody has seen here, counts as nothing said."""
    text = answer.headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else None


def _detail(answer: httpx.Response) -> tuple[str, int]:
    """The API's own sentence. The reference shows it bare and within ``error``, as text, a list, or by fields."""
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
