"""Clients of Zenodo and the Hugging Face Hub, and the steps by which a release is sent to each.

Zenodo has served InvenioRDM's API of drafts and records since October 2023. Its older deposit API refuses a new
version of a record that has files (https://inveniordm.docs.cern.ch/reference/rest_api_drafts_records/).

The Hub (https://huggingface.co/docs/hub/api) creates repositories by name. A commit is one call, after large files
were sent by Git LFS (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md). docs/decisions/0005-http.md
says why the Hub's own library is not used.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import quote, urlsplit

from django.db.models import QuerySet
from django.utils import timezone

from common.features import feature_settings
from common.http.addresses import THIS_MACHINE, host_of, keeps_secrets
from common.http.client import CallFailed, Client, HTTPReply, Payload, Retries
from common.incoming.json_documents import load_json
from contrib.archives.describing import DepositFile, DepositPlan
from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from judgments.studies.generation.progress import Progress

SECONDS = 60.0  # seconds to wait for the next byte
MAX_TRIES = 5
MAX_DETAIL_LENGTH = 300


class UnclearOutcome(Exception):
    """Raised if a call may have been carried out, and must not be repeated."""


class NotAtArchive(Exception):
    """Raised if the archive does not have the requested object (404, 410)."""


class ArchiveConflict(Exception):
    """Raised if the object exists at the archive already, or was changed meanwhile (409, 412)."""


class Site(Client):
    """A client of an archive. The token stays in this object, and is sent only to the archive's own host."""

    def __init__(
        self, *, url: str, token: str, setting: str, headers: Mapping[str, str] | None = None
    ) -> None:
        parts = urlsplit(url)
        if not token:
            raise PublishingError(
                f"Nothing can be sent to {parts.netloc}: the setting {setting} is empty, expected an access token."
            )
        if not (token.isascii() and token.isprintable()) or " " in token:
            raise PublishingError(
                f"Nothing can be sent to {parts.netloc}: the setting {setting} holds a blank, a line's end or another "
                "character that no token has."
            )
        if not keeps_secrets(url):
            raise PublishingError(
                f"The address is {parts.scheme}://{parts.netloc}; expected an https address, since the token is sent "
                "with every call."
            )
        super().__init__(url, seconds=SECONDS, credentials={"Authorization": f"Bearer {token}"}, secret=token)
        self.url, self.host = url.rstrip("/"), parts.netloc
        self._headers = dict(headers or {})
        self._is_here = parts.hostname in THIS_MACHINE

    def call(
        self,
        method: str,
        path: str,
        *,
        what: str,
        body: Any = None,
        content: Payload | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = True,
        before_next: Callable[[], None] = lambda: None,
    ) -> Any:
        """Call the archive's own API; return its JSON, or {}.

        Args:
            what: the purpose, for error messages, such as "to create the record".
            content: opens the body's bytes again for each attempt.
            again: whether to repeat a call that may have been carried out.
            before_next: called before each repetition.

        Raises:
            NotAtArchive, ArchiveConflict: the status was 404 or 410, or 409 or 412.
            UnclearOutcome: the call may have been carried out, and is not repeated.
            PublishingError: the call was refused, or there is no response.
        """
        sent = self._headers | dict(headers or {})
        written = self._sent(
            method, path, what, again=again, body=body, content=content, headers=sent, before_next=before_next
        ).content
        try:
            return json.loads(written) if written else {}
        except ValueError:
            raise PublishingError(
                f"{self.host} does not answer with JSON when it is asked {what}; is its address right?"
            ) from None

    def put(
        self,
        address: str,
        *,
        what: str,
        content: Payload,
        headers: Mapping[str, str],
        method: str = "PUT",
    ) -> Mapping[str, str]:
        """Send bytes to an address that the archive gave, without the token; return the response headers."""
        if not keeps_secrets(address) or (host_of(address) in THIS_MACHINE and not self._is_here):
            raise PublishingError(
                f"{self.host} names an upload address that is not https, or on this machine; nothing was sent to it."
            )
        return self._sent(method, address, what, again=True, content=content, headers=headers).headers

    def is_own(self, address: str) -> bool:
        return address.startswith(f"{self.url}/")

    def _sent(self, method: str, address: str, what: str, *, again: bool, **call: Any) -> HTTPReply:
        retries = Retries(MAX_TRIES, feature_settings.PUBLISHING_BACKOFF_SECONDS)
        try:
            answer = self.send(method, address, retries=retries, repeatable=again, **call)
        except CallFailed as error:
            if error.sent and not again:
                raise UnclearOutcome from None
            raise self._unclear_error(str(error)) from None
        status = answer.status
        if answer.is_temporary:
            if not again and status != HTTPStatus.TOO_MANY_REQUESTS:
                raise UnclearOutcome
            if answer.wait > retries.longest:
                raise PublishingError(
                    f"{self.host} asks to wait {ceil(answer.wait / 60)} minutes ({status}). Send it again then: it "
                    "goes on where it stopped."
                )
            raise self._unclear_error(f"answers {status}")
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            raise NotAtArchive
        if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED):
            raise ArchiveConflict
        if not answer.is_success:
            raise PublishingError(f"{self.host} refuses {what} ({status}): {_detail(answer.content)}")
        return answer

    def _unclear_error(self, why: str) -> PublishingError:
        return PublishingError(
            f"{self.host} {why}, {MAX_TRIES} times over. Send it again later: it goes on where it stopped."
        )


def _detail(written: bytes) -> str:
    try:
        body = load_json(written)
        detail = str(body.get("message") or body.get("error") or "")
        detail = " ".join([detail, *problems_of(body)])
    except (ValueError, AttributeError):
        detail = written.decode(errors="replace")
    return " ".join(detail.replace("\0", "").split())[:MAX_DETAIL_LENGTH] or "it does not say why"


def problems_of(body: Mapping[str, Any]) -> list[str]:
    """Return the problems that InvenioRDM lists in a draft or an error, each as ``field: message``."""
    listed = body.get("errors")
    return [
        f"{error.get('field', '')}: {' '.join(map(str, error.get('messages') or [error.get('message', '')]))}"
        for error in (listed if isinstance(listed, list) else [])
        if isinstance(error, dict)
    ]


State = Deposit.State
# without it, Zenodo answers in its older format
ZENODO_HEADERS = {"Accept": "application/vnd.inveniordm.v1+json"}
MAX_RECORDS_LISTED = 100
POLL_SECONDS = 5.0  # seconds between two searches for a record that may have been created
Note = Callable[..., None]


def send_to_zenodo(site: Site, deposit: Deposit, plan: DepositPlan, note: Note, progress: Progress) -> None:
    """Bring the record to the state that the plan describes.

    Each step first checks whether it was done before, so a repeated call continues.

    Args:
        note: stores changed columns of the deposit. It raises an error if another run has taken the deposit, or if
            the deposit must no longer be sent.
    """
    if deposit.state in (State.STARTED, State.CREATING):
        progress(0.05, "creating the record")
        _create_record(site, deposit, plan, note)
    path = f"api/records/{deposit.remote}"
    try:
        draft = site.call("GET", f"{path}/draft", what="to read the draft")
    except NotAtArchive:
        draft = {"is_published": True}
    # a person published it at the archive; do not touch an edit that they began
    if draft.get("is_published"):
        _note_public(site, deposit, note)
        return
    progress(0.1, "writing what is said of it")
    draft = _describe(site, deposit, plan, draft)
    doi = _doi_of(draft) or _reserve_doi(site, path)
    note(state=State.FILLING, doi=doi, address=f"{site.url}/uploads/{deposit.remote}")
    _send_files(site, path, plan.files, progress)
    if not plan.publish:
        note(state=State.DRAFT, finished_at=timezone.now())
        return
    progress(0.95, "publishing")
    what = "to publish the record"
    note()
    with suppress(UnclearOutcome, ArchiveConflict, NotAtArchive):  # the record tells whether it is published
        site.call("POST", f"{path}/draft/actions/publish", what=what, again=False)
    _note_public(site, deposit, note)


def state_of_record(site: Site, deposit: Deposit) -> str:
    path = f"api/records/{deposit.remote}"
    try:
        site.call("GET", path, what="to read the record")
    except NotAtArchive:
        try:
            site.call("GET", f"{path}/draft", what="to read the draft")
        except NotAtArchive:
            return State.GONE
        return State.DRAFT
    return State.PUBLIC


def _note_public(site: Site, deposit: Deposit, note: Note) -> None:
    """Store that the record is public. Raise PublishingError if it is not public."""
    try:
        record = site.call("GET", f"api/records/{deposit.remote}", what="to read the record")
    except NotAtArchive:
        if state_of_record(site, deposit) == State.GONE:
            note(state=State.GONE)
            raise PublishingError(
                f"The draft {deposit.remote} was removed at {site.host}. Send the release again to make another."
            ) from None
        raise PublishingError(
            f"{site.host} did not publish the draft {deposit.remote}. Send it again."
        ) from None
    note(
        state=State.PUBLIC,
        doi=_doi_of(record) or deposit.doi,
        address=f"{site.url}/records/{deposit.remote}",
        finished_at=timezone.now(),
    )


def _create_record(site: Site, deposit: Deposit, plan: DepositPlan, note: Note) -> None:
    """Create the record, or a new version of the study's last record, exactly once."""
    before = _last_deposit(site, deposit)
    if before is not None:
        record = site.call("POST", f"api/records/{before.remote}/versions", what="to begin a new version")
        remote = str(record["id"])
        other = Deposit.objects.filter(host=deposit.host, remote=remote).exclude(pk=deposit.pk).first()
        if other is not None:
            raise PublishingError(
                f"{site.host} keeps one draft of a new version at a time, and that of release {other.release.version} "
                "is there; expected it to be published or removed first."
            )
        note(remote=remote, state=State.FILLING)
        return
    if deposit.state == State.CREATING and (remote := _find_lost_record(site, deposit)):
        note(remote=remote, state=State.FILLING)
        return
    note(state=State.CREATING, asked_at=timezone.now())
    body = {"access": _ACCESS, "files": {"enabled": True}, "metadata": _with_mark(plan.metadata, deposit)}
    try:
        record = site.call(
            "POST",
            "api/records",
            what="to create the record",
            body=body,
            again=False,
            before_next=lambda: note(asked_at=timezone.now()),
        )
        remote = str(record["id"])
    except UnclearOutcome:
        remote = _find_lost_record(site, deposit)
    if not remote:
        raise PublishingError(f"{site.host} did not create the record. Send the release again.")
    note(remote=remote, state=State.FILLING)


_ACCESS = {"record": "public", "files": "public"}


def _last_deposit(site: Site, deposit: Deposit) -> Deposit | None:
    """Return the study's last public record at this archive.

    Raise PublishingError if the study's last record is a draft.
    """
    others = Deposit.objects.filter(release__study=deposit.release.study_id, host=deposit.host)
    others = others.exclude(pk=deposit.pk).exclude(remote="").exclude(state=State.GONE)
    for other in others.select_related("release").order_by("-release_id"):
        if other.state != State.PUBLIC:
            state = state_of_record(site, other)
            if state == State.DRAFT:
                raise PublishingError(
                    f"Release {other.release.version} is still a draft at {site.host}; expected it to be published "
                    "or removed there first, so that this one becomes its next version."
                )
            Deposit.objects.filter(pk=other.pk).update(state=state)
            if state == State.GONE:
                continue
        return other
    return None


def _find_lost_record(site: Site, deposit: Deposit) -> str:
    """Return the id of a record whose creating call got no response; "" if there is none.

    The archive lists new records only after a delay.
    """
    asked_at: datetime = deposit.asked_at or timezone.now()
    ends = asked_at.timestamp() + feature_settings.PUBLISHING_SETTLE_SECONDS
    mark = deposit.mark.urn
    while True:
        reply = site.call(
            "GET", f"api/user/records?sort=newest&size={MAX_RECORDS_LISTED}", what="to list your records"
        )
        for record in reply.get("hits", {}).get("hits", []):
            marks = [other.get("identifier") for other in record.get("metadata", {}).get("identifiers") or []]
            if mark in marks:
                return str(record["id"])
        if time.time() >= ends:
            return ""
        time.sleep(min(POLL_SECONDS, max(ends - time.time(), 0.0)))


def _with_mark(metadata: Mapping[str, Any], deposit: Deposit) -> dict[str, Any]:
    return {**metadata, "identifiers": [{"identifier": deposit.mark.urn, "scheme": "urn"}]}


def _describe(site: Site, deposit: Deposit, plan: DepositPlan, draft: Mapping[str, Any]) -> dict[str, Any]:
    body = {
        "access": _ACCESS,
        "files": {"enabled": True},
        "metadata": _with_mark(plan.metadata, deposit),
        # if the draft is written without it, the draft loses its reserved DOI
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


def _reserve_doi(site: Site, path: str) -> str:
    try:
        draft = site.call("POST", f"{path}/draft/pids/doi", what="to reserve a DOI")
    except ArchiveConflict:  # an earlier call has done it
        draft = site.call("GET", f"{path}/draft", what="to read the draft")
    return _doi_of(draft)


def _send_files(site: Site, path: str, files: tuple[DepositFile, ...], progress: Progress) -> None:
    """Send missing and incomplete files. Files that a person added at the archive are kept."""
    listed = site.call("GET", f"{path}/draft/files", what="to list the files")
    entries = {entry["key"]: entry for entry in listed.get("entries") or []}
    total, done = sum(file.size for file in files) or 1, 0
    for file in files:
        entry = entries.get(file.name)
        if entry is None or not _is_complete(entry, file):
            progress(0.15 + 0.75 * done / total, f"sending {file.name}")
            _send_file(site, path, file, started=entry is not None)
        done += file.size


def _send_file(site: Site, path: str, file: DepositFile, *, started: bool) -> None:
    key = f"{path}/draft/files/{quote(file.name)}"
    what = f"the file {file.name}"
    if started:  # the archive has part of the file, or another file
        with suppress(NotAtArchive):
            site.call("DELETE", key, what=what)
    site.call("POST", f"{path}/draft/files", what=what, body=[{"key": file.name}])
    kind = {"Content-Type": "application/octet-stream", "Content-Length": str(file.size)}
    site.call("PUT", f"{key}/content", what=what, content=file.open, headers=kind)
    entry = site.call("POST", f"{key}/commit", what=what)
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


LFS = "application/vnd.git-lfs+json"
MAX_BYTES_IN_COMMIT = 16 << 20  # bytes; a larger file must go by LFS
INITIAL_FILES = {".gitattributes"}


def send_to_huggingface(
    site: Site, deposit: Deposit, plan: DepositPlan, note: Note, progress: Progress
) -> None:
    """Bring the repository to the state that the plan describes.

    A step that was done before is skipped, so a repeated call continues.
    """
    progress(0.05, "creating the repository")
    repository = deposit.repository
    created = _create_repository(site, repository)
    path = f"api/datasets/{quote(repository)}"
    info = site.call("GET", path, what="to read the repository")
    remote_files = {str(sibling.get("rfilename")) for sibling in info.get("siblings") or []}
    if not created and deposit.state == State.STARTED:
        _check_own(site, deposit, remote_files)
    if not info["private"] and not plan.publish:
        raise PublishingError(
            f"The dataset {repository} is public at {site.host}, so that what is sent there is public at once; "
            "expected publish with it, or another repository."
        )
    note(state=State.FILLING, address=f"{site.url}/datasets/{repository}")
    if not _has_all_files(site, path, plan.files):
        progress(0.2, "sending files")
        note()
        _commit(site, repository, plan, _stale_files(deposit, plan, remote_files), str(info.get("sha") or ""))
        if not _has_all_files(site, path, plan.files):
            raise PublishingError(
                f"{site.host} has other files in {repository} than were sent. Send the release again."
            )
    commit = str(site.call("GET", path, what="to read the repository").get("sha") or "")
    progress(0.95, "naming the version")
    _tag_version(site, path, plan.release.version, commit)
    if plan.publish:
        note()
        site.call("PUT", f"{path}/settings", what="to make it public", body={"private": False})
    private = bool(site.call("GET", path, what="to read the repository").get("private"))
    if plan.publish and private:
        raise PublishingError(f"{site.host} keeps {repository} private. Send the release again.")
    note(
        remote=commit,
        state=State.DRAFT if private else State.PUBLIC,
        finished_at=timezone.now(),
    )


def _create_repository(site: Site, repository: str) -> bool:
    owner, _, name = repository.partition("/")
    body = {"type": "dataset", "name": name, "organization": owner, "private": True}
    try:
        site.call("POST", "api/repos/create", what=f"to create {repository}", body=body)
    except ArchiveConflict:
        return False
    return True


def _check_own(site: Site, deposit: Deposit, remote_files: set[str]) -> None:
    """Raise PublishingError if the repository has files although no release of this study was sent to it before."""
    if remote_files - INITIAL_FILES and not _deposits_of_study(deposit).exclude(state=State.STARTED).exists():
        raise PublishingError(
            f"There is a dataset {deposit.repository} at {site.host} already, which is not this study's; "
            "expected another --repository."
        )


def _deposits_of_study(deposit: Deposit) -> QuerySet[Deposit]:
    return Deposit.objects.filter(
        release__study=deposit.release.study_id, host=deposit.host, repository=deposit.repository
    )


def _stale_files(deposit: Deposit, plan: DepositPlan, remote_files: set[str]) -> list[str]:
    """Return the files at the archive that come from earlier releases of the study and are not in this one.

    They can be deleted, since the tags of earlier versions keep them.
    """
    ours = {
        file["name"] for sent in _deposits_of_study(deposit).values_list("sent", flat=True) for file in sent
    }
    return sorted((ours & remote_files) - {file.name for file in plan.files})


def _has_all_files(site: Site, path: str, files: tuple[DepositFile, ...]) -> bool:
    """Return whether the main branch has all files. Files are compared by their hashes."""
    try:
        entries = site.call(
            "POST",
            f"{path}/paths-info/main",
            what="to list the files",
            body={"paths": [file.name for file in files], "expand": False},
        )
    except NotAtArchive:  # nothing was committed yet
        return False
    by_path = {entry.get("path"): entry for entry in entries}
    return all(
        (entry := by_path.get(file.name)) is not None
        and (entry["lfs"].get("oid") == file.sha256 if entry.get("lfs") else entry.get("oid") == file.git)
        for file in files
    )


def _commit(site: Site, repository: str, plan: DepositPlan, stale: Iterable[str], parent: str) -> None:
    path, files = f"api/datasets/{quote(repository)}", plan.files
    listed = [
        {"path": file.name, "size": file.size, "sample": base64.b64encode(file.sample).decode()}
        for file in files
    ]
    reply = site.call("POST", f"{path}/preupload/main", what="to take the files", body={"files": listed})
    modes = {entry["path"]: entry["uploadMode"] for entry in reply["files"]}
    large = [file for file in files if modes.get(file.name) == "lfs" or file.size > MAX_BYTES_IN_COMMIT]
    _send_large(site, repository, large)
    summary = f"Release {plan.release.version}"
    header = {"summary": summary, "description": "", **({"parentCommit": parent} if parent else {})}
    sent = {file.name for file in large}

    def content() -> Iterator[bytes]:
        yield _commit_line("header", header)
        for file in files:
            if file.name in sent:
                about = {"path": file.name, "algo": "sha256", "oid": file.sha256, "size": file.size}
                yield _commit_line("lfsFile", about)
                continue
            encoded = base64.b64encode(b"".join(file.open())).decode()
            yield _commit_line("file", {"path": file.name, "encoding": "base64", "content": encoded})
        yield from (_commit_line("deletedFile", {"path": name}) for name in stale)

    # only one file at a time is in memory, since a release has many tables
    length = sum(map(len, content()))
    headers = {"Content-Type": "application/x-ndjson", "Content-Length": str(length)}
    try:
        site.call(
            "POST",
            f"{path}/commit/main",
            what="the commit",
            content=content,
            headers=headers,
            again=False,
        )
    except UnclearOutcome:
        pass  # the files at the archive show whether the commit was made
    except ArchiveConflict:
        raise PublishingError(
            f"Somebody else changed {repository} at {site.host} meanwhile. Send the release again."
        ) from None


def _commit_line(key: str, value: Mapping[str, Any]) -> bytes:
    return json.dumps({"key": key, "value": value}).encode() + b"\n"


def _send_large(site: Site, repository: str, files: list[DepositFile]) -> None:
    if not files:
        return
    by_hash = {file.sha256: file for file in files}
    reply = site.call(
        "POST",
        f"datasets/{quote(repository)}.git/info/lfs/objects/batch",
        what="the large files",
        body={
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "objects": [{"oid": file.sha256, "size": file.size} for file in by_hash.values()],
            "hash_algo": "sha256",
        },
        headers={"Accept": LFS, "Content-Type": LFS},
    )
    for entry in reply["objects"]:
        file = by_hash[entry["oid"]]
        if error := entry.get("error"):
            why = str(error.get("message"))[:MAX_DETAIL_LENGTH]
            raise PublishingError(f"{site.host} does not take {file.name}: {why}.")
        actions = entry.get("actions") or {}
        if upload := actions.get("upload"):
            _send_parts(site, file, upload)
        if verify := actions.get("verify"):
            address, body = str(verify["href"]), {"oid": file.sha256, "size": file.size}
            if site.is_own(address):  # the archive needs the token; file stores must not get it
                path, headers = address.removeprefix(f"{site.url}/"), {"Content-Type": LFS, "Accept": LFS}
                site.call("POST", path, what=file.name, body=body, headers=headers)
            else:
                _report_upload(site, file, address, body, verify.get("header") or {})


def _send_parts(site: Site, file: DepositFile, upload: Mapping[str, Any]) -> None:
    """Send a file to one address or, if the archive gives an address for each part, in parts."""
    header = dict(upload.get("header") or {})
    size = int(header.pop("chunk_size", 0))
    if not size:
        length = {"Content-Length": str(file.size)}
        site.put(upload["href"], what=file.name, content=file.open, headers={**header, **length})
        return
    addresses = [header[name] for name in sorted((name for name in header if name.isdigit()), key=int)]
    if len(addresses) != ceil(file.size / size):
        raise PublishingError(
            f"{site.host} gave {len(addresses)} addresses for {file.name}, which has {ceil(file.size / size)} parts."
        )
    parts = []
    for number, address in enumerate(addresses):
        begin, end = number * size, min((number + 1) * size, file.size)
        answer = site.put(
            address,
            what=file.name,
            content=partial(file.read, begin, end),
            headers={"Content-Length": str(end - begin)},
        )
        parts.append({"partNumber": number + 1, "etag": answer.get("etag", "")})
    _report_upload(site, file, upload["href"], {"oid": file.sha256, "parts": parts}, {})


def _report_upload(
    site: Site, file: DepositFile, address: str, body: Mapping[str, Any], header: Mapping[str, str]
) -> None:
    headers = {"Content-Type": LFS, "Accept": LFS, **header}
    site.put(address, what=file.name, content=json.dumps(body).encode(), headers=headers, method="POST")


def _tag_version(site: Site, path: str, version: str, commit: str) -> None:
    body = {"tag": f"v{version}", "message": f"Release {version}"}
    with suppress(ArchiveConflict):  # an earlier run created it
        site.call("POST", f"{path}/tag/{commit}", what=f"the tag v{version}", body=body)
