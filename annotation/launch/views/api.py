"""The HTTP API of a study's checklist: what the study has and lacks before it is opened."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.launch.views.launch import ChecklistItem, Readiness, launch_of
from annotation.launch.views.points import checklist
from common.errors import ObjectNotFound
from judgments.access.permissions import staff_of, study_for
from judgments.access.rights import Right, rights_of
from judgments.models import Study


class PointSerializer(serializers.Serializer[Any]):
    """A point of the checklist: something that a study has or lacks."""

    title = serializers.CharField()
    readiness = serializers.ChoiceField(
        [readiness.value for readiness in Readiness],
        help_text="“prevents opening”: the study cannot be opened; “doubtful”: it can be opened only with “anyway”; "
        "“missing”: it can be opened without this point.",
    )
    words = serializers.CharField(help_text="What the study has or lacks, in one or more sentences.")
    link = serializers.CharField(
        allow_blank=True, help_text="Page to change it; empty if there is none or the account may not."
    )


class ChecklistSerializer(serializers.Serializer[Any]):
    """The checklist of a study before it is opened."""

    study = serializers.CharField()
    state = serializers.ChoiceField(Study.State.choices)
    blocked = serializers.BooleanField(help_text="Whether a point prevents opening.")
    missing = serializers.IntegerField(help_text="Number of points that are “missing”.")
    points = PointSerializer(many=True, help_text="Those that prevent opening come first.")


class ChecklistView(APIView):
    """Show the checklist: GET /api/studies/{slug}/checklist/."""

    @extend_schema(
        responses={
            200: ChecklistSerializer,
            404: OpenApiResponse(description="The study has published judgments; it is never opened."),
        },
        operation_id="studies_checklist",
        summary="What a study has and lacks before it is opened",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the points in the words of the page "Launch".

        Ask again later about a point that is "not known yet".
        """
        study = study_for(request, slug)
        if study.source != Study.Source.DESIGNED:
            raise ObjectNotFound(
                f"Study {slug!r} holds published judgments; it is never opened to participants."
            )
        user = staff_of(request)
        may_change = Right.CHANGE in rights_of(user, study)

        def point_as_json(point: ChecklistItem) -> dict[str, Any]:
            link = request.build_absolute_uri(point.link) if point.link and may_change else ""
            return {"title": point.title, "readiness": point.readiness, "words": point.sentence, "link": link}

        points = checklist(launch_of(study, user))
        body = {
            "study": study.slug,
            "state": study.state,
            "blocked": any(point.readiness is Readiness.BLOCKS for point in points),
            "missing": sum(point.readiness is Readiness.MISSING for point in points),
            "points": [point_as_json(point) for point in points],
        }
        return Response(ChecklistSerializer(body).data)
