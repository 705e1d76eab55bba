"""The models of workers, assignments, judgments, quality control, crowds and money."""

from annotation.models.assignments import Assignment
from annotation.models.crowds import CrowdCall, CrowdSession, Demographics, Publication, RawId, Seat, at_crowd
from annotation.models.judgments import AppendOnlyError, Judgment, ProblemReport, WrittenCaption
from annotation.models.money import (
    Budget,
    Commitment,
    LedgerEntry,
    MoneyRequest,
    SpendingLimit,
    SpendingRequest,
)
from annotation.models.people import Invitation, Participation, Qualification, Worker
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
