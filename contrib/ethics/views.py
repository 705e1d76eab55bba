"""The page "Ethics board" of a study, its file and HTTP call, and the ready texts on the page "Launch"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.launch.views.checks import NO_CONSENT
from annotation.launch.views.launch import ChecklistItem, Launch, Readiness
from annotation.launch.views.points import add_consent_check
from common.markup import render_markdown
from contrib.ethics.checklist import build_checklist, count_open_lines
from contrib.ethics.documents import as_html, as_markdown
from contrib.ethics.ready_texts import READY_TEXTS, fill_in_ready_texts, is_outdated
from judgments.access.permissions import study_for
from judgments.design.editing.form.fields import html_name
from judgments.models import Study
from judgments.studies.designs import design_of
from judgments.studies.pages import Context, PagePart, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import add_page_part, study_page, study_page_address

# states in which the page "Launch" offers ready texts
EDITABLE_STATES = (Study.State.DRAFT, Study.State.GENERATED)


def _consent_items(launch: Launch) -> Iterable[ChecklistItem]:
    """Yield an item of the launch checklist if the consent text is missing, or is an outdated ready text.

    If nothing is yielded, the platform's own check of the consent text is shown.
    """
    ready_texts = f"{study_page_address(launch.study, 'launch')}#{READY_TEXTS}"
    if not launch.design.consent.strip():
        if launch.study.state in EDITABLE_STATES:
            link_text = _("Fill in a ready text")
            yield ChecklistItem(_("Consent"), Readiness.MISSING, _(NO_CONSENT), ready_texts, link_text)
    elif is_outdated(launch.study, launch.design):
        sentence = _("The design has changed since the ready text was filled in.")
        yield ChecklistItem(
            _("Consent"), Readiness.MISSING, sentence, ready_texts, _("Fill in the ready text again")
        )


add_consent_check(_consent_items)


def _launch_context(request: HttpRequest, study: Study) -> Context:
    return {
        "may_be_filled": study.state in EDITABLE_STATES,
        "needs_texts": not design_of(study).consent.strip(),
    }


add_page_part(PagePart("launch", "ethics/launch.html", _launch_context))
add_operation(fill_in_ready_texts, label="Fill in the texts", inline=False)  # errors are shown at the top


@study_page("ethics", "Ethics board", order=84, section=StudySection.SHARE)
def show_ethics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    sections = build_checklist(study)
    is_editable = study.state == Study.State.DRAFT and context["may_change"]
    context |= {
        "sections": [
            {
                "title": section.title,
                "lines": [
                    {
                        "line": line,
                        "html": render_markdown(line.answer),
                        "link": f"{study_page_address(study, 'change')}#id_{html_name(line.key)}"
                        if is_editable and line.key and not line.answer
                        else "",
                    }
                    for line in section.lines
                ],
            }
            for section in sections
        ],
        "open_line_count": count_open_lines(sections),
    }
    return TemplateResponse(request, "admin/annotation/study_ethics.html", context)


@study_page("ethics-file", order=85, parent_page="ethics")
def download_ethics(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    sections = build_checklist(study)
    if request.GET.get("format") == "html":
        text, suffix, media_type = as_html(study, sections), "html", "text/html"
    else:
        text, suffix, media_type = as_markdown(study, sections), "md", "text/markdown"
    return HttpResponse(
        text,
        content_type=f"{media_type}; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{study.slug}-ethics.{suffix}"'},
    )


class EthicsLine(serializers.Serializer[Any]):
    """A question of an ethics board, and its answer from the design."""

    question = serializers.CharField()
    answer = serializers.CharField(
        help_text="Answer in Markdown; empty if the researcher has to write it.", allow_blank=True
    )
    sources = serializers.CharField(
        help_text="Checklists, laws and rules that ask the question, such as `ARR D2, GDPR 13(1)(a)`."
    )
    key = serializers.CharField(
        help_text="Key of the study file that gives the answer, such as `ethics.risks`; empty if there is none."
    )


class EthicsSection(serializers.Serializer[Any]):
    """The questions of an ethics board about one topic."""

    title = serializers.CharField(help_text="The topic.")
    lines = EthicsLine(many=True)


class EthicsReply(serializers.Serializer[Any]):
    """The checklist for an ethics board."""

    study = serializers.CharField(help_text="Slug of the study.")
    missing = serializers.IntegerField(help_text="Number of questions without an answer.")
    sections = EthicsSection(many=True)
    markdown = serializers.CharField(help_text="The whole checklist as a Markdown document.")


class EthicsView(APIView):
    @extend_schema(
        responses=EthicsReply, operation_id="studies_ethics", summary="The checklist for an ethics board"
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the checklist, with the answers that the design gives, in the language of the request."""
        study = study_for(request, slug)
        sections = build_checklist(study)
        checklist = {
            "study": study.slug,
            "missing": count_open_lines(sections),
            "sections": sections,
            "markdown": as_markdown(study, sections),
        }
        return Response(EthicsReply(checklist).data)
