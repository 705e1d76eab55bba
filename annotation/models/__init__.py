"""Workers, assignments, judgments, quality control, crowds and money."""

from annotation.models.assignments import (
    Adjudication,
    AppealNote,
    AppendOnly,
    Assignment,
    Case,
    Exclusion,
    Judgment,
    ProblemReport,
    QualityRule,
    QuizAttempt,
    StudyAlarm,
    WrittenCaption,
)
from annotation.models.crowds import (
    Budget,
    Commitment,
    CrowdCall,
    CrowdSession,
    Demographics,
    LedgerEntry,
    MoneyRequest,
    Publication,
    RawId,
    Seat,
    SpendingLimit,
    SpendingRequest,
    at_crowd,
)
from annotation.models.people import (
    ConsentVersion,
    Erasure,
    ErasureRequest,
    Invitation,
    Participation,
    Qualification,
    Worker,
)
