"""Operations: make, verify and compare releases."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.parameters import Parameters
from evaluation.data.releases.documents import LICENCES, check_licence
from evaluation.data.releases.storage import (
    JOB_KIND,
    Terms,
    check_terms,
    find_release,
    next_version,
    release_file,
)
from evaluation.errors import ReleaseError
from judgments.access.roles import Right
from judgments.models import Study
from judgments.study_operations import background_operation


class LicenceField(serializers.ChoiceField):
    def to_internal_value(self, data: Any) -> str:
        try:
            return check_licence(str(data))
        except ReleaseError as error:
            raise serializers.ValidationError(str(error)) from None


class ReleaseRequest(Parameters):
    """The terms of a release."""

    version = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=20,
        label="Version",
        help_text="Such as 1.0. Left out: the next one.",
    )
    licence = LicenceField(
        choices=[(name, f"{name}: {terms['name']}") for name, terms in LICENCES.items()],
        initial="CC-BY-4.0",
        label="Licence",
    )
    title = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=300,
        label="Title",
        help_text="Left out: the study's name.",
    )
    citation = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=5000,
        label="How it is to be cited",
        style={"base_template": "textarea.html"},
    )
    texts = serializers.BooleanField(
        default=True,
        initial=True,
        label="With the texts of captions and references",
        help_text="Without the texts, a release names captions by their ids alone.",
    )
    comments = serializers.BooleanField(
        default=False,
        label="With workers' comments, without names, addresses and longer numbers",
        help_text="Comments are released without names, addresses and longer numbers.",
    )


@background_operation(
    "release",
    "Make a release",
    parameters=ReleaseRequest,
    job=JOB_KIND,
    right=Right.OWN,
    scope="exports",
    once="always",
)
def release(*, study: Study, version: str = "", **terms: Any) -> dict[str, Any]:
    """Starts making a release of a closed study, as its owner; follow `state`, then list and download."""
    release_terms = terms_of(study, version, **terms)
    check_terms(study, release_terms)
    return asdict(release_terms)


def terms_of(study: Study, version: str = "", **terms: Any) -> Terms:
    return Terms(version=version or next_version(study), **terms)


class VerifyRequest(Parameters):
    """Which release."""

    version = serializers.CharField()


@background_operation(
    "verify-release", "Verify a release", parameters=VerifyRequest, job="verify_release", scope="exports"
)
def verify(*, study: Study, version: str) -> dict[str, Any]:
    """Computes every figure of a release again from its rows."""
    release_file(find_release(study, version))
    return {"version": version}


class CompareRequest(Parameters):
    """Two releases."""

    before = serializers.CharField()
    after = serializers.CharField()


@background_operation(
    "compare-releases",
    "Compare two releases",
    parameters=CompareRequest,
    job="compare_releases",
    scope="exports",
)
def compare(*, study: Study, before: str, after: str) -> dict[str, Any]:
    """Tells what changed between two releases."""
    if before == after:
        raise ReleaseError(_("A release is compared with another one; choose two."))
    for version in (before, after):
        release_file(find_release(study, version))
    return {"before": before, "after": after}
