"""Mechanical Turk's answers and errors as our own types. Nothing here loads AWS's library."""

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
    """A refusal. ``code`` is its TurkErrorCode without the prefix, or the error's name."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class NotAtTurk(TurkRefused):
    """There is no such HIT, assignment, worker or qualification, or not yet."""


class WrongStateAtTurk(TurkRefused):
    """It is in another state: somebody else, or the service, acted before."""


class AskedBefore(TurkRefused):
    """The token was used before: the earlier call succeeded."""


class HitAlreadyExists(TurkRefused):
    """The token created ``hit`` before; '' if unknown."""

    def __init__(self, message: str, *, hit: str) -> None:
        super().__init__(message, code="HitAlreadyExists")
        self.hit = hit


@dataclass(frozen=True, slots=True)
class TurkHIT:
    """A HIT at the service. ``completed`` counts approved and rejected assignments, not submitted ones."""

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
        """Return True if nobody may take it and nobody is at work."""
        return self.status in ("Reviewable", "Reviewing", "Disposed")


@dataclass(frozen=True, slots=True)
class TurkAssignment:
    """A submitted assignment. ``status`` is Submitted, Approved or Rejected."""

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
    worker: str
    assignment: str
    cents: int
    reason: str


def dollars(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


def cents_of(amount: str) -> int:
    cents = Decimal(amount) * 100
    if cents != cents.to_integral_value():
        raise ValueError(f"{amount!r} is no amount in whole cents")
    return int(cents)


def hit_of(row: Mapping[str, Any]) -> TurkHIT:
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
# the request was not authorised: wrong, missing or old keys, or a wrong clock
NOT_LET_IN = {
    "AccessDeniedException", "AccessDenied", "ExpiredTokenException", "IncompleteSignature",
    "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationToken", "RequestExpired",
    "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip


def meaning_of(operation: str, told: Mapping[str, Any]) -> Exception:
    """Return the named error of a failed call.

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
    if not name or name.isdigit():  # a truncated error, which botocore names by its status
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
    """Return the HIT id in a message like "... HITId: 3XYZ", of about thirty letters and digits."""
    named = re.search(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{20,40}\b", message)
    return named.group() if named else ""
