"""Calls for the files of a report or a release."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.downloads import bytes_download, file_download
from evaluation.export.archives import CONTENT_TYPES, OTHERS, content_of, content_type, entries
from judgments.api.bodies import RANGE_HEADERS, file_responses

FILE_PATH = r"files/(?P<name>[-A-Za-z0-9_./]+)"
GONE = OpenApiResponse(description="No such file, or it is not kept here.")


class FileSerializer(serializers.Serializer[Any]):
    """A file of an archive."""

    name = serializers.CharField()
    bytes = serializers.IntegerField()
    content_type = serializers.CharField()
    url = serializers.URLField()


class FilesSerializer(serializers.Serializer[Any]):
    """What an archive holds."""

    files = FileSerializer(many=True)


def describes_files(resource: str, *, files: str, file: str, download: str) -> Any:
    """Describe the calls of a resource with ``ArchiveFiles``."""
    name = OpenApiParameter("name", str, OpenApiParameter.PATH, description="As the list of files has it.")
    return extend_schema_view(
        files=extend_schema(
            operation_id=f"{resource}_files_list",
            responses={200: FilesSerializer, 404: GONE},
            description=files,
        ),
        file=extend_schema(
            parameters=[name, *RANGE_HEADERS],
            responses={**file_responses(*CONTENT_TYPES.values(), OTHERS), 404: GONE},
            description=file,
        ),
        download=extend_schema(
            parameters=RANGE_HEADERS, responses=file_responses("application/zip"), description=download
        ),
    )


class ArchiveFiles:
    """A row's archive, whole and file by file."""

    what: ClassVar[str]  # a row, in messages
    basename: str
    get_object: Any

    def archive(self, row: Any) -> tuple[Path, str]:
        """Return the path and the name of the archive. Raise NotThere."""
        raise NotImplementedError

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        path, name = self.archive(self.get_object())
        return file_download(request._request, path, name=name, content_type="application/zip")

    @action(detail=True, methods=["get"], url_path="files")
    def files(self, request: Request, pk: str) -> Response:
        row = self.get_object()
        path, _ = self.archive(row)
        found = []
        for one in entries(path):
            address = reverse(f"api:{self.basename}-file", args=[row.pk, one.name], request=request)
            found.append(
                {"name": one.name, "bytes": one.size, "content_type": one.content_type, "url": address}
            )
        return Response({"files": found})

    @action(detail=True, methods=["get"], url_path=FILE_PATH, url_name="file")
    def file(self, request: Request, pk: str, name: str) -> HttpResponseBase:
        path, _ = self.archive(self.get_object())
        return archived_file(request._request, path, name, what=self.what)


def archived_file(request: HttpRequest, path: Path, name: str, *, what: str) -> HttpResponseBase:
    """Give a file of an archive as an attachment, so that none of it runs as a page of this server."""
    return bytes_download(
        request,
        content_of(path, name, what=what),
        modified=path.stat().st_mtime,
        name=PurePosixPath(name).name,
        content_type=content_type(name),
    )
