"""The call that returns a dashboard's counters and its newest snapshot."""

from __future__ import annotations

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import ObjectNotFound
from contrib.dashboard.counters import live_counters
from contrib.dashboard.models import BoardSnapshot
from contrib.dashboard.staleness import change_mark, has_dashboard, is_stale, request_snapshot
from judgments.access.permissions import study_for


class LeaseSerializer(serializers.Serializer[Any]):
    """An assignment in progress, which a worker holds until it expires."""

    assignment = serializers.UUIDField(source="pk")
    hit = serializers.CharField(source="hit.key", allow_null=True)
    worker = serializers.CharField(source="worker.name")
    expires_at = serializers.DateTimeField()


class SpendingSerializer(serializers.Serializer[Any]):
    """The money at the crowd, in cents with fees."""

    currency = serializers.CharField()
    budget_cents = serializers.IntegerField()
    reserved_cents = serializers.IntegerField()
    spent_cents = serializers.IntegerField()
    bonus_cents = serializers.IntegerField()
    left_cents = serializers.IntegerField()


class BoardSerializer(serializers.Serializer[Any]):
    """The current counters of a study, and the figures of its newest snapshot."""

    study = serializers.CharField(source="study.slug")
    state = serializers.CharField(source="study.state")
    paused_at = serializers.DateTimeField(source="study.paused_at", allow_null=True)
    judgments = serializers.IntegerField(source="now.judgments")
    wanted = serializers.IntegerField(source="now.wanted", help_text="0 before the first snapshot.")
    last_hour = serializers.IntegerField(source="now.last_hour", help_text="Judgments.")
    hours_left = serializers.FloatField(source="now.hours_left", allow_null=True, help_text="At that pace.")
    held = LeaseSerializer(source="now.leases", many=True, help_text="At most 20, those that end first.")
    held_more = serializers.BooleanField(source="now.has_more_leases")
    spending = SpendingSerializer(source="now.spending", allow_null=True)
    local_cents = serializers.IntegerField(
        source="now.local_cents", help_text="Rewards of approved work of this site's own people."
    )
    made_at = serializers.DateTimeField(allow_null=True, help_text="Of the snapshot.")
    snapshot = serializers.DictField(
        allow_null=True,
        help_text="growth, evaluation, workers, controls, stopping, wages; null before the first.",
    )


class BoardView(APIView):
    """GET /api/studies/{slug}/board/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={200: BoardSerializer, 404: OpenApiResponse(description="The study was never opened.")},
        operation_id="studies_board",
        summary="The dashboard of a study",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the counters and figures of the dashboard.

        If the snapshot is old, a job makes a new one. Poll with the ETag.
        """
        study = study_for(request, slug)
        if not has_dashboard(study):
            raise ObjectNotFound(f"Study {slug!r} was never open to participants; it has no dashboard.")
        mark = change_mark(study)
        if is_stale(study, mark):
            request_snapshot(study)
        tag = mark.tag(study, "api")
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if request.headers.get("If-None-Match") == tag:  # everything below costs more than this
            return Response(status=304, headers=headers)
        result = BoardSnapshot.objects.filter(study=study).values_list("result", flat=True).first()
        snapshot_json = {
            "study": study,
            "now": live_counters(study, mark, result or {}),
            "made_at": mark.snapshot.made_at if mark.snapshot else None,
            "snapshot": result and {name: value for name, value in result.items() if name != "drawings"},
        }
        return Response(BoardSerializer(snapshot_json).data, headers=headers)
