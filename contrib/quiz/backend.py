"""The backend through which the platform uses quizzes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from annotation.models import QuizAttempt, Worker
from annotation.work.quiz import QualificationTest, QuizBackend
from contrib.quiz.attempts.taking import qualification_of, quiz_status
from contrib.quiz.errors import QUIZ_ADDRESS, QuizFailed, QuizNotPassed
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of


class Quizzes(QuizBackend):
    """The backend of quizzes. A quiz counts as passed in this study and in studies that share its qualification."""

    address = QUIZ_ADDRESS

    def check_passed(self, *, study: Study, design: StudyDesign, worker: Worker) -> None:
        qualification = qualification_of(study, design)
        if QuizAttempt.objects.filter(worker=worker, qualification=qualification, passed=True).exists():
            return
        status = quiz_status(study=study, worker=worker)
        if status.open_attempt is None and not status.attempts_left:
            raise QuizFailed(study.slug)
        raise QuizNotPassed(study.slug)

    def is_due(self, *, study: Study, worker: Worker) -> bool:
        return not quiz_status(study=study, worker=worker).is_passed

    def states_for(self, worker: Worker, studies: Iterable[Study]) -> Mapping[int, str]:
        attempts_by_qualification: dict[str, list[QuizAttempt]] = {}
        for attempt in QuizAttempt.objects.filter(worker=worker):
            attempts_by_qualification.setdefault(attempt.qualification, []).append(attempt)
        states = {}  # studies whose quiz is passed are left out
        for study in studies:
            design = design_of(study)
            attempts = attempts_by_qualification.get(qualification_of(study, design), [])
            if not any(attempt.passed for attempt in attempts):
                is_in_progress = not all(attempt.finished_at for attempt in attempts)
                may_try = is_in_progress or len(attempts) < design.quiz.attempts
                states[study.pk] = "open" if may_try else "failed"
        return states

    def qualification_test(self, design: StudyDesign, *, title: str) -> QualificationTest:
        # imported lazily, since most installations do not need it
        from contrib.quiz.mturk import qualification_test

        return qualification_test(design.quiz, seed=design.seed, title=title)
