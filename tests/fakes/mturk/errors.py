"""How the service says no.

RequestError and ServiceFault carry `Message` and `TurkErrorCode` (botocore's service model, MTURK.md §2 D);
ParameterValidationError and ThrottlingException are not in the model, so boto3 raises a plain ClientError for
them (O boto3#2402, allenai/amti#12). Messages end with the milliseconds of the service's clock, as seen in
reports (O Dallinger#1398, #3109).
"""

from typing import Any


class Refusal(Exception):
    """A call that the service answers with an error; nothing was changed."""

    kind = "RequestError"
    http = 400

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = f"AWS.MechanicalTurk.{code}" if code else ""

    def body(self, milliseconds: int) -> dict[str, Any]:
        """The error as it goes over the wire."""
        told: dict[str, Any] = {"__type": self.kind, "Message": f"{self.message} ({milliseconds})"}
        if self.code:
            told["TurkErrorCode"] = self.code
        return told


class RequestError(Refusal):
    """The request cannot be carried out; asking again the same way will not help."""


class ServiceFault(Refusal):
    """The service failed; asking again may help."""

    kind = "ServiceFault"
    http = 500


class ParameterValidationError(Refusal):
    """A value is out of the documented limits."""

    kind = "ParameterValidationError"


class ThrottlingException(Refusal):
    """Too many calls ("Rate exceeded", O allenai/amti#12)."""

    kind = "ThrottlingException"

    def body(self, milliseconds: int) -> dict[str, Any]:
        """Throttling comes from in front of the service: no time, no code."""
        return {"__type": self.kind, "message": self.message}


class AccessDenied(Refusal):
    """Not signed, or signed for another service or region."""

    kind = "InvalidSignatureException"


class UnknownOperation(Refusal):
    """There is no operation of that name, or the emulator has it not."""

    kind = "UnknownOperationException"


def does_not_exist(what: str, identifier: str) -> RequestError:
    """`Hit 3ABC does not exist.` with `HITDoesNotExist` (O resourcecontracts.org#1384, cloudyr/MTurkR#18)."""
    named = "Hit" if what == "HIT" else what
    return RequestError(f"{named} {identifier} does not exist.", f"{what.replace(' ', '')}DoesNotExist")


def wrong_state(what: str, allowed: str, current: str = "") -> RequestError:
    """`This operation can be called with a status of: Submitted` (O Dallinger#1398); HITs say theirs first.

    Whole answers are in resourcecontracts.org#1384 (O); that of a HIT, two spaces and all, in boto3#2107 (O).
    """
    said = f"This operation can be called with a status of: {allowed}"
    if current:
        said = f"This {what} is currently in the state '{current}'.  {said}"
    return RequestError(said, f"Invalid{what.replace(' ', '')}State")


def unknown_worker(worker_id: str) -> ParameterValidationError:
    """Nobody of that id at this place (O boto3#2355, aws-sdk-java#2055: live ids asked for in the sandbox)."""
    return ParameterValidationError(f'The value "{worker_id}" is not valid for the parameter WorkerId.')


def out_of_range(name: str, value: object, lowest: object, highest: object) -> ParameterValidationError:
    """The wording of the service for numbers out of range (O aws-sdk-java#1817)."""
    return ParameterValidationError(
        f"The value {value} is invalid for {name}. Valid values range from {lowest} to {highest}."
    )
