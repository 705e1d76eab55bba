"""Named errors of Mechanical Turk's documents."""

from __future__ import annotations

from judgments.errors import QuorumError


class QuestionProblem(QuorumError):
    """A HIT, a test or a requirement that cannot be stated in Mechanical Turk's form."""

    title = "Mechanical Turk cannot take this question"


class QuestionTooLong(QuestionProblem):
    """The document has more bytes than the service takes."""


class PictureNotReachable(QuestionProblem):
    """A self-contained page shows a picture that workers could not load."""


class KindNotCarried(QuestionProblem):
    """The protocol needs pages of our own, so a self-contained page cannot ask it."""


class RequirementProblem(QuestionProblem):
    """Requirements that the service cannot state, or more of them than it takes."""


class AnswersUnreadable(QuorumError):
    """What should be a worker's answers is no such document."""

    title = "The answers cannot be read"


class NotificationProblem(QuorumError):
    """A notification that is not acted upon."""

    title = "The notification is not used"


class NotificationUnreadable(NotificationProblem):
    """It is no document of the documented form, or only a part of one."""


class NotificationForged(NotificationProblem):
    """It is not signed by Amazon SNS, or is about another topic."""

    status = 403


class NotificationTooOld(NotificationProblem):
    """It was signed too long ago, or for a time to come."""

    status = 403


class NotificationRepeated(NotificationProblem):
    """It came before."""

    status = 409
