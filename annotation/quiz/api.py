"""The quiz over HTTP, for clients that never open the pages (docs/api.md)."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api import work
from annotation.api.work import WorkView, calling_worker, private
from annotation.models import QuizAttempt, Worker
from annotation.quiz.quizzes import answer_attempt, own_attempt, paper_of, quiz_status, start_attempt
from annotation.quiz.sheet import asked_at, explained, may_explain
from annotation.work.joining import require_participation
from annotation.work.presentation import Place, quiz_picture_url
from common.errors import NotThere
from judgments.models import Study
from judgments.studies.studies import design_of, find_study


class QuizView(WorkView):
    """GET and POST /api/studies/{slug}/quiz/"""

    worker_methods: ClassVar[tuple[str, ...]] = ("GET", "POST")

    @extend_schema(
        responses={200: work.QuizReply, 403: work.Problem, 404: work.Problem},
        operation_id="studies_quiz",
        tags=["worker"],
        summary="Your status in the quiz",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Whether a quiz comes before the work, whether it is passed, and the latest attempt."""
        study, worker = find_study(slug), calling_worker(request)
        require_participation(study=study, worker=worker)
        return private(self._standing(study, worker))

    @extend_schema(
        request=work.QuizRequest,
        responses={
            201: OpenApiResponse(work.QuizReply, description="An attempt was started."),
            200: OpenApiResponse(work.QuizReply, description="Answers were kept, or one was under way."),
            400: work.Problem,
            403: OpenApiResponse(work.Problem, description="No attempt is left."),
            404: OpenApiResponse(work.Problem, description="The study has no quiz."),
            409: OpenApiResponse(work.Problem, description="Passed before, or answered differently before."),
        },
        operation_id="studies_answer_quiz",
        tags=["worker"],
        summary="Start an attempt at the quiz, or answer it",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Without ``answers``: start, or go on. With them: keep them; the last one ends the attempt."""
        asked = work.QuizRequest.read(request.data)
        study, worker = find_study(slug), calling_worker(request)
        require_participation(study=study, worker=worker)
        if "answers" not in asked:
            before = quiz_status(study=study, worker=worker)
            start_attempt(study=study, worker=worker)
            return private(self._standing(study, worker), status=201 if before.running is None else 200)
        number = asked.get("number")
        if number is None:  # a repeat of the last answers finds its attempt over
            last = quiz_status(study=study, worker=worker).last
            if last is None:
                raise NotThere("No attempt at the test is under way; start one by a call without answers.")
            number = last.number
        answer_attempt(
            attempt=own_attempt(study=study, worker=worker, number=number), answers=asked["answers"]
        )
        return private(self._standing(study, worker))

    @staticmethod
    def _standing(study: Study, worker: Worker) -> dict[str, Any]:
        standing, quiz = quiz_status(study=study, worker=worker), design_of(study).quiz
        return {
            "needed": standing.needed,
            "passed": standing.passed,
            "pass_mark": quiz.pass_mark,
            "attempts_left": standing.attempts_left,
            "attempt": _attempt(study, standing.last) if standing.last is not None else None,
        }


def _attempt(study: Study, attempt: QuizAttempt) -> dict[str, Any]:
    paper = paper_of(attempt)

    def picture_url(place: Place) -> str:
        return quiz_picture_url(study, attempt, place)

    positions = range(1, paper.size + 1)
    lines = [explained(paper, position) for position in positions if may_explain(paper, position)]
    return {
        "number": attempt.number,
        "state": "running" if attempt.finished_at is None else "finished",
        "questions": [asked_at(paper, position, picture_url) for position in positions],
        "answers": [{"position": int(key), **given} for key, given in attempt.answers.items()],
        "right": attempt.right,
        "of": paper.size,
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
