"""Reports in the HTTP interface."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from evaluation.data.export.views import ArchiveFiles, describe_files
from evaluation.models import Analysis
from evaluation.reports.shared_page import full_link
from evaluation.reports.storage import report_archive
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import Study
from judgments.operations import Outcome


class ReportSerializer(RowSerializer[Analysis]):
    """A stored result, with its settings and signature."""

    study = Related("study.slug")
    settings = serializers.DictField(read_only=True)
    result = serializers.DictField(read_only=True)

    class Meta:
        model = Analysis
        fields = [
            *("id", "study", "what", "settings", "signature", "judgments", "data_hash", "result"),
            "created_at",
        ]


class ReportHeadSerializer(ReportSerializer):
    """A stored result without its content, for lists."""

    class Meta(ReportSerializer.Meta):
        fields = [name for name in ReportSerializer.Meta.fields if name != "result"]


@describe_files(
    "reports",
    files="The files of a report (`what` = `report`).",
    file="A file of a report, such as `figures/accuracy.pdf`.",
    download="All files of a report of `what` = `report` as a ZIP archive.",
)
class ReportResource(ArchiveFiles, Resource):
    """Stored results: agreement and participants, metrics compared with people, and reports.

    Lists leave the content out.
    """

    scope, row_name = "reports", "report"
    queryset = Analysis.objects.select_related("study")
    filterset_class = filters_of(Analysis, "what", study=study_filter())
    orderings = {"id": "pk", "created_at": "created_at"}

    def get_queryset(self) -> QuerySet[Analysis]:
        analyses = Analysis.objects.select_related("study")
        return analyses.defer("result") if self.action == "list" else analyses

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return ReportHeadSerializer if self.action == "list" else ReportSerializer

    def archive(self, row: Analysis) -> tuple[Path, str]:
        path = report_archive(row)
        return path, path.name


class LinkSerializer(serializers.Serializer[Any]):
    """The address that shows the report at present, or "" if there is none, for example because it was revoked."""

    address = serializers.CharField(allow_blank=True)


class ReportLinkView(OperationView):
    """The calls that share a report by a link, and that revoke the link."""

    responses = {**OperationView.responses, 200: LinkSerializer}

    def answer(self, study: Study, outcome: Outcome) -> Response:
        return Response({"address": full_link(self.request._request, study)})
