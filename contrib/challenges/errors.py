"""Named errors of the evaluation server."""

from __future__ import annotations

from common.errors import QuorumError


class ChallengeError(QuorumError):
    """A challenge is invalid; ``field`` is the field that is wrong."""

    title = "The challenge is not possible"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SubmissionRefused(QuorumError):
    """A file of captions cannot be scored; it does not count against limits."""

    title = "The submission cannot be used"


class LimitReached(QuorumError):
    status = 429
    title = "No more submissions now"
