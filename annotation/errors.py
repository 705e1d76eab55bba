"""Named errors of answering. Each sentence says first what happened to the worker's answers."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from common.errors import NotThere, QuorumError


class JoinRefused(QuorumError):
    """The worker may not join: closed study, wrong code, missing consent."""

    status = 403
    title = "You cannot join"


class NameProblem(QuorumError):
    """The name a worker gave cannot be used."""

    title = "The name is not valid"


class CountryProblem(QuorumError):
    """The country a worker gave is none, or not the one they gave before."""

    title = "The country is not valid"


class NotJoined(NotThere):
    """The worker asks for work in a study they did not join."""

    status = 403
    title = "Not joined"


class NameTaken(QuorumError):
    """The name belongs to somebody who did not prove to be this person."""

    status = 409
    title = "The name is taken"


class AnswerProblem(QuorumError):
    """An answer that is none of the allowed ones, or for a position that does not exist.

    ``position`` says which of several, where it is one of the page: the others can be sent without it.
    """

    title = "An answer is not valid"

    def __init__(self, message: str, *, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class AnswersMissing(QuorumError):
    """The submission leaves units out; what it held is saved. ``missing`` are their positions."""

    title = "Answers are missing"

    def __init__(self, missing: Sequence[int]) -> None:
        listed = ", ".join(str(position) for position in missing[:10]) + (
            ", ..." if len(missing) > 10 else ""
        )
        super().__init__(
            _("Your answers are saved; still without an answer: %(listed)s.") % {"listed": listed}
        )
        self.missing = list(missing)


class NoMoreTime(QuorumError):
    """The lease was extended as often as the study allows."""

    status = 409
    title = "No more time"


class SeatTaken(QuorumError):
    """A page of work whose lease ended cannot be taken up again."""

    status = 409
    title = "Somebody else has it"


class TooLateToChange(QuorumError):
    """Submitted answers can be revised only for a while, and only until they are decided on."""

    status = 409
    title = "Too late to change"


class TooLate(QuorumError):
    """The lease ended before the submission came."""

    status = 409
    title = "Too late"


class KeptApart(TooLate):
    """The lease ended before the submission came; it is kept apart and does not count."""


class AlreadyEnded(QuorumError):
    """The assignment was submitted with other answers, or returned."""

    status = 409
    title = "Already ended"


class PassedOn(AlreadyEnded):
    """The crowd took the work from this worker, or the worker gave it back."""


class ArrivalRefused(QuorumError):
    """The address that a crowd's page opened is not that of work of ours there; nothing was recorded."""

    status = 403
    title = "This HIT cannot be opened"


class NotAdmitted(QuorumError):
    """The worker joined, and may not take work: a quiz is not passed, or a requirement is not met."""

    status = 403
    title = "No work for you here"


class QuizNotPassed(NotAdmitted):
    """The study's quiz comes before its work; ``quiz`` is where the API takes it."""

    title = "A test comes first"

    def __init__(self, slug: str, message: str = "") -> None:
        super().__init__(
            message or _("Nothing was changed: this study has a short test, and you have not passed it yet.")
        )
        self.quiz = f"/api/studies/{slug}/quiz/"


class QuizFailed(QuizNotPassed):
    """No attempt at the quiz is left."""

    title = "The test was not passed"

    def __init__(self, slug: str) -> None:
        super().__init__(
            slug,
            _(
                "Your answers in the test are kept; no attempt at it is left, so this study has no work for you. "
                "Other studies are open to you as before."
            ),
        )


class RequirementNotMet(NotAdmitted):
    """The study asks something of its workers that this one does not fulfil."""


class WorkPaused(QuorumError):
    """The worker gets no work until somebody has looked at what a rule found."""

    status = 403
    title = "Your work is paused"


class StudyPaused(QuorumError):
    """The study hands out no work for a while."""

    status = 403
    title = "This study is paused"


class WorkerExcluded(QuorumError):
    """The worker was excluded from the study."""

    status = 403
    title = "You get no more work in this study"
