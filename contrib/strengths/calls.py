"""The strengths of systems over HTTP, and their URL below /api/."""

from __future__ import annotations

from typing import Any, ClassVar

from django.urls import path
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from contrib.strengths.parameters import StrengthsRequest
from contrib.strengths.strengths import cached_strengths
from judgments.access.permissions import study_for


class StrengthSerializer(serializers.Serializer[Any]):
    system = serializers.CharField()
    strength = serializers.FloatField(allow_null=True, help_text="On a log scale, with mean 0.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    best_rank = serializers.IntegerField(allow_null=True)
    worst_rank = serializers.IntegerField(allow_null=True)
    shown = serializers.IntegerField(
        required=False, help_text="Of the best of several: lists with a caption of the system."
    )
    best = serializers.FloatField(
        required=False, allow_null=True, help_text="The share of them in which it was the best."
    )
    best_low = serializers.FloatField(required=False, allow_null=True)
    best_high = serializers.FloatField(required=False, allow_null=True)
    pairs = serializers.IntegerField(required=False, help_text="Of pairs: those of the system and another.")
    won = serializers.FloatField(
        required=False, allow_null=True, help_text="The share of them that it won by most judgments of each."
    )
    won_low = serializers.FloatField(required=False, allow_null=True)
    won_high = serializers.FloatField(required=False, allow_null=True)
    p = serializers.FloatField(
        allow_null=True, help_text="Of the best system against this one, as in the verdict; null of the best."
    )


class NextComparisonSerializer(serializers.Serializer[Any]):
    first = serializers.CharField()
    second = serializers.CharField()
    gain = serializers.FloatField(help_text="Information gain of one more judgment, in nats.")


class EffectSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class SideBiasSerializer(EffectSerializer):
    p = serializers.FloatField(allow_null=True, help_text="Of one half.")
    n = serializers.IntegerField()
    clusters = serializers.DictField(child=serializers.IntegerField())
    scope = serializers.CharField()


class StrengthsSerializer(serializers.Serializer[Any]):
    """The systems of a study with their strengths by people's choices, strongest first."""

    systems = StrengthSerializer(many=True)
    next = NextComparisonSerializer(many=True, help_text="The most informative pairs to judge next.")
    length = EffectSerializer(allow_null=True, help_text="Log-odds of a standard deviation in length.")
    order_effect = EffectSerializer(
        allow_null=True,
        help_text="Log-odds of standing on the left, which the strengths leave out; null without the option.",
    )
    side_bias = SideBiasSerializer(allow_null=True, help_text="The share of choices of the left.")
    ties = serializers.FloatField(help_text="Share of judgments for neither side.")
    levels = serializers.ListField(child=serializers.IntegerField())  # degrees of preference
    cuts = serializers.ListField(child=serializers.FloatField(allow_null=True))  # parameters of the model
    control = serializers.CharField()  # what the strengths are adjusted for, such as length
    clusters = serializers.DictField(child=serializers.IntegerField())
    scope = serializers.CharField(help_text="Whether intervals hold for items and people, or these people.")
    model = serializers.CharField()
    comparisons = serializers.IntegerField()
    weighted = serializers.BooleanField(
        help_text="Whether judgments weigh one over a chance: of a pair of systems in an arena, or of an item."
    )
    log_likelihood = serializers.FloatField(allow_null=True)
    converged = serializers.BooleanField()
    reason = serializers.CharField(allow_blank=True, help_text="Why there are no strengths or intervals.")
    note = serializers.CharField(allow_blank=True)
    signature = serializers.CharField()
    ranks = serializers.CharField(help_text="Signature of the rank bands.")


class StrengthsView(APIView):
    """GET /api/studies/{slug}/strengths/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        parameters=[StrengthsRequest],
        responses={
            200: StrengthsSerializer,
            404: OpenApiResponse(description="No such study that you may read."),
        },
        operation_id="studies_strengths",
        summary="The systems by people's choices, with rank bands",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the strengths of systems, with intervals by image and person.

        The model has ties and degrees of preference, or is that of choices of the best of several.
        """
        study = study_for(request, slug)
        parameter_names = StrengthsRequest().fields
        for name in request.query_params:
            if name not in parameter_names:
                raise ValidationError({name: ["is no parameter of this list."]})
        return Response(cached_strengths(study, **StrengthsRequest.read(request.query_params)))


urlpatterns = [path("studies/<str:slug>/strengths/", StrengthsView.as_view(), name="strengths")]
