"""Results in the admin."""

from evaluation.admin import rows
from evaluation.data.export import page as export_page
from evaluation.planning import page as planning_page
from evaluation.planning.choosing import page as choosing_page
from evaluation.planning.follow_up import page as follow_up_page
from evaluation.planning.registration import page as registration_page
from evaluation.reports import page as report_page
from evaluation.reports.releases import page as releases_page
from evaluation.results import page as results_page
from evaluation.results.challenges import page as challenges_page
from evaluation.results.comparing import metrics_page
from evaluation.results.comparing import page as comparing_page
from evaluation.results.dashboard import page as dashboard_page
from evaluation.results.disagreement import page as disagreement_page
from evaluation.results.error_analysis import page as error_analysis_page
from evaluation.results.error_spans import page as error_spans_page
from evaluation.results.judges import page as judges_page
from evaluation.results.leave_one_out import page as leave_one_out_page
from evaluation.results.strengths import page as strengths_page

__all__ = [
    "challenges_page",
    "choosing_page",
    "comparing_page",
    "dashboard_page",
    "disagreement_page",
    "error_analysis_page",
    "error_spans_page",
    "export_page",
    "follow_up_page",
    "judges_page",
    "leave_one_out_page",
    "metrics_page",
    "planning_page",
    "registration_page",
    "releases_page",
    "report_page",
    "results_page",
    "rows",
    "strengths_page",
]
