"""Releases over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evaluation.data.export.api import ArchiveFiles, describe_files
from evaluation.data.releases.storage import is_stored, release_file, release_name
from evaluation.models import Release
from evaluation.reports.releases.operations import ReleaseRequest, release
from judgments.api.operations import start_named, with_study
from judgments.api.resources import JobSerializer, Related, Resource, RowSerializer, filters_of, study_filter


class ReleaseSerializer(RowSerializer[Release]):
    """A frozen bundle of a study's judgments."""

    study = Related("study.slug")
    kept = serializers.SerializerMethodField(help_text="Whether it can be downloaded here.")

    class Meta:
        model = Release
        fields = [
            *("id", "study", "version", "title", "licence", "citation", "texts", "signature", "sha256"),
            *("size", "kept", "made_at"),
        ]

    @extend_schema_field(OpenApiTypes.BOOL)
    def get_kept(self, row: Release) -> bool:
        return is_stored(row)


@extend_schema_view(
    create=extend_schema(
        request=with_study(ReleaseRequest),
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The study is not closed, or the version exists."),
        },
        description=release.description,
    ),
)
@describe_files(
    "releases",
    files="The files of a release.",
    file="A file of a release, such as `report/index.html` or `judgments.jsonl`.",
    download="The bundle; `manage.py verify` checks it.",
)
class ReleaseResource(ArchiveFiles, Resource):
    """Frozen, versioned bundles of studies' judgments."""

    scope, what = "exports", "release"
    queryset = Release.objects.select_related("study")
    serializer_class = ReleaseSerializer
    filterset_class = filters_of(Release, "version", "licence", study=study_filter())
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "made_at": "made_at"}

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return start_named(request, release)

    def archive(self, row: Release) -> tuple[Path, str]:
        return release_file(row), release_name(row.study, row.version)
