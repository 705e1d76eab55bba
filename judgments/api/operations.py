"""The HTTP door of operations: POST /api/studies/{slug}/{name}/."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from django.urls import URLPattern, path
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from common.parameters import Parameters, read_parameters
from judgments.access.permissions import staff_of, study_for
from judgments.access.roles import Right
from judgments.api.resources import JobSerializer, StudySerializer
from judgments.models import Job, Study
from judgments.studies.studies import find_study
from judgments.study_operations import Operation, Outcome


class OperationView(APIView):
    """Does an operation and answers with the study, or with the job that does it.

    Subclasses answer with something else.

    Attributes:
        responses, job_responses: the answers by status, for the schema.
    """

    operation: ClassVar[Operation]
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
        """Return the view of an operation, described in the schema as it is declared."""
        takes_parameters = bool(operation.parameters().fields)
        view = type(
            f"{operation.name.title().replace('-', '')}View",
            (cls,),
            {"operation": operation, "scope": operation.scope, "__doc__": operation.description},
        )
        described: type[Self] = extend_schema_view(
            post=extend_schema(
                request=operation.parameters if takes_parameters else None,
                responses=cls.job_responses if operation.job else cls.responses,
                operation_id=f"studies_{operation.name.replace('-', '_')}",
                summary=operation.summary,
                description=operation.description,
            )
        )(view)
        return described

    def post(self, request: Request, slug: str) -> Response:
        operation = self.operation
        study = study_for(request, slug, operation.right)
        # a body that nothing is read from is not parsed either
        values = operation.read(request.data) if operation.parameters().fields else {}
        if operation.job:
            return job_response(request, operation.start(study, values, by=staff_of(request)))
        return self.answer(study, operation.run(study, values, by=staff_of(request)))

    def answer(self, study: Study, outcome: Outcome) -> Response:
        """Return the study as it is now."""
        return Response(StudySerializer(find_study(study.slug)).data)


class StudyNamed(Parameters):
    """The study that a body names."""

    study = serializers.CharField()


def named_study(request: Request, right: Right = Right.VIEW) -> Study:
    """Return the study that the body names, if who asks may do this to it."""
    return study_for(request, read_parameters(StudyNamed, request.data)["study"], right)


def with_study(parameters: type[Parameters]) -> type[Parameters]:
    """Return the parameters of a call whose body names the study too."""
    return type(
        parameters.__name__, (parameters,), {"study": serializers.CharField(), "__doc__": parameters.__doc__}
    )


def start_named(request: Request, operation: Operation, *, route: str = "api:jobs-detail") -> Response:
    """Ask for the job of an operation whose study stands in the body."""
    study = named_study(request, operation.right)
    return job_response(
        request, operation.start(study, operation.read(request.data), by=staff_of(request)), route=route
    )


def job_response(request: Request, job: Job, *, route: str = "api:jobs-detail") -> Response:
    """Return 202 with the job and its address."""
    place = reverse(route, args=[job.pk], request=request)
    return Response(JobSerializer(job).data, status=202, headers={"Location": place})


def operation_path(operation: Operation, view: type[OperationView] = OperationView) -> URLPattern:
    """Return the address of an operation, ``api:do-<name>``."""
    return path(
        f"studies/<str:slug>/{operation.name}/", view.of(operation).as_view(), name=f"do-{operation.name}"
    )
