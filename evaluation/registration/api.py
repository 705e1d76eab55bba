"""Registrations over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.parameters import Parameters
from evaluation.models import Registration
from evaluation.provenance import as_json
from evaluation.registration.deviations import deviations, outcomes
from evaluation.registration.plans import make_plan, outcome_words
from evaluation.registration.registering import register_study
from judgments.access.roles import Right, staff_of
from judgments.api.operations import named_study
from judgments.api.resources import Filters, Resource, study_filter


class RegistrationSerializer(serializers.ModelSerializer[Registration]):
    """A plan and a design as they were before the study opened."""

    study = serializers.CharField(source="study.slug", read_only=True)
    content = serializers.DictField(read_only=True, help_text="Its canonical JSON has the SHA-256.")

    class Meta:
        model = Registration
        fields = ["id", "study", "sha256", "content", "registered_at"]
        read_only_fields = fields


class RegistrationFilters(Filters):
    study = study_filter()

    class Meta:
        model = Registration
        fields = ["study"]


class RegistrationRequest(Parameters):
    """A study that was not opened yet, and its plan."""

    study = serializers.CharField()
    plan = serializers.DictField(help_text="What the table [registration] of a plan file holds.")


class OutcomeSerializer(serializers.Serializer[Any]):
    """A registered hypothesis, and what became of it."""

    text = serializers.CharField()
    claim = serializers.CharField(allow_blank=True)
    verdict = serializers.CharField()
    first_only = serializers.IntegerField(help_text="Pairs on which only the first metric is right.")
    second_only = serializers.IntegerField()
    p = serializers.FloatField(allow_null=True, help_text="McNemar, exact; null where nothing was tested.")
    adjusted = serializers.FloatField(allow_null=True, help_text="After Holm.")
    words = serializers.CharField()


class DeviationSerializer(serializers.Serializer[Any]):
    """Something that was not done as registered."""

    what = serializers.CharField()
    words = serializers.CharField()


class OutcomesSerializer(serializers.Serializer[Any]):
    """What became of a registered plan."""

    outcomes = OutcomeSerializer(many=True)
    deviations = DeviationSerializer(many=True)


@extend_schema_view(
    create=extend_schema(
        request=RegistrationRequest,
        responses={
            201: RegistrationSerializer,
            404: OpenApiResponse(description="No such study."),
        },
        description="Fixes a plan before the study opens; once, and for good.",
    ),
    outcomes=extend_schema(
        responses=OutcomesSerializer,
        description="What became of the hypotheses, and what was done otherwise.",
    ),
)
class RegistrationResource(Resource):
    """Plans that were fixed before their study opened."""

    queryset = Registration.objects.select_related("study")
    serializer_class = RegistrationSerializer
    filterset_class = RegistrationFilters
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "registered_at": "registered_at"}

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Register."""
        study = named_study(request, Right.CHANGE)
        plan = RegistrationRequest.read(request.data)["plan"]
        made = register_study(study=study, plan=make_plan(plan), by=staff_of(request))
        place = reverse("api:registrations-detail", args=[made.pk], request=request)
        return Response(
            self.get_serializer(made).data, status=status.HTTP_201_CREATED, headers={"Location": place}
        )

    @action(detail=True, methods=["get"])
    def outcomes(self, request: Request, pk: str) -> Response:
        """Computed from the rows as they are now."""
        study = self.get_object().study
        return Response(
            {
                "outcomes": [as_json(asdict(one)) | {"words": outcome_words(one)} for one in outcomes(study)],
                "deviations": [asdict(one) for one in deviations(study)],
            }
        )
