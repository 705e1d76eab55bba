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


def _interval_limit(end: str, figure: str, **options: Any) -> serializers.FloatField:
    """Return the field with an end, "Lower" or "Upper", of a figure's interval."""
    text = f"{end} limit of the 95 % interval of {figure}; null without one."
    return serializers.FloatField(allow_null=True, help_text=text, **options)


class StrengthSerializer(serializers.Serializer[Any]):
    """A system with its strength and rank band, and how often people preferred its texts."""

    system = serializers.CharField(help_text="Name of the system; `people` stands for texts by people.")
    strength = serializers.FloatField(
        allow_null=True,
        help_text="Strength on a log scale; the mean of all systems is 0. null if the model could not be fitted.",
    )
    low = _interval_limit("Lower", "the strength")
    high = _interval_limit("Upper", "the strength")
    best_rank = serializers.IntegerField(
        allow_null=True,
        help_text="Best plausible rank, from 1; the rank bands of all systems hold together with 95 %. "
        "null if unknown.",
    )
    worst_rank = serializers.IntegerField(allow_null=True, help_text="Worst plausible rank; null if unknown.")
    shown = serializers.IntegerField(
        required=False,
        help_text="Only in studies that ask for the best of several texts: number of judged lists with a text of the "
        "system.",
    )
    best = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="Only with `shown`: share of these lists in which a text of the system was the best.",
    )
    best_low = _interval_limit("Lower", "`best`", required=False)
    best_high = _interval_limit("Upper", "`best`", required=False)
    pairs = serializers.IntegerField(
        required=False,
        help_text="Only in studies of pairs: number of pairs with a consensus or a tie that compare the system with "
        "another one.",
    )
    won = serializers.FloatField(
        required=False,
        allow_null=True,
        help_text="Only in studies of pairs: share of these pairs that the system won by the consensus; a tie counts "
        "as half a win.",
    )
    won_low = _interval_limit("Lower", "`won`", required=False)
    won_high = _interval_limit("Upper", "`won`", required=False)
    p = serializers.FloatField(
        allow_null=True,
        help_text="p-value, with Holm's correction, of the test of the best system against this one, as in the verdict "
        "on systems; null for the best system itself, and for two systems that cannot be tested.",
    )


class NextComparisonSerializer(serializers.Serializer[Any]):
    """Two systems that are worth comparing next, and what one more judgment of them gains."""

    first = serializers.CharField(help_text="Name of a system.")
    second = serializers.CharField(help_text="Name of the other system.")
    gain = serializers.FloatField(
        help_text="Decrease of the log determinant (natural logarithm) of the strengths' covariance by one more "
        "judgment of the two systems."
    )


class EffectSerializer(serializers.Serializer[Any]):
    """An estimated effect with its interval."""

    value = serializers.FloatField(
        allow_null=True, help_text="Estimate; null if the model could not be fitted."
    )
    low = _interval_limit("Lower", "the estimate")
    high = _interval_limit("Upper", "the estimate")


class SideBiasSerializer(EffectSerializer):
    """The share of judgments that chose the text on the left, with its interval and test."""

    p = serializers.FloatField(
        allow_null=True,
        help_text="p-value of the test that the share is one half; null if it cannot be tested.",
    )
    n = serializers.IntegerField(help_text="Number of judgments that chose a side.")
    clusters = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Numbers of clusters of the interval by name, such as item and rater.",
    )
    scope = serializers.CharField(help_text="As `scope` of the strengths, for this share.")


class StrengthsSerializer(serializers.Serializer[Any]):
    """The systems of a study with their strengths by people's choices, strongest first."""

    systems = StrengthSerializer(many=True)
    next = NextComparisonSerializer(
        many=True,
        help_text="Up to three pairs of systems of which one more judgment would be most informative, best first. "
        "Empty without a fit, and for the best of several texts.",
    )
    length = EffectSerializer(
        allow_null=True,
        help_text="Change of the log-odds per standard deviation of the difference in length; null without the control "
        "for length or without a fit.",
    )
    order_effect = EffectSerializer(
        allow_null=True,
        help_text="What standing on the left adds to the log-odds of a text; the strengths are without it. null if the "
        "parameter `order_effect` is not set.",
    )
    side_bias = SideBiasSerializer(
        allow_null=True,
        help_text="Share of judgments that chose the text on the left, among those that chose a side; null if sides "
        "are unknown or the first text was always on the same side.",
    )
    ties = serializers.FloatField(
        help_text="Share of judgments that preferred neither text; 0 for the best of several texts."
    )
    levels = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Degrees of preference in the answers and their opposites: positive for the first text, negative "
        "for the second, 0 for neither. Empty for the best of several texts.",
    )
    cuts = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="Fitted parameters of the degrees of preference: a_|c| of the model adjacent, thresholds t of the "
        "model cumulative. Empty without a fit, and for the best of several texts.",
    )
    control = serializers.CharField(
        help_text="What the strengths are adjusted for: length (as if all texts were equally long), or none."
    )
    clusters = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="Numbers of clusters of the intervals by name, such as item and rater.",
    )
    scope = serializers.CharField(
        help_text="What intervals and tests generalise to: `items and people`, or `these people` (only to other "
        "items)."
    )
    model = serializers.CharField(
        help_text="Model of the strengths: adjacent or cumulative for pairs, luce for the best of several texts."
    )
    comparisons = serializers.IntegerField(help_text="Number of judgments to which the model was fitted.")
    weighted = serializers.BooleanField(
        help_text="Whether each judgment has the weight 1 / p, where p is the probability with which its pair of "
        "systems (in an arena) or its item (if items were chosen by usefulness) was sampled."
    )
    log_likelihood = serializers.FloatField(
        allow_null=True, help_text="Log-likelihood of the fitted model; null without a fit."
    )
    converged = serializers.BooleanField(help_text="Whether the fit reached its maximum.")
    reason = serializers.CharField(
        allow_blank=True, help_text="Why there are no strengths or intervals; empty if there are."
    )
    note = serializers.CharField(allow_blank=True, help_text="A remark on the fit; empty if there is none.")
    signature = serializers.CharField(help_text="Method and settings of the strengths in one line.")
    ranks = serializers.CharField(help_text="Method and settings of the rank bands in one line.")


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

        The model is one of pairs, with ties and degrees of preference, or one of the best of several texts.
        """
        study = study_for(request, slug)
        parameter_names = StrengthsRequest().fields
        for name in request.query_params:
            if name not in parameter_names:
                raise ValidationError({name: ["is no parameter of this list."]})
        return Response(cached_strengths(study, **StrengthsRequest.read(request.query_params)))


urlpatterns = [path("studies/<str:slug>/strengths/", StrengthsView.as_view(), name="strengths")]
