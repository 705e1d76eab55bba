"""The HTTP calls that a worker's client makes: join, accept, submit, revise, extend, retake, return, report.

The address of a call about an assignment has the assignment's id. Only the assignment's worker, recognised by the
token, can make such a call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from annotation.api.bodies import (
    AssignmentReply,
    ExtendedReply,
    JoinedReply,
    JoinRequest,
    Problem,
    ReportReply,
    ReportRequest,
    RevisedReply,
    SaveRequest,
    StateReply,
    SubmitRequest,
    SubmittedReply,
)
from annotation.models import Assignment, Worker
from annotation.work.answers.checks import answer_key
from annotation.work.answers.drafts import own_assignment
from annotation.work.answers.revisions import revise_judgments
from annotation.work.claims import claim_assignment
from annotation.work.joining import join_study, resume_worker
from annotation.work.leases import extend_lease, retake_assignment
from annotation.work.sheet.pictures import picture_url
from annotation.work.sheet.units import PageUnit, page_units_of
from annotation.work.slots.candidates import RETRY_SECONDS, Claim, may_get_a_hit_later
from annotation.work.slots.release import return_assignment
from annotation.work.submissions import report_problem, save_answers, submit_and_claim, submit_assignment
from annotation.work.worksheet import shown_unit
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.studies.designs import design_of
from judgments.studies.studies import find_study

# Only the first default class, for tokens: with a session, Django would require a CSRF token, which workers lack.
TOKEN_AUTHENTICATION = cast(list[type[BaseAuthentication]], api_settings.DEFAULT_AUTHENTICATION_CLASSES[:1])


class IsWorker(BasePermission):
    """Allow a worker's token for the methods that the view lists in ``worker_methods``."""

    message = "This call takes the token of a participant who joined."

    def has_permission(self, request: Request, view: Any) -> bool:
        return isinstance(request.user, Worker) and request.method in view.worker_methods


class AllowAnyPost(BasePermission):
    """Allow POST to anybody, also without a token. Workers get an error (403) for other methods, others a 405."""

    message = "This call accepts only POST requests."

    def has_permission(self, request: Request, view: Any) -> bool:
        return request.method == "POST" or not isinstance(request.user, Worker)


def worker_call(
    operation_id: str, summary: str, responses: dict[int, Any], *, request: Any = None, **fields: Any
) -> Callable[[Any], Any]:
    """Return a decorator that describes a call of a worker's client in the OpenAPI schema."""
    return extend_schema(
        operation_id=operation_id,
        summary=summary,
        responses=responses,
        request=request,
        tags=["worker"],
        **fields,
    )


class WorkView(APIView):
    """The base of the views for a worker's client."""

    authentication_classes = TOKEN_AUTHENTICATION
    permission_classes = [IsWorker]
    worker_methods: ClassVar[tuple[str, ...]] = ("POST",)


class JoinView(WorkView):
    """Join a study: POST /api/studies/{slug}/join/."""

    permission_classes = [AllowAnyPost]

    @worker_call(
        "studies_join",
        "Join a study",
        {201: JoinedReply, 403: Problem, 409: Problem},
        request=JoinRequest,
        auth=[{"token": []}, {}],  # the token is optional; a worker who sends one keeps it
    )
    def post(self, request: Request, slug: str) -> Response:
        """Join a study. A new name creates a worker; a name in use requires its token or its resume code."""
        body = JoinRequest.read(request.data)
        study, name = find_study(slug), body.pop("worker")
        if "resume" in body:
            result = resume_worker(study=study, name=name, **body)
        else:
            known_worker = request.user if isinstance(request.user, Worker) else None
            result = join_study(study=study, name=name, known_worker=known_worker, **body)
        reply = {"worker": result.worker.shown_name, "token": result.token, "resume": result.resume}
        return private_response(reply, status=201)


class AcceptView(WorkView):
    """Get a HIT to work on: POST /api/studies/{slug}/assignments/."""

    @worker_call(
        "studies_accept",
        "Accept the next HIT",
        {
            201: AssignmentReply,
            200: OpenApiResponse(AssignmentReply, description="The page of work in progress."),
            204: OpenApiResponse(description="There is no work; with Retry-After, there may be later."),
            403: Problem,
            404: Problem,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Return the worker's current HIT, or claim the next one."""
        study, worker = find_study(slug), calling_worker(request)
        claim = claim_assignment(study=study, worker=worker)
        if claim is None:
            may_get_hit = may_get_a_hit_later(study=study, worker=worker)
            return Response(status=204, headers={"Retry-After": str(RETRY_SECONDS)} if may_get_hit else None)
        return private_response(_claim_as_json(claim, design_of(study)), status=201 if claim.is_new else 200)


class SubmitView(WorkView):
    """Submit answers: POST /api/assignments/{id}/submit/."""

    @worker_call(
        "assignments_submit",
        "Submit answers",
        {
            200: SubmittedReply,
            400: OpenApiResponse(Problem, description="`missing` lists the positions without an answer."),
            404: Problem,
            409: OpenApiResponse(Problem, description="Too late, or submitted with other answers."),
        },
        request=SubmitRequest,
    )
    def post(self, request: Request, id: str) -> Response:
        """Submit an assignment. With ``next``, the reply also has the next HIT."""
        body = SubmitRequest.read(request.data)
        assignment = _own_assignment(request, id)
        reply: dict[str, Any] = {"id": str(assignment.pk), "state": "submitted"}
        if body.get("next"):
            _, claim = submit_and_claim(assignment=assignment, answers=body["answers"])
            reply["next"] = _claim_as_json(claim, design_of(assignment.study)) if claim is not None else None
        else:
            submit_assignment(assignment=assignment, answers=body["answers"])
        return private_response(reply)


class ReviseView(WorkView):
    """Change submitted answers: POST /api/assignments/{id}/revise/."""

    @worker_call(
        "assignments_revise",
        "Change submitted answers",
        {
            200: RevisedReply,
            400: Problem,
            404: Problem,
            409: OpenApiResponse(Problem, description="The time to change answers is over."),
        },
        request=SaveRequest,
    )
    def post(self, request: Request, id: str) -> Response:
        """Change submitted answers. Earlier answers are kept. Repeating changes nothing."""
        answers = SaveRequest.read(request.data)["answers"]
        assignment = _own_assignment(request, id)
        changed_positions = revise_judgments(assignment=assignment, answers=answers)
        return Response({"id": str(assignment.pk), "state": assignment.state, "revised": changed_positions})


class ExtendView(WorkView):
    """Get more time: POST /api/assignments/{id}/extend/."""

    @worker_call(
        "assignments_extend",
        "Ask for more time",
        {
            200: ExtendedReply,
            404: Problem,
            409: OpenApiResponse(
                Problem,
                description="No extension is left, the participant gave no answer in the last half of the time, "
                "or the assignment is no longer in progress.",
            ),
        },
    )
    def post(self, request: Request, id: str) -> Response:
        """Extend the lease by granting a full lease from now on."""
        assignment = _own_assignment(request, id)
        lease = extend_lease(assignment=assignment)
        return Response(
            {
                "id": str(assignment.pk),
                "state": assignment.state,
                "expires_at": lease.expires_at,
                "extensions_left": lease.extensions_left,
            }
        )


class RetakeView(WorkView):
    """Get an expired HIT back: POST /api/assignments/{id}/retake/."""

    @worker_call(
        "assignments_retake",
        "Take a page of work again whose time ended",
        {
            200: AssignmentReply,
            404: Problem,
            409: OpenApiResponse(Problem, description="Its place is taken, or it was submitted or returned."),
        },
    )
    def post(self, request: Request, id: str) -> Response:
        """Reclaim a HIT whose lease expired, together with its saved answers. The assignment's id may change."""
        expired_assignment = _own_assignment(request, id)
        assignment = retake_assignment(assignment=expired_assignment)
        claim = Claim(assignment=assignment, is_new=False, page_units=page_units_of(assignment))
        return private_response(_claim_as_json(claim, design_of(assignment.study)))


class ReturnView(WorkView):
    """Return a HIT: POST /api/assignments/{id}/return/."""

    @worker_call("assignments_return", "Return a page of work", {200: StateReply, 404: Problem, 409: Problem})
    def post(self, request: Request, id: str) -> Response:
        """Return a HIT, so that its slot goes to another worker. Repeating changes nothing."""
        assignment = _own_assignment(request, id)
        return_assignment(assignment=assignment)
        return Response({"id": str(assignment.pk), "state": assignment.state})


class ProblemReportView(WorkView):
    """Report a problem with a unit: POST /api/assignments/{id}/report/."""

    @worker_call(
        "assignments_report",
        "Report a problem with a unit",
        {201: ReportReply, 400: Problem, 404: Problem},
        request=ReportRequest,
    )
    def post(self, request: Request, id: str) -> Response:
        """Report a problem with a unit, such as a picture that cannot be seen or a broken sentence."""
        body = ReportRequest.read(request.data)
        assignment = _own_assignment(request, id)
        report = report_problem(assignment=assignment, **{"what": "other", **body})
        return Response(
            {"id": str(assignment.pk), "position": body["position"], "what": report.what}, status=201
        )


def save_draft(request: Request, id: str) -> Response:
    """Merge answers into the draft and return the whole draft (PATCH /api/assignments/{id}/)."""
    answers = SaveRequest.read(request.data)["answers"]
    assignment = _own_assignment(request, id)
    saved_assignment = save_answers(assignment=assignment, answers=answers)
    key = answer_key(KINDS[saved_assignment.study.protocol])  # "value", or "answer" for open kinds
    answers_by_position = {int(position): answer for position, answer in saved_assignment.answers.items()}
    draft = [
        {"position": position, key: answer[key]}
        for position, answer in sorted(answers_by_position.items())
        if key in answer  # a page without scripts may have saved unfinished input
    ]
    return Response({"id": str(saved_assignment.pk), "state": saved_assignment.state, "answers": draft})


def calling_worker(request: Request) -> Worker:
    assert isinstance(request.user, Worker)  # guaranteed by IsWorker
    return request.user


def _own_assignment(request: Request, id: str) -> Assignment:
    return own_assignment(worker=calling_worker(request), assignment_id=id)


def _claim_as_json(claim: Claim, design: StudyDesign) -> dict[str, Any]:
    """Return the claimed assignment and its units, in the form of ``AssignmentReply``."""
    assignment = claim.assignment

    def picture_url_of(page_unit: PageUnit) -> str:
        return picture_url(page_unit=page_unit, assignment=assignment)

    return {
        "id": str(assignment.pk),
        "expires_at": assignment.expires_at,
        "units": [
            shown_unit(page_unit, design=design, picture_url=picture_url_of) for page_unit in claim.page_units
        ],
    }


def private_response(body: Any, status: int = 200) -> Response:
    """Return a response that must not be cached, because it contains tokens or answers."""
    return Response(body, status=status, headers={"Cache-Control": "no-store"})
