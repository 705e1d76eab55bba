"""The pages of the quiz for workers. A known item is an item of the study's kind whose right answer is known."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.views.decorators.http import require_safe

from annotation.errors import AlreadyEnded
from annotation.models import QuizAttempt, Worker
from annotation.views.decorators import GET, GET_POST, SeeOther, member_page, see_other
from annotation.views.visitors import api_worker, session_of, worker_of
from annotation.work.answers.form_answers import answers_of_form, undecided_positions
from annotation.work.sheet.pictures import picture_response
from annotation.work.sheet.texts import read_design
from annotation.work.worksheet import shows_pictures, steps_of
from common.amounts import spell_number
from common.errors import ObjectNotFound
from contrib.quiz.attempts.content import (
    AttemptContent,
    content_of,
    quiz_picture_url,
    translate_content,
)
from contrib.quiz.attempts.explanations import explain_answer, may_explain
from contrib.quiz.attempts.taking import QuizStatus, answer_attempt, find_attempt, quiz_status, start_attempt
from contrib.quiz.questions import questions_per_attempt
from judgments.kinds import KINDS
from judgments.models import Study


@member_page(GET)
def show_quiz_step(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    """Show the next step of the attempt in progress, the explanation of a step, the start, or the result.

    A step is one question, one known item, or the items of one picture. The position of the first one identifies it.
    """
    status = quiz_status(study=study, worker=worker)
    if not status.is_needed:
        return redirect("annotation:work", study.slug)
    position_text = request.GET.get("seen", "")  # the step whose explanation is requested
    # No quiz has so many questions that a position has four digits.
    is_position = position_text.isascii() and position_text.isdigit() and len(position_text) < 4
    if status.last_attempt is not None and is_position:
        content = translate_content(content_of(status.last_attempt))
        step = next((positions for positions in content.steps() if positions[0] == int(position_text)), None)
        if step is not None and all(may_explain(content, position) for position in step):
            return _explanation_page(request, study, status, content, step)
    if status.open_attempt is not None:
        return _question_page(request, study, translate_content(content_of(status.open_attempt)))
    if status.last_attempt is None:
        return render(request, "quiz/first.html", _start_context(study, status))
    return _result_page(request, study, status, status.last_attempt)


@member_page(GET_POST)
def start_quiz(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    if request.method == "POST":
        with suppress(AlreadyEnded):  # the worker passed in another window
            start_attempt(study=study, worker=worker)
    return see_other("quiz:quiz", study.slug)


@member_page(GET_POST)
def answer_quiz_step(request: HttpRequest, study: Study, worker: Worker, number: int) -> HttpResponse:
    """Store the answer to the current step, unless it was answered before."""
    if request.method != "POST":
        return redirect("quiz:quiz", study.slug)
    attempt = find_attempt(study=study, worker=worker, number=number)
    content = translate_content(content_of(attempt))
    step = _find_step(request, content)
    if step is None:
        return see_other("quiz:quiz", study.slug)
    answers = _read_answers(request, content, step)
    if len(answers) < len(step):
        return _question_page(request, study, content, lacks_answer=True, status=422)
    try:
        attempt = answer_attempt(attempt=attempt, answers=answers)
    except AlreadyEnded:
        # sent from another window or after the Back button: keep the first answer, and show the next step
        attempt.refresh_from_db()
    if may_explain(content_of(attempt), step[0]) and content.design.quiz.explain == "after-each":
        return SeeOther(f"{resolve_url('quiz:quiz', study.slug)}?seen={step[0]}")
    return see_other("quiz:quiz", study.slug)


def _find_step(request: HttpRequest, content: AttemptContent) -> list[int] | None:
    """Return the positions of the step that the form answers; None if there is no such step."""
    first_position = request.POST.get("step", "")
    return next((step for step in content.steps() if str(step[0]) == first_position), None)


def _read_answers(request: HttpRequest, content: AttemptContent, step: list[int]) -> list[dict[str, Any]]:
    """Return the form's answers to a step; [] if an item of the step is unanswered."""
    if step[0] in content.questions:
        text = request.POST.get(f"u{step[0]}", "")
        # No question has so many options that an option's number has three digits.
        is_number = text.isascii() and text.isdigit() and len(text) < 3
        return [{"position": step[0], "value": int(text)}] if is_number else []
    kind = KINDS[content.design.protocol].for_design(content.design)
    page_units = [content.page_units[position] for position in step]
    if undecided_positions(request.POST, page_units, kind):
        return []
    # A quiz has no drafts, so nothing was saved before.
    return answers_of_form(request.POST, page_units, kind=kind, final=True, saved={})


def _steps_context(study: Study, content: AttemptContent, step: list[int]) -> dict[str, Any]:
    """Return the template variables of a step: its question or its known items, and which steps are done."""
    steps = content.steps()
    context: dict[str, Any] = {
        "study": study,
        "design": content.design,
        "attempt": content.attempt,
        "step_number": steps.index(step) + 1,
        "step_count": len(steps),
        "are_steps_done": [
            all(str(position) in content.attempt.answers for position in positions) for positions in steps
        ],
        "first_position": step[0],
        "question": content.questions.get(step[0]),
        "is_last": steps.index(step) == len(steps) - 1,
    }
    if step[0] in content.page_units:
        shown_step = steps_of(
            [content.page_units[position] for position in step],
            design=content.design,
            picture_url=lambda page_unit: quiz_picture_url(study, content.attempt, page_unit),
            answers=content.attempt.answers,
        )[0]
        context |= {
            "kind": KINDS[content.design.protocol].for_design(content.design),
            "step": shown_step,
            "current_step": shown_step.number,
            "has_pictures": shows_pictures(content.design, [shown_step]),
        }
    return context


def _question_page(
    request: HttpRequest,
    study: Study,
    content: AttemptContent,
    *,
    lacks_answer: bool = False,
    status: int = 200,
) -> HttpResponse:
    """Show the next unanswered step of the attempt, or its last step if all are answered."""
    open_positions, steps = set(content.open_positions), content.steps()
    step = next((positions for positions in steps if open_positions & set(positions)), steps[-1])
    context = _steps_context(study, content, step) | {"lacks_answer": lacks_answer}
    return render(request, "quiz/question.html", context, status=status)


def _explanation_page(
    request: HttpRequest, study: Study, status: QuizStatus, content: AttemptContent, step: list[int]
) -> HttpResponse:
    answers = [answer for position in step if (answer := explain_answer(content, position)) is not None]
    context = _steps_context(study, content, step) | {
        "explained_answers": answers,
        "all_right": all(answer.is_right for answer in answers),
        "is_last": status.open_attempt is None,  # no question follows, as the attempt has ended
    }
    return render(request, "quiz/explanation.html", context)


def _start_context(study: Study, status: QuizStatus) -> dict[str, Any]:
    design = read_design(study)
    return {
        "study": study,
        "design": design,
        "quiz_status": status,
        "item_count": questions_per_attempt(design.quiz) + design.quiz.items,
        "pass_mark_percent": _format_percent(design.quiz.pass_mark),
    }


def _result_page(
    request: HttpRequest, study: Study, status: QuizStatus, attempt: QuizAttempt
) -> HttpResponse:
    """Show the result of a finished attempt."""
    content = translate_content(content_of(attempt))
    answers = [
        answer
        for position in range(1, content.size + 1)
        if may_explain(content, position) and (answer := explain_answer(content, position)) is not None
    ]
    context = {
        "study": study,
        "design": read_design(study),
        "quiz_status": status,
        "attempt": attempt,
        "item_count": content.size,
        "pass_mark_percent": _format_percent(content.design.quiz.pass_mark),
        "explained_answers": answers,
        "came_from_panel": session_of(study=study, worker=attempt.worker) is not None,
    }
    return render(request, "quiz/result.html", context)


def _format_percent(share: float) -> str:
    return spell_number(share * 100)


@require_safe
def quiz_picture(request: HttpRequest, slug: str, number: int, position: int) -> HttpResponseBase:
    """Return the picture of a known item to the worker whose attempt has it."""
    worker = api_worker(request) or worker_of(request)  # by a token, or by the browser's cookie
    study = Study.objects.filter(slug=slug).first()
    try:
        if worker is None or study is None:
            raise ObjectNotFound("There is no such picture.")
        page_unit = content_of(find_attempt(study=study, worker=worker, number=number)).page_units.get(
            position
        )
    except ObjectNotFound:
        page_unit = None
    if page_unit is None:
        raise Http404("There is no such picture.")
    return picture_response(request, page_unit.unit.item)
