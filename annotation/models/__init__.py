"""Workers, assignments, judgments, quality control, crowds and money."""

from annotation.models.alarms import StudyAlarm
from annotation.models.assignments import AppendOnly, Assignment, Judgment, ProblemReport
from annotation.models.books import Budget, LedgerEntry
from annotation.models.crowds import AppealNote, CrowdCall, CrowdSession, Publication, RawId
from annotation.models.money_requests import MoneyRequest
from annotation.models.quality import Adjudication, Case, Exclusion, QualityRule
from annotation.models.quizzes import QuizAttempt
from annotation.models.webhooks import Webhook, WebhookDelivery
from annotation.models.workers import Invitation, Participation, Worker
from annotation.models.written import WrittenCaption

__all__ = [
    "Adjudication",
    "AppealNote",
    "AppendOnly",
    "Assignment",
    "Budget",
    "Case",
    "CrowdCall",
    "CrowdSession",
    "Exclusion",
    "Invitation",
    "Judgment",
    "LedgerEntry",
    "MoneyRequest",
    "Participation",
    "ProblemReport",
    "Publication",
    "QualityRule",
    "QuizAttempt",
    "RawId",
    "StudyAlarm",
    "Webhook",
    "WebhookDelivery",
    "Worker",
    "WrittenCaption",
]
