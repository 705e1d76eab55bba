"""Reports over HTTP and on their page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from csp.constants import UNSAFE_INLINE
from csp.decorators import csp_replace
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from rest_framework import serializers
from rest_framework.response import Response

from common.downloads import file_download
from common.errors import NotThere
from common.rate_limits import TooMany, guess
from evaluation.data.export.views import ArchiveFiles, archived_file, describe_files
from evaluation.models import Analysis
from evaluation.presentation.content import LEADING, reading_order
from evaluation.reports.parts import optional_parts
from evaluation.reports.sharing import link_to_report, share_report, study_of_link
from evaluation.reports.storage import make_report, report_archive, report_is_old, report_parts
from evaluation.results.views import as_markup
from judgments.api.resources import OperationView, Related, Resource, RowSerializer, filters_of, study_filter
from judgments.models import Study
from judgments.operations import Outcome
from judgments.studies.study_page import Context, Group, add_operation, study_page


class ReportSerializer(RowSerializer[Analysis]):
    """A stored result with how it was made."""

    study = Related("study.slug")
    settings = serializers.DictField(read_only=True)
    result = serializers.DictField(read_only=True)

    class Meta:
        model = Analysis
        fields = [
            *("id", "study", "what", "settings", "signature", "judgments", "data_hash", "result"),
            "created_at",
        ]


class ReportHeadSerializer(ReportSerializer):
    """The same without the result, for lists."""

    class Meta(ReportSerializer.Meta):
        fields = [name for name in ReportSerializer.Meta.fields if name != "result"]


@describe_files(
    "reports",
    files="The files of a report (`what` = `report`).",
    file="A file of a report, such as `figures/accuracy.pdf`.",
    download="All files of a report of `what` = `report` as a ZIP archive.",
)
class ReportResource(ArchiveFiles, Resource):
    """Analyses: agreement and workers, metrics against people. A list leaves the results out."""

    scope, what = "reports", "report"
    queryset = Analysis.objects.select_related("study")
    filterset_class = filters_of(Analysis, "what", study=study_filter())
    orderings = {"id": "pk", "created_at": "created_at"}

    def get_queryset(self) -> QuerySet[Analysis]:
        analyses = Analysis.objects.select_related("study")
        return analyses.defer("result") if self.action == "list" else analyses

    def get_serializer_class(self) -> type[serializers.BaseSerializer[Any]]:
        return ReportHeadSerializer if self.action == "list" else ReportSerializer

    def archive(self, row: Analysis) -> tuple[Path, str]:
        path = report_archive(row)
        return path, path.name


PAGE = "index.html"
ROWS_OPEN = 25  # longer tables are folded
ROWS_TO_COPY = 60  # longer ones are only there as files


def _full_link(request: HttpRequest, study: Study) -> str:
    address = link_to_report(study)
    return address and request.build_absolute_uri(address)


@study_page("report", "Report", order=60, group=Group.FINDINGS)
def show_report(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    analysis = Analysis.objects.newest(study, Analysis.What.REPORT)
    context |= {"report": analysis, "link": _full_link(request, study), "parts": optional_parts().values()}
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
        parts = report_parts(analysis, names)
        context |= {
            "there": bool(parts),
            "old": report_is_old(analysis),
            "sections": [
                _section(section, parts)
                for section in sorted(sections, key=lambda section: reading_order(section["name"]))
            ],
            "figure_forms": ("svg", "png", "pdf", "csv"),
            "table_forms": (("html", "HTML"), ("csv", "CSV"), ("tex", "LaTeX"), ("md", "Markdown")),
            "methods": analysis.result["methods"],
            "signatures": analysis.result["signatures"],
        }
    return TemplateResponse(request, "evaluation/study_report.html", context)


def _section(section: dict[str, Any], parts: dict[str, str]) -> dict[str, Any]:
    shown = int(section["name"] in LEADING and bool(section["figures"]))  # figures that are not folded
    captions = {figure["sentence"] for figure in section["figures"]} if shown else set()
    sentences = [text for text in section["sentences"] if text not in captions]
    figures = [
        figure
        | {
            "svg": as_markup(parts.get(f"figures/{figure['name']}.page.svg", "")),
            "caption": "" if figure["sentence"] in sentences else figure["sentence"],
            "tex": _environment(parts.get("report.tex", ""), figure["name"]),
        }
        for figure in section["figures"]
    ]
    return section | {
        "sentences": sentences,
        "figures": figures[:shown],
        "folded": figures[shown:],
        "tables": [
            table
            | {
                "html": as_markup(without_stamp(parts.get(f"tables/{table['name']}.html", ""))),
                "tex": parts.get(f"tables/{table['name']}.tex", ""),
                "md": parts.get(f"tables/{table['name']}.md", ""),
                "folded": len(table["rows"]) > ROWS_OPEN,
            }
            for table in section["tables"]
        ],
    }


def _environment(report: str, figure: str) -> str:
    """Return a figure's environment in the report's LaTeX."""
    end = report.find(rf"\label{{fig:{figure}}}")
    start = report.rfind(r"\begin{figure}", 0, max(end, 0))
    if start < 0:
        return ""
    # its own command fits the page of the report, which a paper does not have
    return report[start : report.find("\n\n", end)].replace(
        r"\fitted{", r"\includegraphics[width=\linewidth]{"
    )


def without_stamp(table: str) -> str:
    """Remove a table's signature, which the page has once, at its end."""
    return re.sub(r'<p class="stamp">.*?</p>', "", table, flags=re.DOTALL)


@study_page("report-file", order=61)
def download_report(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    analysis = Analysis.objects.newest(study, Analysis.What.REPORT)
    if analysis is None:
        raise Http404
    name = request.GET.get("name", "")
    try:
        path = report_archive(analysis)
        if name:
            return archived_file(request, path, name, what="report")
    except NotThere as error:
        raise Http404(str(error)) from None
    return file_download(request, path, name=path.name, content_type="application/zip")


add_operation(
    make_report,
    name="make-report",
    label="Make the report",
    done="The report is being made; it appears here.",
)
add_operation(share_report, label="Make a link to read", fields=())


class LinkSerializer(serializers.Serializer[Any]):
    """The address that works now; empty after it was taken back."""

    address = serializers.CharField(allow_blank=True)


class LinkView(OperationView):
    responses = {**OperationView.responses, 200: LinkSerializer}

    def answer(self, study: Study, outcome: Outcome) -> Response:
        return Response({"address": _full_link(self.request._request, study)})


@never_cache
@require_safe
def shared_report(request: HttpRequest, entry: int, mark: str, name: str = PAGE) -> HttpResponseBase:
    """Show the newest report of a link, or send a file of it. The page's own styles apply, and no script runs."""
    policy = {"style-src": [UNSAFE_INLINE], "script-src": None, "sandbox": ["allow-downloads"]}
    return csp_replace(policy)(lambda shared: _shared_report(shared, entry, mark, name))(request)


def _shared_report(request: HttpRequest, entry: int, mark: str, name: str) -> HttpResponseBase:
    try:
        study = guess(lambda: study_of_link(entry, mark), ("token",))
    except TooMany as error:
        members, headers = {"message": str(error)}, {"Retry-After": str(error.wait)}
        return HttpResponse(
            render_to_string("429.html", members, request), status=error.status, headers=headers
        )
    report = Analysis.objects.newest(study, Analysis.What.REPORT) if study is not None else None
    if report is None:
        raise Http404
    try:
        response = archived_file(request, report_archive(report), name, what="report")
    except NotThere as error:
        raise Http404(str(error)) from None
    if name == PAGE:
        response.headers["Content-Disposition"] = "inline"
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
