"""The page "Releases" of a study, and the HTTP calls about releases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from common.downloads import file_download
from common.errors import ObjectNotFound
from evaluation.data.export.views import ArchiveFiles, describe_files
from evaluation.data.releases.storage import find_release, is_stored, release_file, release_name
from evaluation.data.releases.terms import next_version
from evaluation.models import Release
from evaluation.reports.releases.operations import ReleaseRequest, start_release, verify
from judgments.api.filters import filters_of, study_filter
from judgments.api.jobs import JobSerializer
from judgments.api.operations import start_with_study, with_study
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import Job, Study
from judgments.studies.pages import Context, StudySection, was_opened
from judgments.studies.step_form import add_operation, take_refusal
from judgments.studies.study_page import study_page


class ReleaseSerializer(RowSerializer[Release]):
    """A frozen bundle of a study's judgments."""

    study = Related("study.slug")
    kept = serializers.SerializerMethodField(help_text="Whether its file is stored on this server.")

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
        description=start_release.description,
    )
)
@describe_files(
    "releases",
    files="The files of a release.",
    file="A file of a release, such as `report/index.html` or `judgments.jsonl`.",
    download="The release as a ZIP archive, which `manage.py verify` checks.",
)
class ReleaseResource(ArchiveFiles, Resource):
    """Frozen, versioned bundles of studies' judgments."""

    scope, row_name = "exports", "release"
    queryset = Release.objects.select_related("study")
    serializer_class = ReleaseSerializer
    filterset_class = filters_of(Release, "version", "licence", study=study_filter())
    orderings: ClassVar[dict[str, str]] = {"id": "pk", "made_at": "made_at"}

    def create(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return start_with_study(request, start_release)

    def archive(self, row: Release) -> tuple[Path, str]:
        return release_file(row), release_name(row.study, row.version)


MAX_RELEASES_SHOWN = 100  # newest releases that the page lists


@dataclass(frozen=True, slots=True)
class ReleasesPart:
    """A part that a feature adds to the page "Releases", by appending it to ``RELEASES_PARTS``.

    Attributes:
        section: template of a section; ``stored_versions`` are the versions whose file is on this server.
        context: function of the study and the releases shown, which returns the context of the templates.
        of_release: template for each ``release``, if any.
    """

    section: str
    context: Callable[[Study, list[Release]], Context]
    of_release: str = ""


RELEASES_PARTS: list[ReleasesPart] = []


@study_page(
    "releases", "Releases", order=70, has_tab=was_opened, section=StudySection.SHARE, help="releases.md"
)
def show_releases(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    refusal = take_refusal(request, study)
    rows = Release.objects.filter(study=study).select_related("made_by")
    releases = list(rows.order_by("-pk")[:MAX_RELEASES_SHOWN])
    verification_jobs: dict[str, Job] = {}
    for job in done_jobs(study, "verify_release").order_by("-pk")[:MAX_RELEASES_SHOWN]:
        verification_jobs.setdefault(job.args["version"], job)
    stored_versions = [release.version for release in releases if is_stored(release)]
    context |= {
        "releases": [
            (release, release.version in stored_versions, verification_jobs.get(release.version))
            for release in releases
        ],
        "stored_versions": stored_versions,
        "refusal": refusal,
        "next_version": next_version(study),
        "is_closed": study.state == Study.State.CLOSED,
    }
    context["parts"] = RELEASES_PARTS
    for part in RELEASES_PARTS:
        context |= part.context(study, releases)
    return TemplateResponse(request, "evaluation/study_releases.html", context)


def done_jobs(study: Study, kind: str) -> Any:
    return Job.objects.filter(kind=kind, args__study=study.slug, state=Job.State.DONE)


@study_page("release-file", order=71)
def download_release(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    try:
        release = find_release(study, request.GET.get("version", ""))
        path = release_file(release)
    except ObjectNotFound as error:
        raise Http404(str(error)) from None
    name = release_name(study, release.version)
    return file_download(request, path, name=name, content_type="application/zip")


def _page_after_start(study: Study) -> str:
    return "releases"


add_operation(start_release, label="Make the release", leads_to=_page_after_start)
add_operation(verify, label="Verify", leads_to=_page_after_start)
