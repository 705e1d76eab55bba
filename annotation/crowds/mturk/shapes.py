"""What Mechanical Turk tells, as values of ours, and its refusals by name. Nothing here loads AWS's library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from annotation.crowds.base import OutOfFunds, Refused, TryLater

SANDBOX, LIVE = "mturk-sandbox", "mturk-live"


class TurkRefused(Refused):
    """The service said no. ``code`` is its TurkErrorCode without the prefix, or the name of the error."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class NotAtTurk(TurkRefused):
    """There is no such HIT, assignment, worker or qualification, or not any more, or not yet."""


class WrongStateAtTurk(TurkRefused):
    """What was asked about is in another state: somebody, or the service itself, acted before."""


class AskedBefore(TurkRefused):
    """The token was used before, so that the earlier call did it."""


class HitAlreadyExists(TurkRefused):
    """The token made ``hit`` before; '' where the answer did not name it."""

    def __init__(self, message: str, *, hit: str) -> None:
        super().__init__(message, code="HitAlreadyExists")
        self.hit = hit


@dataclass(frozen=True, slots=True)
class TurkHIT:
    """A HIT as the service shows it. ``completed`` is approved and rejected, not submitted."""

    id: str
    type_id: str
    group_id: str
    annotation: str
    status: str
    places: int
    pending: int
    available: int
    completed: int
    reward_cents: int
    created_at: datetime | None
    expires_at: datetime | None

    @property
    def over(self) -> bool:
        """Nobody may take it and nobody is at work: all is handed in, or its time is over."""
        return self.status in ("Reviewable", "Reviewing", "Disposed")


@dataclass(frozen=True, slots=True)
class TurkAssignment:
    """An assignment that was handed in. ``status`` is Submitted, Approved or Rejected."""

    id: str
    hit: str
    worker: str
    status: str
    answer: str
    feedback: str
    accepted_at: datetime | None
    submitted_at: datetime | None
    auto_approval_at: datetime | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class TurkBonus:
    """A bonus that was paid."""

    worker: str
    assignment: str
    cents: int
    reason: str


def dollars(cents: int) -> str:
    """As the service takes an amount: at most two decimals."""
    return f"{cents // 100}.{cents % 100:02d}"


def cents_of(amount: str) -> int:
    """The amount in cents, exactly."""
    cents = Decimal(amount) * 100
    if cents != cents.to_integral_value():
        raise ValueError(f"{amount!r} is no amount in whole cents")
    return int(cents)


def hit_of(row: Mapping[str, Any]) -> TurkHIT:
    """A HIT out of the service's answer."""
    return TurkHIT(
        id=row["HITId"],
        type_id=row.get("HITTypeId", ""),
        group_id=row.get("HITGroupId", ""),
        annotation=row.get("RequesterAnnotation") or "",
        status=row.get("HITStatus", ""),
        places=row.get("MaxAssignments", 1),
        pending=row.get("NumberOfAssignmentsPending", 0),
        available=row.get("NumberOfAssignmentsAvailable", 0),
        completed=row.get("NumberOfAssignmentsCompleted", 0),
        reward_cents=cents_of(row.get("Reward", "0")),
        created_at=row.get("CreationTime"),
        expires_at=row.get("Expiration"),
    )


def assignment_of(row: Mapping[str, Any]) -> TurkAssignment:
    """An assignment out of the service's answer."""
    return TurkAssignment(
        id=row["AssignmentId"],
        hit=row.get("HITId", ""),
        worker=row["WorkerId"],
        status=row["AssignmentStatus"],
        answer=row.get("Answer") or "",
        feedback=row.get("RequesterFeedback") or "",
        accepted_at=row.get("AcceptTime"),
        submitted_at=row.get("SubmitTime"),
        auto_approval_at=row.get("AutoApprovalTime"),
        decided_at=row.get("ApprovalTime") or row.get("RejectionTime"),
    )


THROTTLED = {
    "ThrottlingException",
    "Throttling",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "SlowDown",
}
# the request was not let in: keys that are wrong, missing or too old, or a clock that is off
NOT_LET_IN = {
    "AccessDeniedException", "AccessDenied", "ExpiredTokenException", "IncompleteSignature",
    "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationToken", "RequestExpired",
    "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip


def meaning_of(operation: str, told: Mapping[str, Any]) -> Exception:
    """The named problem of a call that the service answered with an error.

    Args:
        told: botocore's ``ClientError.response``.
    """
    inner = told.get("Error", {})
    name = str(inner.get("Code", ""))
    code = str(told.get("TurkErrorCode") or inner.get("TurkErrorCode") or name).removeprefix(
        "AWS.MechanicalTurk."
    )
    message = str(told.get("Message") or inner.get("Message") or "")
    said = f"Mechanical Turk refused {operation}: {message}"
    status = told.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if name in THROTTLED or status == 429:
        return TryLater(f"Mechanical Turk asks for fewer calls: {message}", undone=True)
    if name in NOT_LET_IN:
        return TryLater(
            f"Mechanical Turk does not accept the account's keys: {message}", undone=True, final=True
        )
    if name == "ServiceFault" or status >= 500:
        return TryLater(f"Mechanical Turk is out of order: {message or status}")
    if not name or name.isdigit():  # an error whose body was cut off: botocore names it by its status
        return TryLater(f"The answer of Mechanical Turk to {operation} was cut off.")
    if code == "InsufficientFunds":
        return OutOfFunds(f"The account at Mechanical Turk holds too little: {message}")
    if code == "HitAlreadyExists":
        return HitAlreadyExists(said, hit=_hit_named(message))
    if "already been processed" in message:
        return AskedBefore(said, code=code)
    if code.endswith("DoesNotExist"):
        return NotAtTurk(said, code=code)
    if re.fullmatch(r"Invalid\w+State", code):
        return WrongStateAtTurk(said, code=code)
    return TurkRefused(said, code=code)


def _hit_named(message: str) -> str:
    """The id in "... HITId: 3XYZ": thirty letters and digits, or a little fewer or more."""
    named = re.search(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{20,40}\b", message)
    return named.group() if named else ""
