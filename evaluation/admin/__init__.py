"""Results in the admin."""

from evaluation.admin import (
    challenges,
    rows,
    study_board,
    study_closer,
    study_compare,
    study_disputes,
    study_known,
    study_planning,
    study_register,
    study_rehearsal,
    study_releases,
    study_report,
    study_results,
)

__all__ = [
    "challenges",
    "rows",
    "study_board",
    "study_closer",
    "study_compare",
    "study_disputes",
    "study_known",
    "study_planning",
    "study_register",
    "study_rehearsal",
    "study_releases",
    "study_report",
    "study_results",
]
