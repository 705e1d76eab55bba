"""Pages on which participants agree to a changed text, or leave a study and are erased."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import Assignment, ErasureRequest, Worker
from annotation.privacy.consent import agree, needs_consent
from annotation.privacy.erasing import why_not_erasable
from annotation.privacy.retention import AT_ONCE, NOT_OFFERED, leave, request_of
from annotation.views.common import WORKER_COOKIE, errors_as_pages, member_of, see_other
from annotation.work.worksheet import read_design
from common.markup import render_markdown
from judgments.studies.studies import design_of, find_study


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def consent(request: HttpRequest, slug: str) -> HttpResponse:
    study = find_study(slug)
    worker = member_of(request, study)
    if worker is None:
        return redirect("annotation:study", slug)
    if not needs_consent(study=study, worker=worker):
        return redirect("annotation:work", slug)
    problem = ""
    if request.method == "POST":
        if request.POST.get("consent") == "1":
            agree(study=study, worker=worker)
            return see_other("annotation:work", slug)
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


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def leave_study(request: HttpRequest, slug: str) -> HttpResponse:
    study = find_study(slug)
    worker = member_of(request, study)
    if worker is None:
        return redirect("annotation:me")
    design = design_of(study)
    context: dict[str, Any] = {
        "study": study,
        "design": design,
        "offered": design.erasure.offered != NOT_OFFERED,
        "at_once": design.erasure.offered == AT_ONCE and not why_not_erasable(study, worker),
        "everything": design.erasure.way == "all",
        "asked": request_of(study, worker),
        "pages": Assignment.objects.filter(study=study, worker=worker).finished().count(),
        "problem": "",
    }
    if request.method != "POST":
        return render(request, "annotation/leave.html", context)
    if request.POST.get("sure") != "1":
        context["problem"] = _("Please tick the box if you are sure.")
        return render(request, "annotation/leave.html", context, status=400)
    done = leave(study=study, worker=worker)
    if isinstance(done, ErasureRequest):
        return see_other("annotation:leave", slug)
    known = Worker.objects.filter(pk=worker.pk).exists()
    response = render(
        request, "annotation/left.html", {"study": study, "receipt": done.receipt, "known": known}
    )
    if not known:
        response.delete_cookie(WORKER_COOKIE)
    return response
