"""What is computed from a study's judgments: asked for, and read in short."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from common.errors import NotThere, WrongState
from evaluation.models import Analysis, Consensus
from evaluation.results.follow_up import candidate_of, settled_units, take_known_items
from evaluation.results.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER
from judgments import jobs
from judgments.access.permissions import staff_of, studies_of, study_for
from judgments.access.roles import Right
from judgments.api.bodies import body_of, member
from judgments.api.resources import JobSerializer, Resource
from judgments.kinds import KINDS
from judgments.models import Job, Study


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


MOST = 1000


class KnownItemSerializer(serializers.ModelSerializer[Consensus]):
    """A unit of another study that everybody answered alike, or that was decided."""

    study = serializers.CharField(source="unit.study.slug", read_only=True)
    unit = serializers.CharField(source="unit.key", read_only=True)
    image = serializers.CharField(source="unit.item.name", read_only=True)
    expected = serializers.SerializerMethodField(
        help_text="The answer, in the study file's form; null where votes differ too much for a known item."
    )

    class Meta:
        model = Consensus
        fields = ["id", "study", "unit", "image", "source", "n", "expected"]
        read_only_fields = fields

    @extend_schema_field(OpenApiTypes.ANY)
    def get_expected(self, row: Consensus) -> Any:
        """What everybody said."""
        assert row.unit is not None
        found = candidate_of(KINDS[row.unit.study.protocol], row)
        return found.expected if found else None


class TakeRequest(serializers.Serializer[Any]):
    """Which of them."""

    chosen = serializers.ListField(child=serializers.IntegerField(), min_length=1, max_length=MOST)


class TakenReply(serializers.Serializer[Any]):
    """How many were new to the design."""

    added = serializers.IntegerField()


@extend_schema_view(
    list=extend_schema(operation_id="studies_known_items", responses=KnownItemSerializer),
    create=extend_schema(
        operation_id="studies_take_known_items",
        request=TakeRequest,
        responses={200: TakenReply, 409: OpenApiResponse(description="The design is frozen, or none fits.")},
        filters=False,
    ),
)
class KnownItemResource(Resource):
    """Units of other studies of the same dataset and kind that could be known items of this one."""

    queryset = Consensus.objects.none()
    serializer_class = KnownItemSerializer
    study_path: ClassVar[str] = "unit__study"

    def get_queryset(self) -> QuerySet[Consensus]:
        """Of studies that who asks may see."""
        if getattr(self, "swagger_fake_view", False):
            return Consensus.objects.none()
        study = study_for(self.request, self.kwargs["slug"])
        return settled_units(study).filter(study__in=studies_of(self.request).order_by().values("pk"))

    def create(self, request: Request, slug: str) -> Response:
        """Add them to the draft's design."""
        study = study_for(request, slug, Right.CHANGE)
        chosen = member(body_of(request), "chosen", list)
        if not 1 <= len(chosen) <= MOST or not all(type(pk) is int and 0 < pk < 2**63 for pk in chosen):
            raise ValidationError({"chosen": [f"must hold 1 to {MOST} ids of this list."]})
        offered = list(self.get_queryset().filter(pk__in=chosen).values_list("pk", flat=True))
        return Response({"added": take_known_items(study=study, chosen=offered)})
