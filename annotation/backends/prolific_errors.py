"""What can become of a call to Prolific. Three answers matter to who asked: no, not yet, and nobody knows."""

from __future__ import annotations

from judgments.errors import QuorumError


class ProlificError(QuorumError):
    """Prolific did not do what was asked."""

    status = 502
    title = "Prolific did not do this"


class ProlificNotConfigured(ProlificError):
    """The settings name no token, or an address that a token must not be sent to. Nothing was asked."""

    status = 409
    title = "Prolific is not set up"


class ProlificRefused(ProlificError):
    """A refusal that asking again would not change; the sentence ends with the API's own words.

    Attributes:
        answered: the HTTP status, 400 to 499 but 408 and 429; 0 when the call was not sent at all.
        error_code: Prolific's internal number, or 0.
        said: the API's words alone.
    """

    title = "Prolific refused"

    def __init__(self, message: str, *, answered: int = 0, error_code: int = 0, said: str = "") -> None:
        super().__init__(message)
        self.answered = answered
        self.error_code = error_code
        self.said = said


class WrongRequest(ProlificRefused):
    """The API would refuse this by its reference, or it could mean something else there; nothing was sent."""

    status = 400
    title = "This cannot be asked of Prolific"


class ProlificThrottled(ProlificError):
    """Too many calls; this one was not carried out. ``retry_after`` are the seconds that were asked for, if any."""

    title = "Prolific asks to wait"

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ProlificNotReached(ProlificError):
    """No connection came about, so the call was never sent; asking again is safe."""

    title = "Prolific was not reached"


class ProlificUnknown(ProlificError):
    """The call was sent and no answer could be read: it may have been carried out or not."""

    title = "Prolific's answer was lost"


class UnreadableAnswer(ProlificUnknown):
    """The call was carried out, and the answer is not what the reference describes."""

    title = "Prolific's answer could not be read"
