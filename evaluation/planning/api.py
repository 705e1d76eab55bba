"""Plans and rehearsals over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.rehearsal import OF, RehearsalRequest, delete, rehearse_copy
from evaluation.models import Analysis
from evaluation.planning.planning import JOB_KIND, PowerPlanRequest, plan_args, plan_power
from evaluation.planning.rehearsals import newest_rehearsal
from judgments import jobs
from judgments.access.permissions import require, staff_of, studies_of, study_for, token_of
from judgments.access.roles import Right
from judgments.api.operations import named_study, with_study
from judgments.api.resources import (
    SLUG,
    JobSerializer,
    Resource,
    RowSerializer,
    filters_of,
    jobs_about,
    study_filter,
)
from judgments.models import Job, Study


def may_create(request: Request) -> None:
    """Raise PermissionDenied without the permission to add studies, or for a limited token."""
    token = token_of(request)
    if not staff_of(request).has_perm("judgments.add_study"):
        raise PermissionDenied("This takes the permission to add studies.")
    if token is not None and token.limited:
        raise PermissionDenied("A token of some studies creates none.")


class PowerPlanHeadSerializer(RowSerializer[Job]):
    """A plan, and how far its simulation is."""

    study = serializers.SerializerMethodField(help_text="Slug; null for a plan of no study yet.")
    pilot = serializers.SerializerMethodField(help_text="Slug of the study whose people were taken, or null.")

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
    """With what was assumed and what came of it, once it is done."""

    assumptions = serializers.SerializerMethodField()
    result = serializers.SerializerMethodField(
        help_text="tried, best, fewer_votes, half_the_pairs; null before it is done."
    )

    class Meta(PowerPlanHeadSerializer.Meta):
        fields = [*PowerPlanHeadSerializer.Meta.fields, "assumptions", "result"]

    @extend_schema_field(serializers.DictField())
    def get_assumptions(self, job: Job) -> dict[str, Any]:
        assumptions: dict[str, Any] = self._settings_and_result(job)[0]
        return assumptions

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_result(self, job: Job) -> dict[str, Any] | None:
        return self._settings_and_result(job)[1]

    def _settings_and_result(self, job: Job) -> tuple[dict[str, Any], dict[str, Any] | None]:
        result = job.result or {}
        if "plan" in result:
            return result["settings"], result["plan"]
        stored = result.get("analysis", 0)  # 0 is no row's
        analysis = Analysis.objects.filter(pk=stored, what=Analysis.What.PLAN).first()
        return (analysis.settings, analysis.result) if analysis else (job.args["assumptions"], None)


NamedPlanRequest = with_study(
    PowerPlanRequest, required=False, help_text="Slug; without one, a plan of no study yet."
)


@extend_schema_view(
    create=extend_schema(
        request=NamedPlanRequest,
        responses={
            202: PowerPlanHeadSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The study compares no pairs, or is being planned already."),
        },
        description=plan_power.description,
    )
)
class PlanResource(Resource):
    """How many pairs, references and votes tell two systems or metrics apart."""

    scope = "reports"
    queryset = Job.objects.filter(kind=JOB_KIND)
    filterset_class = filters_of(Job, "state", study="args__study")
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "created_at": "created_at"}

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return PowerPlanHeadSerializer if self.action == "list" else PowerPlanSerializer

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A job of kind plan_power."""
        values = NamedPlanRequest.read(request.data)
        if "pilot" in values:
            values["pilot"] = study_for(request, values["pilot"]).slug
        slug = values.pop("study", "")
        if slug:
            job = plan_power.start(study_for(request, slug, Right.CHANGE), values, by=staff_of(request))
        else:
            may_create(request)
            planned = plan_args(**{"assumptions": {}, **values})
            job = jobs.enqueue(kind=JOB_KIND, args=planned, user=staff_of(request), once=True)
        address = reverse("api:plans-detail", args=[job.pk], request=request)
        return Response(
            PowerPlanHeadSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": address}
        )


class RehearsalHeadSerializer(RowSerializer[Study]):
    """A copy of a study that simulated workers answer."""

    of = serializers.CharField(read_only=True, allow_null=True, help_text="The study's slug.")

    class Meta:
        model = Study
        fields = ["slug", "name", "of", "state", "created_at"]


class RehearsalSerializer(RehearsalHeadSerializer):
    """With what came of it."""

    crowd = serializers.SerializerMethodField(help_text="Who answered; null before it is done.")
    result = serializers.SerializerMethodField(
        help_text="report, recovered, agreement, metrics, systems, power, cost; null before it is done."
    )

    class Meta(RehearsalHeadSerializer.Meta):
        fields = [*RehearsalHeadSerializer.Meta.fields, "crowd", "result"]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_crowd(self, copy: Study) -> dict[str, Any] | None:
        analysis = newest_rehearsal(copy)
        return analysis.settings if analysis else None

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_result(self, copy: Study) -> dict[str, Any] | None:
        analysis = newest_rehearsal(copy)
        return analysis.result if analysis else None


def _of_study(rows: QuerySet[Study], name: str, value: Study) -> QuerySet[Study]:
    return rows.filter(**{f"notes__{OF}": value.pk})


@extend_schema_view(
    create=extend_schema(
        request=with_study(RehearsalRequest),
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="There is nothing to rehearse, or the crowd is none."),
        },
        description=rehearse_copy.description,
    ),
    destroy=extend_schema(
        responses={204: None, 409: OpenApiResponse(description="It is under way, or something rests on it.")},
        description=delete.description,
    ),
)
class RehearsalResource(Resource):
    """Copies of studies that simulated workers answered, and what came of it."""

    study_path, scope = "pk", "studies"
    filterset_class = filters_of(Study, "state", of=study_filter(method=_of_study, label="The study's slug."))
    orderings: ClassVar[dict[str, str]] = {"created_at": "created_at"}
    lookup_field, lookup_value_regex = "slug", SLUG

    def get_queryset(self) -> QuerySet[Study]:
        copies = Study.objects.filter(simulated=True, notes__has_key=OF)
        if getattr(self, "swagger_fake_view", False):
            return copies
        number = Cast(KeyTextTransform(OF, "notes"), BigIntegerField())
        seen = studies_of(self.request).order_by().filter(pk=OuterRef("of_pk"))
        return copies.annotate(of_pk=number).annotate(of=Subquery(seen.values("slug")[:1]))

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return RehearsalHeadSerializer if self.action == "list" else RehearsalSerializer

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A copy, and a job that answers it."""
        study = named_study(request, rehearse_copy.right)
        may_create(request)
        copy = rehearse_copy.run(study, rehearse_copy.read(request.data), by=staff_of(request)).value
        job = Job.objects.filter(kind="rehearse", args__study=copy.slug).latest("pk")
        url = reverse("api:rehearsals-detail", args=[copy.slug], request=request)
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": url})

    def destroy(self, request: Request, slug: str) -> Response:
        copy: Study = self.get_object()
        require(request, delete.right, copy)
        delete.run(copy, {}, by=staff_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
