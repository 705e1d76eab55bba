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

    worker = serializers.CharField(help_text="Name of the worker.")
    answers = serializers.IntegerField(
        help_text="Number of the worker's answers after which the detector would have flagged them."
    )
    words = serializers.CharField(allow_blank=True, help_text="What the detector found, as a sentence.")
    numbers = serializers.DictField(help_text="The evidence: numbers by name, which differ by detector.")
    judgments = serializers.IntegerField(
        help_text="Number of judgments that an exclusion of the worker would invalidate now."
    )
    slots = serializers.IntegerField(help_text="Number of places that the exclusion would open again.")
    standing = serializers.CharField(help_text="Status of the worker in the study, such as active or paused.")
    simulated = serializers.BooleanField(help_text="Whether the worker is simulated, by a rehearsal.")


class ReplaySerializer(bodies.Schema):
    """The findings of one detector in finished work."""

    rule = serializers.CharField(help_text="Name of the detector.")
    settings = serializers.DictField(help_text="All settings of the detector, with defaults.")
    applies = serializers.BooleanField(
        help_text="false if the detector does not fit the study's protocol, or no answer has the data that it needs."
    )
    unrecorded = serializers.BooleanField(
        help_text="Only of detectors of how texts were written: true if no answer has the data that the detector "
        "needs, so that an empty `found` means nothing."
    )
    workers = serializers.IntegerField(help_text="Number of the study's workers.")
    judgments = serializers.IntegerField(
        help_text="Number of judgments that the exclusion of all flagged workers would invalidate now."
    )
    slots = serializers.IntegerField(help_text="Number of places that these exclusions would open again.")
    found = FlaggedWorkerSerializer(many=True, help_text="The flagged workers, by name.")


class ReplayView(APIView):
    """GET /api/studies/{slug}/replay/"""

    scope: ClassVar[str] = "workers"

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "rule", str, required=True, enum=sorted(RULES), description="Name of the detector."
            )
        ],
        responses={200: ReplaySerializer, 404: bodies.Problem, 409: bodies.Problem},
        operation_id="studies_replay",
        summary="The workers whom a detector would have flagged",
        description="Settings of the detector are further query parameters, by name. Nothing is stored.",
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
