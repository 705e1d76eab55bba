"""Send a release to Zenodo, where it becomes a record, or a new version of the study's last record.

A record begins as a draft, to which files are added. It has a DOI before it is published.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import quote

from django.utils import timezone

from common.features import feature_settings
from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from contrib.archives.planning.files import DepositFile
from contrib.archives.planning.plan import DepositPlan
from contrib.archives.recording import DepositRecorder
from contrib.archives.site import ArchiveConflict, NotAtArchive, Site, UnclearOutcome, problems_of
from judgments.studies.generation.progress import Progress

State = Deposit.State
# Without this header, Zenodo answers in its older format.
ZENODO_HEADERS = {"Accept": "application/vnd.inveniordm.v1+json"}
ACCESS = {"record": "public", "files": "public"}
MAX_RECORDS_LISTED = 100
POLL_SECONDS = 5.0  # seconds between two searches for a record that may have been created


def send_to_zenodo(
    site: Site, deposit: Deposit, plan: DepositPlan, recorder: DepositRecorder, progress: Progress
) -> None:
    """Bring the record to the state that the plan describes.

    Each step first checks whether it was done before, so that a repeated call continues.
    """
    if deposit.state in (State.STARTED, State.CREATING):
        progress(0.05, "creating the record")
        _create_record(site, deposit, plan, recorder)
    path = f"api/records/{deposit.remote}"
    draft = _read_draft(site, path)
    # If a person has published the record at the archive, a draft is an edit that they began, which is not touched.
    if draft is None or draft.get("is_published"):
        _record_publication(site, deposit, recorder)
        return
    progress(0.1, "writing what is said of it")
    draft = _write_description(site, deposit, plan, draft)
    doi = _doi_of(draft) or _reserve_doi(site, path)
    recorder.store(state=State.FILLING, doi=doi, address=f"{site.url}/uploads/{deposit.remote}")
    _send_files(site, path, plan.files, progress)
    if not plan.publish:
        recorder.store(state=State.DRAFT, finished_at=timezone.now())
        return
    progress(0.95, "publishing")
    recorder.check_may_send()  # raises an error if a participant was erased meanwhile
    with suppress(UnclearOutcome, ArchiveConflict, NotAtArchive):  # `_record_publication` reads the outcome
        site.call("POST", f"{path}/draft/actions/publish", what="to publish the record", repeatable=False)
    _record_publication(site, deposit, recorder)


def state_of_record(site: Site, deposit: Deposit) -> str:
    """Return the state of the deposit's record at the archive: public, draft or gone."""
    record_path = f"api/records/{deposit.remote}"
    try:
        site.call("GET", record_path, what="to read the record")
    except NotAtArchive:
        return State.GONE if _read_draft(site, record_path) is None else State.DRAFT
    return State.PUBLIC


def _read_draft(site: Site, record_path: str) -> dict[str, Any] | None:
    """Return the draft of a record, or None if it has none, for example because it is published."""
    try:
        draft: dict[str, Any] = site.call("GET", f"{record_path}/draft", what="to read the draft")
    except NotAtArchive:
        return None
    return draft


def _record_publication(site: Site, deposit: Deposit, recorder: DepositRecorder) -> None:
    """Store that the record is public. Raise PublishingError if it is not public."""
    try:
        record = site.call("GET", f"api/records/{deposit.remote}", what="to read the record")
    except NotAtArchive:
        if state_of_record(site, deposit) == State.GONE:
            recorder.store(state=State.GONE)
            raise PublishingError(
                f"The draft {deposit.remote} was removed at {site.host}. Send the release again to make another."
            ) from None
        raise PublishingError(
            f"{site.host} did not publish the draft {deposit.remote}. Send it again."
        ) from None
    recorder.store(
        state=State.PUBLIC,
        doi=_doi_of(record) or deposit.doi,
        address=f"{site.url}/records/{deposit.remote}",
        finished_at=timezone.now(),
    )


def _create_record(site: Site, deposit: Deposit, plan: DepositPlan, recorder: DepositRecorder) -> None:
    """Create the record, or a new version of the study's last record, exactly once."""
    last_deposit = _last_public_deposit(site, deposit)
    if last_deposit is None:
        _create_first_record(site, deposit, plan, recorder)
    else:
        _create_version(site, deposit, last_deposit, recorder)


def _create_version(site: Site, deposit: Deposit, last_deposit: Deposit, recorder: DepositRecorder) -> None:
    """Begin a new version of the last record. If the call is repeated, the archive returns the same draft."""
    record = site.call("POST", f"api/records/{last_deposit.remote}/versions", what="to begin a new version")
    remote = str(record["id"])
    other_deposit = Deposit.objects.filter(host=deposit.host, remote=remote).exclude(pk=deposit.pk).first()
    if other_deposit is not None:
        raise PublishingError(
            f"{site.host} keeps one draft of a new version at a time, and that of release "
            f"{other_deposit.release.version} is there; expected it to be published or removed first."
        )
    recorder.store(remote=remote, state=State.FILLING)


def _create_first_record(site: Site, deposit: Deposit, plan: DepositPlan, recorder: DepositRecorder) -> None:
    """Create the study's first record. If an earlier run may have created it, look for it first."""
    if deposit.state == State.CREATING and (remote := _find_lost_record(site, deposit)):
        recorder.store(remote=remote, state=State.FILLING)
        return
    recorder.store(state=State.CREATING, asked_at=timezone.now())
    body = {"access": ACCESS, "files": {"enabled": True}, "metadata": _with_mark(plan.metadata, deposit)}
    try:
        # Although not `repeatable`, the call is repeated after failures that surely created nothing, such as a refusal
        # for too many requests. `asked_at` is the time of the last attempt, from which `_find_lost_record` waits.
        record = site.call(
            "POST",
            "api/records",
            what="to create the record",
            body=body,
            repeatable=False,
            before_next=lambda: recorder.store(asked_at=timezone.now()),
        )
        remote = str(record["id"])
    except UnclearOutcome:
        remote = _find_lost_record(site, deposit)
    if not remote:
        raise PublishingError(f"{site.host} did not create the record. Send the release again.")
    recorder.store(remote=remote, state=State.FILLING)


def _last_public_deposit(site: Site, deposit: Deposit) -> Deposit | None:
    """Return the deposit of the study's last public record at this archive; None if there is none.

    Stored states are updated if a record was published or removed at the archive.

    Raises:
        PublishingError: the study's last record is a draft.
    """
    deposits = Deposit.objects.filter(release__study=deposit.release.study_id, host=deposit.host)
    deposits = deposits.exclude(pk=deposit.pk).exclude(remote="").exclude(state=State.GONE)
    for candidate in deposits.select_related("release").order_by("-release_id"):
        if candidate.state != State.PUBLIC:
            state = state_of_record(site, candidate)
            if state == State.DRAFT:
                raise PublishingError(
                    f"Release {candidate.release.version} is still a draft at {site.host}; expected it to be published "
                    "or removed there first, so that this one becomes its next version."
                )
            Deposit.objects.filter(pk=candidate.pk).update(state=state)
            if state == State.GONE:
                continue
        return candidate
    return None


def _find_lost_record(site: Site, deposit: Deposit) -> str:
    """Return the id of a record whose creating call got no response; "" if there is none.

    The archive lists new records only after a delay.
    """
    asked_at: datetime = deposit.asked_at or timezone.now()
    deadline = asked_at.timestamp() + feature_settings.PUBLISHING_SETTLE_SECONDS
    mark = deposit.mark.urn
    while True:
        reply = site.call(
            "GET", f"api/user/records?sort=newest&size={MAX_RECORDS_LISTED}", what="to list your records"
        )
        for record in reply.get("hits", {}).get("hits", []):
            identifiers = record.get("metadata", {}).get("identifiers") or []
            if mark in [entry.get("identifier") for entry in identifiers]:
                return str(record["id"])
        if time.time() >= deadline:
            return ""
        time.sleep(min(POLL_SECONDS, max(deadline - time.time(), 0.0)))


def _with_mark(metadata: Mapping[str, Any], deposit: Deposit) -> dict[str, Any]:
    """Return the metadata with the mark of the deposit, by which its record can be found."""
    return {**metadata, "identifiers": [{"identifier": deposit.mark.urn, "scheme": "urn"}]}


def _write_description(
    site: Site, deposit: Deposit, plan: DepositPlan, draft: Mapping[str, Any]
) -> dict[str, Any]:
    body = {
        "access": ACCESS,
        "files": {"enabled": True},
        "metadata": _with_mark(plan.metadata, deposit),
        # If the draft is written without its identifiers, it loses the reserved DOI.
        "pids": draft.get("pids") or {},
    }
    reply: dict[str, Any] = site.call(
        "PUT", f"api/records/{deposit.remote}/draft", what="the description", body=body
    )
    if problems := problems_of(reply):
        raise PublishingError(f"{site.host} does not take the description: {'; '.join(problems)[:500]}.")
    return reply


def _doi_of(record: Mapping[str, Any]) -> str:
    return str(((record.get("pids") or {}).get("doi") or {}).get("identifier") or "")


def _reserve_doi(site: Site, record_path: str) -> str:
    try:
        draft = site.call("POST", f"{record_path}/draft/pids/doi", what="to reserve a DOI")
    except ArchiveConflict:  # an earlier call has done it
        draft = site.call("GET", f"{record_path}/draft", what="to read the draft")
    return _doi_of(draft)


def _send_files(site: Site, record_path: str, files: tuple[DepositFile, ...], progress: Progress) -> None:
    """Send missing and incomplete files. Files that a person added at the archive are kept."""
    reply = site.call("GET", f"{record_path}/draft/files", what="to list the files")
    entries = {entry["key"]: entry for entry in reply.get("entries") or []}
    total_bytes, sent_bytes = sum(file.size for file in files) or 1, 0
    for file in files:
        entry = entries.get(file.name)
        if entry is None or not _is_complete(entry, file):
            # Sending files takes the progress from 15 % to 90 %.
            progress(0.15 + 0.75 * sent_bytes / total_bytes, f"sending {file.name}")
            _send_file(site, record_path, file, replace=entry is not None)
        sent_bytes += file.size


def _send_file(site: Site, record_path: str, file: DepositFile, *, replace: bool) -> None:
    """Send a file. ``replace`` says whether the draft has a file of this name already."""
    file_path = f"{record_path}/draft/files/{quote(file.name)}"
    purpose = f"the file {file.name}"
    if replace:
        with suppress(NotAtArchive):
            site.call("DELETE", file_path, what=purpose)
    site.call("POST", f"{record_path}/draft/files", what=purpose, body=[{"key": file.name}])
    headers = {"Content-Type": "application/octet-stream", "Content-Length": str(file.size)}
    site.call("PUT", f"{file_path}/content", what=purpose, content=file.open, headers=headers)
    entry = site.call("POST", f"{file_path}/commit", what=purpose)
    if not _is_complete(entry, file):
        raise PublishingError(
            f"{site.host} got another {file.name} than was sent: {entry.get('size')} bytes with "
            f"{entry.get('checksum')}, expected {file.size} bytes with md5:{file.md5}. Send the release again."
        )


def _is_complete(entry: Mapping[str, Any], file: DepositFile) -> bool:
    return (
        entry.get("status") == "completed"
        and entry.get("checksum") == f"md5:{file.md5}"
        and int(entry.get("size") or 0) == file.size
    )
