"""The plan of a draft: how many items, pages and hours its design comes to, or why it cannot be drawn."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db.models import Max
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from common.errors import DesignError, QuorumError
from judgments.cached_figures import cached_figures, has_many_rows
from judgments.design.editing.form.design_form import field_of_key
from judgments.design.editing.form.labels import replace_keys_by_labels
from judgments.drawing.controls.pool import ControlPool
from judgments.figures import FiguresDefinition, add_figures
from judgments.models import Study, System
from judgments.studies.designs import design_of
from judgments.studies.generation.plans import StudyPlan, plan_study
from judgments.studies.operations import generate
from judgments.studies.pages import Context
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import parts_of_plan, study_page, study_page_address


@study_page("plan", order=21, help="study-files.md#what-is-drawn")
def show_plan(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    return TemplateResponse(request, "judgments/study/plan.html", context | plan_context(study))


def plan_context(study: Study) -> Context:
    """Return the context of the plan: the design's amounts, the problem with the design, or that a job is computing.

    If there is a problem, ``blocked_step`` names the step whose button is disabled.
    """
    design = design_of(study)
    plan = cached_figures(study, PLAN_FIGURES).value
    if plan is None:
        return {"design": design, "is_computing": True}
    if isinstance(plan, StudyPlan):
        try:
            return {"design": design, "plan": plan, "plan_parts": parts_of_plan(design, plan)}
        except QuorumError as error:  # of an app's part, such as the cost at a crowd whose feature is off
            plan = DesignError(str(error))
    return {
        "design": design,
        "problem": replace_keys_by_labels(str(plan), design),
        "problem_link": address_of_problem(study, plan.field),
        "blocked_step": generate.name,
    }


def address_of_problem(study: Study, key: str) -> str:
    """Return the address, on the design's page, of the field of a key; or of all fields (``panes``) if it has none.

    ``?look`` makes the page check the design, so that it shows problems at their fields.
    """
    name = field_of_key(key, design_of(study))
    return f"{study_page_address(study, 'change')}?look#{f'id_{name}' if name else 'panes'}"


def _plan_or_error(study: Study) -> StudyPlan | DesignError:
    try:
        return plan_study(design_of(study), study.dataset, maker=study.created_by_id)
    except QuorumError as error:
        return DesignError(str(error), field=error.field if isinstance(error, DesignError) else "")


def _plan_from_json(value: dict[str, Any]) -> StudyPlan | DesignError:
    if "problem" in value:
        return DesignError(str(value["problem"]), field=str(value.get("field", "")))
    return StudyPlan(**value | {"pool": ControlPool(**value["pool"])})


def _draw_dependencies(study: Study) -> object:
    """Return values that change with everything on which a draw depends. The plan is computed anew if they change.

    The id of the last caption stands for all captions, since captions are only added.
    """
    systems = System.objects.of_study(study).order_by("pk").values_list("pk", flat=True)
    last_caption_id = study.dataset.captions.aggregate(last=Max("pk"))["last"]
    return study.design, study.dataset_id, last_caption_id, list(systems)


def _has_large_dataset(study: Study) -> bool:
    return has_many_rows(study.dataset.captions.all())


def _plan_as_json(plan: StudyPlan | DesignError) -> dict[str, Any]:
    if isinstance(plan, DesignError):
        return {"problem": str(plan), "field": plan.field}
    return asdict(plan)


PLAN_FIGURES: FiguresDefinition[StudyPlan | DesignError] = add_figures(
    FiguresDefinition(
        "plan",
        _plan_or_error,
        rows=lambda plan: 0 if isinstance(plan, DesignError) else plan.units,
        as_json=_plan_as_json,
        from_json=_plan_from_json,
        version=_draw_dependencies,
        never_expires=True,
        always_needs_job=_has_large_dataset,
    )
)

add_operation(
    generate,
    label="Generate pages of work",
    has_button=lambda study: study.state == Study.State.DRAFT,
    primary_states={Study.State.DRAFT.value},
    leads_to=lambda study: "launch",
    refusal_address=address_of_problem,
)
