"""The page "Quiz" of a study: its questions and known items, the answers to them, and the people who passed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.models import QuizAttempt
from common.amounts import percent
from contrib.quiz.attempts.content import AttemptContent, contents_for_current_quiz, quiz_units
from contrib.quiz.attempts.explanations import labelled_texts
from contrib.quiz.attempts.taking import qualification_of
from contrib.quiz.questions import preset_of, questions_of, questions_per_attempt
from judgments.admin.addresses import picture_address
from judgments.design.quiz import asks_anything
from judgments.kinds import Kind
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of
from judgments.studies.pages import Context, StudySection
from judgments.studies.study_page import study_page

PAGE_SIZE = 50
MAX_ATTEMPTS = 2_000  # number of latest attempts that the figures include
# A question with so many answers, of which a smaller share is right, is suspect. Both numbers are conventions.
MIN_ANSWERS, SUSPECT_SHARE = 5, 0.25


class AttemptScore(NamedTuple):
    """The numbers of right answers and of questions of a finished attempt."""

    right_count: int
    question_count: int


@dataclass(slots=True)
class WorkerResult:
    """A worker's attempts at the quiz."""

    name: str
    simulated: bool
    attempt_count: int = 0
    best_score: AttemptScore | None = None
    is_passed: bool = False
    last_time: datetime | None = None


@dataclass(slots=True)
class QuestionResult:
    """How often a question or a known item was answered, and how often it was right."""

    key: str
    answer_count: int = 0
    right_count: int = 0

    @property
    def right_percent(self) -> str:
        return percent(self.right_count / self.answer_count) if self.answer_count else "–"

    @property
    def is_suspect(self) -> bool:
        return self.answer_count >= MIN_ANSWERS and self.right_count / self.answer_count < SUSPECT_SHARE


def worker_results(attempts: Iterable[QuizAttempt]) -> list[WorkerResult]:
    """Return the results of each worker, those with the latest attempts first."""
    rows: dict[int, WorkerResult] = {}
    for attempt in attempts:
        worker = attempt.worker
        row = rows.setdefault(attempt.worker_id, WorkerResult(worker.name, attempt.simulated))
        row.attempt_count += 1
        row.is_passed = row.is_passed or bool(attempt.passed)
        row.last_time = max(row.last_time or attempt.started_at, attempt.started_at)
        best_score = row.best_score
        if attempt.right is not None and (best_score is None or attempt.right > best_score.right_count):
            row.best_score = AttemptScore(attempt.right, len(attempt.items))
    return sorted(
        rows.values(), key=lambda row: row.last_time.timestamp() if row.last_time else 0.0, reverse=True
    )


def question_results(contents: Iterable[AttemptContent]) -> dict[str, QuestionResult]:
    """Return the results of each question and known item, by key, including those of attempts in progress."""
    rows: dict[str, QuestionResult] = {}
    for content in contents:
        for position, item in enumerate(content.attempt.items, start=1):
            is_right = content.is_right(position)
            if is_right is None:
                continue  # not answered, or without a right answer
            key = str(item.get("question") or item["unit"])
            row = rows.setdefault(key, QuestionResult(key))
            row.answer_count += 1
            row.right_count += is_right
    return rows


@study_page(
    "quiz",
    "Quiz",
    order=44,
    has_tab=lambda study: asks_anything(design_of(study).quiz),
    section=StudySection.LIVE,
    section_before_opening=StudySection.DESIGN,
)
def show_quiz(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    design = design_of(study)
    context |= {"design": design, "quiz": design.quiz, "has_quiz": asks_anything(design.quiz)}
    if not context["has_quiz"]:
        return TemplateResponse(request, "admin/annotation/study_quiz.html", context)
    # passing counts in all studies with the same qualification, so the attempts at all their quizzes are included
    qualification = qualification_of(study, design)
    rows = QuizAttempt.objects.filter(qualification=qualification).select_related("worker", "study")
    attempts = list(rows.order_by("-started_at")[:MAX_ATTEMPTS])
    results_by_key = question_results(contents_for_current_quiz(attempts, study=study))
    workers = worker_results(attempts)
    context |= {
        "preset": preset_of(design.quiz),
        "questions": _question_rows(study, results_by_key),
        "items": _item_rows(study, results_by_key),
        "question_count": questions_per_attempt(design.quiz),
        "pass_mark_percent": f"{design.quiz.pass_mark * 100:g}",
        "may_withdraw": context["may_change"],
        "attempt_count": len(attempts),
        "finished_count": sum(attempt.finished_at is not None for attempt in attempts),
        "worker_count": len(workers),
        "passed_count": sum(row.is_passed for row in workers),
        "page": Paginator(workers, PAGE_SIZE).get_page(request.GET.get("page")),
        "suspect_count": sum(result.is_suspect for result in results_by_key.values()),
    }
    return TemplateResponse(request, "admin/annotation/study_quiz.html", context)


def _question_rows(study: Study, results: dict[str, QuestionResult]) -> list[dict[str, Any]]:
    """Return the questions of the quiz with their results, suspect ones first."""
    questions = questions_of(design_of(study).quiz).values()
    rows = [
        {
            "question": question,
            "options": [
                (text, index == question.right_option) for index, text in enumerate(question.options)
            ],
            "result": results.get(question.key, QuestionResult(question.key)),
        }
        for question in questions
    ]
    return sorted(rows, key=lambda row: not row["result"].is_suspect)


def _item_rows(study: Study, results: dict[str, QuestionResult]) -> list[dict[str, Any]]:
    """Return the known items of the quiz with what they show, their right answers and their results."""
    kind = kind_of(study)
    rows = []
    for unit in quiz_units(study):
        right_labels = [choice.label for choice in kind.choices if kind.is_right(choice.value, unit.expected)]
        texts = [text for _, text in labelled_texts(kind.present_unit(unit, side=None, picture_url=""))]
        rows.append(
            {
                "unit": unit,
                "picture": picture_address(unit.item),
                "texts": texts,
                "right_answer": _describe_right_answer(kind, unit.expected, texts, right_labels),
                "result": results.get(unit.key, QuestionResult(unit.key)),
            }
        )
    return rows


def _describe_right_answer(kind: Kind, expected: Any, texts: list[str], right_labels: list[str]) -> str:
    """Return the right answer in words. For two candidates, whose sides are drawn, return the right text."""
    if kind.two_sided and expected in (1, 2):
        candidates = texts[-2:]  # a reference comes before them
        return f"“{candidates[expected - 1]}”"
    return " / ".join(right_labels) or kind.describe_expected(expected)
