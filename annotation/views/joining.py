"""The pages around the work: the home page, a study's page, the page before the first work, and a worker's own page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.crowds.people import uses_public_link
from annotation.models import Participation, Worker
from annotation.quality.reviews import store_appeal
from annotation.views.common import (
    FORM,
    POST,
    RESUME_COOKIE,
    SAFE,
    JoinForm,
    ResumeForm,
    errors_as_pages,
    member_page,
    remember_resume_code,
    remember_worker,
    see_other,
    worker_of,
    worker_page,
)
from annotation.work.answers.drafts import own_assignment
from annotation.work.joining import (
    Joined,
    join_study,
    new_resume_code,
    renew_token,
    resume_worker,
    suggest_name,
)
from annotation.work.quiz import quiz_backend
from annotation.work.sheet.examples import worked_examples
from annotation.work.sheet.texts import read_design, spell_duration, translated_text
from annotation.work.summaries import (
    StudyPart,
    describe_effort,
    open_studies,
    own_answers,
    studies_of_worker,
    studies_with_effort,
)
from common.amounts import percent_number, spell_amount, spell_totals
from common.errors import QuorumError
from common.markup import render_markdown
from judgments.design.countries import countries_by_name
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import find_study

MOST_STUDIES = 30  # on the landing page
MOST_OPEN_STUDIES = 20  # on a worker's own page


@worker_page(FORM)
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the study and the form to join; redirect known workers."""
    study_row = find_study(slug)
    worker = worker_of(request)
    if study_row.simulated or study_row.state in (Study.State.DRAFT, Study.State.GENERATED):
        return render(
            request, "annotation/not_open.html", {"study": study_row, "why": _why_not_open(study_row)}
        )
    if worker is not None and Participation.objects.filter(study=study_row, worker=worker).exists():
        return redirect("annotation:work", slug)
    if not uses_public_link(study_row.platform):
        return render(request, "annotation/not_open.html", {"study": study_row, "why": "sent"})
    if worker is not None and worker.source != Worker.Source.LOCAL:
        worker = None  # a panel's worker of another study is a new worker here
    if request.method == "POST":
        return _join(request, study_row, worker)
    if study_row.state != Study.State.OPEN:
        return render(
            request, "annotation/not_open.html", {"study": study_row, "why": _why_not_open(study_row)}
        )
    name = worker.shown_name if worker is not None else suggest_name()
    form = JoinForm(initial={"name": name, "code": request.GET.get("code", "")[:100]})
    return _study_page(request, study_row, form=form)


def _why_not_open(study: Study) -> str:
    if study.simulated:
        return "simulated"
    return "closed" if study.state == Study.State.CLOSED else "not yet"


def _join(request: HttpRequest, study: Study, worker: Worker | None) -> HttpResponse:
    form = JoinForm(request.POST)
    if not form.is_valid():
        return _study_page(request, study, form=form, status=400)
    try:
        joined = join_study(study=study, known=worker, **form.cleaned_data)
    except QuorumError as error:
        if study.state != Study.State.OPEN:
            return render(request, "annotation/not_open.html", {"study": study, "why": "closed"}, status=403)
        form.add_error(None, str(error))
        return _study_page(request, study, form=form, status=error.status)
    return _joined_response(joined, study.slug)


def _joined_response(joined: Joined, slug: str) -> HttpResponse:
    response = see_other("annotation:start", slug)
    remember_worker(response, joined.token)
    if joined.resume:
        remember_resume_code(response, joined.resume, resolve_url("annotation:start", slug))
    return response


@worker_page(POST)
def resume_participation(request: HttpRequest, slug: str) -> HttpResponse:
    """Give a new token for name and resume code, in another browser."""
    study = find_study(slug)
    form = ResumeForm(request.POST)
    if not form.is_valid():
        return _study_page(request, study, resume_form=form, status=400)
    try:
        joined = resume_worker(
            study=study, name=form.cleaned_data["name"], resume=form.cleaned_data["resume"].strip()
        )
    except QuorumError as error:
        form.add_error(None, str(error))
        return _study_page(request, study, resume_form=form, status=error.status)
    response = see_other("annotation:work", slug)
    remember_worker(response, joined.token)
    return response


def _study_page(
    request: HttpRequest,
    study: Study,
    *,
    form: JoinForm | None = None,
    resume_form: ResumeForm | None = None,
    status: int = 200,
) -> HttpResponse:
    design = read_design(study)
    context: dict[str, Any] = {
        "study": study,
        "design": design,
        "consent": render_markdown(design.consent) if design.consent else "",
        "asks_code": design.access.join != "open",
        "countries": _countries(request, design),
        "has_quiz": asks_anything(design.quiz),
        "form": form or JoinForm(initial={"name": suggest_name()}),
        "resume_form": resume_form or ResumeForm(),
        **describe_effort(study),
    }
    return render(request, "annotation/study.html", context, status=status)


def _countries(request: HttpRequest, design: StudyDesign) -> dict[str, str]:
    """Return all countries if one is asked for; a shorter list would reveal the accepted ones."""
    worker = worker_of(request) if design.workers.countries else None
    return (
        {} if not design.workers.countries or (worker is not None and worker.country) else countries_by_name()
    )


@member_page(SAFE)
def start(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    design, quiz = read_design(study), quiz_backend()
    is_quiz_due = asks_anything(design.quiz) and quiz.is_due(study=study, worker=worker)
    context = {
        "study": study,
        "design": design,
        "kind": KINDS[design.protocol].for_design(design),
        "worker": worker,
        "resume_code": request.COOKIES.get(RESUME_COOKIE, ""),
        "instructions": render_markdown(translated_text(design.instructions)) if design.instructions else "",
        "examples": worked_examples(study, design),
        "quiz_address": quiz.address if is_quiz_due else "",
        **describe_effort(study),
    }
    return render(request, "annotation/start.html", context)


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    listed = studies_with_effort(open_studies()[:MOST_STUDIES])
    return render(request, "home.html", {"studies": listed})


@require_safe
@errors_as_pages
def credits(request: HttpRequest, slug: str) -> HttpResponse:
    study = find_study(slug)
    if study.state in (Study.State.DRAFT, Study.State.GENERATED) or not study.dataset.attribution:
        raise Http404
    return render(
        request, "annotation/credits.html", {"study": study, "lines": study.dataset.attribution.splitlines()}
    )


@worker_page(FORM)
def me(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        return _recall_worker(request)
    worker = worker_of(request)
    if worker is None:
        return _stranger_page(request, ResumeForm())
    studies = studies_of_worker(worker)
    paid = [part for part in studies if part.design.crowd.reward_cents]
    context: dict[str, Any] = {
        "worker": worker,
        "studies": [_describe_study(part) for part in studies],
        "quiz_address": quiz_backend().address,
        "pages": sum(part.submitted for part in studies),
        "judgments": sum(part.judgments for part in studies),
        "time": spell_duration(sum(part.seconds for part in studies)),
        "pending": spell_totals((part.pending_cents, part.design.named_currency) for part in paid),
        "approved": spell_totals((part.approved_cents, part.design.named_currency) for part in paid),
        "open_studies": studies_with_effort(
            open_studies().exclude(participations__worker=worker)[:MOST_OPEN_STUDIES]
        ),
        "resume_code": request.COOKIES.get(RESUME_COOKIE, ""),
    }
    return render(request, "annotation/me.html", context)


def _describe_study(part: StudyPart) -> dict[str, Any]:
    record = part.controls
    return {
        "own": part,
        "time": spell_duration(part.seconds),
        "pending": spell_amount(part.pending_cents, part.design.named_currency),
        "approved": spell_amount(part.approved_cents, part.design.named_currency),
        "accuracy": percent_number(record.share) if record is not None and record.share is not None else "",
        "go_on": part.working or part.more,
    }


def _stranger_page(request: HttpRequest, form: ResumeForm, status: int = 200) -> HttpResponse:
    return render(request, "annotation/me_stranger.html", {"form": form}, status=status)


def _recall_worker(request: HttpRequest) -> HttpResponse:
    form = ResumeForm(request.POST)
    if not form.is_valid():
        return _stranger_page(request, form, 400)
    try:
        _, token = renew_token(name=form.cleaned_data["name"], resume=form.cleaned_data["resume"])
    except QuorumError as error:
        form.add_error(None, str(error))
        return _stranger_page(request, form, error.status)
    response = see_other("annotation:me")
    remember_worker(response, token)
    return response


@worker_page(POST)
def renew_resume(request: HttpRequest) -> HttpResponse:
    worker = worker_of(request)
    response = see_other("annotation:me", fragment="resume" if worker is not None else "")
    if worker is not None:
        remember_resume_code(response, new_resume_code(worker=worker), resolve_url("annotation:me"))
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
def answers(request: HttpRequest) -> HttpResponseBase:
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
