"""The calls that start, return and delete rehearsals."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import BigIntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from contrib.rehearsals.copies import ORIGINAL_NOTE
from contrib.rehearsals.operations import RehearsalRequest, delete_rehearsal, rehearse_copy
from evaluation.models import Analysis
from judgments.access.permissions import require_right, require_study_creation, staff_of, studies_of
from judgments.api.filters import filters_of, study_filter
from judgments.api.jobs import JobSerializer
from judgments.api.operations import named_study, with_study
from judgments.api.resources import SLUG, Resource, RowSerializer
from judgments.models import Job, Study


class RehearsalHeadSerializer(RowSerializer[Study]):
    """A copy of a study that simulated workers answer."""

    of = serializers.CharField(
        read_only=True,
        allow_null=True,
        help_text="Slug of the study that was copied; null if it was deleted or you may not read it.",
    )

    class Meta:
        model = Study
        fields = ["slug", "name", "of", "state", "created_at"]


class RehearsalSerializer(RehearsalHeadSerializer):
    """A copy of a study, with the settings of its simulated workers and the result of the rehearsal."""

    crowd = serializers.SerializerMethodField(
        help_text="Settings of the simulated participants; null until the rehearsal is done."
    )
    result = serializers.SerializerMethodField(
        help_text="Results by name: report (what the participants did), recovered (share of items whose consensus is "
        "the true answer), agreement, metrics, no_metrics, systems, power, cost, longest_hours and wage_cents; null "
        "until the rehearsal is done."
    )

    class Meta(RehearsalHeadSerializer.Meta):
        fields = [*RehearsalHeadSerializer.Meta.fields, "crowd", "result"]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_crowd(self, copy: Study) -> dict[str, Any] | None:
        analysis = Analysis.objects.newest(copy, Analysis.Kind.REHEARSAL)
        return analysis.settings if analysis else None

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_result(self, copy: Study) -> dict[str, Any] | None:
        analysis = Analysis.objects.newest(copy, Analysis.Kind.REHEARSAL)
        return analysis.result if analysis else None


def _copies_of(rows: QuerySet[Study], name: str, value: Study) -> QuerySet[Study]:
    return rows.filter(**{f"notes__{ORIGINAL_NOTE}": value.pk})


@extend_schema_view(
    create=extend_schema(
        request=with_study(RehearsalRequest),
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(
                description="The study has imported judgments or is a copy itself, or the settings of the participants "
                "are invalid."
            ),
        },
        description=rehearse_copy.description,
    ),
    destroy=extend_schema(
        responses={
            204: None,
            409: OpenApiResponse(description="The rehearsal is in progress, or other data depend on it."),
        },
        description=delete_rehearsal.description,
    ),
)
class RehearsalResource(Resource):
    """Copies of studies that simulated workers answered, with the results."""

    study_path, scope = "pk", "studies"
    filterset_class = filters_of(
        Study, "state", of=study_filter(method=_copies_of, label="Slug of the study that was copied.")
    )
    orderings: ClassVar[dict[str, str]] = {"created_at": "created_at"}
    lookup_field, lookup_value_regex = "slug", SLUG

    def get_queryset(self) -> QuerySet[Study]:
        copies = Study.objects.filter(simulated=True, notes__has_key=ORIGINAL_NOTE)
        if getattr(self, "swagger_fake_view", False):
            return copies
        # the note is JSON, which the database reads as text; "of" is null if the original is not visible
        original_id = Cast(KeyTextTransform(ORIGINAL_NOTE, "notes"), BigIntegerField())
        visible_originals = studies_of(self.request).order_by().filter(pk=OuterRef("of_pk"))
        return copies.annotate(of_pk=original_id).annotate(of=Subquery(visible_originals.values("slug")[:1]))

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return RehearsalHeadSerializer if self.action == "list" else RehearsalSerializer

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Create a copy of a study, and start a job in which simulated workers answer it."""
        study = named_study(request, rehearse_copy.right)
        require_study_creation(request)
        copy = rehearse_copy.run(study, rehearse_copy.read(request.data), by=staff_of(request)).value
        job = Job.objects.filter(kind="rehearse", args__study=copy.slug).latest("pk")
        url = reverse("api:rehearsals-detail", args=[copy.slug], request=request)
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": url})

    def destroy(self, request: Request, slug: str) -> Response:
        copy: Study = self.get_object()
        require_right(request, delete_rehearsal.right, copy)
        delete_rehearsal.run(copy, {}, by=staff_of(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
