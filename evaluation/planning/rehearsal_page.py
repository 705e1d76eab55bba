"""The page Rehearsal: simulated workers answer a copy of a study, and what comes back is held against the truth."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from annotation.rehearsal.operations import rehearse_copy
from annotation.rehearsal.rehearsal import OF, delete_rehearsal, rehearsals_of, study_rehearsed
from evaluation.models import Analysis
from evaluation.planning.rehearsals import rehearsal_shown
from judgments.admin.base import signed_in
from judgments.admin.operations import add_operation
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
    """Show the form, the copies and the newest result; of a copy, its own result."""
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
    context |= {
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
add_operation(
    rehearse_copy,
    name="rehearse",
    label="Rehearse a copy",
    also="judgments.add_study",
    leads_away="rehearsal",
)
add_step(
    StudyStep(
        name="delete-rehearsal", label="Delete this rehearsal", run=_delete, permission="own", beside=True
    )
)
