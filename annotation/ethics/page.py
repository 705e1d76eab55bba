"""The page "Ethics board" of a study, and its file."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from annotation.ethics.checklist import as_html, as_markdown, build_checklist, count_open_lines
from common.markup import render_markdown
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
