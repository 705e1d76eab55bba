"""The design page of a study: the form for a draft, the settings as text for other studies, and the study file."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from judgments.admin.base import QuorumAdmin, signed_in
from judgments.design.editing.fitting import fit_to_dataset
from judgments.design.editing.views.description import describe_design
from judgments.design.editing.views.editor import EditorPage, edit_design, form_context
from judgments.design.editing.views.start import values_of_address
from judgments.design.reading.study_files import write_toml
from judgments.design.saved_presets import load_saved_presets
from judgments.design.study_design import StudyDesign
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.discarding import can_be_discarded
from judgments.studies.operations import generate
from judgments.studies.pages import StudySection
from judgments.studies.studies import change_design
from judgments.studies.study_page import study_page, study_page_address


def show_design(admin: QuorumAdmin, request: HttpRequest, study: Study) -> HttpResponse:
    """Show the form of a draft. If the person cannot change the design, show its settings as text."""
    context = admin.context(request, study, "change")
    context["toml"] = write_toml(design_of(study))
    if study.state != Study.State.DRAFT or not context["may_change"]:
        context["settings"] = describe_design(design_of(study))
        context["can_go_back"] = context["may_change"] and can_be_discarded(study)  # to a draft
        return TemplateResponse(request, "judgments/study/design_read.html", context)
    saved_presets = load_saved_presets()
    base = study.design
    fitted_design = None  # unless the address names another preset or protocol to start from
    if (start_values := values_of_address(request, saved_presets, current=study.design)) is not None:
        checks = request.GET.get("checks", "")  # reserve, repeat or omit items for check questions
        fitted_design = fit_to_dataset(
            start_values, study.dataset, maker=study.created_by_id, checks_answer=checks
        )
        base = fitted_design.values

    def store(design: StudyDesign) -> Study:
        # The form has no changes by hand of single items, and may be older than the last one. Without them,
        # ``change_design`` keeps the stored ones.
        design = design.model_copy(update={"by_hand": ()})
        change_design(study=study, design=design, user=signed_in(request))
        admin.log_change(request, study, "design")
        return study

    editor = edit_design(request, store, base=base, saved_presets=saved_presets, fitted_design=fitted_design)
    if not isinstance(editor, EditorPage):
        return editor
    if "problem" in editor.numbers:  # the design could not be drawn to count its numbers
        context["blocked_step"] = generate.name
    return TemplateResponse(
        request, "judgments/study/design.html", context | form_context(editor, saved_presets)
    )


@study_page("study-file", order=11)
def show_file(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    return HttpResponse(
        write_toml(design_of(study)),
        content_type="application/toml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.slug}.toml"'},
    )


@study_page("change", "Settings", order=10, section=StudySection.DESIGN, help="designing.md")
def _redirect_to_change_page(request: HttpRequest, study: Study, context: dict[str, Any]) -> HttpResponse:
    """Only register the tab “Settings”. The admin's own page, which has this address, calls ``show_design``."""
    return redirect(study_page_address(study, "change"))
