"""Every list and page a researcher has, found where they are registered: a new one is walked without being named."""

from __future__ import annotations

from django.contrib import admin
from django.urls import reverse

from config.api_urls import router
from judgments.models import Study
from judgments.studies.study_page import PAGES, page_address

FILES = frozenset({"download", "report-file"})  # answer only when asked for one certain file


def admin_lists() -> dict[str, str]:
    """The list of each model in the admin: its label -> its address."""
    return {
        model._meta.label: reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        for model in admin.site._registry
    }


def api_lists() -> dict[str, str]:
    """The list of each resource: /api/NAME/ -> its address."""
    return {
        f"/api/{prefix}/": reverse(f"api:{name}-list")
        for prefix, view, name in router.registry
        if hasattr(view, "list")
    }


def study_pages(study: Study) -> dict[str, str]:
    """Each page of a study that its state shows: its name -> its address."""
    return {
        name: page_address(study, name)
        for name, page in PAGES.items()
        if name not in FILES and page.shown(study)
    }
