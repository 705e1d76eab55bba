"""The errors of the quiz. Each one says why the worker is not admitted to the study."""

from django.utils.translation import gettext as _

from annotation.errors import NotAdmitted, RequirementNotMet

QUIZ_ADDRESS = "quiz:quiz"  # URL name of the page of the quiz


class QuizNotPassed(NotAdmitted):
    """Raised if the worker must pass the quiz first. ``quiz`` is the API address of the study's quiz."""

    address = QUIZ_ADDRESS
    title = "A test comes before the work"

    def __init__(self, slug: str, message: str = "") -> None:
        super().__init__(
            message or _("Nothing was changed: you must pass a short test before you can work in this study.")
        )
        self.quiz = f"/api/studies/{slug}/quiz/"


class QuizFailed(QuizNotPassed, RequirementNotMet):
    """Raised if the worker has failed the quiz and has no attempts left."""

    title = "You did not pass the test"

    def __init__(self, slug: str) -> None:
        super().__init__(
            slug,
            _(
                "Your answers in the test are kept. You have no attempts left, so this study has no work "
                "for you. You can still take part in other studies."
            ),
        )
