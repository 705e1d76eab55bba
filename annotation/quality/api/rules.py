"""Detectors and their replays over HTTP."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api import bodies
from annotation.models import QualityRule
from annotation.quality.detectors import RULES
from annotation.quality.histories import finished_judgments
from annotation.quality.operations import settings_from_query
from annotation.quality.rule_replays import MAX_REPLAYED_JUDGMENTS, replay_rule
from common.errors import WrongState
from judgments.access.permissions import study_for
from judgments.api.filters import filters_of, study_filter
from judgments.api.operations import OperationView
from judgments.api.resources import Related, Resource, RowSerializer


class RuleSerializer(RowSerializer[QualityRule]):
    """A detector of a study."""

    study = Related("study.slug")
    settings = serializers.DictField(read_only=True, help_text="Settings that differ from the defaults.")
    changed_by = Related("changed_by.username", optional=True)

    class Meta:
        model = QualityRule
        fields = ["id", "study", "rule", "action", "enabled", "settings", "changed_by", "changed_at"]


class RuleResource(Resource):
    """The detectors that watch studies; their findings are in ``cases``."""

    reading, scope = "annotation.view_qualityrule", "workers"
    queryset = QualityRule.objects.select_related("study", "changed_by")
    serializer_class = RuleSerializer
    filterset_class = filters_of(QualityRule, "rule", "action", "enabled", study=study_filter())


class RuleView(OperationView):
    """PUT /api/studies/{slug}/rules/{rule}/"""

    method = "put"
    http_method_names = ["put", "options"]
    reply = RuleSerializer
    responses: ClassVar[dict[Any, Any]] = {200: RuleSerializer, 404: bodies.Problem, 409: bodies.Problem}

    def put(self, request: Request, slug: str, rule: str) -> Response:
        return self.do(request, slug, rule=rule)


class FoundSerializer(bodies.Schema):
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
    found = FoundSerializer(many=True)


class ReplayView(APIView):
    scope: ClassVar[str] = "workers"

    @extend_schema(
        parameters=[
            OpenApiParameter("rule", str, required=True, enum=sorted(RULES), description="Its name."),
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
