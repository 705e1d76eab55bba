"""The pages of the quiz, for participants and researchers, and the same over HTTP (docs/api.md)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render, resolve_url
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import work
from annotation.api.work import WorkView, calling_worker, private_response
from annotation.errors import AlreadyEnded
from annotation.models import QuizAttempt, Worker
from annotation.quiz.quizzes import (
    QuestionResult,
    QuizSheet,
    QuizStatus,
    answer_attempt,
    explain_answer,
    labelled_texts,
    may_explain,
    own_attempt,
    qualification_of,
    question_at,
    question_results,
    quiz_status,
    quiz_units,
    sheet_of,
    sheets_of,
    start_attempt,
    translate_sheet,
    worker_results,
)
from annotation.views.common import (
    FORM,
    SAFE,
    SeeOther,
    api_worker,
    member_page,
    see_other,
    session_of,
    worker_of,
)
from annotation.work.joining import require_participation
from annotation.work.worksheet import (
    PageUnit,
    answers_of_form,
    picture_response,
    quiz_picture_url,
    read_design,
    shows_pictures,
    steps_of,
    undecided_positions,
)
from common.amounts import spell_number
from common.errors import NotThere
from common.parameters import NumberField, Parameters
from judgments.admin.base import picture_address
from judgments.api.resources import Related, Resource, RowSerializer, filters_of, study_filter
from judgments.design.requirements import QUIZ_PRESETS, asks_anything, questions_asked, questions_of
from judgments.kinds import KINDS, Kind
from judgments.models import Study
from judgments.studies.studies import design_of, find_study, kind_of
from judgments.studies.study_page import Context, Group, study_page


@member_page(SAFE)
def quiz(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    status = quiz_status(study=study, worker=worker)
    if not status.needed:
        return redirect("annotation:work", study.slug)
    seen = request.GET.get("seen", "")
    if status.last is not None and seen.isascii() and seen.isdigit() and len(seen) < 4:
        sheet = translate_sheet(sheet_of(status.last))
        step = next((positions for positions in sheet.steps() if positions[0] == int(seen)), None)
        if step is not None and all(may_explain(sheet, position) for position in step):
            return _explanation_page(request, study, status, sheet, step)
    if status.running is not None:
        return _question_page(request, study, translate_sheet(sheet_of(status.running)))
    if status.last is None:
        return render(request, "annotation/quiz/first.html", _first_context(study, status))
    return _result_page(request, study, status, status.last)


@member_page(FORM)
def start(request: HttpRequest, study: Study, worker: Worker) -> HttpResponse:
    if request.method == "POST":
        with suppress(AlreadyEnded):  # passed in another window
            start_attempt(study=study, worker=worker)
    return see_other("annotation:quiz", study.slug)


@member_page(FORM)
def answer(request: HttpRequest, study: Study, worker: Worker, number: int) -> HttpResponse:
    """Store the answer to the current step; an earlier answer stays."""
    if request.method != "POST":
        return redirect("annotation:quiz", study.slug)
    attempt = own_attempt(study=study, worker=worker, number=number)
    sheet = translate_sheet(sheet_of(attempt))
    step = _find_step(request, sheet)
    if step is None:
        return see_other("annotation:quiz", study.slug)
    answers = _read_answers(request, sheet, step)
    if len(answers) < len(step):
        return _question_page(request, study, sheet, missing=True, status=422)
    try:
        attempt = answer_attempt(attempt=attempt, answers=answers)
    except AlreadyEnded:
        # another window or the Back button: the first answer stays, and the next step is shown
        attempt.refresh_from_db()
    if may_explain(sheet_of(attempt), step[0]) and sheet.design.quiz.explain == "after-each":
        return SeeOther(f"{resolve_url('annotation:quiz', study.slug)}?seen={step[0]}")
    return see_other("annotation:quiz", study.slug)


def _find_step(request: HttpRequest, sheet: QuizSheet) -> list[int] | None:
    first = request.POST.get("step", "")
    return next((step for step in sheet.steps() if str(step[0]) == first), None)


def _read_answers(request: HttpRequest, sheet: QuizSheet, step: list[int]) -> list[dict[str, Any]]:
    """Return the form's answers for the step; nothing for an open group."""
    if step[0] in sheet.questions:
        text = request.POST.get(f"u{step[0]}", "")
        is_number = text.isascii() and text.isdigit() and len(text) < 3
        return [{"position": step[0], "value": int(text)}] if is_number else []
    kind = KINDS[sheet.design.protocol].for_design(sheet.design)
    page_units = [sheet.page_units[position] for position in step]
    if undecided_positions(request.POST, page_units, kind):
        return []
    return answers_of_form(request.POST, page_units, kind=kind, final=True, saved={})


def _steps_context(study: Study, sheet: QuizSheet, step: list[int]) -> dict[str, Any]:
    steps = sheet.steps()
    context: dict[str, Any] = {
        "study": study,
        "design": sheet.design,
        "attempt": sheet.attempt,
        "number": steps.index(step) + 1,
        "of": len(steps),
        "done": [
            all(str(position) in sheet.attempt.answers for position in positions) for positions in steps
        ],
        "first": step[0],
        "asked": sheet.questions.get(step[0]),
        "is_last": steps.index(step) == len(steps) - 1,
    }
    if step[0] in sheet.page_units:
        shown = steps_of(
            [sheet.page_units[position] for position in step],
            design=sheet.design,
            picture_url=lambda page_unit: quiz_picture_url(study, sheet.attempt, page_unit),
            answers=sheet.attempt.answers,
        )[0]
        context |= {
            "kind": KINDS[sheet.design.protocol].for_design(sheet.design),
            "step": shown,
            "now": shown.number,
            "has_pictures": shows_pictures(sheet.design, [shown]),
        }
    return context


def _question_page(
    request: HttpRequest, study: Study, sheet: QuizSheet, *, missing: bool = False, status: int = 200
) -> HttpResponse:
    opened = set(sheet.open_positions)
    step = next((positions for positions in sheet.steps() if opened & set(positions)), sheet.steps()[-1])
    context = _steps_context(study, sheet, step) | {"missing": missing}
    return render(request, "annotation/quiz/question.html", context, status=status)


def _explanation_page(
    request: HttpRequest, study: Study, status: QuizStatus, sheet: QuizSheet, step: list[int]
) -> HttpResponse:
    lines = [line for position in step if (line := explain_answer(sheet, position)) is not None]
    context = _steps_context(study, sheet, step) | {
        "lines": lines,
        "all_right": all(line.right for line in lines),
        "is_last": status.running is None,
    }
    return render(request, "annotation/quiz/explanation.html", context)


def _first_context(study: Study, status: QuizStatus) -> dict[str, Any]:
    design = read_design(study)
    return {
        "study": study,
        "design": design,
        "quiz_status": status,
        "size": questions_asked(design.quiz) + design.quiz.items,
        "mark": _percent(design.quiz.pass_mark),
    }


def _result_page(
    request: HttpRequest, study: Study, status: QuizStatus, attempt: QuizAttempt
) -> HttpResponse:
    sheet = translate_sheet(sheet_of(attempt))
    lines = [
        line
        for position in range(1, sheet.size + 1)
        if may_explain(sheet, position) and (line := explain_answer(sheet, position)) is not None
    ]
    context = {
        "study": study,
        "design": read_design(study),
        "quiz_status": status,
        "attempt": attempt,
        "of": sheet.size,
        "mark": _percent(sheet.design.quiz.pass_mark),
        "lines": lines,
        "came_from_panel": session_of(study=study, worker=attempt.worker) is not None,
    }
    return render(request, "annotation/quiz/result.html", context)


def _percent(share: float) -> str:
    return spell_number(share * 100)


@require_safe
def picture(request: HttpRequest, slug: str, number: int, position: int) -> HttpResponseBase:
    worker = api_worker(request) or worker_of(request)
    study = Study.objects.filter(slug=slug).first()
    try:
        if worker is None or study is None:
            raise NotThere("There is no such picture.")
        page_unit = sheet_of(own_attempt(study=study, worker=worker, number=number)).page_units.get(position)
    except NotThere:
        page_unit = None
    if page_unit is None:
        raise Http404("There is no such picture.")
    return picture_response(request, page_unit.unit.item)


class QuizAttemptSerializer(RowSerializer[QuizAttempt]):
    """A worker's attempt at a quiz, with its questions and answers."""

    study = Related("study.slug")
    worker = Related("worker.name")
    items = serializers.ListField(read_only=True)
    answers = serializers.DictField(read_only=True, help_text="Position -> answer, as the worker saw it.")

    class Meta:
        model = QuizAttempt
        fields = [
            "id", "study", "worker", "qualification", "number", "items", "answers", "right", "passed",
            "simulated", "started_at", "finished_at",
        ]  # fmt: skip


class QuizAttemptResource(Resource):
    """Attempts at quizzes, including running ones."""

    reading, scope = "annotation.view_quizattempt", "workers"
    queryset = QuizAttempt.objects.select_related("study", "worker")
    serializer_class = QuizAttemptSerializer
    filterset_class = filters_of(
        QuizAttempt, "qualification", "passed", "simulated", study=study_filter(), worker="worker__name"
    )
    orderings = {"id": "pk", "started_at": "started_at"}


class QuizOption(work.Schema):
    """An answer to choose."""

    value = serializers.IntegerField()
    text = serializers.CharField()


class QuizQuestion(work.ShownUnit):
    """A question with options, or a known item as its kind shows it."""

    protocol = serializers.CharField(required=False)
    options = QuizOption(many=True, required=False)


class QuizAnswer(work.Schema):
    """One answer: the option's number, or the answer of the kind."""

    position = serializers.IntegerField(min_value=1)
    value = NumberField(required=False)
    answer = serializers.JSONField(required=False)


class QuizExplanation(work.Schema):
    """The right answer."""

    position = serializers.IntegerField()
    right = serializers.BooleanField()
    expected = serializers.CharField()
    why = serializers.CharField(allow_blank=True)


class QuizAttemptReply(work.Schema):
    """An attempt, running or over."""

    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=["running", "finished"])
    questions = QuizQuestion(many=True)
    answers = QuizAnswer(many=True)
    right = serializers.IntegerField(allow_null=True, help_text="How many were right, once it is over.")
    of = serializers.IntegerField()
    passed = serializers.BooleanField(allow_null=True)
    explanations = QuizExplanation(many=True)


class QuizReply(work.Schema):
    """The worker's status in the study's quiz."""

    needed = serializers.BooleanField()
    passed = serializers.BooleanField()
    pass_mark = serializers.FloatField()
    attempts_left = serializers.IntegerField()
    attempt = QuizAttemptReply(allow_null=True)


@extend_schema_field(QuizAnswer(many=True))
class QuizAnswersField(serializers.ListField):
    """Answers, whose members the services check."""


class QuizRequest(Parameters):
    """Nothing to start an attempt; answers to give some."""

    answers = QuizAnswersField(required=False)
    number = serializers.IntegerField(required=False, help_text="The attempt; the latest one unless told.")


class QuizView(WorkView):
    worker_methods: ClassVar[tuple[str, ...]] = ("GET", "POST")

    @work.worker_call(
        "studies_quiz",
        "Your status in the quiz",
        {200: QuizReply, 403: work.Problem, 404: work.Problem},
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return whether a quiz comes before the work, whether it is passed, and the latest attempt."""
        study, worker = find_study(slug), calling_worker(request)
        require_participation(study=study, worker=worker)
        return private_response(self._status(study, worker))

    @work.worker_call(
        "studies_answer_quiz",
        "Start an attempt at the quiz, or answer it",
        {
            201: OpenApiResponse(QuizReply, description="An attempt was started."),
            200: OpenApiResponse(QuizReply, description="Answers were kept, or one was under way."),
            400: work.Problem,
            403: OpenApiResponse(work.Problem, description="No attempt is left."),
            404: OpenApiResponse(work.Problem, description="The study has no quiz."),
            409: OpenApiResponse(work.Problem, description="Passed before, or answered differently before."),
        },
        request=QuizRequest,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Without ``answers``, start or go on. With them, store them; the last one ends the attempt."""
        body = QuizRequest.read(request.data)
        study, worker = find_study(slug), calling_worker(request)
        require_participation(study=study, worker=worker)
        if "answers" not in body:
            before = quiz_status(study=study, worker=worker)
            start_attempt(study=study, worker=worker)
            return private_response(
                self._status(study, worker), status=201 if before.running is None else 200
            )
        number = body.get("number")
        if number is None:  # the attempt is over if its last answers are sent again
            last = quiz_status(study=study, worker=worker).last
            if last is None:
                raise NotThere("No attempt at the test is under way; start one by a call without answers.")
            number = last.number
        answer_attempt(
            attempt=own_attempt(study=study, worker=worker, number=number), answers=body["answers"]
        )
        return private_response(self._status(study, worker))

    @staticmethod
    def _status(study: Study, worker: Worker) -> dict[str, Any]:
        status, quiz = quiz_status(study=study, worker=worker), design_of(study).quiz
        return {
            "needed": status.needed,
            "passed": status.passed,
            "pass_mark": quiz.pass_mark,
            "attempts_left": status.attempts_left,
            "attempt": _attempt_as_json(study, status.last) if status.last is not None else None,
        }


def _attempt_as_json(study: Study, attempt: QuizAttempt) -> dict[str, Any]:
    sheet = sheet_of(attempt)

    def picture_url(page_unit: PageUnit) -> str:
        return quiz_picture_url(study, attempt, page_unit)

    positions = range(1, sheet.size + 1)
    lines = [explain_answer(sheet, position) for position in positions if may_explain(sheet, position)]
    return {
        "number": attempt.number,
        "state": "running" if attempt.finished_at is None else "finished",
        "questions": [question_at(sheet, position, picture_url) for position in positions],
        "answers": [{"position": int(key), **answer} for key, answer in attempt.answers.items()],
        "right": attempt.right,
        "of": sheet.size,
        "passed": attempt.passed,
        "explanations": [
            {
                "position": line.position,
                "right": line.right,
                "expected": " / ".join(line.expected),
                "why": line.why,
            }
            for line in lines
            if line is not None
        ],
    }


ON_A_PAGE = 50
MOST_ATTEMPTS = 2_000  # the latest, that the figures count


@study_page(
    "quiz",
    "Quiz",
    order=44,
    shown=lambda study: asks_anything(design_of(study).quiz),
    group=Group.LIVE,
    before=Group.DESIGN,
)
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
    return " / ".join(right) or kind.describe_expected(expected)
