"""The page "Quiz" of a study."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.models import QuizAttempt
from annotation.quiz.quizzes import (
    QuestionResult,
    labelled_texts,
    qualification_of,
    question_results,
    quiz_units,
    sheets_of,
    worker_results,
)
from judgments.admin.base import picture_address
from judgments.design.requirements import QUIZ_PRESETS, asks_anything, questions_asked, questions_of
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.studies import design_of, kind_of
from judgments.studies.study_page import Context, Group, StudyPage, add_page

ON_A_PAGE = 50
MOST_ATTEMPTS = 2_000  # the latest, that the figures count


def show_quiz(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    design = design_of(study)
    context |= {"design": design, "quiz": design.quiz, "has_quiz": asks_anything(design.quiz)}
    if not context["has_quiz"]:
        return TemplateResponse(request, "admin/annotation/study_quiz.html", context)
    named = qualification_of(study, design)
    rows = QuizAttempt.objects.filter(qualification=named).select_related("worker", "study")
    attempts = list(rows.order_by("-started_at")[:MOST_ATTEMPTS])
    of_questions = question_results(sheets_of(attempts, study=study))
    workers = worker_results(attempts)
    context |= {
        "preset": QUIZ_PRESETS.get(design.quiz.preset),
        "questions": _question_rows(study, of_questions),
        "items": _item_rows(study, of_questions),
        "asks": questions_asked(design.quiz),
        "mark": f"{design.quiz.pass_mark * 100:g}",
        "may_withdraw": context["may_change"],
        "started": len(attempts),
        "over": sum(attempt.finished_at is not None for attempt in attempts),
        "people": len(workers),
        "passed": sum(row.passed for row in workers),
        "page": Paginator(workers, ON_A_PAGE).get_page(request.GET.get("page")),
        "suspects": sum(result.suspect for result in of_questions.values()),
    }
    return TemplateResponse(request, "admin/annotation/study_quiz.html", context)


def _question_rows(study: Study, results: dict[str, QuestionResult]) -> list[dict[str, Any]]:
    questions = questions_of(design_of(study).quiz).values()
    rows = [
        {
            "question": question,
            "options": [(text, index == question.right) for index, text in enumerate(question.options)],
            "result": results.get(question.key, QuestionResult(question.key)),
        }
        for question in questions
    ]
    return sorted(rows, key=lambda row: not row["result"].suspect)


def _item_rows(study: Study, results: dict[str, QuestionResult]) -> list[dict[str, Any]]:
    kind = kind_of(study)
    rows = []
    for unit in quiz_units(study):
        right = [choice.label for choice in kind.choices if kind.is_right(choice.value, unit.expected)]
        texts = [text for _, text in labelled_texts(kind.present_unit(unit, side=None, picture_url=""))]
        rows.append(
            {
                "unit": unit,
                "picture": picture_address(unit.item),
                "texts": texts,
                "right": _right_answer(kind, unit.expected, texts, right),
                "result": results.get(unit.key, QuestionResult(unit.key)),
            }
        )
    return rows


def _right_answer(kind: Kind, expected: Any, texts: list[str], right: list[str]) -> str:
    """Return the right answer; of two candidates, which have no fixed side, the text."""
    if kind.two_sided and expected in (1, 2):
        return f"“{texts[-2:][expected - 1]}”"
    return " / ".join(right) or (expected if isinstance(expected, str) else kind.describe_answer(expected))


add_page(
    StudyPage(
        name="quiz",
        label="Quiz",
        order=44,
        view=show_quiz,
        shown=lambda study: asks_anything(design_of(study).quiz),
        group=Group.LIVE,
        before=Group.DESIGN,
    )
)
