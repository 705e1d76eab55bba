"""Results in the admin."""

from evaluation.admin import rows
from evaluation.challenges import page as challenges_page
from evaluation.choosing import page as choosing_page
from evaluation.comparing import page as comparing_page
from evaluation.dashboard import page as dashboard_page
from evaluation.disagreement import page as disagreement_page
from evaluation.error_analysis import page as error_analysis_page
from evaluation.error_spans import page as error_spans_page
from evaluation.export import page as export_page
from evaluation.follow_up import page as follow_up_page
from evaluation.imported_scores import page as imported_scores_page
from evaluation.judges import page as judges_page
from evaluation.leave_one_out import page as leave_one_out_page
from evaluation.planning import page as planning_page
from evaluation.registration import page as registration_page
from evaluation.releases import page as releases_page
from evaluation.report import page as report_page
from evaluation.results import page as results_page
from evaluation.strengths import page as strengths_page

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
    "imported_scores_page",
    "judges_page",
    "leave_one_out_page",
    "planning_page",
    "registration_page",
    "releases_page",
    "report_page",
    "results_page",
    "rows",
    "strengths_page",
]
