"""The page of a study's registered plan, and the item of the launch checklist about it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isnan
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from annotation.launch.views.launch import ChecklistItem, Launch, Readiness
from annotation.launch.views.points import add_check
from annotation.quality.detectors import RULES
from common.amounts import p_in_text, percent_number, thousands
from contrib.registration.deviations import find_deviations
from contrib.registration.errors import RegistrationError
from contrib.registration.form import PlanForm
from contrib.registration.models import Registration
from contrib.registration.plans import (
    compute_outcomes,
    describe_missing_registration,
    may_be_registered,
    register_plan,
)
from evaluation.reports.sections.registration import HypothesisOutcome
from judgments.admin.base import signed_in
from judgments.design.tables.plan import RegistrationPlan, read_claim
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, StudySection, StudyStep, was_opened
from judgments.studies.step_form import take_refusal
from judgments.studies.study_page import add_step, study_page, study_page_address
from judgments.templatetags.judgments_tags import percent


def _has_registration_page(study: Study) -> bool:
    if was_opened(study):
        return design_of(study).registration is not None
    return study.source == Study.Source.DESIGNED


@study_page(
    "register",
    "Registration",
    order=57,
    has_tab=_has_registration_page,
    section=StudySection.FINDINGS,
    section_before_opening=StudySection.LAUNCH,
    style="css/registration.css",
)
def show_registration(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    registration = Registration.objects.filter(study=study).select_related("registered_by").first()
    refusal = take_refusal(request, study)
    context |= {"registration": registration, "can_register": may_be_registered(study), "refusal": refusal}
    if registration is None:
        context["form"] = PlanForm(initial=refusal.posted_values if refusal else None)
        context |= _describe_plan(design_of(study).registration)
    else:
        context |= _describe_plan(registration.plan) | {
            "outcomes": [(row, _(row.verdict), _describe_outcome(row)) for row in compute_outcomes(study)],
            "deviations": find_deviations(study),
        }
    return TemplateResponse(request, "evaluation/study_register.html", context)


def _describe_outcome(outcome: HypothesisOutcome) -> str:
    """Describe the outcome in the reader's language, as ``outcome_sentence`` does in English for reports."""
    if not outcome.claim:
        return _("Not tested automatically. The researchers must assess this hypothesis.")
    claim = read_claim(outcome.claim)
    metric_names: dict[str, Any] = {"better": claim.better, "worse": claim.worse}
    if isnan(outcome.p):
        return (
            _(
                "Not tested, because %(better)s and %(worse)s were not both compared with people on these pairs."
            )
            % metric_names
        )
    if not outcome.differing_pairs:
        return _("%(better)s and %(worse)s are right on exactly the same pairs.") % metric_names
    low, high = outcome.interval
    return _(
        "Pairs on which only one of the two metrics is right: %(n)s. %(better)s is right on %(right)s of these "
        "(%(share)s, 95 %% interval %(low)s to %(high)s); %(p)s, with Holm’s correction %(adjusted)s."
    ) % {
        **metric_names,
        "n": thousands(outcome.differing_pairs),
        "right": thousands(outcome.first_only),
        "share": percent(outcome.first_only / outcome.differing_pairs),
        "low": percent_number(low),
        "high": percent(high),
        "p": p_in_text(outcome.p),
        "adjusted": p_in_text(outcome.adjusted),
    }


def _describe_plan(plan: RegistrationPlan | None) -> Context:
    """Return the template variables for a plan: the plan, and the titles of the detectors that exclude people."""
    names = plan.exclude_by if plan is not None else ()
    return {"plan": plan, "rules": [_(RULES[name].title) if name in RULES else name for name in names]}


@study_page("registration-file", order=58)
def download_registration(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        raise Http404
    text = json.dumps({"sha256": registration.sha256, **registration.content}, ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": f'attachment; filename="{study.slug}-registration.json"'}
    return HttpResponse(f"{text}\n", content_type="application/json", headers=headers)


def _register_plan(request: HttpRequest, study: Study) -> HttpResponse:
    plan = design_of(study).registration
    form = PlanForm(request.POST)
    # if the study file has the plan, the page asks only to confirm it
    form_errors = {name: errors for name, errors in form.errors.items() if plan is None or name == "sure"}
    if form_errors:
        name, errors = next(iter(form_errors.items()))
        raise RegistrationError(
            _("Nothing was registered. %(field)s: %(problem)s")
            % {"field": form.fields[name].label, "problem": errors[0]}
        )
    values = register_plan.read({} if plan else {"plan": form.plan()})
    messages.success(request, register_plan.run(study, values, by=signed_in(request), wait=False).message)
    return redirect(study_page_address(study, "register"))


# inline: errors are shown next to the form
add_step(StudyStep(name="register", label="Register", run=_register_plan, inline=True))


def _registration_items(launch: Launch) -> Iterable[ChecklistItem]:
    study = launch.study
    # A draft cannot be opened yet, and an open study had no unregistered plan when it was opened.
    if study.state in (Study.State.DRAFT, Study.State.OPEN):
        return
    if sentence := describe_missing_registration(study):
        label = _("Register the plan")
        yield launch.point(_("Registration"), Readiness.BLOCKS, sentence, page="register", link_words=label)


add_check(-1, _registration_items)  # -1: before the other items
