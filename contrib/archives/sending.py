"""The operation that publishes a release. It publishes once, even if it is interrupted several times.

The row of the deposit is stored before the first call to the archive, and records the progress. The call that creates
a record at the archive is never simply repeated: it sends the ``mark`` of the row, by which the record can be found if
the call gets no response.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from rest_framework import serializers

from common.audit import acting_person
from common.errors import DataConflict, ObjectNotFound
from common.features import feature_settings
from common.parameters import Parameters
from contrib.archives.errors import PublishingError
from contrib.archives.huggingface import send_to_huggingface
from contrib.archives.models import Deposit
from contrib.archives.planning.citations import read_creators, read_papers
from contrib.archives.planning.plan import Archive, DepositPlan, archive_address, plan_deposit
from contrib.archives.recording import DepositRecorder
from contrib.archives.site import ArchiveConflict, NotAtArchive, Site
from contrib.archives.zenodo import ZENODO_HEADERS, send_to_zenodo
from evaluation.data.releases.storage import find_release, is_stored, release_file
from evaluation.models import Release
from judgments.access.rights import Right
from judgments.models import Study
from judgments.operations import background_operation
from judgments.studies.generation.progress import Progress, no_progress

State = Deposit.State


@dataclass(frozen=True, slots=True)
class SentRelease:
    """A deposit whose files are at the archive."""

    deposit: Deposit

    def summary(self) -> str:
        deposit = self.deposit
        release, doi = deposit.release, deposit.doi
        if deposit.state == State.PUBLIC:
            return f"Release {release.version} is public at {deposit.address}{f', DOI {doi}' if doi else ''}."
        doi_sentence = f" The DOI {doi} is reserved for it." if doi else ""
        return f"Release {release.version} is at {deposit.address} as a draft that only its owners see.{doi_sentence}"


def release_to_publish(study: Study, version: str = "") -> Release:
    """Return the release of this version, or the newest release. Raise ObjectNotFound if there is none."""
    if version:
        return find_release(study, version)
    newest_release = Release.objects.filter(study=study).order_by("-pk").first()
    if newest_release is None:
        raise ObjectNotFound(f"Study {study.slug!r} has no release yet; expected one to be made first.")
    return newest_release


def plan_publication(
    *, study: Study, to: str, version: str = "", bundle: Path | None = None, **options: Any
) -> DepositPlan:
    """Return what would be sent, without sending it.

    Args:
        to: the archive, a value of ``Deposit.Archive``.
        version: the version of the release; "" for the newest release.
        bundle: the release's file, if the server does not have it.
        options: the other arguments of ``plan_deposit``.
    """
    release = release_to_publish(study, version)
    if bundle is None and not is_stored(release):
        raise ObjectNotFound(
            f"The file of release {release.version} is not kept here; expected it with --bundle, SHA-256 "
            f"{release.sha256}."
        )
    return plan_deposit(release=release, bundle=bundle or release_file(release), to=to, **options)


def send_release(
    *, plan: DepositPlan, by: User | None = None, progress: Progress = no_progress
) -> SentRelease:
    """Send the files of a plan to its archive. A repeated call continues an interrupted one.

    Raises:
        PublishingError: the release must not be published, or the archive refuses it or does not respond.
        DataConflict: the release was sent to another repository before.
    """
    if plan.refusals:
        raise PublishingError(" ".join(plan.refusals))
    deposit = _find_or_create_deposit(plan, by or acting_person())
    if deposit.state == State.PUBLIC:
        return SentRelease(deposit)
    recorder = DepositRecorder(deposit, plan)
    send = send_to_huggingface if plan.archive == Archive.HUGGINGFACE else send_to_zenodo
    with _open_site(plan) as site:
        try:
            send(site, deposit, plan, recorder, progress)
        except (NotAtArchive, ArchiveConflict):
            raise PublishingError(
                f"{plan.host} does not know what it said it has, or has it twice. Send the release again."
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise PublishingError(
                f"{plan.host} answers in another way than its API says; is its address right?"
            ) from None
        except (OSError, BadZipFile):
            raise PublishingError(
                f"The file of release {plan.release.version} was removed or changed while it was sent; it was not made "
                "public."
            ) from None
    return SentRelease(deposit)


def _open_site(plan: DepositPlan) -> Site:
    if plan.archive == Archive.HUGGINGFACE:
        return Site(url=plan.url, token=feature_settings.HUGGINGFACE_TOKEN, setting="HUGGINGFACE_TOKEN")
    is_sandbox = plan.url == feature_settings.ZENODO_SANDBOX_URL.rstrip("/")
    setting = "ZENODO_SANDBOX_TOKEN" if is_sandbox else "ZENODO_TOKEN"
    token = getattr(feature_settings, setting)
    return Site(url=plan.url, token=token, setting=setting, headers=ZENODO_HEADERS)


def _find_or_create_deposit(plan: DepositPlan, by: User | None) -> Deposit:
    """Return the deposit of the release at the archive, updated from the plan, or create it."""
    with transaction.atomic():
        # Lock the study, so that simultaneous runs do not create two deposits.
        Study.objects.select_for_update(no_key=True).get(pk=plan.release.study_id)
        rows = Deposit.objects.filter(release=plan.release, host=plan.host).exclude(state=State.GONE)
        deposit = rows.select_related("release__study").first()
        if deposit is None:
            return Deposit.objects.create(
                release=plan.release, archive=plan.archive, host=plan.host, repository=plan.repository, made_by=by,
                statements=dict(plan.statements), sent=plan.files_as_json(),
            )  # fmt: skip
        # Another repository can be chosen only until the first one was created. Zenodo has no repositories ("").
        if plan.repository and deposit.repository not in ("", plan.repository):
            if deposit.state != State.STARTED:
                raise DataConflict(
                    f"Release {plan.release.version} went to {deposit.repository} before; expected that repository."
                )
            deposit.repository = plan.repository
        if deposit.state != State.PUBLIC:
            deposit.statements, deposit.sent = dict(plan.statements), plan.files_as_json()
            deposit.save(update_fields=["repository", "statements", "sent"])
        return deposit


class PublishReleaseRequest(Parameters):
    """The release to publish, the archive, and the description of the deposit."""

    version = serializers.CharField(
        required=False,
        max_length=20,
        label="Release",
        help_text="A version such as 1.0 (default: the newest release).",
    )
    to = serializers.ChoiceField(
        choices=Deposit.Archive.choices,
        initial=Deposit.Archive.ZENODO.value,
        label="Archive",
        help_text="The archive to publish in.",
    )
    sandbox = serializers.BooleanField(
        default=False,
        label="Use Zenodo's sandbox for testing",
        help_text="Use Zenodo's sandbox. Its records and DOIs are only for testing.",
    )
    repository = serializers.RegexField(
        r"^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}\Z",
        required=False,
        label="Repository at Hugging Face",
        help_text="Owner and name, such as my-lab/judgments. Default: the repository of the study's "
        "last deposit.",
        error_messages={"invalid": "expected an owner and a name, such as my-lab/judgments."},
    )
    creators = serializers.CharField(
        required=False,
        max_length=5000,
        style={"base_template": "textarea.html"},
        label="Creators",
        help_text="One creator per line, or separated by “;”, such as: Doe, Jane 0000-0002-1825-0097 "
        "(University). Default: the creators of the study's last deposit.",
    )
    keywords = serializers.CharField(
        required=False, max_length=500, label="Keywords", help_text="Separated by commas."
    )
    papers = serializers.CharField(
        required=False,
        max_length=2000,
        label="Papers",
        help_text="DOIs, arXiv ids or web addresses of the papers about the data.",
    )
    cleared = serializers.BooleanField(
        default=False,
        label="I have the right to publish the texts under the release's licence",
        help_text="Confirm that you have the right to publish the texts under the release's licence. "
        "The log records your confirmation.",
    )
    publish = serializers.BooleanField(
        default=False,
        label="Make the deposit public (cannot be undone)",
        help_text="Make the deposit public. At Zenodo, this cannot be undone. If you do not choose this, "
        "the deposit stays a draft.",
    )
    send = serializers.BooleanField(
        default=False,
        label="Send the release (otherwise, only show what would be sent)",
        help_text="Send the release. Otherwise, only show what would be sent.",
    )


@background_operation(
    "publish-release",
    "Publish a release",
    parameters=PublishReleaseRequest,
    job="publish_release",
    right=Right.OWN,
    scope="exports",
    once="always",  # refuse a second job for the study while one is queued or runs
)
def publish_release(*, study: Study, to: str, version: str = "", **options: Any) -> dict[str, Any]:
    """Send a release to Zenodo or Hugging Face, as a draft or, with ``publish``, as a public record.

    Without ``send``, only return what would be sent.
    """
    release = release_to_publish(study, version)
    # Refuse now what the job would refuse later. Each of these functions raises an error if something is wrong.
    release_file(release)
    archive_address(to, sandbox=options["sandbox"])
    check_options(to, **options)
    return {"version": release.version, "to": to, **options}  # the job's arguments


def check_options(
    to: str, *, creators: str = "", papers: str = "", publish: bool = False, **options: Any
) -> None:
    """Raise PublishingError if a text cannot be parsed, or if the options contradict each other."""
    read_creators(creators)
    read_papers(papers)
    if publish and not options["send"]:
        raise PublishingError(_("“publish” requires “send”: only a release that is sent can be made public."))
    if options.get("repository") and to != Deposit.Archive.HUGGINGFACE:
        raise PublishingError(_("“repository” is for Hugging Face only; Zenodo creates its own record."))
