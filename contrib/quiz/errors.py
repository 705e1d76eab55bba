"""Errors of the quiz, each with the reason why the worker is not admitted."""

from django.utils.translation import gettext as _

from annotation.errors import NotAdmitted, RequirementNotMet

QUIZ_ADDRESS = "quiz:quiz"


class QuizNotPassed(NotAdmitted):
    """The worker must pass the quiz first; ``quiz`` is the API address of the study's quiz."""

    address = QUIZ_ADDRESS
    title = "A test comes first"

    def __init__(self, slug: str, message: str = "") -> None:
        super().__init__(
            message or _("Nothing was changed: this study has a short test, and you have not passed it yet.")
        )
        self.quiz = f"/api/studies/{slug}/quiz/"


class QuizFailed(QuizNotPassed, RequirementNotMet):
    title = "The test was not passed"

    def __init__(self, slug: str) -> None:
        super().__init__(
            slug,
            _(
                "Your answers in the test are kept; no attempt at it is left, so this study has no work for you. "
                "Other studies are open to you as before."
            ),
        )
