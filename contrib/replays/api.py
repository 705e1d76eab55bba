"""Replays of detectors over HTTP."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import bodies
from annotation.quality.detectors import RULES
from common.errors import WrongState
from contrib.replays.operations import settings_from_query
from contrib.replays.rule_replays import MAX_REPLAYED_JUDGMENTS, replay_rule
from contrib.replays.submitted_pages import finished_judgments
from judgments.access.permissions import study_for


class FlaggedWorkerSerializer(bodies.Schema):
    """A worker whom a detector would have flagged."""

    worker = serializers.CharField()
    answers = serializers.IntegerField(help_text="After how many of their answers.")
    words = serializers.CharField(allow_blank=True)
    numbers = serializers.DictField()
    judgments = serializers.IntegerField(help_text="That an exclusion would invalidate.")
    slots = serializers.IntegerField(help_text="That it would open again.")
    standing = serializers.CharField()
    simulated = serializers.BooleanField()


class ReplaySerializer(bodies.Schema):
    """The findings of one detector in finished work."""

    rule = serializers.CharField()
    settings = serializers.DictField()
    applies = serializers.BooleanField(help_text="Whether it means anything for this kind of study.")
    unrecorded = serializers.BooleanField(
        help_text="No answer holds what it looks at, so that it clears nobody."
    )
    workers = serializers.IntegerField()
    judgments = serializers.IntegerField()
    slots = serializers.IntegerField()
    found = FlaggedWorkerSerializer(many=True)


class ReplayView(APIView):
    """GET /api/studies/{slug}/replay/"""

    scope: ClassVar[str] = "workers"

    @extend_schema(
        parameters=[
            OpenApiParameter("rule", str, required=True, enum=sorted(RULES), description="Its name.")
        ],
        responses={200: ReplaySerializer, 404: bodies.Problem, 409: bodies.Problem},
        operation_id="studies_replay",
        summary="Whom a detector would have found",
        description="Every setting of the detector may be a query parameter too. Nothing is stored.",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Run a detector over the finished work, page by page in the order of submission."""
        study = study_for(request, slug)
        name = request.query_params.get("rule", "")
        if name not in RULES:
            raise ValidationError({"rule": [f"must be one of {', '.join(RULES)}."]})
        settings = settings_from_query(study, name, request.query_params.dict())
        if finished_judgments(study).count() > MAX_REPLAYED_JUDGMENTS:
            raise WrongState(
                f"Study {slug!r} has more than {MAX_REPLAYED_JUDGMENTS:,} judgments; use `manage.py replay_rules`."
            )
        return Response(replay_rule(study=study, rule=name, settings=settings).as_json())
