"""The page "Ethics board" of a study, its file, and the same over HTTP."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.ethics.checklist import as_html, as_markdown, build_checklist, count_open_lines
from common.markup import render_markdown
from judgments.access.permissions import study_for
from judgments.design.editing.form import html_name
from judgments.models import Study
from judgments.studies.study_page import Context, Group, StudyPage, add_page, page_address


def show_ethics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    sections = build_checklist(study)
    draft = study.state == Study.State.DRAFT and context["may_change"]
    context |= {
        "sections": [
            {
                "title": section.title,
                "lines": [
                    {
                        "line": line,
                        "html": render_markdown(line.answer),
                        "link": f"{page_address(study, 'change')}#id_{html_name(line.key)}"
                        if draft and line.key and not line.answer
                        else "",
                    }
                    for line in section.lines
                ],
            }
            for section in sections
        ],
        "missing": count_open_lines(sections),
    }
    return TemplateResponse(request, "admin/annotation/study_ethics.html", context)


def download_ethics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    sections = build_checklist(study)
    if request.GET.get("format") == "html":
        text, suffix, kind = as_html(study, sections), "html", "text/html"
    else:
        text, suffix, kind = as_markdown(study, sections), "md", "text/markdown"
    return HttpResponse(
        text,
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.slug}-ethics.{suffix}"'},
    )


add_page(StudyPage(name="ethics", label="Ethics board", order=84, view=show_ethics, group=Group.SHARE))
add_page(StudyPage(name="ethics-file", label="", order=85, view=download_ethics, under="ethics"))


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
