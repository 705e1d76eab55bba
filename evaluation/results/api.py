"""What is computed from a study's judgments: asked for, and read in short."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters as filters
from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
)
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from common.errors import NotThere, WrongState
from evaluation.models import Analysis, Consensus
from evaluation.results.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER
from judgments import jobs
from judgments.access.permissions import staff_of, study_for
from judgments.api.bodies import body_of, member
from judgments.api.resources import Filters, JobSerializer, Resource, study_filter
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


class EvaluateRequest(serializers.Serializer[Any]):
    """Which metrics, on which tokens."""

    metrics = serializers.ListField(child=serializers.CharField(), min_length=1, required=False)
    tokenizer = serializers.CharField(required=False)


class ComputeView(APIView):
    """Starts a computation; results are rows that can be computed again, so who may look may ask for them."""

    scope: ClassVar[str] = "reports"

    def start(self, request: Request, kind: str, study: Study, **more: Any) -> Response:
        """202 with the job."""
        job = jobs.enqueue(kind=kind, args={"study": study.slug, **more}, user=staff_of(request))
        place = reverse("api:jobs-detail", args=[job.pk], request=request)
        return Response(JobSerializer(job).data, status=202, headers={"Location": place})


class AggregateView(ComputeView):
    """POST /api/studies/{slug}/aggregate/"""

    @extend_schema(
        request=None,
        responses={202: JobSerializer, 404: OpenApiResponse(description="No such study.")},
        operation_id="studies_aggregate",
        summary="Compute consensus and agreement",
    )
    def post(self, request: Request, slug: str) -> Response:
        """In the background; follow the job."""
        return self.start(request, "aggregate", study_for(request, slug))


class EvaluateView(ComputeView):
    """POST /api/studies/{slug}/evaluate/"""

    @extend_schema(
        request=EvaluateRequest,
        responses={
            202: JobSerializer,
            400: OpenApiResponse(description="Not of the documented shape."),
            404: OpenApiResponse(description="No such study."),
        },
        operation_id="studies_evaluate",
        summary="Hold metrics against the consensus",
    )
    def post(self, request: Request, slug: str) -> Response:
        """In the background; what cannot be computed is said in the job."""
        study, body = study_for(request, slug), body_of(request)
        metrics = member(body, "metrics", list, list(DEFAULT_METRICS))
        if not metrics or not all(type(name) is str for name in metrics):
            raise serializers.ValidationError({"metrics": ["must be a list of names."]})
        tokenizer = member(body, "tokenizer", str, DEFAULT_TOKENIZER)
        return self.start(request, "evaluate", study, metrics=metrics, tokenizer=tokenizer)


class MakeReportView(ComputeView):
    """POST /api/studies/{slug}/report/"""

    @extend_schema(
        request=None,
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(
                description="The study was never open, or its report is being made already."
            ),
        },
        operation_id="studies_report",
        summary="Make the report",
    )
    def post(self, request: Request, slug: str) -> Response:
        """In the background; afterwards it is a report of `what` = `report`, whose files can be downloaded."""
        study = study_for(request, slug)
        if study.state in (Study.State.DRAFT, Study.State.GENERATED):
            raise WrongState(
                f"Study {slug!r} is {study.state}; there is nothing to report before it is open."
            )
        under_way = Job.objects.filter(
            kind="report", args__study=slug, state__in=(Job.State.QUEUED, Job.State.RUNNING)
        )
        if under_way.exists():
            raise WrongState(f"The report of study {slug!r} is being made already.")
        return self.start(request, "report", study)


class AgreementView(ComputeView):
    """GET /api/studies/{slug}/agreement/"""

    @extend_schema(
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            404: OpenApiResponse(description="Not computed yet."),
        },
        operation_id="studies_agreement",
        summary="The last agreement and workers' quality",
    )
    def get(self, request: Request, slug: str) -> Response:
        """As the last ``aggregate`` stored it, with its settings and the hash of the judgments it came from."""
        return Response(_last(study_for(request, slug), Analysis.What.AGGREGATION))


class EvaluationView(ComputeView):
    """GET /api/studies/{slug}/evaluation/"""

    @extend_schema(
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            404: OpenApiResponse(description="Not computed yet."),
        },
        operation_id="studies_evaluation",
        summary="The last metrics against people",
    )
    def get(self, request: Request, slug: str) -> Response:
        """As the last ``evaluate`` stored it."""
        return Response(_last(study_for(request, slug), Analysis.What.META_EVALUATION))


def _last(study: Study, what: str) -> dict[str, Any]:
    found = Analysis.objects.filter(study=study, what=what).order_by("-created_at", "-pk").first()
    if found is None:
        raise NotThere(f"Nothing of this sort was computed for study {study.slug!r} yet.")
    return {
        "settings": found.settings,
        "signature": found.signature,
        "data_hash": found.data_hash,
        "created_at": found.created_at,
        "result": found.result,
    }
