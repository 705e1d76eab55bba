"""The dashboard over HTTP."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.errors import NotThere
from evaluation.dashboard.progress import (
    LiveCounters,
    change_mark,
    has_dashboard,
    is_stale,
    live_counters,
    request_snapshot,
)
from evaluation.models import BoardSnapshot
from evaluation.provenance import as_json
from judgments.access.roles import study_for


class HeldSerializer(serializers.Serializer[Any]):
    """A HIT that somebody holds."""

    assignment = serializers.UUIDField()
    hit = serializers.CharField(allow_null=True)
    worker = serializers.CharField()
    expires_at = serializers.DateTimeField()


class SpendingSerializer(serializers.Serializer[Any]):
    """Cents, fees included."""

    budget_cents = serializers.IntegerField()
    reserved_cents = serializers.IntegerField()
    spent_cents = serializers.IntegerField()
    bonus_cents = serializers.IntegerField()
    left_cents = serializers.IntegerField()


class BoardSerializer(serializers.Serializer[Any]):
    """Counters of now, and the figures of the newest snapshot."""

    study = serializers.CharField()
    state = serializers.CharField()
    paused_at = serializers.DateTimeField(allow_null=True)
    judgments = serializers.IntegerField()
    wanted = serializers.IntegerField(help_text="0 before the first snapshot.")
    last_hour = serializers.IntegerField(help_text="Judgments.")
    hours_left = serializers.FloatField(allow_null=True, help_text="At that pace.")
    held = HeldSerializer(many=True, help_text="At most 20, those that end first.")
    held_more = serializers.BooleanField()
    spending = SpendingSerializer(allow_null=True)
    local_cents = serializers.IntegerField(help_text="Rewards of approved work of this site's own people.")
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
        """As its page: looking has a snapshot made anew where the last one is old; ask again with the ETag."""
        study = study_for(request, slug)
        if not has_dashboard(study):
            raise NotThere(f"Study {slug!r} was never open to workers; it has no dashboard.")
        pulse = change_mark(study)
        if is_stale(study, pulse):
            request_snapshot(study)
        tag = pulse.tag(study, "api")
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if request.headers.get("If-None-Match") == tag:  # what follows costs more than this
            return Response(status=304, headers=headers)
        kept = BoardSnapshot.objects.filter(study=study).values_list("result", flat=True).first()
        body = {
            "study": study.slug,
            "state": study.state,
            "paused_at": study.paused_at,
            "made_at": pulse.snapshot.made_at if pulse.snapshot else None,
            **_counters(live_counters(study, pulse, kept or {})),
            "snapshot": None
            if kept is None
            else as_json({name: value for name, value in kept.items() if name != "drawings"}),
        }
        return Response(body, headers=headers)


def _counters(now: LiveCounters) -> dict[str, Any]:
    return {
        "judgments": now.judgments,
        "wanted": now.wanted,
        "last_hour": now.an_hour,
        "hours_left": now.hours_left,
        "held": [
            {
                "assignment": one.pk,
                "hit": one.hit.key if one.hit else None,
                "worker": one.worker.name,
                "expires_at": one.expires_at,
            }
            for one in now.held
        ],
        "held_more": now.held_more,
        "spending": asdict(now.spending) | {"left_cents": now.spending.left_cents} if now.spending else None,
        "local_cents": now.local_cents,
    }
