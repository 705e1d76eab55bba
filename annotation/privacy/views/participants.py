"""The pages on which participants agree to a consent text, or leave a study."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotation.models import Assignment, ErasureRequest, Worker
from annotation.privacy.consent import needs_consent, record_agreement
from annotation.privacy.erasure_requests import IMMEDIATE, NOT_OFFERED, erasure_request_of, request_erasure
from annotation.privacy.people import why_not_erasable
from annotation.views.decorators import GET_POST, member_page, see_other, worker_page
from annotation.views.visitors import WORKER_COOKIE, member_of
from annotation.work.sheet.texts import read_design
from common.markup import render_markdown
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study


@member_page(GET_POST)
def show_new_consent(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    """Show a participant the text in force, if they agreed to another one, and record the agreement."""
    if not needs_consent(study=study, worker=worker):
        return redirect("annotation:work", study.slug)
    problem = ""
    if request.method == "POST":
        if request.POST.get("consent") == "1":
            record_agreement(study=study, worker=worker)
            return see_other("annotation:work", study.slug)
        problem = _("Please read the text and tick the box, or leave the study.")
    design = read_design(study)
    context = {
        "study": study,
        "design": design,
        "consent": render_markdown(design.consent),
        "problem": problem,
        "may_leave": design.erasure.offered != NOT_OFFERED,
    }
    return render(request, "annotation/consent.html", context, status=400 if problem else 200)


@worker_page(GET_POST)
def leave_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what leaving a study means; then store the person's request, or erase them and show a receipt as proof."""
    study = find_study(slug)
    worker = member_of(request, study)
    if worker is None:
        return redirect("annotation:me")
    design = design_of(study)
    context: dict[str, Any] = {
        "study": study,
        "design": design,
        "is_offered": design.erasure.offered != NOT_OFFERED,
        "is_immediate": design.erasure.offered == IMMEDIATE and not why_not_erasable(study, worker),
        "erases_answers": design.erasure.way == "all",
        "erasure_request": erasure_request_of(study, worker),
        "finished_page_count": Assignment.objects.filter(study=study, worker=worker).finished().count(),
        "problem": "",
    }
    if request.method != "POST":
        return render(request, "annotation/leave.html", context)
    if request.POST.get("sure") != "1":
        context["problem"] = _("Please tick the box if you are sure.")
        return render(request, "annotation/leave.html", context, status=400)
    result = request_erasure(study=study, worker=worker)
    if isinstance(result, ErasureRequest):
        return see_other("annotation:leave", slug)
    # a person in other studies, too, stays a worker there
    worker_remains = Worker.objects.filter(pk=worker.pk).exists()
    context = {"study": study, "receipt": result.receipt, "worker_remains": worker_remains}
    response = render(request, "annotation/left.html", context)
    if not worker_remains:
        response.delete_cookie(WORKER_COOKIE)
    return response
