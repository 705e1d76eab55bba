"""The page of a study's report, which shows the stored report, and the download of its files."""

from __future__ import annotations

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.translation import gettext_noop

from common.downloads import file_download
from common.errors import ObjectNotFound
from evaluation.data.export.views import archived_file
from evaluation.models import Analysis
from evaluation.presentation.content import LEADING_SECTIONS, reading_order
from evaluation.reports.parts import optional_parts
from evaluation.reports.shared_page import full_link
from evaluation.reports.sharing import share_report
from evaluation.reports.storage import is_outdated_report, make_report, read_report_texts, report_archive
from evaluation.results.views.drawings import as_markup
from judgments.models import Study
from judgments.studies.pages import Context, StudySection
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

MAX_UNFOLDED_ROWS = 25  # tables with more rows are folded
MAX_COPIED_ROWS = 60  # tables with more rows cannot be copied, only downloaded

LINK_LABEL = gettext_noop("Report: figures, tables, methods")


@study_page(
    "report", "Report", order=60, section=StudySection.FINDINGS, help="reports.md", results_label=LINK_LABEL
)
def show_report(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    analysis = Analysis.objects.newest(study, Analysis.Kind.REPORT)
    context |= {"report": analysis, "link": full_link(request, study), "parts": optional_parts().values()}
    if analysis is not None:
        sections: list[dict[str, Any]] = analysis.result["sections"]
        texts_by_file = read_report_texts(analysis, _shown_files(sections))
        context |= {
            "has_files": bool(texts_by_file),
            "is_outdated": is_outdated_report(analysis),
            "sections": [
                _section_context(section, texts_by_file)
                for section in sorted(sections, key=lambda section: reading_order(section["name"]))
            ],
            "figure_forms": ("svg", "png", "pdf", "csv"),
            "table_forms": (("html", "HTML"), ("csv", "CSV"), ("tex", "LaTeX"), ("md", "Markdown")),
            "methods": analysis.result["methods"],
            "signatures": analysis.result["signatures"],
        }
    return TemplateResponse(request, "evaluation/study_report.html", context)


def _shown_files(sections: list[dict[str, Any]]) -> list[str]:
    """Return the names of the report's files whose texts the page shows."""
    names = ["report.tex"]
    for section in sections:
        names += [f"figures/{figure['name']}.page.svg" for figure in section["figures"]]
        for table in section["tables"]:
            forms = ("html", "tex", "md") if len(table["rows"]) <= MAX_COPIED_ROWS else ("html",)
            names += [f"tables/{table['name']}.{form}" for form in forms]
    return names


def _section_context(section: dict[str, Any], texts_by_file: dict[str, str]) -> dict[str, Any]:
    """Return the context of a section: its sentences, figures and tables, with the texts of their files.

    A leading section shows its first figure unfolded. In such a section, the captions of figures are not repeated among
    the section's sentences. In other sections, a figure has no caption that is among the section's sentences.
    """
    unfolded_count = 1 if section["name"] in LEADING_SECTIONS and section["figures"] else 0
    sentences = section["sentences"]
    if unfolded_count:
        captions = {figure["sentence"] for figure in section["figures"]}
        sentences = [text for text in sentences if text not in captions]
    figures = [_figure_context(figure, sentences, texts_by_file) for figure in section["figures"]]
    return section | {
        "sentences": sentences,
        "figures": figures[:unfolded_count],
        "folded_figures": figures[unfolded_count:],
        "tables": [_table_context(table, texts_by_file) for table in section["tables"]],
    }


def _figure_context(
    figure: dict[str, Any], sentences: list[str], texts_by_file: dict[str, str]
) -> dict[str, Any]:
    """Return the context of a figure. ``sentences`` are those of its section, which its caption does not repeat."""
    return figure | {
        "svg": as_markup(texts_by_file.get(f"figures/{figure['name']}.page.svg", "")),
        "caption": "" if figure["sentence"] in sentences else figure["sentence"],
        "tex": figure_environment(texts_by_file.get("report.tex", ""), figure["name"]),
    }


def _table_context(table: dict[str, Any], texts_by_file: dict[str, str]) -> dict[str, Any]:
    return table | {
        "html": as_markup(without_signature(texts_by_file.get(f"tables/{table['name']}.html", ""))),
        "tex": texts_by_file.get(f"tables/{table['name']}.tex", ""),
        "md": texts_by_file.get(f"tables/{table['name']}.md", ""),
        "is_folded": len(table["rows"]) > MAX_UNFOLDED_ROWS,
    }


def figure_environment(report: str, figure: str) -> str:
    """Return the LaTeX environment of a figure in the LaTeX text of a report, or "" if it has none."""
    label = report.find(rf"\label{{fig:{figure}}}")
    start = report.rfind(r"\begin{figure}", 0, max(label, 0))  # -1 if there is no label
    if start < 0:
        return ""
    environment, end, _ = report[start:].partition(r"\end{figure}")
    # Replace the report's own command, which a paper does not define.
    return f"{environment}{end}".replace(r"\fitted{", r"\includegraphics[width=\linewidth]{")


def without_signature(table: str) -> str:
    """Return the HTML of a table without its signature. The page shows the signature once, at its end."""
    return re.sub(r'<p class="stamp">.*?</p>', "", table, flags=re.DOTALL)


@study_page("report-file", order=61)
def download_report(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    analysis = Analysis.objects.newest(study, Analysis.Kind.REPORT)
    if analysis is None:
        raise Http404
    name = request.GET.get("name", "")
    try:
        path = report_archive(analysis)
        if name:
            return archived_file(request, path, name, archive_noun="report")
    except ObjectNotFound as error:
        raise Http404(str(error)) from None
    return file_download(request, path, name=path.name, content_type="application/zip")


add_operation(
    make_report,
    name="make-report",
    label="Make the report",
    message="The report is being made and will appear here.",
)
add_operation(share_report, label="Create a read-only link", fields=())
