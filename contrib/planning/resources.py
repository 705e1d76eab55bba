"""The API calls that start plans, and return them with their results."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from contrib.planning.operations import JOB_KIND, PowerPlanRequest, plan_job_arguments, start_power_plan
from evaluation.models import Analysis
from judgments.access.permissions import require_study_creation, staff_of, study_for
from judgments.access.rights import Right
from judgments.api.filters import filters_of
from judgments.api.jobs import jobs_about
from judgments.api.operations import with_study
from judgments.api.resources import Resource, RowSerializer
from judgments.jobs import queues
from judgments.models import Job, Study


class StoredPlan(NamedTuple):
    """A plan as it is stored. ``result`` is None until the simulation is done."""

    assumptions: dict[str, Any]
    result: dict[str, Any] | None


class PowerPlanHeadSerializer(RowSerializer[Job]):
    """A plan, and the progress of its simulation."""

    study = serializers.SerializerMethodField(help_text="Slug of the study; null for a plan without a study.")
    pilot = serializers.SerializerMethodField(
        help_text="Slug of the study from which assumptions were taken; null without a pilot."
    )

    class Meta:
        model = Job
        fields = ["id", "study", "pilot", "state", "progress", "error", "created_at", "finished_at"]

    @extend_schema_field({"type": "string", "nullable": True})
    def get_study(self, job: Job) -> str | None:
        return job.args.get("study") or None

    @extend_schema_field({"type": "string", "nullable": True})
    def get_pilot(self, job: Job) -> str | None:
        return job.args.get("pilot") or None


class PowerPlanSerializer(PowerPlanHeadSerializer):
    """A plan with its assumptions and, when the simulation is done, its result."""

    assumptions = serializers.SerializerMethodField(help_text="All assumptions of the plan, by name.")
    result = serializers.SerializerMethodField(
        help_text="`tried`: each design with its power and cost; `wanted`: the target power; `best`: the cheapest "
        "design that reaches it, null if none does; `fewer_votes` and `half_the_pairs`: two smaller designs for "
        "comparison, or null. The whole object is null until the simulation is done."
    )

    class Meta(PowerPlanHeadSerializer.Meta):
        fields = [*PowerPlanHeadSerializer.Meta.fields, "assumptions", "result"]

    @extend_schema_field(serializers.DictField())
    def get_assumptions(self, job: Job) -> dict[str, Any]:
        return self._stored_plan(job).assumptions

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_result(self, job: Job) -> dict[str, Any] | None:
        return self._stored_plan(job).result

    def _stored_plan(self, job: Job) -> StoredPlan:
        """Return the plan that is stored in the job or, for a plan of a study, in an analysis."""
        result = job.result or {}
        if "plan" in result:
            return StoredPlan(result["settings"], result["plan"])
        if "analysis" in result:
            analysis = Analysis.objects.filter(pk=result["analysis"], what=Analysis.Kind.PLAN).first()
            if analysis is not None:
                return StoredPlan(analysis.settings, analysis.result)
        return StoredPlan(job.args["assumptions"], None)


NamedPlanRequest = with_study(
    PowerPlanRequest,
    required=False,
    help_text="Slug of the study to plan; without it, the plan belongs to no study.",
)


@extend_schema_view(
    create=extend_schema(
        request=NamedPlanRequest,
        responses={
            202: PowerPlanHeadSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(
                description="The study does not compare pairs, or a plan is being simulated for it already."
            ),
        },
        description=start_power_plan.description,
    )
)
class PlanResource(Resource):
    """Plans: how many pairs, references and votes are needed to find the better of two systems or metrics."""

    scope = "reports"
    queryset = Job.objects.filter(kind=JOB_KIND)
    filterset_class = filters_of(Job, "state", study="args__study")
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "created_at": "created_at"}

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return PowerPlanHeadSerializer if self.action == "list" else PowerPlanSerializer

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Start a job that simulates a plan (kind plan_power)."""
        values = NamedPlanRequest.read(request.data)
        if "pilot" in values:
            values["pilot"] = study_for(request, values["pilot"]).slug
        slug = values.pop("study", "")
        if slug:
            job = start_power_plan.start(study_for(request, slug, Right.CHANGE), values, by=staff_of(request))
        else:
            require_study_creation(request)
            values.setdefault("assumptions", {})
            job = queues.enqueue(
                kind=JOB_KIND, args=plan_job_arguments(**values), user=staff_of(request), once=True
            )
        address = reverse("api:plans-detail", args=[job.pk], request=request)
        return Response(
            PowerPlanHeadSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": address}
        )
