"""The page "Rehearsal" of a study."""

from __future__ import annotations

from typing import NamedTuple

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext_noop

from contrib.rehearsals.checklist import power_rows_of
from contrib.rehearsals.copies import ORIGINAL_NOTE, original_of_copy, rehearsals_of
from contrib.rehearsals.operations import delete_rehearsal, rehearse_copy
from evaluation.models import Analysis
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.pages import Context, StudySection, was_opened
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import study_page, study_page_address

MAX_SHOWN_COPIES = 20


class CopyRow(NamedTuple):
    """A copy of the study, and its newest result if it has one."""

    study: Study
    analysis: Analysis | None


def _shows_rehearsals(study: Study) -> bool:
    """Return whether the page has a tab: in studies that can be rehearsed, and in copies from their opening on."""
    return study.simulated if was_opened(study) else study.source == Study.Source.DESIGNED


@study_page(
    "rehearsal",
    "Rehearsal",
    order=56,
    has_tab=_shows_rehearsals,
    section=StudySection.FINDINGS,
    section_before_opening=StudySection.LAUNCH,
    main_for=lambda study: study.simulated and not was_opened(study),  # a copy before its job opens it
    main_label=gettext_noop("See the rehearsal"),
)
def show_rehearsal(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    """Show the copies of a study and the newest result. For a copy, show its own result."""
    user, refusal = signed_in(request), take_refusal(request, study)
    if study.simulated:
        copies: list[CopyRow] = []
        newest_row = CopyRow(study, Analysis.objects.newest(study, Analysis.Kind.REHEARSAL))
    else:
        copies = _copies_with_analyses(study, user)
        newest_row = next((row for row in copies if row.analysis), CopyRow(study, None))
    context |= {
        "refusal": refusal,
        "copies": copies,
        "original": _visible_original(study, user),
        "is_copy": ORIGINAL_NOTE in study.notes,
        "rehearsal": newest_row.analysis,
        "power_rows": power_rows_of(newest_row.analysis) if newest_row.analysis else [],
        "is_rehearsing": any(job.kind == "rehearse" for job in context["jobs"]),
        "rehearsed_study": newest_row.study,
    }
    return TemplateResponse(request, "evaluation/study_rehearsal.html", context)


def _visible_original(copy: Study, user: User) -> Study | None:
    """Return the study of which this one is a copy, if there is one that the account may see."""
    original = original_of_copy(copy)
    if original is not None and not Study.objects.visible_to(user).filter(pk=original.pk).exists():
        return None
    return original


def _copies_with_analyses(study: Study, user: User) -> list[CopyRow]:
    """Return the newest copies that the account may see, newest first."""
    copies = list(rehearsals_of(study).filter(pk__in=Study.objects.visible_to(user))[:MAX_SHOWN_COPIES])
    analyses = Analysis.objects.filter(study__in=copies, what=Analysis.Kind.REHEARSAL).order_by("created_at")
    # of a study's analyses, the last one stays
    newest_analyses = {analysis.study_id: analysis for analysis in analyses}
    return [CopyRow(copy, newest_analyses.get(copy.pk)) for copy in copies]


def _redirect_from_deleted(request: HttpRequest, study: Study, outcome: Outcome) -> HttpResponse:
    messages.success(request, outcome.message)
    original: Study | None = outcome.value
    visible_studies = Study.objects.visible_to(signed_in(request))
    if original is not None and visible_studies.filter(pk=original.pk).exists():
        return redirect(study_page_address(original, "rehearsal"))
    return redirect("admin:judgments_study_changelist")


add_operation(
    rehearse_copy,
    name="rehearse",
    label="Rehearse a copy",
    requires="judgments.add_study",
    result_page="rehearsal",
    design_page="rehearsal",
)
add_operation(
    delete_rehearsal, label="Delete this rehearsal", show_result=_redirect_from_deleted, inline=True
)
