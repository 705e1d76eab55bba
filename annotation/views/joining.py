"""The page of a study, on which people join or resume, and the page with the instructions before the first work."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url

from annotation.crowds.people import uses_public_link
from annotation.models import Participation, Worker
from annotation.views.decorators import GET, GET_POST, POST, member_page, see_other, worker_page
from annotation.views.forms import JoinForm, ResumeForm
from annotation.views.visitors import RESUME_COOKIE, remember_resume_code, remember_worker, worker_of
from annotation.work.joining import JoinResult, join_study, resume_worker, suggest_name
from annotation.work.quiz import quiz_backend
from annotation.work.sheet.effort import describe_effort
from annotation.work.sheet.examples import worked_examples
from annotation.work.sheet.texts import read_design, translated_text
from common.errors import QuorumError
from common.markup import render_markdown
from judgments.design.countries import countries_by_name
from judgments.design.quiz import asks_anything
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import find_study


@worker_page(GET_POST)
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the study and the form to join it, and let people join. Redirect workers who have joined."""
    study_row = find_study(slug)
    worker = worker_of(request)
    if study_row.simulated or study_row.state in (Study.State.DRAFT, Study.State.GENERATED):
        return render(
            request, "annotation/not_open.html", {"study": study_row, "why": _why_not_open(study_row)}
        )
    if worker is not None and Participation.objects.filter(study=study_row, worker=worker).exists():
        return redirect("annotation:work", slug)
    if not uses_public_link(study_row.platform):
        return render(request, "annotation/not_open.html", {"study": study_row, "why": "sent"})  # by a crowd
    if worker is not None and worker.source != Worker.Source.LOCAL:
        worker = None  # somebody whom a panel sent to another study is a new worker here
    if request.method == "POST":
        return _join_study(request, study_row, worker)
    if study_row.state != Study.State.OPEN:
        return render(
            request, "annotation/not_open.html", {"study": study_row, "why": _why_not_open(study_row)}
        )
    name = worker.shown_name if worker is not None else suggest_name()
    form = JoinForm(initial={"name": name, "code": request.GET.get("code", "")[:100]})
    return _study_page(request, study_row, form=form)


def _why_not_open(study: Study) -> str:
    """Return the reason why nobody can join, for the template: "simulated", "closed" or "not yet"."""
    if study.simulated:
        return "simulated"
    return "closed" if study.state == Study.State.CLOSED else "not yet"


def _join_study(request: HttpRequest, study: Study, worker: Worker | None) -> HttpResponse:
    form = JoinForm(request.POST)
    if not form.is_valid():
        return _study_page(request, study, form=form, status=400)
    try:
        result = join_study(study=study, known_worker=worker, **form.cleaned_data)
    except QuorumError as error:
        if study.state != Study.State.OPEN:  # somebody joins with the form of a study that is closed now
            return render(request, "annotation/not_open.html", {"study": study, "why": "closed"}, status=403)
        form.add_error(None, str(error))
        return _study_page(request, study, form=form, status=error.status)
    return _response_after_joining(result, study.slug)


def _response_after_joining(result: JoinResult, slug: str) -> HttpResponse:
    response = see_other("annotation:start", slug)
    remember_worker(response, result.token)
    if result.resume:
        remember_resume_code(response, result.resume, resolve_url("annotation:start", slug))
    return response


@worker_page(POST)
def resume_participation(request: HttpRequest, slug: str) -> HttpResponse:
    """Give a worker in another browser a new token for their name and resume code."""
    study = find_study(slug)
    form = ResumeForm(request.POST)
    if not form.is_valid():
        return _study_page(request, study, resume_form=form, status=400)
    try:
        result = resume_worker(
            study=study, name=form.cleaned_data["name"], resume=form.cleaned_data["resume"].strip()
        )
    except QuorumError as error:
        form.add_error(None, str(error))
        return _study_page(request, study, resume_form=form, status=error.status)
    response = see_other("annotation:work", slug)
    remember_worker(response, result.token)
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
    """Return all countries by code if the visitor has to name theirs; otherwise none.

    A list of the accepted countries alone would tell visitors which country to name.
    """
    if not design.workers.countries:
        return {}
    worker = worker_of(request)
    has_named_country = worker is not None and bool(worker.country)
    return {} if has_named_country else countries_by_name()


@member_page(GET)
def start(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    """Show the instructions, and a new worker's resume code, before the first page of work."""
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
