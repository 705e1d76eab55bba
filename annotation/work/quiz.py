"""The interface of the quiz that workers pass before the work. A feature implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from django.utils.translation import gettext as _

from annotation.errors import NotAdmitted
from annotation.models import Worker
from common.errors import WrongState
from common.features import of_features
from judgments.design.quiz import why_quiz_is_off
from judgments.design.study_design import StudyDesign
from judgments.models import Study


@dataclass(frozen=True, slots=True)
class QualificationTest:
    """A quiz as a qualification test of Mechanical Turk.

    Attributes:
        test, answer_key: arguments of CreateQualificationType, as XML.
        questions: the number of questions.
        required_score: the percentage of right answers from which a worker passes. A worker's own percentage is their
            value of the qualification.
    """

    test: str
    answer_key: str
    questions: int
    required_score: int


class QuizBackend:
    """The interface by which the platform uses quizzes. The feature for quizzes subclasses it.

    The class itself is used when the feature is off: a study with a quiz then admits nobody.

    Attributes:
        address: the URL name of a study's quiz.
    """

    address: ClassVar[str] = ""

    def check_passed(self, *, study: Study, design: StudyDesign, worker: Worker) -> None:
        """Raise NotAdmitted unless the worker passed the quiz of the design, which has one."""
        raise NotAdmitted(_("This study is not open for answers."))

    def is_due(self, *, study: Study, worker: Worker) -> bool:
        """Return whether the quiz of the study is the worker's next page."""
        return False

    def states_for(self, worker: Worker, studies: Iterable[Study]) -> Mapping[int, str]:
        """Return the state of the worker's quiz in each study, by study row id.

        The state is "open", or "failed" if no attempt is left. Studies whose quiz is passed are left out.
        """
        return {}

    def qualification_test(self, design: StudyDesign, *, title: str) -> QualificationTest:
        """Return the quiz as a qualification test of Mechanical Turk.

        Raises:
            WrongState: the feature is off.
            QuestionProblem: the quiz cannot be such a test.
        """
        raise WrongState(why_quiz_is_off(design.quiz))


def quiz_backend() -> QuizBackend:
    """Return the feature's backend, or this module's if the feature is off."""
    return next((backend() for backend in of_features("quiz_backends")), QuizBackend())
