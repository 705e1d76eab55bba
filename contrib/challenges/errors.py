"""The errors of the evaluation server."""

from __future__ import annotations

from common.errors import QuorumError


class ChallengeError(QuorumError):
    """Raised if a challenge is invalid. ``field`` is the field that is wrong."""

    title = "The challenge is not possible"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SubmissionRefused(QuorumError):
    """Raised if a file of captions cannot be scored. It does not count towards limits."""

    title = "The submission cannot be used"


class LimitReached(QuorumError):
    """Raised if an account has made as many submissions as a challenge allows, or uploads too many at once."""

    status = 429
    title = "No more submissions now"
