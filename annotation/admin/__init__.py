"""Workers and their answers in the admin."""

from annotation.admin import rows, study_running, workers_page
from annotation.crowds import page as crowds_page
from annotation.crowds import rows_page, steps_page
from annotation.crowds.panel import page as panel_page
from annotation.money import plan_page
from annotation.quality import controls_page, review_page, rules_page, work_page
from annotation.quiz import page as quiz_page
from annotation.webhooks import page as webhooks_page

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
