"""Results in the admin."""

from evaluation.admin import rows
from evaluation.challenges import page as challenges_page
from evaluation.comparing import page as comparing_page
from evaluation.dashboard import page as dashboard_page
from evaluation.error_analysis import page as error_analysis_page
from evaluation.export import page as export_page
from evaluation.follow_up import page as follow_up_page
from evaluation.planning import page as planning_page
from evaluation.registration import page as registration_page
from evaluation.releases import page as releases_page
from evaluation.report import page as report_page
from evaluation.results import page as results_page

__all__ = [
    "challenges_page",
    "comparing_page",
    "dashboard_page",
    "error_analysis_page",
    "export_page",
    "follow_up_page",
    "planning_page",
    "registration_page",
    "releases_page",
    "report_page",
    "results_page",
    "rows",
]
