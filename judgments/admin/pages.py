"""All pages of the designer in the admin, which register themselves when they are imported."""

from __future__ import annotations

from judgments.access import views as access_views
from judgments.admin import jobs, rows
from judgments.datasets import page as datasets_page
from judgments.design.editing.views import design, presets, reuse
from judgments.studies import hits_page, plan_page
from judgments.studies import page as studies_page

ADMIN_PAGES = (
    access_views,
    datasets_page,
    design,
    hits_page,
    jobs,
    plan_page,
    presets,
    reuse,
    rows,
    studies_page,
)
