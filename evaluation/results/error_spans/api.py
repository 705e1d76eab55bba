"""Marked errors by system over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evaluation.data.provenance import as_json
from evaluation.errors import EvaluationError, as_sentence
from evaluation.results.error_spans.scores import compare_systems, segments_of, system_scores
from judgments.access.permissions import study_for


class SystemScoreSerializer(serializers.Serializer[Any]):
    """A system's mean over its segments."""

    system = serializers.CharField()
    score = serializers.FloatField(
        help_text="People's score from 0 to 100, or MQM's where none was asked for."
    )
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    mqm = serializers.FloatField(help_text="Minus the weights of the errors.")
    z = serializers.FloatField(allow_null=True, help_text="Of scores standardised by worker.")
    errors = serializers.DictField(  # type: ignore[assignment]  # a member of the answer
        child=serializers.FloatField(), help_text="Severity -> errors that a judge marks in a segment."
    )
    segments = serializers.IntegerField()
    judgments = serializers.IntegerField()


class SystemComparisonSerializer(serializers.Serializer[Any]):
    """The first system less the second, over the segments of both."""

    first = serializers.CharField()
    second = serializers.CharField()
    difference = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    p = serializers.FloatField(allow_null=True)
    better = serializers.IntegerField(help_text="Segments on which the first has the higher score.")
    worse = serializers.IntegerField()
    segments = serializers.IntegerField()
    reason = serializers.CharField(allow_blank=True, help_text="Why there is no interval.")


class ErrorSpansSerializer(serializers.Serializer[Any]):
    systems = SystemScoreSerializer(many=True)
    comparison = SystemComparisonSerializer(allow_null=True)


class ErrorSpansView(APIView):
    """GET /api/studies/{slug}/error-spans/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        parameters=[
            OpenApiParameter("first", str, description="A system, compared with `second`."),
            OpenApiParameter("second", str),
        ],
        responses={
            200: ErrorSpansSerializer,
            400: OpenApiResponse(
                description="The study's answers are no marked errors, or has no such system."
            ),
            404: OpenApiResponse(description="No such study that you may read."),
        },
        operation_id="studies_error_spans",
        summary="Systems by their marked errors",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Scores of systems as WMT computes them, and two of them compared."""
        study = study_for(request, slug)
        first, second = (request.query_params.get(name, "") for name in ("first", "second"))
        try:
            segments = segments_of(study)
            result = {"systems": [as_json(score) for score in system_scores(segments)], "comparison": None}
            if first or second:
                result["comparison"] = as_json(compare_systems(segments, first, second))
        except EvaluationError as error:
            raise ValidationError(as_sentence(error)) from None
        return Response(result)
