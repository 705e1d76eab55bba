"""Releases, for staff."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from common.downloads import file_download
from common.errors import WrongState
from evaluation.export.files_api import FILE_PATH, given_file, gives_a_file, lists_files, told_files
from evaluation.models import Release
from evaluation.releases.documents import LICENCES, check_licence
from evaluation.releases.storage import (
    JOB_KIND,
    Terms,
    check_terms,
    is_kept,
    next_version,
    release_file,
    release_name,
)
from judgments import jobs
from judgments.access.permissions import staff_of, study_for
from judgments.access.roles import Right
from judgments.api.bodies import RANGE_HEADERS, body_of, file_responses, member
from judgments.api.resources import Filters, JobSerializer, Resource, study_filter
from judgments.models import Job

LONGEST = {"title": 300, "citation": 5000}


class ReleaseSerializer(serializers.ModelSerializer[Release]):
    """A frozen bundle of a study's judgments."""

    study = serializers.CharField(source="study.slug", read_only=True)
    kept = serializers.SerializerMethodField(help_text="Whether it can be downloaded here.")

    class Meta:
        model = Release
        fields = [
            *(
                "id",
                "study",
                "version",
                "title",
                "licence",
                "citation",
                "texts",
                "signature",
                "sha256",
                "size",
            ),
            *("kept", "made_at"),
        ]
        read_only_fields = fields

    @extend_schema_field(OpenApiTypes.BOOL)
    def get_kept(self, row: Release) -> bool:
        """Not where it was written elsewhere."""
        return is_kept(row)


class ReleaseFilters(Filters):
    """Of releases."""

    study = study_filter()

    class Meta:
        model = Release
        fields = ["study", "version", "licence"]


class ReleaseRequest(serializers.Serializer[Any]):
    """The terms of a release."""

    study = serializers.CharField()
    licence = serializers.ChoiceField(choices=list(LICENCES))
    version = serializers.CharField(required=False, help_text="Left out: the next one.")
    title = serializers.CharField(required=False, max_length=LONGEST["title"], allow_blank=True)
    citation = serializers.CharField(required=False, max_length=LONGEST["citation"], allow_blank=True)
    texts = serializers.BooleanField(required=False, help_text="Texts of captions, or their ids alone.")
    comments = serializers.BooleanField(required=False, help_text="Workers' comments, scrubbed.")


@extend_schema_view(
    create=extend_schema(
        request=ReleaseRequest,
        responses={
            202: JobSerializer,
            404: OpenApiResponse(description="No such study."),
            409: OpenApiResponse(description="The study is not closed, or the version exists."),
        },
        description="Starts making a release of a closed study, as its owner; follow `state`, then list and download.",
    ),
    download=extend_schema(
        parameters=RANGE_HEADERS,
        responses=file_responses("application/zip"),
        description="The bundle; `manage.py verify` checks it.",
    ),
)
class ReleaseResource(Resource):
    """Frozen, versioned bundles of studies' judgments."""

    scope = "exports"
    queryset = Release.objects.select_related("study")
    serializer_class = ReleaseSerializer
    filterset_class = ReleaseFilters
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "made_at": "made_at"}

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """A job of kind release."""
        body = body_of(request)
        study = study_for(request, member(body, "study", str), Right.OWN)
        asked = {
            "version": member(body, "version", str, "") or next_version(study),
            "licence": check_licence(member(body, "licence", str)),
            **{name: _short(body, name) for name in LONGEST},
            "texts": member(body, "texts", bool, True),
            "comments": member(body, "comments", bool, False),
        }
        check_terms(study, Terms(**asked))
        waiting = Job.objects.filter(
            kind=JOB_KIND, args__study=study.slug, state__in=(Job.State.QUEUED, Job.State.RUNNING)
        )
        if waiting.exists():
            raise WrongState(f"A release of study {study.slug!r} is being made already.")
        job = jobs.enqueue(kind=JOB_KIND, args={"study": study.slug, **asked}, user=staff_of(request))
        place = reverse("api:jobs-detail", args=[job.pk], request=request)
        return Response(JobSerializer(job).data, status=status.HTTP_202_ACCEPTED, headers={"Location": place})

    @action(detail=True, methods=["get"])
    def download(self, request: Request, pk: str) -> HttpResponseBase:
        """The bytes, as an attachment, or a range of them."""
        release = self.get_object()
        path, name = release_file(release), release_name(release.study, release.version)
        return file_download(request._request, path, name=name, content_type="application/zip")

    @lists_files("releases", "The files of a release.")
    @action(detail=True, methods=["get"], url_path="files")
    def files(self, request: Request, pk: str) -> Response:
        """Rows, results, texts, and the report with its figures."""
        found = self.get_object()
        return told_files(release_file(found), request, route="api:releases-file", pk=found.pk)

    @gives_a_file("A file of a release, such as `report/index.html` or `judgments.jsonl`.")
    @action(detail=True, methods=["get"], url_path=FILE_PATH, url_name="file")
    def file(self, request: Request, pk: str, name: str) -> HttpResponseBase:
        """The bytes, as an attachment, or a range of them."""
        return given_file(request, release_file(self.get_object()), name, what="release")


def _short(body: dict[str, Any], name: str) -> str:
    text: str = member(body, name, str, "")
    if len(text) > LONGEST[name]:
        raise serializers.ValidationError({name: [f"must have at most {LONGEST[name]} characters."]})
    return text
