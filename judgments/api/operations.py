"""Operations over HTTP: POST /api/studies/{slug}/{name}/."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Self

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from common.parameters import Parameters
from judgments.access.permissions import require, staff_of, study_for
from judgments.access.roles import Right
from judgments.api.resources import JobSerializer, Resource, StudySerializer
from judgments.models import Job, Study
from judgments.studies.studies import find_study
from judgments.study_operations import Operation, Outcome


class WaitingReply(serializers.Serializer[Any]):
    """An order that waits for another person's confirmation, under /api/spending-requests/."""

    step = serializers.CharField()
    request = serializers.IntegerField()
    total_cents = serializers.IntegerField(help_text="Fees included.")
    currency = serializers.CharField()


class OperationView(APIView):
    """Do an operation and answer with the study, or with its job.

    Attributes:
        responses, job_responses: the answers by status, for the schema.
        reply: serializes ``Outcome.value`` as the answer; None to answer with the study.
    """

    operation: ClassVar[Operation]
    method: ClassVar[str] = "post"
    reply: ClassVar[type[BaseSerializer[Any]] | None] = None
    responses: ClassVar[dict[Any, Any]] = {
        200: StudySerializer,
        409: OpenApiResponse(description="Not possible now."),
    }
    job_responses: ClassVar[dict[Any, Any]] = {
        202: JobSerializer,
        409: OpenApiResponse(description="Not possible now."),
    }

    @classmethod
    def of(cls, operation: Operation) -> type[Self]:
        takes_parameters = bool(operation.parameters().fields)
        responses = cls.job_responses if operation.job else cls.responses
        if operation.orders:
            responses = {**responses, 202: WaitingReply}
        view = type(
            f"{operation.name.title().replace('-', '')}View",
            (cls,),
            {"operation": operation, "scope": operation.scope, "__doc__": operation.description},
        )
        described: type[Self] = extend_schema_view(
            **{
                cls.method: extend_schema(
                    request=operation.parameters if takes_parameters else None,
                    responses=responses,
                    operation_id=f"studies_{operation.name.replace('-', '_')}",
                    summary=operation.summary,
                    description=operation.description,
                )
            }
        )(view)
        return described

    def post(self, request: Request, slug: str, **path: str) -> Response:
        return self.do(request, slug, **path)

    def do(self, request: Request, slug: str, **path: str) -> Response:
        operation = self.operation
        study = study_for(request, slug, operation.right)
        values = operation.read(_body(request, operation), row=path.get(operation.row))
        if operation.job:
            return job_response(request, operation.start(study, values, by=staff_of(request)))
        outcome = operation.run(study, values, by=staff_of(request))
        if outcome.waits:
            return Response(WaitingReply(outcome.value).data, status=202)
        return self.answer(study, outcome)

    def answer(self, study: Study, outcome: Outcome) -> Response:
        if self.reply is not None:
            return Response(self.reply(outcome.value).data)
        return Response(StudySerializer(find_study(study.slug)).data)


class OfStudy(Parameters):
    """The study that a call on a collection is about."""

    study = serializers.CharField(help_text="Slug.")


def named_study(request: Request, right: Right = Right.VIEW) -> Study:
    return study_for(request, OfStudy.read(request.data)["study"], right)


def with_study(parameters: type[Parameters], **options: Any) -> type[Parameters]:
    members = {"study": serializers.CharField(**options), "__doc__": parameters.__doc__}
    return type(parameters.__name__, (parameters,), members)


def start_named(request: Request, operation: Operation, *, route: str = "api:jobs-detail") -> Response:
    study = named_study(request, operation.right)
    return job_response(
        request, operation.start(study, operation.read(request.data), by=staff_of(request)), route=route
    )


def job_response(request: Request, job: Job, *, route: str = "api:jobs-detail") -> Response:
    address = reverse(route, args=[job.pk], request=request)
    return Response(JobSerializer(job).data, status=202, headers={"Location": address})


def operation_path(
    operation: Operation, view: type[OperationView] = OperationView, last_part: str = ""
) -> URLPattern:
    """Return the route of an operation, ``api:do-<name>``; ``last_part`` replaces its name in the address."""
    return path(
        f"studies/<str:slug>/{last_part or operation.name}/",
        view.of(operation).as_view(),
        name=f"do-{operation.name}",
    )


def row_action(
    operation: Operation,
    name: str,
    *,
    reply: type[BaseSerializer[Any]],
    status: int = 200,
    responses: Mapping[int, Any] | None = None,
) -> Any:
    """Return a resource action that does an operation on a row: POST /api/<rows>/{key}/<name>/.

    ``reply`` serializes ``Outcome.value`` as the answer.
    """

    def do(view: Resource, request: Request, pk: str) -> Response:
        row = view.get_object()
        study: Study = attrgetter(view.study_path.replace("__", "."))(row)
        require(request, operation.right, study)
        values = operation.read(_body(request, operation), row=pk)
        outcome = operation.run(study, values, by=staff_of(request))
        return Response(reply(outcome.value, context=view.get_serializer_context()).data, status=status)

    do.__name__, do.__doc__ = name, operation.description
    describe = extend_schema(
        request=operation.parameters if operation.parameters().fields else None,
        responses={status: reply, **(responses or {})},
        description=operation.description,
    )
    return describe(action(detail=True, methods=["post"])(do))


def create_action(
    operation: Operation,
    *,
    reply: type[BaseSerializer[Any]],
    many: bool = False,
    route: str = "",
    responses: Mapping[int, Any],
) -> Any:
    """Return a resource's ``create`` that does an operation on the study in the body.

    Args:
        reply: serializes ``Outcome.value`` as the answer.
        route: the name of the new row's route, for the Location; "" for none.
    """

    def create(view: Resource, request: Request, *args: Any, **kwargs: Any) -> Response:
        study = named_study(request, operation.right)
        outcome = operation.run(study, operation.read(request.data), by=staff_of(request))
        serializer = reply(outcome.value, many=many, context=view.get_serializer_context())
        headers = {"Location": reverse(route, args=[outcome.value.pk], request=request)} if route else None
        return Response(serializer.data, status=201, headers=headers)

    create.__doc__ = operation.description
    parameters = operation.parameters
    return extend_schema(
        request=type(parameters.__name__, (OfStudy, parameters), {"__doc__": parameters.__doc__}),
        responses={201: reply(many=many), **responses},
        description=operation.description,
        filters=False,
    )(create)


def _body(request: Request, operation: Operation) -> Any:
    return request.data if operation.parameters().fields else {}
