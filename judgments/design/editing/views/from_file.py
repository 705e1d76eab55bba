"""Make a study from a study file that is pasted or uploaded."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext

from common.errors import QuorumError
from judgments.admin.base import QuorumAdmin, signed_in
from judgments.design.editing.form.study_file_form import StudyFileForm
from judgments.design.editing.views.start import page_context
from judgments.design.reading.study_files import read_toml
from judgments.design.saved_presets import load_saved_presets
from judgments.studies.studies import create_study
from judgments.studies.study_page import study_page_address


def add_study_from_file(admin: QuorumAdmin, request: HttpRequest) -> HttpResponse:
    form = StudyFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            study = create_study(
                design=read_toml(form.cleaned_data["text"], saved_presets=load_saved_presets()),
                user=signed_in(request),
            )
        except QuorumError as error:
            form.add_error("text", str(error))
        else:
            admin.log_addition(request, study, "designed by a study file")
            messages.success(request, gettext("“%(name)s” was created as a draft.") % {"name": study.name})
            return redirect(study_page_address(study, "change"))
    context = page_context(admin, request) | {"subtitle": gettext("New study from a file"), "form": form}
    return TemplateResponse(request, "judgments/study/from_file.html", context)
