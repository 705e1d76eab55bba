"""Exports, for staff."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_view,
)
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.downloads import file_download
from evaluation.export.exporting import JOB_KIND, exported_file
from evaluation.export.formats import FORMATS, TASKS, check_fits, format_named
from judgments import jobs
from judgments.access.permissions import staff_of, study_for
from judgments.api.bodies import RANGE_HEADERS, body_of, file_responses, member
from judgments.api.resources import Filters, JobSerializer, Resource, jobs_about
from judgments.models import Job, Study


class ExportRequest(serializers.Serializer[Any]):
    """What to export."""

    study = serializers.CharField()
    format = serializers.ChoiceField(choices=sorted(FORMATS))
    task = serializers.ChoiceField(choices=sorted(TASKS), required=False, help_text="qrels only.")


class ExportFilters(Filters):
    """Of exports."""

    study = filters.CharFilter(field_name="args__study")
    format = filters.CharFilter(field_name="args__format")

    class Meta:
        model = Job
        fields = ["study", "format", "state"]


@extend_schema_view(
    create=extend_schema(
        request=ExportRequest,
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The format does not fit the study."),
        },
        description="Starts writing a study's judgments to a file; follow `state`, then download.",
    ),
    download=extend_schema(
        parameters=[
            OpenApiParameter("manifest", bool, description="The manifest instead of the file."),
            *RANGE_HEADERS,
        ],
        responses=file_responses("application/json", *(one.content_type for one in FORMATS.values()))
        | {409: OpenApiResponse(description="It is not done.")},
        description="The file of a finished export.",
    ),
)
class ExportResource(Resource):
    """Files with a study's judgments, each with its manifest."""

    scope = "exports"
    queryset = Job.objects.filter(kind=JOB_KIND)
    serializer_class = JobSerializer
    filterset_class = ExportFilters
    orderings = {"id": "pk", "created_at": "created_at"}

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        """As for jobs."""
        return jobs_about(rows, studies, request)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A job of kind export."""
        body = body_of(request)
        study = study_for(request, member(body, "study", str))
        chosen = format_named(member(body, "format", str))
        check_fits(study, chosen)
        asked = {"study": study.slug, "format": chosen.name}
        task = member(body, "task", str, None)
        if task is not None and task not in TASKS:
            raise serializers.ValidationError({"task": [f"must be one of {', '.join(TASKS)}."]})
        if task is not None:
            asked["task"] = task
        job = jobs.enqueue(kind=JOB_KIND, args=asked, user=staff_of(request))
        place = reverse("api:exports-detail", args=[job.pk], request=request)
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": place})

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        """The bytes, as an attachment, or a range of them."""
        wants = request.query_params.get("manifest", "false").lower()
        if wants not in ("true", "false", "1", "0"):
            raise serializers.ValidationError({"manifest": ["must be true or false."]})
        file = exported_file(job=self.get_object(), manifest=wants in ("true", "1"))
        return file_download(request._request, file.path, name=file.name, content_type=file.content_type)
