"""Workers and their answers in the admin."""

from annotation.admin import (
    crowd_rows,
    plan_cost,
    rows,
    study_controls,
    study_crowd,
    study_crowd_steps,
    study_panel,
    study_quiz,
    study_review,
    study_rules,
    study_running,
    study_webhooks,
    study_work,
    study_workers,
)

__all__ = [
    "crowd_rows",
    "plan_cost",
    "rows",
    "study_controls",
    "study_crowd",
    "study_crowd_steps",
    "study_panel",
    "study_quiz",
    "study_review",
    "study_rules",
    "study_running",
    "study_webhooks",
    "study_work",
    "study_workers",
]
