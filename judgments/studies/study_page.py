"""The registry of a study's pages and steps in the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext

from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.pages import Context, PagePart, PlanPart, StartPage, StudyPage, StudyStep

if TYPE_CHECKING:
    from judgments.studies.generation.plans import StudyPlan


StudyView = TypeVar("StudyView", bound=Callable[[HttpRequest, Study, Context], HttpResponseBase])

# The apps fill these when they are loaded.
PAGES: dict[str, StudyPage] = {}
STEPS: dict[str, StudyStep] = {}
START_PAGES: dict[str, StartPage] = {}  # those to which the page "New study" has links
PLAN_PARTS: list[PlanPart] = []
PAGE_PARTS: list[PagePart] = []
MAIN_PAGES = {"draft": "change", "generated": "launch", "open": "workers"}  # the platform's, by state


def study_page(name: str, label: str = "", **options: Any) -> Callable[[StudyView], StudyView]:
    """Register a view as a page of a study. The options are attributes of ``StudyPage``."""

    def register(view: StudyView) -> StudyView:
        PAGES[name] = StudyPage(name=name, label=label, view=view, **options)
        return view

    return register


def add_start_page(page: StartPage) -> None:
    START_PAGES[page.name] = page


def add_step(step: StudyStep) -> None:
    STEPS[step.name] = step


def add_plan_part(part: PlanPart) -> None:
    PLAN_PARTS.append(part)


def add_page_part(part: PagePart) -> None:
    PAGE_PARTS.append(part)


def parts_of_plan(design: StudyDesign, plan: StudyPlan) -> list[dict[str, Any]]:
    """Return the template and facts of each app's addition to a plan."""
    items = plan.judgments // design.judgments_per_unit  # on all pages, including control items
    return [{"template": part.template, "facts": part.facts(design, plan.hits, items)} for part in PLAN_PARTS]


def label_of_link(page: StudyPage) -> str:
    """Return the text of the link to a page from the results; "" if there is none."""
    part_labels = [gettext(part.label) for part in PAGE_PARTS if part.page == page.name and part.label]
    return gettext(page.results_label) if page.results_label else capfirst(", ".join(part_labels))


def study_page_address(study: Study, name: str) -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def main_page(study: Study) -> StudyPage | None:
    """Return a feature's page that is shown first for a study; None if it is the platform's, by the study's state."""
    return next((page for page in PAGES.values() if page.main_for(study)), None)


def first_page(study: Study) -> str:
    """Return the address of the page that is shown first for a study."""
    if page := main_page(study):
        return study_page_address(study, page.name)
    return study_page_address(study, MAIN_PAGES.get(study.state, "results"))
