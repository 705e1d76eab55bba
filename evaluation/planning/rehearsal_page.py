"""The page Rehearsal: simulated workers answer a copy of a study, and what comes back is held against the truth."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.admin.workers_page import RehearsalForm
from annotation.rehearsal.rehearsal import (
    OF,
    copy_for_rehearsal,
    delete_rehearsal,
    rehearsals_of,
    study_rehearsed,
)
from common.errors import WrongState
from evaluation.models import Analysis
from evaluation.planning.rehearsals import rehearsal_shown
from judgments.admin.base import signed_in
from judgments.jobs import enqueue
from judgments.models import Study
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

MOST_SHOWN = 20


def show_rehearsal(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Of a study the form and its copies, the newest result with them; of a copy what came of it."""
    user, refusal = signed_in(request), take_refusal(request, study)
    of_whom = study_rehearsed(study)
    if of_whom is not None and not Study.objects.visible_to(user).filter(pk=of_whom.pk).exists():
        of_whom = None
    copies: list[dict[str, Any]] = []
    if not study.simulated:
        seen = list(rehearsals_of(study).filter(pk__in=Study.objects.visible_to(user))[:MOST_SHOWN])
        found = {
            one.study_id: one
            for one in Analysis.objects.filter(study__in=seen, what=Analysis.What.REHEARSAL).order_by(
                "created_at"
            )
        }
        copies = [{"study": one, "analysis": found.get(one.pk)} for one in seen]
    shown = rehearsal_shown(study) if study.simulated else _newest(copies)
    form = RehearsalForm(initial=refusal.sent if refusal else {})
    context |= {
        "form": form,
        "refusal": refusal,
        "copies": copies,
        "of_whom": of_whom,
        "is_copy": OF in study.notes,
        "rehearsal": shown,
        "rehearsing": any(job.kind == "rehearse" for job in context["jobs"]),
        "rehearsed_study": next((one["study"] for one in copies if one["analysis"] is shown), study),
    }
    return TemplateResponse(request, "evaluation/study_rehearsal.html", context)


def _newest(copies: list[dict[str, Any]]) -> Analysis | None:
    return next((one["analysis"] for one in copies if one["analysis"]), None)


def _rehearse(request: HttpRequest, study: Study) -> HttpResponse:
    """A copy of the study answered by a simulated crowd; the study itself stays clean."""
    form = RehearsalForm(request.POST)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise WrongState(f"Nothing was rehearsed. {form.fields[name].label}: {errors[0]}")
    with transaction.atomic():  # a copy without its job would stand there for nothing
        copy = copy_for_rehearsal(study=study, user=signed_in(request))
        enqueue(kind="rehearse", args={"study": copy.slug, **form.cleaned_data}, user=signed_in(request))
    messages.success(request, f"“{copy.name}” is a copy that simulated workers answer now.")
    return redirect(page_address(copy, "rehearsal"))


def _delete(request: HttpRequest, study: Study) -> HttpResponse:
    of_whom, name = study_rehearsed(study), study.name
    delete_rehearsal(copy=study)
    messages.success(request, f"“{name}” is deleted with its simulated answers.")
    if of_whom is not None and Study.objects.visible_to(signed_in(request)).filter(pk=of_whom.pk).exists():
        return redirect(page_address(of_whom, "rehearsal"))
    return redirect("admin:judgments_study_changelist")


def _is_designed(study: Study) -> bool:
    return study.source == Study.Source.DESIGNED


add_page(
    StudyPage(
        name="rehearsal",
        label="Rehearsal",
        order=16,
        view=show_rehearsal,
        shown=_is_designed,
        group=Group.PREPARE,
    )
)
add_step(
    StudyStep(
        name="rehearse", label="Rehearse a copy", run=_rehearse, also="judgments.add_study", beside=True
    )
)
add_step(
    StudyStep(
        name="delete-rehearsal", label="Delete this rehearsal", run=_delete, permission="own", beside=True
    )
)
