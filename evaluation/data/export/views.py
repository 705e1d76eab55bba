"""Views of exports, for the HTTP interface and for a page, and of single files of an archive.

Reports and releases are archives, too, and use ``ArchiveFiles``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar
from zipfile import ZipFile

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.downloads import bytes_download, file_download
from common.errors import ObjectNotFound
from common.rows.ids import is_row_id
from evaluation.data.export.downloads import JOB_KIND, exported_file
from evaluation.data.export.formats import FORMATS, Format, formats_for, installed_formats
from evaluation.data.export.operations import ExportRequest, start_export
from judgments.access.permissions import staff_of
from judgments.admin.base import signed_in
from judgments.api.bodies import RANGE_HEADERS, file_responses
from judgments.api.filters import filters_of
from judgments.api.jobs import JobSerializer, jobs_about
from judgments.api.operations import start_with_study, with_study
from judgments.api.resources import Resource
from judgments.models import Job, Study
from judgments.studies.pages import Context, StudySection, was_opened
from judgments.studies.step_form import add_operation
from judgments.studies.study_page import study_page

DEFAULT_CONTENT_TYPE = "application/octet-stream"
CONTENT_TYPES = {
    ".svg": "image/svg+xml",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".tex": "application/x-tex; charset=utf-8",
    ".bib": "application/x-bibtex; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".toml": "application/toml",
}
FILE_PATH_PATTERN = r"files/(?P<name>[-A-Za-z0-9_./]+)"
NO_FILE_RESPONSE = OpenApiResponse(description="There is no such file, or it is not stored on this server.")


@extend_schema_view(
    create=extend_schema(
        request=with_study(ExportRequest),
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The format does not fit the study."),
        },
        description=start_export.description,
    ),
    download=extend_schema(
        parameters=[
            OpenApiParameter("manifest", bool, description="Return the manifest instead of the file."),
            *RANGE_HEADERS,
        ],
        responses=file_responses(*(file_format.content_type for file_format in FORMATS.values()))
        | {
            (200, "application/json"): OpenApiResponse(OpenApiTypes.OBJECT, description="The manifest."),
            409: OpenApiResponse(description="The export is not finished."),
        },
        description="The file of a finished export.",
    ),
)
class ExportResource(Resource):
    """Files with a study's judgments, each with its manifest."""

    scope = "exports"
    queryset = Job.objects.filter(kind=JOB_KIND).select_related("created_by")
    serializer_class = JobSerializer
    filterset_class = filters_of(Job, "state", study="args__study", format="args__format")
    orderings = {"id": "pk", "created_at": "created_at"}

    def rows_for(self, rows: QuerySet[Job], studies: QuerySet[Study], request: Request) -> QuerySet[Job]:
        return jobs_about(rows, studies, request)

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return start_with_study(request, start_export, route="api:exports-detail")

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        """Return the bytes of the file, as an attachment, or a range of them."""
        manifest = request.query_params.get("manifest", "false").lower()  # Python clients send True
        if manifest not in ("true", "false"):
            raise serializers.ValidationError({"manifest": ["must be true or false."]})
        file = exported_file(job=self.get_object(), by=staff_of(request), manifest=manifest == "true")
        return file_download(request._request, file.path, name=file.name, content_type=file.content_type)


class FileSerializer(serializers.Serializer[Any]):
    """A file of an archive."""

    name = serializers.CharField()
    bytes = serializers.IntegerField(help_text="Size of the file, not compressed.")
    content_type = serializers.CharField()
    url = serializers.URLField()


class FilesSerializer(serializers.Serializer[Any]):
    """The list of the files in an archive."""

    files = FileSerializer(many=True)


def describe_files(resource: str, *, files: str, file: str, download: str) -> Any:
    """Return a decorator that describes the calls of ``ArchiveFiles`` in the OpenAPI schema.

    ``resource`` begins their operation ids. ``files``, ``file`` and ``download`` are the descriptions of the calls.
    """
    name = OpenApiParameter("name", str, OpenApiParameter.PATH, description="Name as in the list of files.")
    return extend_schema_view(
        files=extend_schema(
            operation_id=f"{resource}_files_list",
            responses={200: FilesSerializer, 404: NO_FILE_RESPONSE},
            description=files,
        ),
        file=extend_schema(
            parameters=[name, *RANGE_HEADERS],
            responses={
                **file_responses(*CONTENT_TYPES.values(), DEFAULT_CONTENT_TYPE),
                404: NO_FILE_RESPONSE,
            },
            description=file,
        ),
        download=extend_schema(
            parameters=RANGE_HEADERS, responses=file_responses("application/zip"), description=download
        ),
    )


class ArchiveFiles(ABC):
    """A mixin for resources whose rows have ZIP archives, with calls to download an archive and its files."""

    row_name: ClassVar[str]  # name of a row in messages
    basename: str
    get_object: Any

    @abstractmethod
    def archive(self, row: Any) -> tuple[Path, str]:
        """Return the path and the name of a row's archive. Raise ObjectNotFound if the row has no stored archive."""

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        path, name = self.archive(self.get_object())
        return file_download(request._request, path, name=name, content_type="application/zip")

    @action(detail=True, methods=["get"], url_path="files")
    def files(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        path, _ = self.archive(row)
        with ZipFile(path) as archive:
            members = [
                {
                    "name": member.filename,
                    "bytes": member.file_size,
                    "content_type": content_type(member.filename),
                    "url": reverse(
                        f"api:{self.basename}-file", args=[row.pk, member.filename], request=request
                    ),
                }
                for member in archive.infolist()
            ]
        return Response({"files": members})

    @action(detail=True, methods=["get"], url_path=FILE_PATH_PATTERN, url_name="file")
    def file(self, request: Request, pk: str, name: str) -> HttpResponseBase:
        path, _ = self.archive(self.get_object())
        return archived_file(request._request, path, name, archive_noun=self.row_name)


def archived_file(request: HttpRequest, path: Path, name: str, *, archive_noun: str) -> HttpResponseBase:
    """Return a file of a ZIP archive as an attachment, so that a browser never runs it as a page of this server.

    Raise ObjectNotFound if the archive has no such file. ``archive_noun`` names the archive in its message.
    """
    with ZipFile(path) as archive:
        if name not in archive.namelist():
            raise ObjectNotFound(f"The {archive_noun} has no file {name!r}.")
        content = archive.read(name)
    return bytes_download(
        request,
        content,
        modified=path.stat().st_mtime,
        name=PurePosixPath(name).name,
        content_type=content_type(name),
    )


def content_type(name: str) -> str:
    return CONTENT_TYPES.get(PurePosixPath(name).suffix, DEFAULT_CONTENT_TYPE)


MAX_EXPORTS = 20  # newest exports that the page lists


@study_page("exports", "Exports", order=65, has_tab=was_opened, section=StudySection.SHARE, help="exports.md")
def show_exports(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    finished_jobs = Job.objects.filter(kind=JOB_KIND, args__study=study.slug, state=Job.State.DONE)
    rights = context["rights"]
    withheld_formats = [
        name for name, file_format in installed_formats().items() if file_format.right not in rights
    ]
    context |= {
        "exports": list(finished_jobs.exclude(args__format__in=withheld_formats)[:MAX_EXPORTS]),
        "formats": [_describe_format(entry) for entry in formats_for(study) if entry.right in rights],
        "was_opened": was_opened(study),
    }
    return TemplateResponse(request, "evaluation/study_exports.html", context)


def _describe_format(file_format: Format) -> tuple[str, str, str]:
    """Return the name, the purpose and the content of a format, for the page."""
    purpose, _, content = gettext(file_format.description).partition(": ")
    return file_format.name, purpose, content


@study_page("download", order=66)
def download(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    number = request.GET.get("job", "")
    job = Job.objects.filter(pk=number, args__study=study.slug).first() if is_row_id(number) else None
    if job is None:
        raise Http404
    file = exported_file(job=job, by=signed_in(request), manifest="manifest" in request.GET)
    return file_download(request, file.path, name=file.name, content_type=file.content_type)


add_operation(
    start_export, label="Export", inline=False, message="The file is being written and will appear below."
)
