"""The part of the page "Releases" that publishes a release in an archive, and the API calls that read deposits."""

from __future__ import annotations

import django_filters as filters
from django.db.models import prefetch_related_objects
from rest_framework import serializers

from contrib.archives.models import Deposit
from contrib.archives.sending import publish_release
from evaluation.models import Release
from evaluation.reports.releases.views import RELEASES_PARTS, ReleasesPart, done_jobs
from judgments.api.filters import filters_of, study_filter
from judgments.api.resources import Related, Resource, RowSerializer
from judgments.models import Study
from judgments.studies.pages import Context
from judgments.studies.step_form import add_operation


def _publication_context(study: Study, releases: list[Release]) -> Context:
    prefetch_related_objects(releases, "deposits")
    return {
        "last_publication_job": done_jobs(study, "publish_release").order_by("-pk").first(),
        "initial_values": {"publish-release": _values_of_last_deposit(releases)},
    }


def _values_of_last_deposit(releases: list[Release]) -> dict[str, str]:
    """Return what a person entered for the last deposit, and the last repository, for the form; {} without deposits."""
    deposits = [deposit for release in releases for deposit in release.deposits.all()]
    if not deposits:
        return {}
    deposits.sort(key=lambda deposit: deposit.pk)
    values = {name: deposits[-1].statements.get(name, "") for name in ("creators", "keywords", "papers")}
    repositories = [deposit.repository for deposit in deposits if deposit.repository]
    return values | {"repository": repositories[-1] if repositories else ""}


RELEASES_PARTS.append(
    ReleasesPart(
        "archives/give_release.html", _publication_context, of_release="archives/deposits_of_release.html"
    )
)
add_operation(publish_release, label="Go on", leads_to=lambda study: "releases")


class DepositSerializer(RowSerializer[Deposit]):
    """A deposit: a release at an archive, or on its way to it."""

    study = Related("release.study.slug")
    version = Related("release.version")
    place = serializers.ChoiceField(
        source="archive", choices=Deposit.Archive.choices, read_only=True, help_text="The archive."
    )
    files = serializers.ListField(
        source="sent",
        child=serializers.DictField(),
        read_only=True,
        help_text="`name`, `size` in bytes and `sha256` of each file of the deposit.",
    )

    class Meta:
        model = Deposit
        fields = [
            *("id", "study", "version", "place", "host", "repository", "state", "remote", "doi", "address"),
            *("files", "made_at", "finished_at"),
        ]


class DepositResource(Resource):
    """The deposits of releases at archives, with DOI and address."""

    scope = "exports"
    queryset = Deposit.objects.select_related("release__study")
    serializer_class = DepositSerializer
    study_path = "release__study"
    filterset_class = filters_of(
        Deposit,
        "state",
        place=filters.ChoiceFilter(field_name="archive", choices=Deposit.Archive.choices),
        study=study_filter(field_name="release__study"),
        version="release__version",
    )
