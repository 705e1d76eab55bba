"""The worker's calls (docs/api.md): join, accept the next HIT, save, submit; return and report.

Views parse, call a service, and answer; every rule is in annotation.services.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from annotation.answers import answer_key
from annotation.api import schemas
from annotation.models import Worker
from annotation.pictures import picture_url
from annotation.presentation import places_of, shown_unit
from annotation.services.claims import Claim, claim_assignment, return_assignment
from annotation.services.joining import join_study, resume_worker
from annotation.services.leases import extend_lease, retake_assignment
from annotation.services.revisions import revise_judgments
from annotation.services.submissions import (
    own_assignment,
    report_problem,
    save_answers,
    submit_and_claim,
    submit_assignment,
)
from judgments.api.bodies import body_of, member
from judgments.design import StudyDesign
from judgments.kinds import KINDS
from judgments.services.studies import design_of, find_study

# tokens alone: a browser's session would ask for a CSRF token, and workers have none
TOKENS = cast(list[type[BaseAuthentication]], api_settings.DEFAULT_AUTHENTICATION_CLASSES[:1])


class WorkersOnly(BasePermission):
    """A worker's token opens the worker's calls by their own methods, and nothing else."""

    message = "This call takes the token of a worker who joined."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Staff have resources of their own."""
        return isinstance(request.user, Worker) and request.method in view.worker_methods


class AnyoneMayPost(BasePermission):
    """Joining is how a stranger becomes a worker."""

    message = "This call is POST alone."

    def has_permission(self, request: Request, view: Any) -> bool:
        """Workers too, who join another study."""
        return request.method == "POST" or not isinstance(request.user, Worker)


class WorkView(APIView):
    """A call of a worker's client."""

    authentication_classes = TOKENS
    permission_classes = [WorkersOnly]
    worker_methods: ClassVar[tuple[str, ...]] = ("POST",)


class JoinView(WorkView):
    """POST /api/studies/{slug}/join/"""

    permission_classes = [AnyoneMayPost]

    @extend_schema(
        request=schemas.JoinRequest,
        responses={201: schemas.JoinedReply, 403: schemas.Problem, 409: schemas.Problem},
        operation_id="studies_join",
        auth=[{"token": []}, {}],  # type: ignore[list-item]  # as OpenAPI has it; whoever has a token keeps it
        tags=["worker"],
        summary="Join a study",
    )
    def post(self, request: Request, slug: str) -> Response:
        """A name makes a worker; a taken name needs its token or its resume code."""
        body = body_of(request)
        study = find_study(slug)
        terms: dict[str, Any] = {
            "study": study,
            "name": member(body, "worker", str),
            "code": member(body, "code", str, ""),
            "consent": member(body, "consent", bool, False),
            "country": member(body, "country", str, ""),
        }
        resume = member(body, "resume", str, None)
        if resume is not None:
            joined = resume_worker(**terms, resume=resume)
        else:
            known = request.user if isinstance(request.user, Worker) else None
            joined = join_study(**terms, known=known)
        reply = {"worker": joined.worker.name, "token": joined.token, "resume": joined.resume}
        return _private(Response(reply, status=201))


class AcceptView(WorkView):
    """POST /api/studies/{slug}/assignments/"""

    @extend_schema(
        request=None,
        responses={
            201: schemas.AssignmentReply,
            200: OpenApiResponse(schemas.AssignmentReply, description="The HIT that is held already."),
            204: OpenApiResponse(description="Nothing is left for this worker."),
            403: schemas.Problem,
            404: schemas.Problem,
        },
        operation_id="studies_accept",
        tags=["worker"],
        summary="Accept the next HIT",
    )
    def post(self, request: Request, slug: str) -> Response:
        """The held HIT, or the next one."""
        study = find_study(slug)
        claim = claim_assignment(study=study, worker=_worker(request))
        if claim is None:
            return Response(status=204)
        return _private(Response(_shown(claim, design_of(study)), status=201 if claim.created else 200))


class SubmitView(WorkView):
    """POST /api/assignments/{id}/submit/"""

    @extend_schema(
        request=schemas.SubmitRequest,
        responses={
            200: schemas.SubmittedReply,
            400: OpenApiResponse(
                schemas.Problem, description="`missing` lists the positions without an answer."
            ),
            404: schemas.Problem,
            409: OpenApiResponse(schemas.Problem, description="Too late, or submitted with other answers."),
        },
        operation_id="assignments_submit",
        tags=["worker"],
        summary="Submit answers",
    )
    def post(self, request: Request, id: str) -> Response:
        """Submit; with ``next`` the reply brings the next HIT."""
        body = body_of(request)
        answers, wants_next = member(body, "answers", list), member(body, "next", bool, False)
        worker = _worker(request)
        assignment = own_assignment(worker=worker, assignment_id=id)
        reply: dict[str, Any] = {"id": str(assignment.pk), "state": "submitted"}
        if wants_next:
            _, claim = submit_and_claim(assignment=assignment, answers=answers)
            reply["next"] = _shown(claim, design_of(assignment.study)) if claim is not None else None
        else:
            submit_assignment(assignment=assignment, answers=answers)
        return _private(Response(reply))


class ReviseView(WorkView):
    """POST /api/assignments/{id}/revise/"""

    @extend_schema(
        request=schemas.SaveRequest,
        responses={
            200: schemas.RevisedReply,
            400: schemas.Problem,
            404: schemas.Problem,
            409: OpenApiResponse(schemas.Problem, description="The time to change answers is over."),
        },
        operation_id="assignments_revise",
        tags=["worker"],
        summary="Change submitted answers",
    )
    def post(self, request: Request, id: str) -> Response:
        """Each answer that differs is kept beside the one before; twice is harmless."""
        answers = member(body_of(request), "answers", list)
        assignment = own_assignment(worker=_worker(request), assignment_id=id)
        revised = revise_judgments(assignment=assignment, answers=answers)
        return Response({"id": str(assignment.pk), "state": assignment.state, "revised": revised})


class ExtendView(WorkView):
    """POST /api/assignments/{id}/extend/"""

    @extend_schema(
        request=None,
        responses={
            200: schemas.ExtendedReply,
            404: schemas.Problem,
            409: OpenApiResponse(schemas.Problem, description="Extended as often as allowed, or over."),
        },
        operation_id="assignments_extend",
        tags=["worker"],
        summary="Ask for more time",
    )
    def post(self, request: Request, id: str) -> Response:
        """A whole lease from now on."""
        assignment = own_assignment(worker=_worker(request), assignment_id=id)
        lease = extend_lease(assignment=assignment)
        return Response(
            {
                "id": str(assignment.pk),
                "state": assignment.state,
                "expires_at": lease.expires_at,
                "extensions_left": lease.more,
            }
        )


class RetakeView(WorkView):
    """POST /api/assignments/{id}/retake/"""

    @extend_schema(
        request=None,
        responses={
            200: schemas.AssignmentReply,
            404: schemas.Problem,
            409: OpenApiResponse(schemas.Problem, description="Its seats are taken, or it never ran out."),
        },
        operation_id="assignments_retake",
        tags=["worker"],
        summary="Take up a HIT again whose lease ended",
    )
    def post(self, request: Request, id: str) -> Response:
        """With the answers saved on it; the id may be a new one."""
        lost = own_assignment(worker=_worker(request), assignment_id=id)
        held = retake_assignment(assignment=lost)
        claim = Claim(assignment=held, created=False, places=places_of(held))
        return _private(Response(_shown(claim, design_of(held.study))))


class ReturnView(WorkView):
    """POST /api/assignments/{id}/return/"""

    @extend_schema(
        request=None,
        responses={200: schemas.StateReply, 404: schemas.Problem, 409: schemas.Problem},
        operation_id="assignments_return",
        tags=["worker"],
        summary="Give a HIT back",
    )
    def post(self, request: Request, id: str) -> Response:
        """Its place goes to somebody else; twice is harmless."""
        assignment = own_assignment(worker=_worker(request), assignment_id=id)
        return_assignment(assignment=assignment)
        return Response({"id": str(assignment.pk), "state": assignment.state})


class ReportView(WorkView):
    """POST /api/assignments/{id}/report/"""

    @extend_schema(
        request=schemas.ReportRequest,
        responses={201: schemas.ReportReply, 400: schemas.Problem, 404: schemas.Problem},
        operation_id="assignments_report",
        tags=["worker"],
        summary="Report a problem with a unit",
    )
    def post(self, request: Request, id: str) -> Response:
        """A picture that cannot be seen, a broken sentence, something else."""
        body = body_of(request)
        assignment = own_assignment(worker=_worker(request), assignment_id=id)
        report = report_problem(
            assignment=assignment,
            position=member(body, "position", int),
            what=member(body, "what", str, "other"),
            comment=member(body, "comment", str, ""),
        )
        return Response(
            {"id": str(assignment.pk), "position": body["position"], "what": report.what}, status=201
        )


def save_draft(request: Request, id: str) -> Response:
    """PATCH /api/assignments/{id}/: lay answers over the draft; the reply is the whole draft."""
    answers = member(body_of(request), "answers", list)
    assignment = own_assignment(worker=_worker(request), assignment_id=id)
    saved = save_answers(assignment=assignment, answers=answers)
    key = answer_key(KINDS[saved.study.protocol])
    draft = [
        {"position": int(position), key: answer[key]}
        for position, answer in sorted(saved.answers.items(), key=lambda pair: int(pair[0]))
        if key in answer  # a page without scripts may have kept what is none yet
    ]
    return Response({"id": str(saved.pk), "state": saved.state, "answers": draft})


def _worker(request: Request) -> Worker:
    assert isinstance(request.user, Worker)  # WorkersOnly let nobody else in
    return request.user


def _shown(claim: Claim, design: StudyDesign) -> dict[str, Any]:
    """The assignment as its worker may see it."""
    assignment = claim.assignment
    return {
        "id": str(assignment.pk),
        "expires_at": assignment.expires_at,
        "units": [
            shown_unit(
                place,
                design=design,
                picture_url=lambda shown: picture_url(place=shown, assignment=assignment),
            )
            for place in claim.places
        ],
    }


def _private(response: Response) -> Response:
    """Tokens and answers stay out of every cache on the way."""
    response["Cache-Control"] = "no-store"
    return response
