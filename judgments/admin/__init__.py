"""The designer's pages in the admin, and the rows behind them to look at."""

from judgments.access import accounts_page, people_page, tokens_page
from judgments.admin import jobs, rows
from judgments.datasets import page as datasets_page
from judgments.design import page as design_page
from judgments.studies import hits_page, list_page

__all__ = [
    "accounts",
    "datasets",
    "jobs",
    "presets",
    "rows",
    "studies",
    "study_design",
    "study_hits",
    "study_people",
    "study_reuse",
    "tokens",
]
