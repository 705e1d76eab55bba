"""The exceptions that calls to Mechanical Turk raise, and the choice of the exception for an error response.

The service model has RequestError and ServiceFault with a TurkErrorCode; validation and throttling errors have only a
name (boto3#2402, allenai/amti#12).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from annotation.crowds.base import CrowdRefusal, OutOfFunds, RetryLater

THROTTLING_CODES = {
    "ThrottlingException",
    "Throttling",
    "TooManyRequestsException",
    "RequestLimitExceeded",
    "SlowDown",
}
# errors of requests with wrong, missing or old keys, or from a computer with a wrong clock
UNAUTHORIZED_CODES = {
    "AccessDeniedException", "AccessDenied", "ExpiredTokenException", "IncompleteSignature",
    "InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationToken", "RequestExpired",
    "SignatureDoesNotMatch", "UnrecognizedClientException",
}  # fmt: skip


class TurkRefusal(CrowdRefusal):
    """Raised if Mechanical Turk refuses a call.

    ``code`` is the TurkErrorCode without its prefix, or the name of the error if there is no such code.
    """

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class NotFoundAtTurk(TurkRefusal):
    """Raised if the HIT, assignment, worker or qualification does not exist, or does not exist yet."""


class WrongStateAtTurk(TurkRefusal):
    """Raised if the state of the HIT or assignment does not allow the call: a person or the service changed it."""


class TokenAlreadyUsed(TurkRefusal):
    """Raised if an earlier call had the same token and succeeded."""


class HitAlreadyExists(TurkRefusal):
    """Raised if an earlier call with the same token created a HIT.

    Attributes:
        hit_id: the id of that HIT; "" if unknown.
    """

    def __init__(self, message: str, *, hit_id: str) -> None:
        super().__init__(message, code="HitAlreadyExists")
        self.hit_id = hit_id


def exception_for(operation: str, response: Mapping[str, Any]) -> Exception:
    """Return the exception for a failed call.

    Args:
        response: botocore's ``ClientError.response``, such as ``{"Error": {"Code": "RequestError", "Message": "..."},
            "TurkErrorCode": "AWS.MechanicalTurk.InsufficientFunds", "ResponseMetadata": {"HTTPStatusCode": 400}}``.
    """
    error = response.get("Error", {})
    name = str(error.get("Code", ""))
    turk_code = response.get("TurkErrorCode") or error.get("TurkErrorCode") or name
    code = str(turk_code).removeprefix("AWS.MechanicalTurk.")
    message = str(response.get("Message") or error.get("Message") or "")
    refusal = f"Mechanical Turk refused {operation}: {message}"
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if name in THROTTLING_CODES or status == 429:
        return RetryLater(f"Mechanical Turk asks for fewer calls: {message}", had_no_effect=True)
    if name in UNAUTHORIZED_CODES:  # final: no call succeeds until somebody corrects the keys
        return RetryLater(
            f"Mechanical Turk does not accept the account's keys: {message}", had_no_effect=True, final=True
        )
    if name == "ServiceFault" or status >= 500:
        return RetryLater(f"Mechanical Turk is out of order: {message or status}")
    if not name or name.isdigit():  # a truncated error; botocore then gives the HTTP status as its code
        return RetryLater(f"The answer of Mechanical Turk to {operation} was cut off.")
    if code == "InsufficientFunds":
        return OutOfFunds(f"The account at Mechanical Turk holds too little: {message}")
    if code == "HitAlreadyExists":
        return HitAlreadyExists(refusal, hit_id=_hit_id_in(message))
    if "already been processed" in message:
        return TokenAlreadyUsed(refusal, code=code)
    if code.endswith("DoesNotExist"):
        return NotFoundAtTurk(refusal, code=code)
    if re.fullmatch(r"Invalid\w+State", code):
        return WrongStateAtTurk(refusal, code=code)
    return TurkRefusal(refusal, code=code)


def _hit_id_in(message: str) -> str:
    """Return the HIT id in a message like "... HITId: 3XYZ"; "" if there is none. Ids have about thirty characters."""
    # the lookahead demands a digit, so that no long word in capital letters is taken for an id
    match = re.search(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{20,40}\b", message)
    return match.group() if match else ""
