"""The responses of Prolific's API as frozen records, and the parsing of ids, money and times.

They follow "Prolific API for Data Collectors", OpenAPI 3.1, version 1.0.0 as of August 2026. In records, money is in
whole cents. In responses, it is JSON numbers in cents, some with decimals ("double"). Bonuses are sent as decimal text
in the main unit of the currency.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Any, TypeVar

from annotation.crowds.base import CrowdRefusal, RetryLater

# Ids in the reference have 24 hexadecimal digits, except those of bulk payments and pools, which are longer. A
# participant can change the id that the browser sends, so only these characters are allowed in a path or a CSV row.
_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
State = TypeVar("State", bound=StrEnum)


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
    """The transitions of a study that Quorum requests ("StudyTransitionAction")."""

    PUBLISH = "PUBLISH"
    PAUSE = "PAUSE"
    START = "START"
    STOP = "STOP"


class SubmissionState(StrEnum):
    """The states of a submission ("SubmissionDetailStatus"). PROCESSING was reported by the authors of Mephisto."""

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
    """A study at Prolific. ``internal_name`` is Quorum's token, which participants do not see."""

    id: str
    internal_name: str
    state: StudyState
    places: int
    reward_cents: int

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> PanelStudy:
        """Read a study from a response. Rows of lists lack some members."""
        return cls(
            id=read_id(row.get("id"), "study"),
            internal_name=str(row.get("internal_name") or ""),
            state=_read_state(StudyState, row.get("status"), StudyState.UNKNOWN),
            places=read_whole_number(row.get("total_available_places", 0), "total_available_places"),
            reward_cents=read_whole_number(row.get("reward", 0), "reward"),
        )


@dataclass(frozen=True)
class PanelSubmission:
    """The submission of a person.

    Attributes:
        participant, study: Prolific's ids.
        code: the completion code that the person entered.
        bonus_cents: the amounts of its bonuses; None if unknown, as in a list of submissions.
    """

    id: str
    participant: str
    state: SubmissionState
    code: str
    started_at: datetime | None
    completed_at: datetime | None
    study: str = ""
    bonus_cents: tuple[int, ...] | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any], *, study: str = "") -> PanelSubmission:
        """Read a submission from a row of a list or from a response, whose members have different names.

        ``study`` is the id of the study, which rows of lists lack.
        """
        bonuses = row.get("bonus_payments")
        cents = (read_whole_number(amount, "bonus_payments") for amount in bonuses or ())
        return cls(
            id=read_id(row.get("id"), "submission"),
            participant=read_id(row.get("participant_id") or row.get("participant"), "participant"),
            state=_read_state(SubmissionState, row.get("status"), SubmissionState.UNKNOWN),
            code=str(row.get("study_code") or row.get("entered_code") or ""),
            started_at=_read_time(row.get("started_at")),
            completed_at=_read_time(row.get("completed_at")),
            study=str(row.get("study_id") or study),
            bonus_cents=None if bonuses is None else tuple(cents),
        )


@dataclass(frozen=True)
class BonusSetUp:
    """Bonuses that are set up and not yet paid. ``total_cents`` is their total cost, with fees."""

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
    """A subscription to a kind of event, whose notifications are sent to ``address``."""

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
    """A filter in Prolific's list.

    Attributes:
        choices: the texts of its answers by their ids; empty if it has a range instead.
        minimum, maximum: the bounds of its range; None if there is none, or if it is not a number.
    """

    id: str
    choices: Mapping[str, str]
    minimum: int | None = None
    maximum: int | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> ListedFilter:
        choices = row.get("choices")
        choices = choices if isinstance(choices, dict) else {}
        return cls(
            id=read_id(row.get("filter_id"), "filter"),
            choices={str(choice): str(text) for choice, text in choices.items()},
            minimum=_read_bound(row.get("min")),
            maximum=_read_bound(row.get("max")),
        )


def _read_bound(value: object) -> int | None:
    """Return a whole bound; None if it is missing or is a date."""
    return int(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else None


def valid_id(value: object, what: str) -> str:
    """Return an id that is to be sent. Raise CrowdRefusal if it could change the meaning of a path or a CSV row.

    Args:
        what: what the id identifies, for the error message.
    """
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise CrowdRefusal(f"Not asked of Prolific: {str(value)[:60]!r} is no id of a {what}.")


def read_id(value: object, what: str) -> str:
    """Return an id in a response. Raise RetryLater if it is not valid."""
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise RetryLater(f"Prolific's id of a {what} is {str(value)[:60]!r}; expected letters and digits.")


def decimal_text(cents: int) -> str:
    """Return cents as the decimal text of a bonus CSV: 150 is "1.50"."""
    if cents <= 0:
        raise CrowdRefusal(f"Not asked of Prolific: a bonus of {cents} cents; expected one cent or more.")
    return f"{cents // 100}.{cents % 100:02d}"


def read_whole_number(value: object, what: str) -> int:
    """Return a member of a response that must be a whole number. Raise RetryLater if it is not.

    Args:
        what: the name of the member.
    """
    number = _read_number(value, what)
    if number != number.to_integral_value():
        raise RetryLater(f"Prolific's {what} is {value}; expected a whole number.")
    return int(number)


def read_cents_rounded_up(value: object, what: str) -> int:
    """Return a cost in a response in whole cents, rounded up, so that budgets suffice."""
    return int(_read_number(value, what).to_integral_value(rounding=ROUND_CEILING))


def _read_number(value: object, name: str) -> Decimal:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Decimal(value)
    raise RetryLater(f"Prolific's {name} is {str(value)[:60]!r}; expected a number.")


def _read_time(value: object) -> datetime | None:
    """Parse a time. The API writes UTC, sometimes without a time zone."""
    if not isinstance(value, str) or not value:
        return None
    text = value if value.endswith("Z") or re.search(r"[+-]\d\d:?\d\d$", value) else f"{value}Z"
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise RetryLater(f"Prolific's time {value[:60]!r} is none; expected ISO 8601.") from error


def _read_state(kind: type[State], value: object, unknown_state: State) -> State:
    """Return the state with this name, or ``unknown_state`` if this version has no such state."""
    return kind(str(value)) if value in set(kind) else unknown_state
