"""Workers and their answers in the admin."""

from annotation.admin import (
    rows,
    study_controls,
    study_quiz,
    study_review,
    study_rules,
    study_work,
    study_workers,
)

__all__ = [
    "rows",
    "study_controls",
    "study_quiz",
    "study_review",
    "study_rules",
    "study_work",
    "study_workers",
]
