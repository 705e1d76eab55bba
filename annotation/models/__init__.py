"""Workers, assignments, judgments, quality control, crowds and money."""

from annotation.models.assignments import AppendOnly, Assignment, Judgment, ProblemReport, WrittenCaption
from annotation.models.crowds import CrowdCall, CrowdSession, Demographics, Publication, RawId, Seat, at_crowd
from annotation.models.money import (
    Budget,
    Commitment,
    LedgerEntry,
    MoneyRequest,
    SpendingLimit,
    SpendingRequest,
)
from annotation.models.privacy import ConsentVersion, Erasure, ErasureRequest
from annotation.models.quality import (
    Adjudication,
    AppealNote,
    Case,
    Exclusion,
    QualityRule,
    QuizAttempt,
    StudyAlarm,
)
from annotation.models.webhooks import Webhook, WebhookDelivery
from annotation.models.workers import Invitation, Participation, Qualification, Worker

__all__ = [
    "Adjudication",
    "AppealNote",
    "AppendOnly",
    "Assignment",
    "Budget",
    "Case",
    "Commitment",
    "ConsentVersion",
    "CrowdCall",
    "CrowdSession",
    "Demographics",
    "Erasure",
    "ErasureRequest",
    "Exclusion",
    "Invitation",
    "Judgment",
    "LedgerEntry",
    "MoneyRequest",
    "Participation",
    "ProblemReport",
    "Publication",
    "Qualification",
    "QualityRule",
    "QuizAttempt",
    "RawId",
    "Seat",
    "SpendingLimit",
    "SpendingRequest",
    "StudyAlarm",
    "Webhook",
    "WebhookDelivery",
    "Worker",
    "WrittenCaption",
    "at_crowd",
]
