"""Compare two releases of a study on its page "Releases": the form, and the newest comparison."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.parameters import Parameters
from evaluation.data.releases.storage import find_release, release_file
from evaluation.errors import ReleaseError
from evaluation.models import Release
from evaluation.reports.releases.views import RELEASES_PARTS, ReleasesPart, done_jobs
from judgments.models import Study
from judgments.operations import background_operation
from judgments.studies.pages import Context
from judgments.studies.step_form import add_operation

MAX_SHOWN_CHANGES = 20  # items and pairs whose consensus changed


class CompareReleasesRequest(Parameters):
    """The two releases to compare."""

    before = serializers.CharField()
    after = serializers.CharField()


@background_operation(
    "compare-releases",
    "Compare two releases",
    parameters=CompareReleasesRequest,
    job="compare_releases",
    scope="exports",
)
def start_release_comparison(*, study: Study, before: str, after: str) -> dict[str, Any]:
    """Compare two releases of a study, and return what changed."""
    if before == after:
        raise ReleaseError(_("Choose two different releases to compare."))
    for version in (before, after):
        release_file(find_release(study, version))  # raises an error if there is no such file
    return {"before": before, "after": after}  # the job's arguments


def _comparison_context(study: Study, releases: list[Release]) -> Context:
    """Return the newest comparison, as the template of this part of the page shows it."""
    comparison = done_jobs(study, "compare_releases").order_by("-pk").first()
    result = comparison.result if comparison else None
    return {
        "comparison": comparison,
        "shown_changes": result["consensus"][:MAX_SHOWN_CHANGES] if result else [],
    }


RELEASES_PARTS.append(ReleasesPart("evaluation/two_releases.html", _comparison_context))

add_operation(start_release_comparison, label="Compare", leads_to=lambda study: "releases")
