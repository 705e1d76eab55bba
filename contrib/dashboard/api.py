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

    assignment = serializers.UUIDField(source="pk", help_text="Id of the assignment.")
    hit = serializers.CharField(source="hit.key", allow_null=True, help_text="Key of the HIT.")
    worker = serializers.CharField(source="worker.name", help_text="Name of the worker.")
    expires_at = serializers.DateTimeField()


class SpendingSerializer(serializers.Serializer[Any]):
    """The budget of the study at its crowd. All amounts are in cents and include fees."""

    currency = serializers.CharField(help_text="ISO 4217, such as USD.")
    budget_cents = serializers.IntegerField(help_text="The whole budget.")
    reserved_cents = serializers.IntegerField(
        help_text="Amount reserved for work that is published and not paid yet."
    )
    spent_cents = serializers.IntegerField(help_text="Amount spent on rewards, screen-outs and bonuses.")
    bonus_cents = serializers.IntegerField(help_text="The part of `spent_cents` that was spent on bonuses.")
    left_cents = serializers.IntegerField(
        help_text="Amount neither reserved nor spent; negative if the crowd spent more than the budget."
    )


class BoardSerializer(serializers.Serializer[Any]):
    """The current counters of a study, and the figures of its newest snapshot."""

    study = serializers.CharField(source="study.slug")
    state = serializers.CharField(source="study.state")
    paused_at = serializers.DateTimeField(
        source="study.paused_at",
        allow_null=True,
        help_text="Since when the study is paused; null if it is not.",
    )
    judgments = serializers.IntegerField(
        source="now.judgments", help_text="Number of judgments so far, without changed answers."
    )
    wanted = serializers.IntegerField(
        source="now.wanted",
        help_text="Number of judgments that the study asks for in all; 0 before the first snapshot.",
    )
    last_hour = serializers.IntegerField(
        source="now.last_hour", help_text="Number of judgments in the last hour."
    )
    hours_left = serializers.FloatField(
        source="now.hours_left",
        allow_null=True,
        help_text="Hours until the study is complete, at the pace of the last hour; null if no judgment was made in "
        "that hour, or none is missing.",
    )
    held = LeaseSerializer(
        source="now.leases", many=True, help_text="The assignments in progress that expire first, at most 20."
    )
    held_more = serializers.BooleanField(
        source="now.has_more_leases",
        help_text="Whether there are more assignments in progress than `held` has.",
    )
    spending = SpendingSerializer(
        source="now.spending", allow_null=True, help_text="null if the study has no budget at a crowd."
    )
    local_cents = serializers.IntegerField(
        source="now.local_cents",
        help_text="Sum of the rewards of approved assignments, in cents, if the study has no budget at a crowd; 0 "
        "otherwise.",
    )
    made_at = serializers.DateTimeField(
        allow_null=True, help_text="Time of the newest snapshot; null before the first."
    )
    snapshot = serializers.DictField(
        allow_null=True,
        help_text="Figures of the newest snapshot, such as `growth` (agreement over time), `evaluation` (metrics "
        "compared with people), `workers`, `controls` (check questions), `stopping` (votes saved by early stopping) "
        "and `wages`; null before the first.",
    )


class BoardView(APIView):
    """GET /api/studies/{slug}/board/"""

    scope: ClassVar[str] = "reports"

    @extend_schema(
        responses={
            200: BoardSerializer,
            404: OpenApiResponse(description="There is no such study, or it was never open to participants."),
        },
        operation_id="studies_board",
        summary="The dashboard of a study",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the counters and figures of the dashboard.

        If the snapshot is outdated, a job makes a new one. A client that polls should send the ETag of the last answer.
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
