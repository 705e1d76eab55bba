"""Who answers: workers, assignments, judgments; and how careless answers are kept out."""

from annotation.models.alarms import StudyAlarm
from annotation.models.assignments import AppendOnly, Assignment, Judgment, ProblemReport
from annotation.models.quality import Adjudication, Case, Exclusion, QualityRule
from annotation.models.quizzes import QuizAttempt
from annotation.models.workers import Invitation, Participation, Worker
from annotation.models.written import WrittenCaption

__all__ = [
    "Adjudication",
    "AppendOnly",
    "Assignment",
    "Case",
    "Exclusion",
    "Invitation",
    "Judgment",
    "Participation",
    "ProblemReport",
    "QualityRule",
    "QuizAttempt",
    "StudyAlarm",
    "Worker",
    "WrittenCaption",
]
