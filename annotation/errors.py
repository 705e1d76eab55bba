"""Errors that a worker reads: about joining, answering, and leases.

Each message first tells the worker what happened to their answers. ``status`` is the HTTP status, and ``title`` the
heading of the error's page.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from common.errors import ObjectNotFound, QuorumError
from common.rate_limits import TooManyAttempts


class JoinRefused(QuorumError):
    status = 403
    title = "You cannot join"


class AllSlotsTaken(JoinRefused):
    """Raised if all places at a panel are taken. A place may be free soon. Nothing is stored."""

    status = 409
    title = "All places are taken"


class NameProblem(QuorumError):
    title = "The name is not valid"


class CountryProblem(QuorumError):
    title = "The country is not valid"


class NotJoined(ObjectNotFound):
    """Raised if the worker takes no part in the study, or continued in another browser."""

    status = 403
    title = "You have not joined the study"


class NameTaken(QuorumError):
    """Raised if somebody else has the name, or if name and resume code do not match."""

    status = 409
    title = "The name is taken"


class AnswerProblem(QuorumError):
    """Raised if an answer is invalid. ``position`` is its position on the page, or None if it is not on the page."""

    title = "An answer is not valid"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class AnswersMissing(QuorumError):
    """Raised if answers are missing.

    The submission was saved as a draft; ``missing`` are the positions without an answer.
    """

    title = "Answers are missing"

    def __init__(self, missing: Sequence[int]) -> None:
        positions = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        super().__init__(
            _("Your answers are saved. Items without an answer: %(listed)s.") % {"listed": positions}
        )
        self.missing = list(missing)


class AddressFull(TooManyAttempts):
    """Raised if too many people from the visitor's network address work on the study. One of them may leave soon."""

    title = "Too many people at your internet address"

    def __init__(self) -> None:
        message = _(
            "Nothing was changed: too many people are working on this study from your internet address. "
            "Please try again in a minute. If you are in a classroom, tell the researchers."
        )
        super().__init__(message, wait=60)


class NoMoreTime(QuorumError):
    """Raised if a lease cannot be extended now."""

    status = 409
    title = "No more time is available"


class SlotTaken(QuorumError):
    """Raised if a worker cannot take this HIT, or cannot get it back after its lease expired."""

    status = 409
    title = "Somebody else has this page of work"


class TooLateToChange(QuorumError):
    """Raised if answers can no longer be revised, because the time for it is over or somebody decided on the work."""

    status = 409
    title = "It is too late to change your answers"


class TooLate(QuorumError):
    """Raised if the lease of the assignment has ended."""

    status = 409
    title = "Too late"


class StoredTooLate(TooLate):
    """Raised if the answers came after the lease ended. They are stored, but excluded."""


class AlreadyEnded(QuorumError):
    """Raised if the assignment was returned, or was submitted with other answers."""

    status = 409
    title = "Already ended"


class WorkTakenBack(AlreadyEnded):
    """Raised if the crowd took the work back, or the worker returned it at the crowd."""


class ArrivalRefused(QuorumError):
    """Raised if the address with which the worker came from a crowd leads to no work."""

    status = 403
    title = "This HIT cannot be opened"


class NotAdmitted(QuorumError):
    """Raised if the worker must do something first. ``address`` is the URL name of a page for it, or ""."""

    address = ""
    status = 403
    title = "No work for you here"


class ConsentChanged(NotAdmitted):
    """Raised if the consent text has changed. ``consent`` is the API address of the new text."""

    title = "Please agree again"

    def __init__(self, slug: str) -> None:
        super().__init__(
            _(
                "Nothing was saved: the text that you agreed to has changed. Please read the new text and "
                "agree again before you go on. Your work so far is kept."
            )
        )
        self.consent = f"/api/studies/{slug}/consent/"


class RequirementNotMet(NotAdmitted):
    """Raised if the worker does not meet a requirement of the study."""


class WorkPaused(QuorumError):
    """Raised if a detector paused the worker, until somebody has reviewed the flag."""

    status = 403
    title = "Your work is paused"


class StudyPaused(QuorumError):
    status = 403
    title = "This study is paused"


class WorkerExcluded(QuorumError):
    status = 403
    title = "You get no more work in this study"
