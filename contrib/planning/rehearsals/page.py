"""The page "Rehearsal" of a study."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from contrib.planning.rehearsals.checklist import power_rows_of
from contrib.planning.rehearsals.copies import ORIGINAL_NOTE, rehearsals_of, study_rehearsed
from contrib.planning.rehearsals.operations import delete_rehearsal, rehearse_copy
from evaluation.models import Analysis
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.pages import Context, StudyPlace, was_opened
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import study_page, study_page_address

MAX_SHOWN = 20


def _has_rehearsals(study: Study) -> bool:
    """Return whether the study has rehearsals, or is a rehearsed copy, whose result the page shows."""
    return study.simulated if was_opened(study) else study.source == Study.Source.DESIGNED


@study_page(
    "rehearsal",
    "Rehearsal",
    order=56,
    has_tab=_has_rehearsals,
    group=StudyPlace.FINDINGS,
    place_before_opening=StudyPlace.LAUNCH,
)
def show_rehearsal(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show the copies of a study and the newest result. For a copy, show its own result."""
    user, refusal = signed_in(request), take_refusal(request, study)
    of_whom = study_rehearsed(study)
    if of_whom is not None and not Study.objects.visible_to(user).filter(pk=of_whom.pk).exists():
        of_whom = None
    copies: list[dict[str, Any]] = []
    if study.simulated:
        shown = Analysis.objects.newest(study, Analysis.Kind.REHEARSAL)
    else:
        seen = list(rehearsals_of(study).filter(pk__in=Study.objects.visible_to(user))[:MAX_SHOWN])
        analyses = Analysis.objects.filter(study__in=seen, what=Analysis.Kind.REHEARSAL).order_by(
            "created_at"
        )
        newest = {analysis.study_id: analysis for analysis in analyses}
        copies = [{"study": copy, "analysis": newest.get(copy.pk)} for copy in seen]
        shown = next((row["analysis"] for row in copies if row["analysis"]), None)
    context |= {
        "refusal": refusal,
        "copies": copies,
        "of_whom": of_whom,
        "is_copy": ORIGINAL_NOTE in study.notes,
        "rehearsal": shown,
        "power": power_rows_of(shown) if shown else [],
        "rehearsing": any(job.kind == "rehearse" for job in context["jobs"]),
        "rehearsed_study": next((row["study"] for row in copies if row["analysis"] is shown), study),
    }
    return TemplateResponse(request, "evaluation/study_rehearsal.html", context)


def _redirect_from_deleted(request: HttpRequest, study: Study, outcome: Outcome) -> HttpResponse:
    messages.success(request, outcome.message)
    rehearsed: Study | None = outcome.value
    seen = Study.objects.visible_to(signed_in(request))
    if rehearsed is not None and seen.filter(pk=rehearsed.pk).exists():
        return redirect(study_page_address(rehearsed, "rehearsal"))
    return redirect("admin:judgments_study_changelist")


add_operation(
    rehearse_copy,
    name="rehearse",
    label="Rehearse a copy",
    requires="judgments.add_study",
    leads_away="rehearsal",
)
add_operation(delete_rehearsal, label="Delete this rehearsal", shows=_redirect_from_deleted, inline=True)
