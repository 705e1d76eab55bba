"""The page Plan: how many pairs, references and votes a difference takes, before anybody is paid."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from evaluation.admin.drawings import drawn
from evaluation.admin.planning_form import PlanningForm, shown
from evaluation.services.planning import (
    Assumptions,
    assumptions_for,
    newest_plan,
    read_assumptions,
    use_plan,
)
from judgments.admin.base import signed_in
from judgments.admin.study_pages import (
    UNDER_WAY,
    Context,
    Group,
    StartPage,
    StudyPage,
    StudyStep,
    add_page,
    add_start_page,
    add_step,
    enqueue_once,
    page_address,
    take_refusal,
)
from judgments.errors import QuorumError, WrongState
from judgments.jobs import enqueue
from judgments.kinds import KINDS
from judgments.models import Job, Study

MOST_PILOTS = 50
MOST_EARLIER = 20


def show_planning(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """The assumptions, and the newest plan with its figure."""
    plan, refusal = newest_plan(study), take_refusal(request, study)
    begin = assumptions_for(study) | (plan.settings if plan else {})
    form = PlanningForm(initial=shown(begin) | (refusal.sent if refusal else {}), pilots=_pilots(request))
    context |= {"form": form, "refusal": refusal, "plan": plan, "is_draft": study.state == Study.State.DRAFT}
    if plan is not None:
        context |= _shown_plan(plan.result)
    return TemplateResponse(request, "evaluation/study_planning.html", context)


def _shown_plan(result: dict[str, Any]) -> Context:
    """A plan as a figure and in words."""
    # here and not above: matplotlib is dear to import
    from evaluation.figures.power import in_words, power_figure, power_sentence

    return {
        "figure": drawn(power_figure(result)),
        "sentence": power_sentence(result),
        "best_words": in_words(result["best"]) if result["best"] else "",
    }


def show_planning_first(request: HttpRequest, context: Context) -> HttpResponse:
    """The same before there is a study: a plan is kept with its job, for the person who asked for it."""
    user = signed_in(request)
    own = Job.objects.filter(kind="plan_power", created_by=user, args__study__isnull=True)
    refusal, sent = "", {}
    if request.method == "POST":
        form = PlanningForm(request.POST, pilots=_pilots(request))
        try:
            assumptions = _assumed(form)
            if own.filter(state__in=UNDER_WAY).exists():
                raise WrongState("Nothing was simulated: your last plan is still under way.")
        except QuorumError as error:
            refusal, sent = str(error), request.POST.dict()
        else:
            enqueue(kind="plan_power", args={"assumptions": assumptions, **form.source()}, user=user)
            return redirect("admin:judgments_study_start_plan")
    done = own.filter(state=Job.State.DONE)
    asked = request.GET.get("plan", "")
    chosen = done.filter(pk=asked).first() if asked.isdecimal() and len(asked) < 19 else None
    job = chosen or done.first()
    plan: dict[str, Any] | None = job.result if job else None
    begin = Assumptions().model_dump(mode="json") | (plan["settings"] if plan else {})
    last = own.first()
    context |= {
        "form": PlanningForm(initial=shown(begin) | sent, pilots=_pilots(request)),
        "refusal": refusal,
        "jobs": [last] if last is not None and last.state != Job.State.DONE else [],
        "earlier": list(done[:MOST_EARLIER]) if done.count() > 1 else [],
    }
    if plan is not None:
        context |= {
            "plan": {"result": plan["plan"], "settings": plan["settings"]},
            **_shown_plan(plan["plan"]),
        }
    return TemplateResponse(request, "evaluation/planning.html", context, status=400 if refusal else 200)


def _pilots(request: HttpRequest) -> list[tuple[str, str]]:
    """Studies of comparisons with answers, that this person may see."""
    protocols = [name for name, kind in KINDS.items() if kind.compares_pairs]
    seen = Study.objects.visible_to(signed_in(request)).filter(
        protocol__in=protocols, state=Study.State.CLOSED
    )
    return list(seen.order_by("-created_at").values_list("slug", "name")[:MOST_PILOTS])


def _plan(request: HttpRequest, study: Study) -> HttpResponse:
    form = PlanningForm(request.POST, pilots=_pilots(request))
    enqueue_once(request, study, "plan_power", assumptions=_assumed(form), **form.source())
    return redirect(page_address(study, "planning"))


def _assumed(form: PlanningForm) -> dict[str, Any]:
    """What was posted, as the job takes it.

    Raises:
        WrongState, EvaluationError: with the first problem.
    """
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise WrongState(f"Nothing was simulated. {form.fields[name].label}: {errors[0]}")
    return read_assumptions(form.assumptions()).model_dump(mode="json")


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
add_start_page(
    StartPage(
        name="plan",
        label="Plan without a study",
        words="Not sure how large it has to be?",
        view=show_planning_first,
    )
)
