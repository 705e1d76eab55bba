"""Registered plans over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.amounts import as_json
from contrib.registration.deviations import find_deviations
from contrib.registration.models import Registration
from contrib.registration.plans import compute_outcomes, register_plan
from evaluation.reports.sections.registration import outcome_sentence
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import create_action
from judgments.api.resources import Related, Resource, RowSerializer


class RegistrationSerializer(RowSerializer[Registration]):
    """A registered plan, and the design at the time of the registration."""

    study = Related("study.slug")
    content = serializers.DictField(
        read_only=True,
        help_text="The study's slug, its plan and its design. `sha256` is the hash of this object as canonical JSON.",
    )

    class Meta:
        model = Registration
        fields = ["id", "study", "sha256", "content", "registered_at"]


class OutcomeSerializer(serializers.Serializer[Any]):
    """A registered hypothesis, and its result."""

    text = serializers.CharField(help_text="The hypothesis in words.")
    claim = serializers.CharField(
        allow_blank=True,
        help_text="The hypothesis as a comparison of two metrics, such as `cider-d > rouge-l on HC`; empty if people "
        "judge it.",
    )
    verdict = serializers.CharField(
        help_text="supported, not supported (the opposite was found), undecided (no significant difference, or not "
        "tested), or for people to judge (no claim)."
    )
    first_only = serializers.IntegerField(
        help_text="Number of pairs on which only the first metric of the claim is right; 0 if not tested."
    )
    second_only = serializers.IntegerField(
        help_text="Number of pairs on which only the second metric of the claim is right; 0 if not tested."
    )
    p = serializers.FloatField(
        allow_null=True,
        help_text="Two-sided p-value of the difference in accuracy of the two metrics; null if not tested.",
    )
    adjusted = serializers.FloatField(
        allow_null=True,
        help_text="The p-value with Holm's correction for all tested hypotheses of the plan; null if not tested.",
    )
    words = serializers.CharField(help_text="The result as a sentence.")


class DeviationSerializer(serializers.Serializer[Any]):
    """A deviation from the registered plan."""

    what = serializers.CharField(
        help_text="Kind of the deviation, such as design, exclusion or struck, or the code of an event in the "
        "study's log."
    )
    words = serializers.CharField(help_text="The deviation as a sentence.")
    quoted = serializers.BooleanField(
        help_text="Whether the sentence quotes the study's log, which may name people."
    )


class OutcomesSerializer(serializers.Serializer[Any]):
    """The results of the registered hypotheses, and the deviations from the plan."""

    outcomes = OutcomeSerializer(many=True)
    deviations = DeviationSerializer(many=True)


class RegistrationResource(Resource):
    """Plans that were registered before their study opened."""

    queryset = Registration.objects.select_related("study")
    serializer_class = RegistrationSerializer
    filterset_class = filters_of(Registration, study=study_filter())
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "registered_at": "registered_at"}
    create = create_action(
        register_plan,
        reply=RegistrationSerializer,
        route="api:registrations-detail",
        responses={404: OpenApiResponse(description="No such study.")},
    )

    @extend_schema(
        responses=OutcomesSerializer,
        description="The results of the hypotheses, and the deviations from the plan.",
    )
    @action(detail=True, methods=["get"])
    def outcomes(self, request: Request, pk: str) -> Response:
        study = self.get_object().study
        return Response(
            {
                "outcomes": [
                    as_json(asdict(row)) | {"words": outcome_sentence(row)} for row in compute_outcomes(study)
                ],
                "deviations": [asdict(deviation) for deviation in find_deviations(study)],
            }
        )
