"""What an error of Mechanical Turk means for what was asked of it. Nothing here loads AWS's library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from annotation.backends.base import OutOfFunds, TryLater
from annotation.backends.mturk_shapes import (
    AskedBefore,
    HitAlreadyExists,
    NotAtTurk,
    TurkRefused,
    WrongStateAtTurk,
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
