"""Deposits over HTTP."""

from __future__ import annotations

import django_filters as filters
from rest_framework import serializers

from evaluation.models import Deposit
from judgments.api.resources import Related, Resource, RowSerializer, filters_of, study_filter


class DepositSerializer(RowSerializer[Deposit]):
    """A release at an archive."""

    study = Related("release.study.slug")
    version = Related("release.version")
    place = serializers.ChoiceField(source="archive", choices=Deposit.Archive.choices, read_only=True)
    files = serializers.ListField(
        source="sent", child=serializers.DictField(), read_only=True, help_text="Names, sizes and SHA-256."
    )

    class Meta:
        model = Deposit
        fields = [
            *("id", "study", "version", "place", "host", "repository", "state", "remote", "doi", "address"),
            *("files", "made_at", "finished_at"),
        ]


class DepositResource(Resource):
    """Where releases were given to, with DOI and address."""

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
