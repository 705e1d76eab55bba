"""The pages of the quiz: the start, the questions, the explanations, and the end."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.crowds.panel.backend import session_of
from annotation.errors import AlreadyEnded
from annotation.models import QuizAttempt
from annotation.quiz.quizzes import (
    Paper,
    QuizStatus,
    answer_attempt,
    own_attempt,
    paper_of,
    quiz_status,
    start_attempt,
)
from annotation.quiz.sheet import explained, may_explain, read_paper
from annotation.views.common import SeeOther, api_worker, errors_as_pages, member_of, see_other, worker_of
from annotation.work.presentation import picture_response, quiz_picture_url, read_design
from annotation.work.worksheet import answers_of_form, shows_pictures, steps_of, undecided
from common.errors import NotThere
from judgments.design.requirements import questions_asked
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.studies.studies import find_study


@never_cache
@require_safe
@errors_as_pages
def quiz(request: HttpRequest, slug: str) -> HttpResponse:
    study = find_study(slug)
    worker = member_of(request, study)
    if worker is None:
        return redirect("annotation:study", slug)
    standing = quiz_status(study=study, worker=worker)
    if not standing.needed:
        return redirect("annotation:work", slug)
    seen = request.GET.get("seen", "")
    if standing.last is not None and seen.isascii() and seen.isdigit() and len(seen) < 4:
        paper = read_paper(paper_of(standing.last))
        step = next((one for one in paper.steps() if one[0] == int(seen)), None)
        if step is not None and all(may_explain(paper, position) for position in step):
            return _explanation_page(request, study, standing, paper, step)
    if standing.running is not None:
        return _question_page(request, study, read_paper(paper_of(standing.running)))
    if standing.last is None:
        return render(request, "annotation/quiz/first.html", _first_context(study, standing))
    return _result_page(request, study, standing, standing.last)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def start(request: HttpRequest, slug: str) -> HttpResponse:
    study = find_study(slug)
    worker = member_of(request, study)
    if worker is None:
        return redirect("annotation:study", slug)
    if request.method == "POST":
        try:
            start_attempt(study=study, worker=worker)
        except AlreadyEnded:  # passed in another window
            return see_other("annotation:quiz", slug)
    return see_other("annotation:quiz", slug)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@errors_as_pages
def answer(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Store the answer to the current step; an earlier answer stays."""
    study = find_study(slug)
    worker = member_of(request, study)
    if worker is None:
        return redirect("annotation:study", slug)
    if request.method != "POST":
        return redirect("annotation:quiz", slug)
    attempt = own_attempt(study=study, worker=worker, number=number)
    paper = read_paper(paper_of(attempt))
    step = _step_of_form(request, paper)
    if step is None:
        return see_other("annotation:quiz", slug)
    answers = _answers(request, paper, step)
    if len(answers) < len(step):
        return _question_page(request, study, paper, missing=True, status=422)
    try:
        attempt = answer_attempt(attempt=attempt, answers=answers)
    except AlreadyEnded:
        # another window or the Back button: the first answer stays, and the next step is shown
        attempt.refresh_from_db()
    if may_explain(paper_of(attempt), step[0]) and paper.design.quiz.explain == "after-each":
        return SeeOther(f"{resolve_url('annotation:quiz', slug)}?seen={step[0]}")
    return see_other("annotation:quiz", slug)


def _step_of_form(request: HttpRequest, paper: Paper) -> list[int] | None:
    first = request.POST.get("step", "")
    return next((one for one in paper.steps() if str(one[0]) == first), None)


def _answers(request: HttpRequest, paper: Paper, step: list[int]) -> list[dict[str, Any]]:
    """Return the form's answers for the step; nothing for an open group."""
    if step[0] in paper.questions:
        text = request.POST.get(f"u{step[0]}", "")
        is_number = text.isascii() and text.isdigit() and len(text) < 3
        return [{"position": step[0], "value": int(text)}] if is_number else []
    kind = KINDS[paper.design.protocol].of(paper.design)
    places = [paper.places[position] for position in step]
    if undecided(request.POST, places, kind):
        return []
    return answers_of_form(request.POST, places, kind=kind, final=True, saved={})


def _steps_context(study: Study, paper: Paper, step: list[int]) -> dict[str, Any]:
    steps = paper.steps()
    context: dict[str, Any] = {
        "study": study,
        "design": paper.design,
        "paper": paper,
        "attempt": paper.attempt,
        "number": steps.index(step) + 1,
        "of": len(steps),
        "done": [all(str(position) in paper.attempt.answers for position in one) for one in steps],
        "first": step[0],
        "asked": paper.questions.get(step[0]),
        "is_last": steps.index(step) == len(steps) - 1,
    }
    if step[0] in paper.places:
        shown = steps_of(
            [paper.places[position] for position in step],
            design=paper.design,
            picture_url=lambda place: quiz_picture_url(study, paper.attempt, place),
            answers=paper.attempt.answers,
        )[0]
        context |= {
            "kind": KINDS[paper.design.protocol].of(paper.design),
            "step": shown,
            "has_pictures": shows_pictures(paper.design, [shown]),
        }
    return context


def _question_page(
    request: HttpRequest, study: Study, paper: Paper, *, missing: bool = False, status: int = 200
) -> HttpResponse:
    opened = set(paper.open_positions)
    step = next((one for one in paper.steps() if opened & set(one)), paper.steps()[-1])
    context = _steps_context(study, paper, step) | {"missing": missing}
    return render(request, "annotation/quiz/question.html", context, status=status)


def _explanation_page(
    request: HttpRequest, study: Study, standing: QuizStatus, paper: Paper, step: list[int]
) -> HttpResponse:
    lines = [line for position in step if (line := explained(paper, position)) is not None]
    context = _steps_context(study, paper, step) | {
        "lines": lines,
        "all_right": all(line.right for line in lines),
        "is_last": standing.running is None,
    }
    return render(request, "annotation/quiz/explanation.html", context)


def _first_context(study: Study, standing: QuizStatus) -> dict[str, Any]:
    design = read_design(study)
    return {
        "study": study,
        "design": design,
        "standing": standing,
        "size": questions_asked(design.quiz) + design.quiz.items,
        "mark": _percent(design.quiz.pass_mark),
    }


def _result_page(
    request: HttpRequest, study: Study, standing: QuizStatus, attempt: QuizAttempt
) -> HttpResponse:
    paper = read_paper(paper_of(attempt))
    lines = [
        line
        for position in range(1, paper.size + 1)
        if may_explain(paper, position) and (line := explained(paper, position)) is not None
    ]
    context = {
        "study": study,
        "design": read_design(study),
        "standing": standing,
        "attempt": attempt,
        "of": paper.size,
        "mark": _percent(paper.design.quiz.pass_mark),
        "lines": lines,
        "came_from_panel": session_of(study=study, worker=attempt.worker) is not None,
    }
    return render(request, "annotation/quiz/result.html", context)


def _percent(share: float) -> str:
    return f"{share * 100:g}"


@require_safe
def picture(request: HttpRequest, slug: str, number: int, position: int) -> HttpResponseBase:
    worker = api_worker(request) or worker_of(request)
    study = Study.objects.filter(slug=slug).first()
    try:
        if worker is None or study is None:
            raise NotThere("There is no such picture.")
        place = paper_of(own_attempt(study=study, worker=worker, number=number)).places.get(position)
    except NotThere:
        place = None
    if place is None:
        raise Http404("There is no such picture.")
    return picture_response(request, place.unit.item)
