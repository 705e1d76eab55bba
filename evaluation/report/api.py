"""Reports, for staff."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.utils import (
    extend_schema,
    extend_schema_view,
)
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.downloads import file_download
from evaluation.export.files_api import FILE_PATH, given_file, gives_a_file, lists_files, told_files
from evaluation.models import Analysis
from evaluation.report.storage import report_archive
from judgments.api.bodies import RANGE_HEADERS, file_responses
from judgments.api.resources import Filters, Resource, study_filter


class ReportSerializer(serializers.ModelSerializer[Analysis]):
    """A stored result with how it was made."""

    study = serializers.CharField(source="study.slug", read_only=True)
    settings = serializers.DictField(read_only=True)
    result = serializers.DictField(read_only=True)

    class Meta:
        model = Analysis
        fields = [
            "id",
            "study",
            "what",
            "settings",
            "signature",
            "judgments",
            "data_hash",
            "result",
            "created_at",
        ]
        read_only_fields = fields


class ReportHeadSerializer(ReportSerializer):
    """The same without the result, for lists."""

    class Meta(ReportSerializer.Meta):
        fields = [name for name in ReportSerializer.Meta.fields if name != "result"]
        read_only_fields = fields


class ReportFilters(Filters):
    """Of reports."""

    study = study_filter()

    class Meta:
        model = Analysis
        fields = ["study", "what"]


@extend_schema_view(
    download=extend_schema(
        parameters=RANGE_HEADERS,
        responses=file_responses("application/zip"),
        description="All files of a report of `what` = `report` as a ZIP archive.",
    )
)
class ReportResource(Resource):
    """Analyses: agreement and workers, metrics against people. A list leaves the results out."""

    scope = "reports"
    queryset = Analysis.objects.select_related("study")
    filterset_class = ReportFilters
    orderings = {"id": "pk", "created_at": "created_at"}

    def get_queryset(self) -> QuerySet[Analysis]:
        """Results are large: a list does not fetch them."""
        found = Analysis.objects.select_related("study")
        return found.defer("result") if self.action == "list" else found

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        """With the result only for a single report."""
        return ReportHeadSerializer if self.action == "list" else ReportSerializer

    @lists_files("reports", "The files of a report (`what` = `report`).")
    @action(detail=True, methods=["get"], url_path="files")
    def files(self, request: Request, pk: str) -> Response:
        """Figures, tables, texts, and the manifest with their hashes."""
        found = self.get_object()
        return told_files(report_archive(found), request, route="api:reports-file", pk=found.pk)

    @gives_a_file("A file of a report, such as `figures/accuracy.pdf`.")
    @action(detail=True, methods=["get"], url_path=FILE_PATH, url_name="file")
    def file(self, request: Request, pk: str, name: str) -> HttpResponseBase:
        """The bytes, as an attachment, or a range of them."""
        return given_file(request, report_archive(self.get_object()), name, what="report")

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        """The bytes, as an attachment, or a range of them."""
        path = report_archive(self.get_object())
        return file_download(request._request, path, name=path.name, content_type="application/zip")
