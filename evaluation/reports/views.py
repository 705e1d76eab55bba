"""The page of a study's report."""

from __future__ import annotations

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

from common.downloads import file_download
from common.errors import ObjectNotFound
from evaluation.data.export.views import archived_file
from evaluation.models import Analysis
from evaluation.presentation.content import LEADING_SECTIONS, reading_order
from evaluation.reports.parts import optional_parts
from evaluation.reports.shared_page import full_link
from evaluation.reports.sharing import share_report
from evaluation.reports.storage import is_outdated_report, make_report, report_archive, report_parts
from evaluation.results.views.drawings import as_markup
from judgments.models import Study
from judgments.studies.pages import Context, StudyPlace
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

ROWS_OPEN = 25  # tables with more rows are folded
ROWS_TO_COPY = 60  # tables with more rows cannot be copied, only downloaded


@study_page("report", "Report", order=60, group=StudyPlace.FINDINGS, help="reports.md")
def show_report(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    analysis = Analysis.objects.newest(study, Analysis.Kind.REPORT)
    context |= {"report": analysis, "link": full_link(request, study), "parts": optional_parts().values()}
    if analysis is not None:
        sections: list[dict[str, Any]] = analysis.result["sections"]
        tables = [table for section in sections for table in section["tables"]]
        names = ["report.tex"]
        names += [
            f"figures/{figure['name']}.page.svg" for section in sections for figure in section["figures"]
        ]
        for table in tables:
            names.append(f"tables/{table['name']}.html")
            if len(table["rows"]) <= ROWS_TO_COPY:
                names += [f"tables/{table['name']}.{form}" for form in ("tex", "md")]
        files = report_parts(analysis, names)
        context |= {
            "there": bool(files),
            "old": is_outdated_report(analysis),
            "sections": [
                _section_context(section, files)
                for section in sorted(sections, key=lambda section: reading_order(section["name"]))
            ],
            "figure_forms": ("svg", "png", "pdf", "csv"),
            "table_forms": (("html", "HTML"), ("csv", "CSV"), ("tex", "LaTeX"), ("md", "Markdown")),
            "methods": analysis.result["methods"],
            "signatures": analysis.result["signatures"],
        }
    return TemplateResponse(request, "evaluation/study_report.html", context)


def _section_context(section: dict[str, Any], files: dict[str, str]) -> dict[str, Any]:
    """Return the context of a section, with the texts of its files by name.

    Only a leading section has an unfolded figure, which is its first.
    """
    open_figures = int(section["name"] in LEADING_SECTIONS and bool(section["figures"]))
    captions = {figure["sentence"] for figure in section["figures"]} if open_figures else set()
    sentences = [text for text in section["sentences"] if text not in captions]
    figures = [
        figure
        | {
            "svg": as_markup(files.get(f"figures/{figure['name']}.page.svg", "")),
            "caption": "" if figure["sentence"] in sentences else figure["sentence"],
            "tex": _environment(files.get("report.tex", ""), figure["name"]),
        }
        for figure in section["figures"]
    ]
    return section | {
        "sentences": sentences,
        "figures": figures[:open_figures],
        "folded": figures[open_figures:],
        "tables": [
            table
            | {
                "html": as_markup(without_stamp(files.get(f"tables/{table['name']}.html", ""))),
                "tex": files.get(f"tables/{table['name']}.tex", ""),
                "md": files.get(f"tables/{table['name']}.md", ""),
                "folded": len(table["rows"]) > ROWS_OPEN,
            }
            for table in section["tables"]
        ],
    }


def _environment(report: str, figure: str) -> str:
    """Return the LaTeX environment of a figure in the report."""
    end = report.find(rf"\label{{fig:{figure}}}")
    start = report.rfind(r"\begin{figure}", 0, max(end, 0))
    if start < 0:
        return ""
    # Replace the report's own command, which a paper does not define.
    return report[start : report.find("\n\n", end)].replace(
        r"\fitted{", r"\includegraphics[width=\linewidth]{"
    )


def without_stamp(table: str) -> str:
    """Return a table without its signature. The page shows the signature once, at its end."""
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
            return archived_file(request, path, name, what="report")
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
