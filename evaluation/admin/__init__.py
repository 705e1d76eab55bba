"""Results in the admin."""

from evaluation.admin import rows, study_disputes, study_known, study_results

__all__ = ["rows", "study_disputes", "study_known", "study_results"]
