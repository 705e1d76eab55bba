"""The worker's own page: their work, pay, open studies, answers and resume code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.models import Worker
from annotation.quality.reviews import appeal
from annotation.views.common import (
    RESUME_COOKIE,
    ResumeForm,
    errors_as_pages,
    remember_resume_code,
    remember_worker,
    see_other,
    worker_of,
)
from annotation.views.joining import effort_of
from annotation.words import spell_duration
from annotation.work.joining import new_resume_code, recall_worker
from annotation.work.own_work import OwnStudy, open_studies, own_answers, own_studies
from annotation.work.submissions import own_assignment
from common.errors import QuorumError
from judgments.studies.studies import design_of


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def me(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _recall(request)
    worker = worker_of(request)
    if worker is None:
        return _stranger_page(request, ResumeForm())
    studies = own_studies(worker)
    context: dict[str, Any] = {
        "worker": worker,
        "studies": [_in_words(own) for own in studies],
        "pages": sum(own.submitted for own in studies),
        "judgments": sum(own.judgments for own in studies),
        "time": spell_duration(sum(own.seconds for own in studies)),
        "pays": any(own.design.crowd.reward_cents for own in studies),
        "pending": sum(own.pending_cents for own in studies),
        "approved": sum(own.approved_cents for own in studies),
        "open_studies": [{"study": study, **effort_of(design_of(study))} for study in open_studies(worker)],
        "resume_code": request.COOKIES.get(RESUME_COOKIE, ""),
    }
    return render(request, "annotation/me.html", context)


def _in_words(own: OwnStudy) -> dict[str, Any]:
    record = own.controls
    return {
        "own": own,
        "time": spell_duration(own.seconds),
        "accuracy": f"{record.share * 100:.0f}" if record is not None and record.share is not None else "",
        "go_on": own.held or own.more,
    }


def _stranger_page(request: HttpRequest, form: ResumeForm, status: int = 200) -> HttpResponse:
    return render(request, "annotation/me_stranger.html", {"form": form}, status=status)


def _recall(request: HttpRequest) -> HttpResponse:
    form = ResumeForm(request.POST)
    if not form.is_valid():
        return _stranger_page(request, form, 400)
    try:
        _, token = recall_worker(name=form.cleaned_data["name"], resume=form.cleaned_data["resume"])
    except QuorumError as error:
        form.add_error(None, str(error))
        return _stranger_page(request, form, error.status)
    response = see_other("annotation:me")
    remember_worker(response, token)
    return response


@never_cache
@require_POST
@errors_as_pages
def renew_resume(request: HttpRequest) -> HttpResponse:
    """Show a new resume code; the old one becomes invalid."""
    worker = worker_of(request)
    response = see_other("annotation:me", fragment="resume" if worker is not None else "")
    if worker is not None:
        remember_resume_code(response, new_resume_code(worker=worker), resolve_url("annotation:me"))
    return response


@never_cache
@require_POST
@errors_as_pages
def send_appeal(request: HttpRequest, assignment_id: UUID) -> HttpResponse:
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:me")
    assignment = own_assignment(worker=worker, assignment_id=assignment_id)
    appeal(assignment=assignment, worker=worker, text=request.POST.get("text", ""))
    return see_other("annotation:me")


@never_cache
@require_safe
def answers(request: HttpRequest) -> HttpResponseBase:
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:me")
    return StreamingHttpResponse(
        _lines(worker),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="my-answers.jsonl"'},
    )


def _lines(worker: Worker) -> Iterator[str]:
    for answer in own_answers(worker):
        yield json.dumps(answer, ensure_ascii=False) + "\n"
