"""Import the modules of annotation that register admin pages."""

from annotation.admin import needs, tables
from annotation.crowds import views as crowds_page
from annotation.crowds.panel import page as panel_page
from annotation.launch.views import checks as launch_checks
from annotation.launch.views import page as launch_page
from annotation.money.views import cost as cost_page
from annotation.money.views import limits as limits_page
from annotation.privacy import views as privacy_page
from annotation.quality import controls_page, rules_page
from annotation.quality import work_page as finished_work_page
from annotation.quality.cases import page as review_page
from annotation.work import page as work_page

__all__ = [
    "controls_page",
    "cost_page",
    "crowds_page",
    "finished_work_page",
    "launch_checks",
    "launch_page",
    "limits_page",
    "needs",
    "panel_page",
    "privacy_page",
    "review_page",
    "rules_page",
    "tables",
    "work_page",
]
