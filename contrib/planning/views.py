"""The page "Plan" of a study, and the page on which a plan is made before there is a study."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from common.errors import QuorumError, WrongState
from common.rows.ids import is_row_id
from contrib.planning.assumptions import Assumptions, assumptions_for, read_assumptions
from contrib.planning.form import PlanningForm, initial_values
from contrib.planning.operations import start_power_plan, use_plan
from evaluation.models import Analysis
from evaluation.results.agreement_sentences import components_sentence
from evaluation.results.views.drawings import as_markup
from judgments.admin.base import signed_in
from judgments.design.study_design import USUAL_CURRENCY
from judgments.jobs.queues import enqueue
from judgments.kinds import KINDS
from judgments.models import Job, Study
from judgments.studies.pages import Context, StartPage, StudySection, StudyStep, was_opened
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import add_start_page, add_step, study_page, study_page_address

MAX_PILOTS = 50
MAX_EARLIER_PLANS = 20


@study_page(
    "planning",
    "Plan",
    order=15,
    has_tab=lambda study: not was_opened(study) and KINDS[study.protocol].compares_pairs,
    section=StudySection.DESIGN,
    style="css/planning.css",
)
def show_planning(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    plan, refusal = Analysis.objects.newest(study, Analysis.Kind.PLAN), take_refusal(request, study)
    start_values = assumptions_for(study) | (plan.settings if plan else {})
    form = PlanningForm(
        initial=initial_values(start_values) | (refusal.posted_values if refusal else {}),
        pilots=_pilots(request),
        currency=context["currency"],
    )
    context |= {"form": form, "refusal": refusal, "plan": plan, "is_draft": study.state == Study.State.DRAFT}
    if plan is not None:
        context |= _plan_context(plan.result, plan.settings)
    return TemplateResponse(request, "evaluation/study_planning.html", context)


def _plan_context(result: dict[str, Any], settings: dict[str, Any]) -> Context:
    """Return the context of ``parts/power_plan.html`` for a plan and its assumptions."""
    # Imported lazily, since matplotlib costs every process 60 MB and 0.3 s.
    from contrib.planning.figures import describe_design, power_figure, power_sentence

    return {
        "power_figure": as_markup(power_figure(result)),
        "power_sentence": power_sentence(result),
        "components": components_sentence(settings.get("components", {})),  # of variance, in the pilot
        "best_design": describe_design(result["best"]) if result["best"] else "",
    }


def show_plan_without_study(request: HttpRequest, context: Context) -> HttpResponse:
    """Show the page for a plan without a study. The plan is stored in its job."""
    user = signed_in(request)
    plans = Job.objects.filter(kind="plan_power", created_by=user, args__study__isnull=True)
    problem, posted_values = "", {}
    if request.method == "POST":
        form = PlanningForm(request.POST, pilots=_pilots(request))
        try:
            assumptions = _read_assumptions(form)
            if plans.under_way().exists():
                raise WrongState(_("Nothing was simulated: your last plan is still running."))
            args = {"assumptions": assumptions, **form.pilot_source()}
            enqueue(kind="plan_power", args=args, user=user, once=True)  # refuses a simultaneous click, too
        except QuorumError as error:
            problem, posted_values = str(error), request.POST.dict()
        else:
            return redirect("admin:judgments_study_start_plan")
    done_plans = plans.filter(state=Job.State.DONE)
    pk = request.GET.get("plan", "")
    shown_plan = done_plans.filter(pk=pk).first() if is_row_id(pk) else None
    job = shown_plan or done_plans.first()
    plan: dict[str, Any] | None = job.result if job else None
    start_values = Assumptions().model_dump(mode="json") | (plan["settings"] if plan else {})
    last_job = plans.first()  # jobs are ordered by age, the newest first
    context |= {
        "form": PlanningForm(initial=initial_values(start_values) | posted_values, pilots=_pilots(request)),
        "refusal": problem,
        "currency": USUAL_CURRENCY,
        "jobs": [last_job] if last_job is not None and (last_job.is_under_way or last_job.error) else [],
        "earlier_plans": list(done_plans[:MAX_EARLIER_PLANS]) if done_plans.count() > 1 else [],
    }
    if plan is not None:
        context |= {
            "plan": {"result": plan["plan"], "settings": plan["settings"]},
            **_plan_context(plan["plan"], plan["settings"]),
        }
    return TemplateResponse(request, "evaluation/planning.html", context, status=400 if problem else 200)


def _pilots(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the slug and the name of each study that can be a pilot: the newest closed studies of pairs."""
    protocols = [name for name, kind in KINDS.items() if kind.compares_pairs]
    visible_studies = Study.objects.visible_to(signed_in(request)).filter(
        protocol__in=protocols, state=Study.State.CLOSED
    )
    return list(visible_studies.order_by("-created_at").values_list("slug", "name")[:MAX_PILOTS])


def _start_plan(request: HttpRequest, study: Study) -> HttpResponse:
    form = PlanningForm(request.POST, pilots=_pilots(request))
    values = {"assumptions": _read_assumptions(form), **form.pilot_source()}
    start_power_plan.start(study, values, by=signed_in(request), page=True)
    return redirect(study_page_address(study, "planning"))


def _read_assumptions(form: PlanningForm) -> dict[str, Any]:
    """Return the posted assumptions. Raise WrongState or EvaluationError with the first error if they are invalid."""
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise WrongState(
            _("Nothing was simulated. %(field)s: %(problem)s")
            % {"field": form.fields[name].label, "problem": errors[0]}
        )
    return read_assumptions(form.assumptions()).model_dump(mode="json")


add_step(StudyStep(name="plan-power", label="Simulate", run=_start_plan, job="plan_power", inline=True))
add_operation(use_plan, label="Apply to the design", leads_to=lambda study: "change")
add_start_page(
    StartPage(
        name="plan",
        label="Plan before creating a study",
        text="Not sure how many items you need?",
        view=show_plan_without_study,
    )
)
