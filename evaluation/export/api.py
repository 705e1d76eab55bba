"""Exports over HTTP."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.downloads import file_download
from evaluation.export.exporting import JOB_KIND, exported_file
from evaluation.export.formats import FORMATS
from evaluation.export.operations import ExportRequest, export
from judgments.api.bodies import RANGE_HEADERS, file_responses
from judgments.api.operations import start_named, with_study
from judgments.api.resources import Filters, JobSerializer, Resource, jobs_about
from judgments.models import Job, Study


class ExportFilters(Filters):
    study = filters.CharFilter(field_name="args__study")
    format = filters.CharFilter(field_name="args__format")

    class Meta:
        model = Job
        fields = ["study", "format", "state"]


@extend_schema_view(
    create=extend_schema(
        request=with_study(ExportRequest),
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The format does not fit the study."),
        },
        description=export.description,
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
        return jobs_about(rows, studies, request)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A job of kind export."""
        return start_named(request, export, route="api:exports-detail")

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        """The bytes, as an attachment, or a range of them."""
        wants = request.query_params.get("manifest", "false").lower()
        if wants not in ("true", "false", "1", "0"):
            raise serializers.ValidationError({"manifest": ["must be true or false."]})
        file = exported_file(job=self.get_object(), manifest=wants in ("true", "1"))
        return file_download(request._request, file.path, name=file.name, content_type=file.content_type)
