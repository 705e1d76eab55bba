"""Errors of results, reports, exports and releases, with the titles that pages show."""

from __future__ import annotations

from django.utils.translation import gettext

from common.errors import QuorumError


def as_sentence(error: object) -> str:
    """Return the message of an error of the library `quorum` as a sentence."""
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


class EvaluationError(QuorumError):
    """A study lacks something that a computation needs, or a name is unknown."""

    title = "Not possible to compute"


class NothingToCompare(EvaluationError):
    """Metrics cannot be compared with people, because references or a consensus are missing.

    Many studies never have them, so jobs end without an error.
    """


class NothingToRank(EvaluationError):
    """No judgment compares two systems. ``why`` is the reason in English, with a placeholder for the study's slug."""

    def __init__(self, why: str, slug: str) -> None:
        super().__init__(gettext(why) % {"slug": slug})
        self.why = why


class ExportError(QuorumError):
    """The format is unknown, or cannot represent the study."""

    title = "The export is not possible"


class VerificationError(QuorumError):
    """A statement about data contradicts the rows, or cannot be verified."""

    title = "It does not hold"


class ReleaseError(QuorumError):
    """A release cannot be made."""

    title = "The release is not possible"


class NotReleasable(ReleaseError):
    """The study is not closed, has no judgments, or already has a release of this version."""

    status = 409
