"""Named errors of analysis and export: what, where, what was expected."""

from __future__ import annotations

from common.errors import QuorumError


def as_sentence(words: object) -> str:
    """Return an error or warning of the numeric packages as a sentence."""
    text = str(words)
    return f"{text[:1].upper()}{text[1:]}."


class EvaluationError(QuorumError):
    """A study lacks what a computation needs, or a name is unknown."""

    title = "Not possible to compute"


class ExportError(QuorumError):
    """An unknown format, or one that cannot represent the study."""

    title = "The export is not possible"


class VerificationError(QuorumError):
    """A claim that contradicts the rows, or cannot be verified."""

    title = "It does not hold"


class ReplicationError(QuorumError):
    """A protocol pack that cannot be read or run, or data that it lacks."""

    title = "The pack cannot be run"


class ReleaseError(QuorumError):
    """A release that cannot be made as requested."""

    title = "The release is not possible"


class NotReleasable(ReleaseError):
    """An unfinished study, or an existing version."""

    status = 409


class PublishingError(QuorumError):
    """A release that an archive refuses, or that must not be given away."""

    title = "It is not published"


class RegistrationError(QuorumError):
    title = "The registration is not possible"


class ChallengeError(QuorumError):
    """An invalid challenge; ``field`` names the cause."""

    title = "The challenge is not possible"

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SubmissionRefused(QuorumError):
    """A file of captions that cannot be scored. It counts against no limit."""

    title = "The submission cannot be used"


class LimitReached(QuorumError):
    """The account reached the challenge's limit of submissions."""

    status = 429
    title = "No more submissions now"
