"""The operation of publishing a release, or its preview."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.parameters import Parameters
from evaluation.data.publishing.describing import address_of, read_creators, read_papers
from evaluation.data.publishing.sending import release_to_publish
from evaluation.data.releases.storage import release_file
from evaluation.errors import PublishingError
from evaluation.models import Deposit
from judgments.access.roles import Right
from judgments.models import Study
from judgments.study_operations import background_operation


class PublishReleaseRequest(Parameters):
    """Which release, where to, and what is said of it."""

    version = serializers.CharField(
        required=False,
        max_length=20,
        label="Release",
        help_text="Such as 1.0. Left out: the newest.",
    )
    to = serializers.ChoiceField(
        choices=Deposit.Archive.choices,
        initial=Deposit.Archive.ZENODO.value,
        label="Archive",
        help_text="Where it goes.",
    )
    sandbox = serializers.BooleanField(
        default=False,
        label="To Zenodo's sandbox, to try it",
        help_text="Zenodo's sandbox, whose records and DOIs are for trying.",
    )
    repository = serializers.RegexField(
        r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}\Z",
        required=False,
        label="Repository at Hugging Face",
        help_text="Whose, and its name, such as my-lab/judgments (default: that of the study's last deposit).",
        error_messages={"invalid": "expected an owner and a name, such as my-lab/judgments."},
    )
    creators = serializers.CharField(
        required=False,
        max_length=5000,
        style={"base_template": "textarea.html"},
        label="Creators",
        help_text="One a line, or with ; between them: Doe, Jane 0000-0002-1825-0097 (University) "
        "(default: those of the study's last deposit).",
    )
    keywords = serializers.CharField(
        required=False,
        max_length=500,
        label="Keywords",
        help_text="With commas between them.",
    )
    papers = serializers.CharField(
        required=False,
        max_length=2000,
        label="Papers",
        help_text="DOIs, arXiv ids or addresses of the papers that the data belong to.",
    )
    cleared = serializers.BooleanField(
        default=False,
        label="I may give away the texts under the release's licence",
        help_text="You say that the texts may be given away under the release's licence; the log keeps it.",
    )
    publish = serializers.BooleanField(
        default=False,
        label="Make it public, which cannot be undone",
        help_text="Make it public, which cannot be undone at Zenodo; else it stays a draft.",
    )
    send = serializers.BooleanField(
        default=False,
        label="Send it; else it is only shown what would be sent",
        help_text="Send it; else it is only shown what would be sent.",
    )


@background_operation(
    "publish-release",
    "Publish a release",
    parameters=PublishReleaseRequest,
    job="publish_release",
    right=Right.OWN,
    scope="exports",
    once="always",
)
def publish_release(*, study: Study, to: str, version: str = "", **options: Any) -> dict[str, Any]:
    """Give a release to Zenodo or Hugging Face, as a draft; without `send`, the job's result is what would be sent."""
    release = release_to_publish(study, version)
    release_file(release)
    address_of(to, sandbox=options["sandbox"])
    check_options(to, **options)
    return {"version": release.version, "to": to, **options}


def check_options(
    to: str, *, creators: str = "", papers: str = "", publish: bool = False, **others: Any
) -> None:
    read_creators(creators)
    read_papers(papers)
    if publish and not others["send"]:
        raise PublishingError(_("What is only shown is not made public; expected send with publish."))
    if others.get("repository") and to != Deposit.Archive.HUGGINGFACE:
        raise PublishingError(_("A repository is one of Hugging Face; Zenodo makes a record of its own."))
