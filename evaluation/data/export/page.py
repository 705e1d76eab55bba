"""The page "Exports": write and download files."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

from common.downloads import file_download
from evaluation.data.export.exporting import JOB_KIND, export, exported_file
from evaluation.data.export.formats import FORMATS, formats_for
from judgments.admin.base import signed_in
from judgments.models import Job, Study
from judgments.studies.study_page import Context, Group, StudyPage, add_operation, add_page, was_opened

NEWEST = 20


def show_exports(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    written = Job.objects.filter(kind=JOB_KIND, args__study=study.slug, state=Job.State.DONE)
    rights = context["rights"]
    withheld = [name for name, file_format in FORMATS.items() if file_format.right not in rights]
    context |= {
        "exports": list(written.exclude(args__format__in=withheld)[:NEWEST]),
        "formats": [file_format for file_format in formats_for(study) if file_format.right in rights],
        "has_answers": was_opened(study),
    }
    return TemplateResponse(request, "evaluation/study_exports.html", context)


def download(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    number = request.GET.get("job", "")
    job = Job.objects.filter(pk=number, args__study=study.slug).first() if number.isdecimal() else None
    if job is None:
        raise Http404
    file = exported_file(job=job, by=signed_in(request), manifest="manifest" in request.GET)
    return file_download(request, file.path, name=file.name, content_type=file.content_type)


add_page(
    StudyPage(
        name="exports", label="Exports", order=65, view=show_exports, shown=was_opened, group=Group.SHARE
    )
)
add_page(StudyPage(name="download", label="", order=66, view=download))
add_operation(export, label="Export", beside=False, done="The file is being written; it appears below.")
