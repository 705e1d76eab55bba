"""Consensus, reports and exports, for staff."""

from __future__ import annotations

from typing import Any

import django_filters as filters
from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
    extend_schema_view,
)
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.downloads import file_download
from evaluation.api.files import FILE_PATH, given_file, gives_a_file, lists_files, told_files
from evaluation.export.formats import FORMATS, TASKS, check_fits, format_named
from evaluation.models import Analysis, Consensus
from evaluation.services.exports import JOB_KIND, exported_file
from evaluation.services.reports import report_archive
from judgments import jobs
from judgments.access.permissions import staff_of, study_for
from judgments.api.bodies import RANGE_HEADERS, body_of, file_responses, member
from judgments.api.resources import Filters, JobSerializer, Resource, jobs_about, study_filter
from judgments.kinds import KINDS
from judgments.models import Job, Study


class ConsensusSerializer(serializers.ModelSerializer[Consensus]):
    """Of a unit or of a candidate pair; the other of the two is null."""

    study = serializers.CharField(source="study.slug", read_only=True)
    unit = serializers.CharField(source="unit.key", default=None, allow_null=True, read_only=True)
    pair = serializers.CharField(source="pair.key", default=None, allow_null=True, read_only=True)
    kind = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    votes = serializers.DictField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = Consensus
        fields = [
            *("id", "study", "unit", "pair", "kind", "source", "n", "value", "answer"),
            *("share", "margin", "tie", "votes"),
        ]
        read_only_fields = fields

    @extend_schema_field(OpenApiTypes.ANY)
    def get_answer(self, row: Any) -> Any:
        """What open answers say together, as files have it; what a kind says beside its value."""
        kind = KINDS[row.study.protocol]
        if row.answer is None or not kind.is_open:
            return row.answer
        return kind.exported(row.answer, content=row.unit.content)

    def get_kind(self, row: Any) -> str | None:
        """HC, HI, HM or MM, where there are pairs."""
        return (row.pair or row.unit).kind or None


class ConsensusFilters(Filters):
    """Of consensus rows."""

    study = study_filter()
    unit = filters.CharFilter(field_name="unit__key")
    pair = filters.CharFilter(field_name="pair__key")
    of = filters.ChoiceFilter(
        choices=[("units", "units"), ("pairs", "pairs")],
        method="of_units_or_pairs",
        label="Of units or pairs",
    )

    class Meta:
        model = Consensus
        fields = ["study", "unit", "pair", "of", "source", "tie"]

    def of_units_or_pairs(self, queryset: QuerySet[Consensus], name: str, value: str) -> QuerySet[Consensus]:
        """The one or the other."""
        return queryset.filter(pair=None) if value == "units" else queryset.filter(unit=None)


class ConsensusResource(Resource):
    """What the judgments of a unit or pair say together, as last aggregated."""

    scope = "reports"
    queryset = Consensus.objects.select_related("study", "unit", "pair")
    serializer_class = ConsensusSerializer
    filterset_class = ConsensusFilters


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
