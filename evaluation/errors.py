"""Named errors of analysis and export; one sentence each: what, where, what was expected."""

from __future__ import annotations

from common.errors import QuorumError


class EvaluationError(QuorumError):
    """Something that cannot be computed from what the study holds, or a name that is not known."""

    title = "Not possible to compute"


class ExportError(QuorumError):
    """A format that does not exist, or that cannot hold the study."""

    title = "The export is not possible"


class VerificationError(QuorumError):
    """Something stated that does not follow from the rows, or that cannot be verified."""

    title = "It does not hold"


class ReleaseError(QuorumError):
    """A release that cannot be made as it was asked for."""

    title = "The release is not possible"


class NotReleasable(ReleaseError):
    """A study that is not at an end, or a version that is there already."""

    status = 409


class RegistrationError(QuorumError):
    """A plan that cannot be registered."""

    title = "The registration is not possible"


class ChallengeError(QuorumError):
    """A challenge that cannot be made as it was asked for; ``field`` names what is wrong."""

    title = "The challenge is not possible"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SubmissionRefused(QuorumError):
    """A file of captions that cannot be scored. It does not count against any limit."""

    title = "The submission cannot be used"


class LimitReached(QuorumError):
    """As many submissions as the challenge allows were made."""

    status = 429
    title = "No more submissions now"
