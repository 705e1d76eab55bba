"""The registry of a study's pages and steps in the admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.pages import Context, PagePart, PlanPart, StartPage, StudyPage, StudyStep, was_opened

if TYPE_CHECKING:
    from judgments.studies.generation.plans import StudyPlan


StudyView = TypeVar("StudyView", bound=Callable[[HttpRequest, Study, Context], HttpResponseBase])

# The apps fill these when they are loaded.
PAGES: dict[str, StudyPage] = {}
STEPS: dict[str, StudyStep] = {}
START_PAGES: dict[str, StartPage] = {}  # those to which the page "New study" has links
PLAN_PARTS: list[PlanPart] = []
PAGE_PARTS: list[PagePart] = []


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


def study_page_address(study: Study, name: str) -> str:
    return reverse(f"admin:judgments_study_{name}", args=[study.pk])


def page_of_open_study() -> str:
    """Return the name of the main page of an open study: the dashboard or, without that feature, "Participants"."""
    return "board" if "board" in PAGES else "workers"


def first_page(study: Study) -> str:
    """Return the address of the page that is shown first for a study, by its state."""
    if study.simulated and not was_opened(study) and "rehearsal" in PAGES:
        return study_page_address(study, "rehearsal")
    names = {
        Study.State.DRAFT.value: "change",
        Study.State.GENERATED.value: "launch",
        Study.State.OPEN.value: page_of_open_study(),
    }
    return study_page_address(study, names.get(study.state, "results"))
