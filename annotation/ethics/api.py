"""The checklist for an ethics board over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.ethics.checklist import as_markdown, build_checklist, count_open_lines
from judgments.access.permissions import study_for


class EthicsLine(serializers.Serializer[Any]):
    """A board's question and its answer from the design."""

    question = serializers.CharField()
    answer = serializers.CharField(help_text="Markdown; empty: to be filled in.", allow_blank=True)
    sources = serializers.CharField(help_text="Who asks.")
    key = serializers.CharField(help_text="The key of the study file that fills it, if one does.")


class EthicsSection(serializers.Serializer[Any]):
    """Questions about one matter."""

    title = serializers.CharField()
    lines = EthicsLine(many=True)


class EthicsReply(serializers.Serializer[Any]):
    """The checklist for an ethics board."""

    study = serializers.CharField()
    missing = serializers.IntegerField(help_text="Lines to be filled in.")
    sections = EthicsSection(many=True)
    markdown = serializers.CharField(help_text="All of it as one document.")


class EthicsView(APIView):
    @extend_schema(
        responses=EthicsReply, operation_id="studies_ethics", summary="The checklist for an ethics board"
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return it filled from the design, in the language of the request."""
        study = study_for(request, slug)
        sections = build_checklist(study)
        checklist = {
            "study": study.slug,
            "missing": count_open_lines(sections),
            "sections": sections,
            "markdown": as_markdown(study, sections),
        }
        return Response(EthicsReply(checklist).data)
