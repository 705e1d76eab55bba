"""The pages of annotation in the admin."""

from annotation.admin import needs, rows
from annotation.crowds import page as crowds_page
from annotation.crowds.panel import page as panel_page
from annotation.ethics import page as ethics_page
from annotation.launch import page as launch_page
from annotation.money import page as money_page
from annotation.privacy import page as privacy_page
from annotation.quality import page as quality_page
from annotation.quality import review_page
from annotation.quiz import page as quiz_page
from annotation.webhooks import page as webhooks_page
from annotation.work import page as work_page

__all__ = [
    "crowds_page",
    "ethics_page",
    "launch_page",
    "money_page",
    "needs",
    "panel_page",
    "privacy_page",
    "quality_page",
    "quiz_page",
    "review_page",
    "rows",
    "webhooks_page",
    "work_page",
]
