"""Send a release to a dataset repository of the Hugging Face Hub.

The files are sent in one commit. Large files go to a file store before, and the commit has pointers to them (LFS, Git
Large File Storage). Each call says its purpose (``what``) for error messages.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from math import ceil
from typing import Any
from urllib.parse import quote

from django.db.models import QuerySet
from django.utils import timezone

from contrib.archives.errors import PublishingError
from contrib.archives.models import Deposit
from contrib.archives.planning.files import DepositFile
from contrib.archives.planning.plan import DepositPlan
from contrib.archives.recording import DepositRecorder
from contrib.archives.site import MAX_DETAIL_LENGTH, ArchiveConflict, NotAtArchive, Site, UnclearOutcome
from judgments.studies.generation.progress import Progress

State = Deposit.State
_LFS_TYPE = "application/vnd.git-lfs+json"
LFS_HEADERS = {"Accept": _LFS_TYPE, "Content-Type": _LFS_TYPE}
MAX_BYTES_IN_COMMIT = 16 << 20  # larger files are sent by LFS, also if the Hub does not demand it
INITIAL_FILES = {".gitattributes"}  # files that the Hub puts into a new repository


def send_to_huggingface(
    site: Site, deposit: Deposit, plan: DepositPlan, recorder: DepositRecorder, progress: Progress
) -> None:
    """Bring the repository to the state that the plan describes.

    Steps that were done before are skipped, so that a repeated call continues.
    """
    progress(0.05, "creating the repository")
    repository = deposit.repository
    is_new = _create_repository(site, repository)
    api_path = f"api/datasets/{quote(repository)}"
    info = site.call("GET", api_path, what="to read the repository")
    remote_files = {str(sibling.get("rfilename")) for sibling in info.get("siblings") or []}
    if not is_new and deposit.state == State.STARTED:  # it may be somebody else's
        _refuse_foreign_repository(site, deposit, remote_files)
    if not info["private"] and not plan.publish:
        raise PublishingError(
            f"The dataset {repository} is public at {site.host}, so that what is sent there is public at once; "
            "expected publish with it, or another repository."
        )
    recorder.store(state=State.FILLING, address=f"{site.url}/datasets/{repository}")
    if not _has_all_files(site, api_path, plan.files):
        progress(0.2, "sending files")
        recorder.check_may_send()  # not if a participant was erased meanwhile
        stale_names = _names_of_stale_files(deposit, plan, remote_files)
        _commit(site, repository, plan, stale_names, str(info.get("sha") or ""))
        if not _has_all_files(site, api_path, plan.files):
            raise PublishingError(
                f"{site.host} has other files in {repository} than were sent. Send the release again."
            )
    commit = str(site.call("GET", api_path, what="to read the repository").get("sha") or "")
    progress(0.95, "naming the version")
    _tag_version(site, api_path, plan.release.version, commit)
    if plan.publish:
        recorder.check_may_send()
        site.call("PUT", f"{api_path}/settings", what="to make it public", body={"private": False})
    is_private = bool(site.call("GET", api_path, what="to read the repository").get("private"))
    if plan.publish and is_private:
        raise PublishingError(f"{site.host} keeps {repository} private. Send the release again.")
    recorder.store(
        remote=commit, state=State.DRAFT if is_private else State.PUBLIC, finished_at=timezone.now()
    )


def _create_repository(site: Site, repository: str) -> bool:
    """Create a private repository. Return False if it exists already."""
    owner, _, name = repository.partition("/")
    body = {"type": "dataset", "name": name, "organization": owner, "private": True}
    try:
        site.call("POST", "api/repos/create", what=f"to create {repository}", body=body)
    except ArchiveConflict:
        return False
    return True


def _refuse_foreign_repository(site: Site, deposit: Deposit, remote_files: set[str]) -> None:
    """Raise PublishingError if the repository has files, but got no release of this study before."""
    if remote_files - INITIAL_FILES and not _deposits_of_study(deposit).exclude(state=State.STARTED).exists():
        raise PublishingError(
            f"There is a dataset {deposit.repository} at {site.host} already, which is not this study's; "
            "expected another --repository."
        )


def _deposits_of_study(deposit: Deposit) -> QuerySet[Deposit]:
    """Return the deposits of the same study in the same repository."""
    return Deposit.objects.filter(
        release__study=deposit.release.study_id, host=deposit.host, repository=deposit.repository
    )


def _names_of_stale_files(deposit: Deposit, plan: DepositPlan, remote_files: set[str]) -> list[str]:
    """Return the names of files at the archive that are of earlier releases of the study, and not of this one.

    They can be deleted, since the tags of earlier versions keep them.
    """
    sent_files = chain.from_iterable(_deposits_of_study(deposit).values_list("sent", flat=True))
    sent_names = {file["name"] for file in sent_files}
    return sorted((sent_names & remote_files) - {file.name for file in plan.files})


def _has_all_files(site: Site, api_path: str, files: tuple[DepositFile, ...]) -> bool:
    """Return whether the main branch has all files.

    Files are compared by SHA-256 if they are in LFS, and else by git's hash.
    """
    try:
        entries = site.call(
            "POST",
            f"{api_path}/paths-info/main",
            what="to list the files",
            body={"paths": [file.name for file in files], "expand": False},
        )
    except NotAtArchive:  # nothing was committed yet
        return False
    entry_by_name = {entry.get("path"): entry for entry in entries}
    return all(file.name in entry_by_name and _is_same_file(entry_by_name[file.name], file) for file in files)


def _is_same_file(entry: Mapping[str, Any], file: DepositFile) -> bool:
    lfs = entry.get("lfs")
    return bool(lfs.get("oid") == file.sha256 if lfs else entry.get("oid") == file.git_sha1)


def _commit(site: Site, repository: str, plan: DepositPlan, stale_names: Iterable[str], parent: str) -> None:
    """Commit all files, and delete the stale ones. Files that the Hub wants in LFS are sent there before.

    Args:
        stale_names: names of files to delete.
        parent: hash of the last commit of the branch, so that the Hub refuses the commit if there is another one by
            now; "" if there is no commit.
    """
    api_path, files = f"api/datasets/{quote(repository)}", plan.files
    offers = [
        {"path": file.name, "size": file.size, "sample": base64.b64encode(file.sample).decode()}
        for file in files
    ]
    reply = site.call("POST", f"{api_path}/preupload/main", what="to take the files", body={"files": offers})
    lfs_names = {entry["path"] for entry in reply["files"] if entry["uploadMode"] == "lfs"}
    large_files = [file for file in files if file.name in lfs_names or file.size > MAX_BYTES_IN_COMMIT]
    _send_large_files(site, repository, large_files)
    summary = f"Release {plan.release.version}"
    header = {"summary": summary, "description": "", **({"parentCommit": parent} if parent else {})}
    large_names = {file.name for file in large_files}

    def content() -> Iterator[bytes]:
        yield _commit_line("header", header)
        for file in files:
            if file.name in large_names:
                pointer = {"path": file.name, "algo": "sha256", "oid": file.sha256, "size": file.size}
                yield _commit_line("lfsFile", pointer)
                continue
            text = base64.b64encode(b"".join(file.open())).decode()
            yield _commit_line("file", {"path": file.name, "encoding": "base64", "content": text})
        yield from (_commit_line("deletedFile", {"path": name}) for name in stale_names)

    # The files are encoded twice, for the length and to be sent, so that only one of them is in memory at a time.
    length = sum(map(len, content()))
    headers = {"Content-Type": "application/x-ndjson", "Content-Length": str(length)}
    address = f"{api_path}/commit/main"
    try:
        site.call("POST", address, what="the commit", content=content, headers=headers, repeatable=False)
    except UnclearOutcome:
        pass  # the files at the archive show whether the commit was made
    except ArchiveConflict:
        raise PublishingError(
            f"Somebody else changed {repository} at {site.host} meanwhile. Send the release again."
        ) from None


def _commit_line(key: str, value: Mapping[str, Any]) -> bytes:
    return json.dumps({"key": key, "value": value}).encode() + b"\n"


def _send_large_files(site: Site, repository: str, files: list[DepositFile]) -> None:
    """Send files to the stores that LFS names. Files that are there already are not sent again."""
    if not files:
        return
    file_by_hash = {file.sha256: file for file in files}
    reply = site.call(
        "POST",
        f"datasets/{quote(repository)}.git/info/lfs/objects/batch",
        what="the large files",
        body={
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "objects": [{"oid": file.sha256, "size": file.size} for file in file_by_hash.values()],
            "hash_algo": "sha256",
        },
        headers=LFS_HEADERS,
    )
    for entry in reply["objects"]:
        file = file_by_hash[entry["oid"]]
        if error := entry.get("error"):
            reason = str(error.get("message"))[:MAX_DETAIL_LENGTH]
            raise PublishingError(f"{site.host} does not take {file.name}: {reason}.")
        actions = entry.get("actions") or {}
        if upload := actions.get("upload"):
            _send_parts(site, file, upload)
        if verify := actions.get("verify"):
            address, body = str(verify["href"]), {"oid": file.sha256, "size": file.size}
            if site.is_own_address(address):  # the archive needs the token; file stores must not get it
                api_path = address.removeprefix(f"{site.url}/")
                site.call("POST", api_path, what=file.name, body=body, headers=LFS_HEADERS)
            else:
                _report_upload(site, file, address, body, verify.get("header") or {})


def _send_parts(site: Site, file: DepositFile, upload: Mapping[str, Any]) -> None:
    """Send a file to one address or, if the archive gives an address for each part, in parts.

    Args:
        upload: the action "upload" of an LFS reply: ``{"href": ADDRESS, "header": {...}}``. For parts, the header has
            their size in bytes and their addresses: ``{"chunk_size": "1000", "1": ADDRESS, "2": ADDRESS}``.
    """
    header = dict(upload.get("header") or {})
    part_size = int(header.pop("chunk_size", 0))
    if not part_size:
        headers = {**header, "Content-Length": str(file.size)}
        site.put(upload["href"], what=file.name, content=file.open, headers=headers)
        return
    addresses = [header[name] for name in sorted((name for name in header if name.isdigit()), key=int)]
    part_count = ceil(file.size / part_size)
    if len(addresses) != part_count:
        raise PublishingError(
            f"{site.host} gave {len(addresses)} addresses for {file.name}, which has {part_count} parts."
        )
    parts = []
    for number, address in enumerate(addresses, start=1):
        begin, end = (number - 1) * part_size, min(number * part_size, file.size)
        reply_headers = site.put(
            address,
            what=file.name,
            content=partial(file.read, begin, end),
            headers={"Content-Length": str(end - begin)},
        )
        parts.append({"partNumber": number, "etag": reply_headers.get("etag", "")})
    _report_upload(site, file, upload["href"], {"oid": file.sha256, "parts": parts}, {})


def _report_upload(
    site: Site, file: DepositFile, address: str, body: Mapping[str, Any], header: Mapping[str, str]
) -> None:
    """Tell a file store that a file is complete."""
    headers = {**LFS_HEADERS, **header}
    site.put(address, what=file.name, content=json.dumps(body).encode(), headers=headers, method="POST")


def _tag_version(site: Site, api_path: str, version: str, commit: str) -> None:
    body = {"tag": f"v{version}", "message": f"Release {version}"}
    with suppress(ArchiveConflict):  # an earlier run created it
        site.call("POST", f"{api_path}/tag/{commit}", what=f"the tag v{version}", body=body)
