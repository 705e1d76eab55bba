"""The page Register: a plan that is fixed before the study opens, and afterwards what became of it."""

from __future__ import annotations

import json

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.quality.detectors import RULES
from evaluation.admin.registering_form import RegisteringForm
from evaluation.errors import RegistrationError
from evaluation.models import Registration
from evaluation.plans import make_plan
from evaluation.registration import deviations, outcome_words, outcomes
from evaluation.services.registration import may_be_registered, register_study
from judgments.admin.base import signed_in
from judgments.design.plans import Plan
from judgments.models import Study
from judgments.studies.studies import design_of
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    StudyStep,
    add_page,
    add_step,
    page_address,
    take_refusal,
)


def show_registration(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """What is registered with its outcomes and deviations; before that, the form."""
    registration = Registration.objects.filter(study=study).select_related("registered_by").first()
    refusal = take_refusal(request, study)
    context |= {
        "registration": registration,
        "can_register": may_be_registered(study),
        "refusal": refusal,
    }
    if registration is None:
        context["form"] = RegisteringForm(initial=refusal.sent if refusal else None)
        context |= _in_words(design_of(study).registration)
    else:
        context |= _in_words(Plan.model_validate(registration.content["plan"])) | {
            "outcomes": [(one, outcome_words(one)) for one in outcomes(study)],
            "deviations": deviations(study),
        }
    return TemplateResponse(request, "evaluation/study_register.html", context)


def _in_words(plan: Plan | None) -> Context:
    """A plan as the page shows it; ``plan`` is None where there is none yet."""
    names = plan.exclude_by if plan is not None else ()
    return {"plan": plan, "rules": [RULES[name].title if name in RULES else name for name in names]}


def download_registration(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """What was registered, with its hash, as JSON."""
    registration = Registration.objects.filter(study=study).first()
    if registration is None:
        raise Http404
    text = json.dumps({"sha256": registration.sha256, **registration.content}, ensure_ascii=False, indent=1)
    headers = {"Content-Disposition": f'attachment; filename="{study.slug}-registration.json"'}
    return HttpResponse(f"{text}\n", content_type="application/json", headers=headers)


def _register(request: HttpRequest, study: Study) -> HttpResponse:
    """The plan of the study file as it stands there, or what the form says."""
    plan = design_of(study).registration
    form = RegisteringForm(request.POST)
    wrong = {name: errors for name, errors in form.errors.items() if plan is None or name == "sure"}
    if wrong:
        name, errors = next(iter(wrong.items()))
        raise RegistrationError(f"Nothing was registered. {form.fields[name].label}: {errors[0]}")
    made = register_study(study=study, plan=plan or make_plan(form.plan()), by=signed_in(request))
    messages.success(request, f"The plan is registered: SHA-256 {made.sha256}.")
    return redirect(page_address(study, "register"))


def _designed(study: Study) -> bool:
    return study.source == Study.Source.DESIGNED


add_page(
    StudyPage(
        name="register",
        label="Register",
        order=36,
        view=show_registration,
        shown=_designed,
        group=Group.PREPARE,
    )
)
add_page(StudyPage(name="registration-file", label="", order=37, view=download_registration))
add_step(StudyStep(name="register", label="Register", run=_register, beside=True))
