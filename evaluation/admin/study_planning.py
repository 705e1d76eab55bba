"""The page Plan: how many pairs, references and votes a difference takes, before anybody is paid."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from evaluation.admin.drawings import drawn
from evaluation.admin.planning_form import PlanningForm, shown
from evaluation.services.planning import (
    assumptions_for,
    newest_plan,
    read_assumptions,
    use_plan,
)
from judgments.admin.base import signed_in
from judgments.admin.study_pages import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_page,
    add_step,
    enqueue_once,
    page_address,
    take_refusal,
)
from judgments.errors import WrongState
from judgments.kinds import KINDS
from judgments.models import Study

MOST_PILOTS = 50


def show_planning(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """The assumptions, and the newest plan with its figure."""
    plan, refusal = newest_plan(study), take_refusal(request, study)
    begin = assumptions_for(study) | (plan.settings if plan else {})
    form = PlanningForm(initial=shown(begin) | (refusal.sent if refusal else {}), pilots=_pilots(request))
    context |= {"form": form, "refusal": refusal, "plan": plan, "is_draft": study.state == Study.State.DRAFT}
    if plan is not None:
        # here and not above: matplotlib is dear to import
        from evaluation.figures.power import in_words, power_figure, power_sentence

        context |= {
            "figure": drawn(power_figure(plan.result)),
            "sentence": power_sentence(plan.result),
            "best_words": in_words(plan.result["best"]) if plan.result["best"] else "",
        }
    return TemplateResponse(request, "evaluation/study_planning.html", context)


def _pilots(request: HttpRequest) -> list[tuple[str, str]]:
    """Studies of comparisons with answers, that this person may see."""
    protocols = [name for name, kind in KINDS.items() if kind.compares_pairs]
    seen = Study.objects.visible_to(signed_in(request)).filter(
        protocol__in=protocols, state=Study.State.CLOSED
    )
    return list(seen.order_by("-created_at").values_list("slug", "name")[:MOST_PILOTS])


def _plan(request: HttpRequest, study: Study) -> HttpResponse:
    form = PlanningForm(request.POST, pilots=_pilots(request))
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise WrongState(f"Nothing was simulated. {form.fields[name].label}: {errors[0]}")
    assumptions = read_assumptions(form.assumptions())
    enqueue_once(
        request, study, "plan_power", assumptions=assumptions.model_dump(mode="json"), **form.source()
    )
    return redirect(page_address(study, "planning"))


def _use(request: HttpRequest, study: Study) -> HttpResponse:
    use_plan(study=study)
    messages.success(request, "The design now has the plan's pairs, references and votes.")
    return redirect(page_address(study, "change"))


def _compares(study: Study) -> bool:
    return KINDS[study.protocol].compares_pairs


add_page(
    StudyPage(
        name="planning", label="Plan", order=15, view=show_planning, shown=_compares, group=Group.PREPARE
    )
)
add_step(StudyStep(name="plan-power", label="Simulate", run=_plan, job="plan_power", beside=True))
add_step(StudyStep(name="use-plan", label="Use this in the design", run=_use))
