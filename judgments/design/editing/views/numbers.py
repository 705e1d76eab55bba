"""Show the numbers of items, pages and hours of an unsaved design next to its form, and its problems.

The design is drawn from its dataset to count them, but nothing is stored.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext

from common.errors import DesignError, QuorumError
from judgments.access.visible_rows import visible_rows
from judgments.design.editing.form.design_form import field_of_key
from judgments.design.editing.form.labels import replace_keys_by_labels
from judgments.design.editing.previews import find_preview
from judgments.design.editing.views.description import describe_design
from judgments.design.requirements import requirement_phrases, unsupported_requirements
from judgments.design.study_design import StudyDesign
from judgments.models import Dataset, Study
from judgments.studies.generation.plans import plan_study
from judgments.studies.study_page import PLAN_PARTS, parts_of_plan


def show_numbers(request: HttpRequest, key: str) -> HttpResponse:
    """Show the numbers of the unsaved design that the session has under ``key``."""
    design = find_preview(request.session, key)
    if design is None:
        raise Http404("This design is not looked at any more.")
    return TemplateResponse(request, "judgments/parts/numbers.html", numbers_context(request, design))


def numbers_context(request: HttpRequest, design: StudyDesign) -> dict[str, Any]:
    """Draw the design, and return its numbers and problems as a template context.

    ``notes`` are the problems that concern a key, with the form field of the key, or "" if it has none. If a problem
    ``can_be_fitted``, the form shows a button that adjusts the design to its dataset.
    """
    context: dict[str, Any] = {
        "design": design,
        "has_numbers": True,  # so that the form's page shows them and does not request them
        "notes": [],
        "settings": describe_design(design),
    }
    problems: list[DesignError] = []
    dataset = visible_rows(Dataset.objects.filter(name=design.dataset), request.user).first()
    try:
        if dataset is None:
            raise DesignError(
                gettext("There is no dataset %(dataset)r.") % {"dataset": design.dataset}, field="dataset"
            )
        stored_study = Study.objects.visible_to(request.user).filter(slug=design.slug).first()
        maker = request.user.pk if stored_study is None else stored_study.created_by_id
        plan = plan_study(design, dataset, maker=maker)  # with the maker's unpublished systems
        context |= {"plan": plan, "plan_parts": parts_of_plan(design, plan)}
    except DesignError as error:
        context |= {
            "problem": replace_keys_by_labels(str(error), design),
            "can_be_fitted": error.field.startswith(("sampling", "controls", "filter")),
        }
        problems.append(error)
    except QuorumError as error:
        context["problem"] = replace_keys_by_labels(str(error), design)
    else:
        problems += _requirement_errors(design)
        for part in PLAN_PARTS:  # additions of apps to the numbers, such as the cost
            if part.problems is not None:
                problems += part.problems(design, plan.hits, plan.units + plan.controls)
    context["notes"] = [
        {"field": field_of_key(problem.field, design), "words": replace_keys_by_labels(str(problem), design)}
        for problem in problems
    ]
    return context


def numbers_address(key: str) -> str:
    return reverse("admin:judgments_study_numbers", args=[key]) if key else ""


def _requirement_errors(design: StudyDesign) -> list[DesignError]:
    unsupported_phrases = unsupported_requirements(design.workers, design.crowd_name)
    return [
        DesignError(
            gettext(
                "The crowd %(backend)r does not support the requirement “%(words)s”, so the study cannot be "
                "opened. Remove the requirement or choose another crowd."
            )
            % {"backend": design.crowd.backend, "words": phrase},
            field=f"workers.{name}",
        )
        for name, phrase in requirement_phrases(design.workers).items()
        if phrase in unsupported_phrases
    ]
