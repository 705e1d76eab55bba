"""The calls by which workers take the quiz, and researchers read the attempts."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import bodies
from annotation.api.work import WorkView, calling_worker, private_response, worker_call
from annotation.models import QuizAttempt, Worker
from annotation.work.joining import require_participation
from annotation.work.sheet.units import PageUnit
from common.errors import ObjectNotFound
from common.parameters import Parameters, PlainNumberField
from contrib.quiz.attempts.content import content_of, question_at, quiz_picture_url
from contrib.quiz.attempts.explanations import explain_answer, may_explain
from contrib.quiz.attempts.taking import answer_attempt, find_attempt, quiz_status, start_attempt
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study


class QuizAttemptSerializer(RowSerializer[QuizAttempt]):
    """A worker's attempt at a quiz, with its questions and answers."""

    study = Related("study.slug")
    worker = Related("worker.name")
    items = serializers.ListField(
        read_only=True,
        help_text="Sampled questions and known items in the order shown: `question`, its key, with `order`, the "
        "indices of its options as shown; or `unit`, its key, with `side`, the side of its first text (null "
        "without sides).",
    )
    answers = serializers.DictField(
        read_only=True,
        help_text='Answers by position, from 1, such as {"1": {"value": 2}}; values refer to the order shown.',
    )

    class Meta:
        model = QuizAttempt
        fields = [
            "id", "study", "worker", "qualification", "number", "items", "answers", "right", "passed",
            "simulated", "started_at", "finished_at",
        ]  # fmt: skip


class QuizAttemptResource(Resource):
    """Attempts at quizzes, including those in progress."""

    read_permission, scope = "annotation.view_quizattempt", "workers"
    queryset = QuizAttempt.objects.select_related("study", "worker")
    serializer_class = QuizAttemptSerializer
    filterset_class = filters_of(
        QuizAttempt, "qualification", "passed", "simulated", study=study_filter(), worker="worker__name"
    )
    orderings = {"id": "pk", "started_at": "started_at"}


class QuizOption(bodies.Schema):
    """An option of a question."""

    value = serializers.IntegerField(help_text="Number of the option, from 1 in the order shown.")
    text = serializers.CharField()


class QuizQuestion(bodies.ShownUnit):
    """A question with options, or a known item (one whose right answer is known) as pages of work show it."""

    protocol = serializers.CharField(required=False, help_text="Only of known items.")
    options = QuizOption(many=True, required=False, help_text="Only of questions.")


class QuizAnswer(bodies.Schema):
    """An answer to a question or to a known item, at its position in the attempt."""

    position = serializers.IntegerField(min_value=1)
    value = PlainNumberField(
        required=False,
        help_text="Number of the chosen option, or the answer to a known item if it is a number.",
    )
    answer = serializers.JSONField(
        required=False, help_text="Answer to a known item if it is not a number, in place of `value`."
    )


class QuizExplanation(bodies.Schema):
    """Whether an answer was right, the right answer, and why it is right."""

    position = serializers.IntegerField()
    right = serializers.BooleanField()
    expected = serializers.CharField(help_text="The right answer in words; several are separated by slashes.")
    why = serializers.CharField(allow_blank=True, help_text="Why it is right; empty without an explanation.")


class QuizAttemptReply(bodies.Schema):
    """An attempt, in progress or finished."""

    number = serializers.IntegerField(help_text="Number of the attempt, from 1.")
    state = serializers.ChoiceField(choices=["running", "finished"])
    questions = QuizQuestion(many=True)
    answers = QuizAnswer(many=True, help_text="The answers so far.")
    right = serializers.IntegerField(
        allow_null=True, help_text="Number of right answers; null while the attempt is in progress."
    )
    of = serializers.IntegerField(help_text="Number of questions and known items in the attempt.")
    passed = serializers.BooleanField(
        allow_null=True, help_text="Whether the attempt was passed; null while it is in progress."
    )
    explanations = QuizExplanation(
        many=True,
        help_text="Explanations of the answers that may be explained now: the study's quiz explains after each answer, "
        "at the end, or never.",
    )


class QuizReply(bodies.Schema):
    """The worker's status in the study's quiz, and the latest attempt."""

    needed = serializers.BooleanField(help_text="Whether the study has a quiz.")
    passed = serializers.BooleanField(
        help_text="Whether the worker passed the quiz, or one of the same qualification; true without a quiz."
    )
    pass_mark = serializers.FloatField(help_text="Share of answers that must be right, from 0 to 1.")
    attempts_left = serializers.IntegerField(
        help_text="Number of attempts that the worker can still start; 0 if the quiz is passed."
    )
    attempt = QuizAttemptReply(allow_null=True, help_text="The latest attempt; null before the first one.")


@extend_schema_field(QuizAnswer(many=True))
class QuizAnswersField(serializers.ListField):
    """A list of answers, whose members are checked when the answers are stored."""


class QuizRequest(Parameters):
    """Answers to store. Without answers, an attempt is started."""

    answers = QuizAnswersField(required=False)
    number = serializers.IntegerField(
        required=False, help_text="Number of the attempt (default: the latest one)."
    )


class QuizView(WorkView):
    worker_methods: ClassVar[tuple[str, ...]] = ("GET", "POST")

    @worker_call(
        "studies_quiz", "Your status in the quiz", {200: QuizReply, 403: bodies.Problem, 404: bodies.Problem}
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return whether a quiz comes before the work, whether it is passed, and the latest attempt."""
        study, worker = find_study(slug), calling_worker(request)
        require_participation(study=study, worker=worker)
        return private_response(self._status(study, worker))

    @worker_call(
        "studies_answer_quiz",
        "Start an attempt at the quiz, or answer it",
        {
            201: OpenApiResponse(QuizReply, description="An attempt was started."),
            200: OpenApiResponse(
                QuizReply, description="The answers were stored, or an attempt was in progress already."
            ),
            400: bodies.Problem,
            403: OpenApiResponse(bodies.Problem, description="No attempt is left."),
            404: OpenApiResponse(bodies.Problem, description="The study has no quiz."),
            409: OpenApiResponse(
                bodies.Problem,
                description="The quiz is passed already, or a position was answered differently before.",
            ),
        },
        request=QuizRequest,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start or continue an attempt or, with ``answers``, store answers. The last answer ends the attempt."""
        body = QuizRequest.read(request.data)
        study, worker = find_study(slug), calling_worker(request)
        require_participation(study=study, worker=worker)
        if "answers" not in body:
            old_status = quiz_status(study=study, worker=worker)
            start_attempt(study=study, worker=worker)
            return private_response(
                self._status(study, worker), status=201 if old_status.open_attempt is None else 200
            )
        number = body.get("number")
        if number is None:  # use the latest attempt: it is finished if its last answers are sent again
            last_attempt = quiz_status(study=study, worker=worker).last_attempt
            if last_attempt is None:
                raise ObjectNotFound(
                    "No attempt at the test is in progress; start one by a call without answers."
                )
            number = last_attempt.number
        answer_attempt(
            attempt=find_attempt(study=study, worker=worker, number=number), answers=body["answers"]
        )
        return private_response(self._status(study, worker))

    @staticmethod
    def _status(study: Study, worker: Worker) -> dict[str, Any]:
        status, quiz = quiz_status(study=study, worker=worker), design_of(study).quiz
        attempt = status.last_attempt
        return {
            "needed": status.is_needed,
            "passed": status.is_passed,
            "pass_mark": quiz.pass_mark,
            "attempts_left": status.attempts_left,
            "attempt": None if attempt is None else _attempt_as_json(study, attempt),
        }


def _attempt_as_json(study: Study, attempt: QuizAttempt) -> dict[str, Any]:
    """Return an attempt with its questions, answers, and the explanations that the worker may see now."""
    content = content_of(attempt)

    def picture_url(page_unit: PageUnit) -> str:
        return quiz_picture_url(study, attempt, page_unit)

    positions = range(1, content.size + 1)
    explained_answers = [
        explain_answer(content, position) for position in positions if may_explain(content, position)
    ]
    return {
        "number": attempt.number,
        "state": "running" if attempt.finished_at is None else "finished",
        "questions": [question_at(content, position, picture_url) for position in positions],
        "answers": [{"position": int(key), **answer} for key, answer in attempt.answers.items()],
        "right": attempt.right,
        "of": content.size,
        "passed": attempt.passed,
        "explanations": [
            {
                "position": answer.position,
                "right": answer.is_right,
                "expected": " / ".join(answer.expected),
                "why": answer.explanation,
            }
            for answer in explained_answers
            if answer is not None  # None: the position has no answer yet
        ],
    }
