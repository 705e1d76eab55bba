"""Publish a release once, however often a run is interrupted.

The deposit's row is stored before the first call, and records progress. The call that creates a record is
never repeated blindly: it carries the row's mark, which finds a record whose creation got no reply.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from common.audit import acting_person
from common.errors import DataConflict, NotThere
from evaluation.data.publishing import huggingface, zenodo
from evaluation.data.publishing.describing import Archive, Plan, erased_since, plan_of
from evaluation.data.publishing.outside import ArchiveConflict, NotAtArchive, Site
from evaluation.data.releases.storage import find_release, is_stored, release_file
from evaluation.errors import PublishingError
from evaluation.models import Deposit, Release
from judgments.models import Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.log import note_event

State = Deposit.State


@dataclass(frozen=True, slots=True)
class SentRelease:
    deposit: Deposit
    files: int

    def summary(self) -> str:
        deposit = self.deposit
        release, doi = deposit.release, deposit.doi
        if deposit.state == State.PUBLIC:
            return f"Release {release.version} is public at {deposit.address}{f', DOI {doi}' if doi else ''}."
        reserved = f" The DOI {doi} is reserved for it." if doi else ""
        return f"Release {release.version} is at {deposit.address} as a draft that only its owners see.{reserved}"


def release_to_publish(study: Study, version: str = "") -> Release:
    """Return the release of this version, or the newest. Raise NotThere."""
    if version:
        return find_release(study, version)
    newest = Release.objects.filter(study=study).order_by("-pk").first()
    if newest is None:
        raise NotThere(f"Study {study.slug!r} has no release yet; expected one to be made first.")
    return newest


def plan_publication(
    *, study: Study, to: str, version: str = "", bundle: Path | None = None, **options: Any
) -> Plan:
    """Return what would be sent; send nothing. ``bundle`` is the release's file if not stored here."""
    release = release_to_publish(study, version)
    if bundle is None and not is_stored(release):
        raise NotThere(
            f"The file of release {release.version} is not kept here; expected it with --bundle, SHA-256 "
            f"{release.sha256}."
        )
    return plan_of(release=release, bundle=bundle or release_file(release), to=to, **options)


def publish_release(*, plan: Plan, by: User | None = None, progress: Progress = no_progress) -> SentRelease:
    """Send the plan's files; a rerun continues a stopped run.

    Raises:
        PublishingError: it must not be published, the archive refuses it, or nobody answers.
        DataConflict: it went to another repository before.
    """
    if plan.refused:
        raise PublishingError(" ".join(plan.refused))
    deposit = _find_or_create_deposit(plan, by or acting_person())
    if deposit.state == State.PUBLIC:
        return SentRelease(deposit, len(plan.files))
    with _open_site(plan) as site:

        def note(**values: Any) -> None:
            _store_values(deposit, plan, values)

        send = huggingface.send if plan.archive == Archive.HUGGINGFACE else zenodo.send
        try:
            send(site, deposit, plan, note, progress)
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
    return SentRelease(deposit, len(plan.files))


def _open_site(plan: Plan) -> Site:
    if plan.archive == Archive.HUGGINGFACE:
        return Site(url=plan.url, token=settings.HUGGINGFACE_TOKEN, setting="HUGGINGFACE_TOKEN")
    if plan.url == settings.ZENODO_SANDBOX_URL.rstrip("/"):
        return Site(url=plan.url, token=settings.ZENODO_SANDBOX_TOKEN, setting="ZENODO_SANDBOX_TOKEN")
    return Site(url=plan.url, token=settings.ZENODO_TOKEN, setting="ZENODO_TOKEN")


def _find_or_create_deposit(plan: Plan, by: User | None) -> Deposit:
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=plan.release.study_id)
        rows = Deposit.objects.filter(release=plan.release, host=plan.host).exclude(state=State.GONE)
        deposit = rows.select_related("release__study").first()
        if deposit is None:
            return Deposit.objects.create(
                release=plan.release, archive=plan.archive, host=plan.host, repository=plan.repository, made_by=by,
                statements=dict(plan.statements), sent=plan.listed(),
            )  # fmt: skip
        if plan.repository and deposit.repository not in ("", plan.repository):
            if deposit.state != State.STARTED:
                raise DataConflict(
                    f"Release {plan.release.version} went to {deposit.repository} before; expected that repository."
                )
            deposit.repository = plan.repository
        if deposit.state != State.PUBLIC:
            deposit.statements, deposit.sent = dict(plan.statements), plan.listed()
            deposit.save(update_fields=["repository", "statements", "sent"])
        return deposit


def _store_values(deposit: Deposit, plan: Plan, values: dict[str, Any]) -> None:
    """Store changed columns; log draft and publication once each.

    Without values, check that this run may still publish: no other run came so far, and nobody was erased.
    """
    before, asked_at = deposit.state, deposit.asked_at
    with transaction.atomic():
        if not values and (why := erased_since(plan.release)):
            raise PublishingError(why)
        rows = Deposit.objects.filter(pk=deposit.pk, state=before, asked_at=asked_at)
        if not (rows.update(**values) if values else rows.exists()):
            raise DataConflict(
                "Another run sends this release at this moment; nothing more was done by this one."
            )
        for name, value in values.items():
            setattr(deposit, name, value)
        if deposit.state == State.PUBLIC and before != State.PUBLIC:
            _log(deposit, plan, "published-release", "is public")
        elif deposit.state == State.DRAFT and not _is_logged(deposit):
            _log(deposit, plan, "deposited-release", "is a draft")


def _is_logged(deposit: Deposit) -> bool:
    events = deposit.release.study.events.filter(what="deposited-release", details__deposit=deposit.pk)
    return events.exists()


def _log(deposit: Deposit, plan: Plan, what: str, status: str) -> None:
    release = deposit.release
    doi = f", DOI {deposit.doi}" if deposit.doi else ""
    cleared = (
        " Its texts may be given away, by the word of who sent it." if plan.statements["cleared"] else ""
    )
    note_event(
        study=release.study,
        what=what,
        sentence=f"Release {release.version} {status} at {deposit.address}{doi}.{cleared}",
        version=release.version,
        deposit=deposit.pk,
        sha256=release.sha256,
        doi=deposit.doi,
    )
