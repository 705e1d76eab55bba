"""The designer's pages in the admin, and the rows behind them to look at."""

from judgments.access import people_page
from judgments.admin import rows
from judgments.datasets import page as datasets_page
from judgments.design.editing import page as design_page
from judgments.studies import hits_page
from judgments.studies import list_page as studies_admin

__all__ = [
    "datasets_page",
    "design_page",
    "hits_page",
    "people_page",
    "rows",
    "studies_admin",
]
