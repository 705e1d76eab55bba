"""The operations that make and verify a release."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from common.parameters import Parameters
from evaluation.data.releases.documents import LICENCES, spdx_id_of
from evaluation.data.releases.storage import JOB_KIND, find_release, release_file
from evaluation.data.releases.terms import ReleaseTerms, check_terms, next_version
from evaluation.errors import ReleaseError
from judgments.access.rights import Right
from judgments.models import Study
from judgments.operations import background_operation


class LicenceField(serializers.ChoiceField):
    """The SPDX identifier of a licence. If it is unknown, the error suggests the nearest known one."""

    def to_internal_value(self, data: Any) -> str:
        try:
            return spdx_id_of(str(data))
        except ReleaseError as error:
            raise serializers.ValidationError(str(error)) from None


class ReleaseRequest(Parameters):
    """The terms of a release."""

    version = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=20,
        label="Version",
        help_text="A version such as 1.0 (default: the next version).",
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
        help_text="Default: the name of the study.",
    )
    citation = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=5000,
        label="Citation",
        style={"base_template": "textarea.html"},
    )
    texts = serializers.BooleanField(
        default=True,
        initial=True,
        label="Include the texts of systems and references",
        help_text="Without the texts, a release identifies captions only by their ids.",
    )
    comments = serializers.BooleanField(
        default=False,
        label="Include participants' comments, without names, addresses and long numbers",
        help_text="Comments are released without names, addresses and long numbers.",
    )


@background_operation(
    "release",
    "Make a release",
    parameters=ReleaseRequest,
    job=JOB_KIND,
    right=Right.OWN,
    scope="exports",
    once="always",  # even with other terms, no second release is made at the same time
)
def start_release(*, study: Study, version: str = "", **terms: Any) -> dict[str, Any]:
    """Start to make a release of a closed study, of which you must be the owner.

    Follow `state` until the job is done, then list and download.
    """
    release_terms = terms_of(study, version, **terms)
    check_terms(study, release_terms)
    return asdict(release_terms)  # the job's arguments


def terms_of(study: Study, version: str = "", **terms: Any) -> ReleaseTerms:
    """Return the terms of a release, by default with the study's next version."""
    return ReleaseTerms(version=version or next_version(study), **terms)


class VerifyRequest(Parameters):
    """The version of the release to verify."""

    version = serializers.CharField()


@background_operation(
    "verify-release", "Verify a release", parameters=VerifyRequest, job="verify_release", scope="exports"
)
def verify(*, study: Study, version: str) -> dict[str, Any]:
    """Compute every figure of a release again from its rows, and report the differences."""
    release_file(find_release(study, version))  # raises an error now, not in the job, if there is none
    return {"version": version}  # the job's arguments
