"""Operations over HTTP: views that do an operation on a study, with their routes, and actions of resources.

An action of a resource does an operation on one of its rows, or creates a row by an operation.
"""

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
from judgments.access.permissions import require_right, staff_of, study_for
from judgments.access.rights import Right
from judgments.api.jobs import JobSerializer, job_response
from judgments.api.resources import Resource
from judgments.api.studies import StudySerializer
from judgments.models import Study
from judgments.operations import Operation, Outcome
from judgments.studies.studies import find_study


class WaitingReply(serializers.Serializer[Any]):
    """An order that waits for another person's confirmation, under /api/spending-requests/."""

    step = serializers.CharField(help_text="Name of the operation.")
    request = serializers.IntegerField(help_text="Id of the spending request.")
    total_cents = serializers.IntegerField(help_text="Cost in cents, fees included.")
    currency = serializers.CharField()


class OperationView(APIView):
    """Do an operation, and answer with the study or with the operation's job.

    Attributes:
        responses, job_responses: the answers by HTTP status, for the API schema.
        reply: the serializer of the answer, which gets ``Outcome.value``; None to answer with the study.
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
        """Return a subclass that does this operation, with the operation's description for the API schema."""
        takes_parameters = bool(operation.parameters().fields)
        responses = cls.job_responses if operation.job else cls.responses
        if operation.is_order:
            responses = {**responses, 202: WaitingReply}
        view = type(
            f"{operation.name.title().replace('-', '')}View",
            (cls,),
            {"operation": operation, "scope": operation.scope, "__doc__": operation.description},
        )
        described_view: type[Self] = extend_schema_view(
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
        return described_view

    def post(self, request: Request, slug: str, **path_parts: str) -> Response:
        return self.do(request, slug, **path_parts)

    def do(self, request: Request, slug: str, **path_parts: str) -> Response:
        """Do the operation. ``path_parts`` are further parts of the address, such as the key of the row it is about."""
        operation = self.operation
        study = study_for(request, slug, operation.right)
        values = operation.read(_body(request, operation), row=path_parts.get(operation.row))
        if operation.job:
            return job_response(request, operation.start(study, values, by=staff_of(request)))
        outcome = operation.run(study, values, by=staff_of(request))
        if outcome.is_pending:  # an order that another person must confirm
            return Response(WaitingReply(outcome.value).data, status=202)
        return self.answer(study, outcome)

    def answer(self, study: Study, outcome: Outcome) -> Response:
        if self.reply is not None:
            return Response(self.reply(outcome.value).data)
        return Response(StudySerializer(find_study(study.slug)).data)


def operation_path(
    operation: Operation, view: type[OperationView] = OperationView, last_part: str = ""
) -> URLPattern:
    """Return the route of an operation, named ``api:do-<name>``; ``last_part`` replaces the name in the address."""
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

    ``reply`` is the serializer of the answer, which gets ``Outcome.value``. ``responses`` are further responses by HTTP
    status, for the API schema.
    """

    def do(view: Resource, request: Request, pk: str) -> Response:
        row = view.get_object()
        study: Study = attrgetter(view.study_path.replace("__", "."))(row)  # such as row.assignment.study
        require_right(request, operation.right, study)
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
    """Return a resource's ``create`` that does an operation on the study named in the body.

    Args:
        reply: the serializer of the answer, which gets ``Outcome.value``.
        route: the name of the new row's route, for the header Location; "" for no header.
        responses: further responses by HTTP status, for the API schema.
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
        request=type(parameters.__name__, (StudySlugParameters, parameters), {"__doc__": parameters.__doc__}),
        responses={201: reply(many=many), **responses},
        description=operation.description,
        filters=False,
    )(create)


class StudySlugParameters(Parameters):
    """The study that a request without a study in its address is about."""

    study = serializers.CharField(help_text="Slug of the study.")


def named_study(request: Request, right: Right = Right.VIEW) -> Study:
    """Return the study that the body names. Errors are those of ``study_for``."""
    return study_for(request, StudySlugParameters.read(request.data)["study"], right)


def start_with_study(request: Request, operation: Operation, *, route: str = "api:jobs-detail") -> Response:
    """Start the job of an operation on the study that the body names, and answer with the job."""
    study = named_study(request, operation.right)
    return job_response(
        request, operation.start(study, operation.read(request.data), by=staff_of(request)), route=route
    )


def with_study(parameters: type[Parameters], **options: Any) -> type[Parameters]:
    """Return the parameters with a further one, ``study``. The options are those of its field."""
    members = {"study": serializers.CharField(**options), "__doc__": parameters.__doc__}
    return type(parameters.__name__, (parameters,), members)


def _body(request: Request, operation: Operation) -> Any:
    """Return the parsed body of a request. Do not parse it if the operation has no parameters."""
    return request.data if operation.parameters().fields else {}
