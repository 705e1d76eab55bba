"""Results in the admin."""

from evaluation.admin import rows, study_register, study_releases, study_report
from evaluation.challenges import page as challenges_page
from evaluation.comparing import page as comparing_page
from evaluation.dashboard import page as dashboard_page
from evaluation.error_analysis import page as error_analysis_page
from evaluation.planning import page as planning_page
from evaluation.planning import rehearsal_page
from evaluation.results import disputes_page
from evaluation.results import page as results_page

__all__ = [
    "challenges_page",
    "comparing_page",
    "dashboard_page",
    "disputes_page",
    "error_analysis_page",
    "planning_page",
    "rehearsal_page",
    "results_page",
    "rows",
    "study_register",
    "study_releases",
    "study_report",
]
