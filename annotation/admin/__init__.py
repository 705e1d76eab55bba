"""Workers and their answers in the admin."""

from annotation.admin import rows, study_controls, study_quiz, study_workers

__all__ = ["rows", "study_controls", "study_quiz", "study_workers"]
