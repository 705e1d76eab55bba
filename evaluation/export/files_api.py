"""The files of a report or a release one by one: shapes and answers that both resources share."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.downloads import bytes_download
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


def lists_files(resource: str, words: str) -> Any:
    """The description of a call that lists them."""
    return extend_schema(
        operation_id=f"{resource}_files_list", responses={200: FilesSerializer, 404: GONE}, description=words
    )


def gives_a_file(words: str) -> Any:
    """The description of a call that gives one."""
    return extend_schema(
        parameters=[
            OpenApiParameter("name", str, OpenApiParameter.PATH, description="As the list of files has it."),
            *RANGE_HEADERS,
        ],
        responses={**file_responses(*CONTENT_TYPES.values(), OTHERS), 404: GONE},
        description=words,
    )


def told_files(path: Path, request: Request, *, route: str, pk: int) -> Response:
    """What an archive holds, each with its address."""
    return Response(
        {
            "files": [
                {
                    "name": one.name,
                    "bytes": one.size,
                    "content_type": one.content_type,
                    "url": reverse(route, args=[pk, one.name], request=request),
                }
                for one in entries(path)
            ]
        }
    )


def given_file(request: Request, path: Path, name: str, *, what: str) -> HttpResponseBase:
    """The bytes of one of them or a range, as an attachment: nothing of it runs as a page of this server."""
    return bytes_download(
        request._request,
        content_of(path, name, what=what),
        modified=path.stat().st_mtime,
        name=PurePosixPath(name).name,
        content_type=content_type(name),
    )
