"""The page on which a worker sees their work in all studies, can appeal, and can download their answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.models import Worker
from annotation.quality.reviews import store_appeal
from annotation.views.decorators import GET_POST, POST, see_other, worker_page
from annotation.views.forms import ResumeForm
from annotation.views.visitors import RESUME_COOKIE, remember_resume_code, remember_worker, worker_of
from annotation.work.answers.drafts import own_assignment
from annotation.work.joining import renew_resume_code, renew_token
from annotation.work.quiz import quiz_backend
from annotation.work.sheet.effort import studies_with_effort
from annotation.work.sheet.texts import spell_duration
from annotation.work.summaries import WorkerSummary, open_studies, own_answers, summaries_of_worker
from common.amounts import percent_number, spell_amount, spell_totals
from common.errors import QuorumError

MAX_OPEN_STUDIES = 20  # number of open studies listed on the page


@worker_page(GET_POST)
def show_own_page(request: HttpRequest) -> HttpResponse:
    """Show the worker's studies and pay. Other visitors get a form to sign in with a name and a resume code."""
    if request.method == "POST":
        return _sign_in_worker(request)
    worker = worker_of(request)
    if worker is None:
        return _sign_in_page(request, ResumeForm())
    summaries = summaries_of_worker(worker)
    paid_summaries = [summary for summary in summaries if summary.design.crowd.reward_cents]
    context: dict[str, Any] = {
        "worker": worker,
        "studies": [_describe_study(summary) for summary in summaries],
        "quiz_address": quiz_backend().address,
        "page_count": sum(summary.submitted for summary in summaries),
        "judgment_count": sum(summary.judgments for summary in summaries),
        "active_time": spell_duration(sum(summary.seconds for summary in summaries)),
        "pending_pay": spell_totals(
            (summary.pending_cents, summary.design.named_currency) for summary in paid_summaries
        ),
        "approved_pay": spell_totals(
            (summary.approved_cents, summary.design.named_currency) for summary in paid_summaries
        ),
        "open_studies": studies_with_effort(
            open_studies().exclude(participations__worker=worker)[:MAX_OPEN_STUDIES]
        ),
        "resume_code": request.COOKIES.get(RESUME_COOKIE, ""),
    }
    return render(request, "annotation/me.html", context)


def _describe_study(summary: WorkerSummary) -> dict[str, Any]:
    controls = summary.controls
    return {
        "summary": summary,
        "active_time": spell_duration(summary.seconds),
        "pending_pay": spell_amount(summary.pending_cents, summary.design.named_currency),
        "approved_pay": spell_amount(summary.approved_cents, summary.design.named_currency),
        "accuracy": percent_number(controls.share) if controls and controls.share is not None else "",
        "can_continue": summary.has_lease or summary.has_more_work,
    }


def _sign_in_page(request: HttpRequest, form: ResumeForm, status: int = 200) -> HttpResponse:
    return render(request, "annotation/me_stranger.html", {"form": form}, status=status)


def _sign_in_worker(request: HttpRequest) -> HttpResponse:
    form = ResumeForm(request.POST)
    if not form.is_valid():
        return _sign_in_page(request, form, 400)
    try:
        _, token = renew_token(name=form.cleaned_data["name"], resume=form.cleaned_data["resume"])
    except QuorumError as error:
        form.add_error(None, str(error))
        return _sign_in_page(request, form, error.status)
    response = see_other("annotation:me")
    remember_worker(response, token)
    return response


@worker_page(POST)
def renew_resume(request: HttpRequest) -> HttpResponse:
    """Give the worker a new resume code, and show it on their page."""
    worker = worker_of(request)
    response = see_other("annotation:me", fragment="resume" if worker is not None else "")
    if worker is not None:
        remember_resume_code(response, renew_resume_code(worker=worker), resolve_url("annotation:me"))
    return response


@worker_page(POST)
def send_appeal(request: HttpRequest, assignment_id: UUID) -> HttpResponse:
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:me")
    assignment = own_assignment(worker=worker, assignment_id=assignment_id)
    store_appeal(assignment=assignment, worker=worker, text=request.POST.get("text", ""))
    return see_other("annotation:me")


@never_cache
@require_safe
def download_answers(request: HttpRequest) -> HttpResponseBase:
    worker = worker_of(request)
    if worker is None:
        return redirect("annotation:me")
    return StreamingHttpResponse(
        _answer_lines(worker),
        content_type="application/jsonl; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="my-answers.jsonl"'},
    )


def _answer_lines(worker: Worker) -> Iterator[str]:
    for answer in own_answers(worker):
        yield json.dumps(answer, ensure_ascii=False) + "\n"
