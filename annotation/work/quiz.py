"""The interface to the quiz that workers pass before the work; a feature implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from django.utils.translation import gettext as _

from annotation.errors import NotAdmitted
from annotation.models import Worker
from common.errors import WrongState
from common.features import of_features
from judgments.design.quiz import describe_absence
from judgments.design.study_design import StudyDesign
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A test for CreateQualificationType; its accuracy in percent becomes the qualification's value."""

    test: str
    answer_key: str
    questions: int
    needed: int


class QuizBackend:
    """What the platform asks about quizzes. A feature subclasses it.

    This class answers where the feature is off: a study that asks for a quiz lets nobody in.

    Attributes:
        address: the name of the address of a study's quiz.
    """

    address: ClassVar[str] = ""

    def check_passed(self, *, study: Study, design: StudyDesign, worker: Worker) -> None:
        """Raise NotAdmitted unless the worker passed the quiz of the design."""
        raise NotAdmitted(_("This study is not open for answers."))

    def is_due(self, *, study: Study, worker: Worker) -> bool:
        """Return whether the quiz of the study is the worker's next page."""
        return False

    def states_for(self, worker: Worker, studies: Iterable[Study]) -> Mapping[int, str]:
        """Return by the row id of a study "open" before its quiz is passed, "failed" if no attempt is left."""
        return {}

    def qualification_test(self, design: StudyDesign, *, title: str) -> QualificationTest:
        """Return the quiz as a test of Mechanical Turk. Raise WrongState or QuestionProblem."""
        raise WrongState(describe_absence(design.quiz))


def quiz_backend() -> QuizBackend:
    """Return the backend of the feature, or the one without quizzes if it is off."""
    return next((backend() for backend in of_features("quiz_backends")), QuizBackend())
