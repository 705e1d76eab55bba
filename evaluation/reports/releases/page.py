"""The page "Releases"."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse

from common.downloads import file_download
from common.errors import NotThere
from evaluation.data.publishing.operations import publish_release
from evaluation.data.releases.storage import find_release, is_stored, next_version, release_file, release_name
from evaluation.models import Release
from evaluation.reports.releases.operations import compare, release, verify
from judgments.models import Job, Study
from judgments.studies.study_page import (
    Context,
    Group,
    StudyPage,
    add_operation,
    add_page,
    take_refusal,
    was_opened,
)

MOST_SHOWN = 100
FLIPPED_SHOWN = 20


def show_releases(request: HttpRequest, study: Study, context: Context) -> HttpResponse:
    refusal = take_refusal(request, study)
    rows = Release.objects.filter(study=study).select_related("made_by").prefetch_related("deposits")
    releases = list(rows.order_by("-pk")[:MOST_SHOWN])
    checks: dict[str, Job] = {}
    for job in _done_jobs(study, "verify_release").order_by("-pk")[:MOST_SHOWN]:
        checks.setdefault(job.args["version"], job)
    stored = [release.version for release in releases if is_stored(release)]
    comparison = _done_jobs(study, "compare_releases").order_by("-pk").first()
    context |= {
        "releases": [
            (release, release.version in stored, checks.get(release.version)) for release in releases
        ],
        "kept": stored,
        "refusal": refusal,
        "next_version": next_version(study),
        "is_closed": study.state == Study.State.CLOSED,
        "publication": _done_jobs(study, "publish_release").order_by("-pk").first(),
        "begin": {"publish-release": _last_deposit_values(releases)},
        "comparison": comparison,
        "flipped": comparison.result["consensus"][:FLIPPED_SHOWN] if comparison and comparison.result else [],
    }
    return TemplateResponse(request, "evaluation/study_releases.html", context)


def _last_deposit_values(releases: list[Release]) -> dict[str, str]:
    deposits = [deposit for release in releases for deposit in release.deposits.all()]
    if not deposits:
        return {}
    deposits.sort(key=lambda deposit: deposit.pk)
    values = {name: deposits[-1].statements.get(name, "") for name in ("creators", "keywords", "papers")}
    repositories = [deposit.repository for deposit in deposits if deposit.repository]
    return values | {"repository": repositories[-1] if repositories else ""}


def _done_jobs(study: Study, kind: str) -> Any:
    return Job.objects.filter(kind=kind, args__study=study.slug, state=Job.State.DONE)


def download_release(request: HttpRequest, study: Study, context: Context) -> HttpResponseBase:
    try:
        release = find_release(study, request.GET.get("version", ""))
        path = release_file(release)
    except NotThere as error:
        raise Http404(str(error)) from None
    name = release_name(study, release.version)
    return file_download(request, path, name=name, content_type="application/zip")


add_page(
    StudyPage(
        name="releases",
        label="Releases",
        order=70,
        view=show_releases,
        shown=was_opened,
        group=Group.SHARE,
    )
)
add_page(StudyPage(name="release-file", label="", order=71, view=download_release))
add_operation(publish_release, label="Go on", leads_to=lambda study: "releases")
for _operation, _label in ((release, "Make the release"), (verify, "Verify"), (compare, "Compare")):
    add_operation(_operation, label=_label, leads_to=lambda study: "releases")
