"""Publish a release as a dataset repository of the Hugging Face Hub, by its HTTP API.

https://huggingface.co/docs/hub/api: repositories are created by name, and a commit is one call, after large
files were sent by Git LFS (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md). The Hub's own
library would bring nine packages, one of them compiled, for these six calls.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import ceil
from typing import Any
from urllib.parse import quote

from django.db.models import QuerySet
from django.utils import timezone

from evaluation.data.publishing.describing import Content, Plan
from evaluation.data.publishing.outside import (
    LONGEST_DETAIL,
    ArchiveConflict,
    NotAtArchive,
    Site,
    UnclearOutcome,
)
from evaluation.errors import PublishingError
from evaluation.models import Deposit
from judgments.studies.generation import Progress

State = Deposit.State
LFS = "application/vnd.git-lfs+json"
LARGEST_IN_COMMIT = 16 << 20  # bytes; a larger file must go by LFS
THERE_FROM_THE_START = {".gitattributes"}
Note = Callable[..., None]


def send(site: Site, deposit: Deposit, plan: Plan, note: Note, progress: Progress) -> None:
    """Bring the repository to the plan's state. Each step checks first, so it may be repeated."""
    progress(0.05, "creating the repository")
    repository = deposit.repository
    created = _create_repository(site, repository)
    path = f"api/datasets/{quote(repository)}"
    info = site.call("GET", path, what="to read the repository")
    if not created and deposit.state == State.STARTED:
        _check_own(site, deposit, info)
    if not info["private"] and not plan.publish:
        raise PublishingError(
            f"The dataset {repository} is public at {site.host}, so that what is sent there is public at once; "
            "expected publish with it, or another repository."
        )
    note(state=State.FILLING, address=f"{site.url}/datasets/{repository}")
    if not _has_all_files(site, path, plan.files):
        progress(0.2, "sending files")
        note()
        _commit(site, repository, plan, _stale_files(deposit, plan, info), str(info.get("sha") or ""))
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


def _check_own(site: Site, deposit: Deposit, info: Mapping[str, Any]) -> None:
    """Raise PublishingError if the repository holds files of no release of the study."""
    there = {str(sibling.get("rfilename")) for sibling in info.get("siblings") or []} - THERE_FROM_THE_START
    if there and not _deposits_of_study(deposit).exclude(state=State.STARTED).exists():
        raise PublishingError(
            f"There is a dataset {deposit.repository} at {site.host} already, which is not this study's; "
            "expected another --repository."
        )


def _deposits_of_study(deposit: Deposit) -> QuerySet[Deposit]:
    return Deposit.objects.filter(
        release__study=deposit.release.study_id, host=deposit.host, repository=deposit.repository
    )


def _stale_files(deposit: Deposit, plan: Plan, info: Mapping[str, Any]) -> list[str]:
    """Return files of the study's earlier releases missing in this one; a version's tag keeps them."""
    there = {str(sibling.get("rfilename")) for sibling in info.get("siblings") or []}
    ours = {
        file["name"] for sent in _deposits_of_study(deposit).values_list("sent", flat=True) for file in sent
    }
    return sorted((ours & there) - {file.name for file in plan.files})


def _has_all_files(site: Site, path: str, files: tuple[Content, ...]) -> bool:
    """Return whether the main branch has all files, by hash."""
    try:
        entries = site.call(
            "POST",
            f"{path}/paths-info/main",
            what="to list the files",
            body={"paths": [file.name for file in files], "expand": False},
        )
    except NotAtArchive:  # nothing was ever committed
        return False
    there = {entry.get("path"): entry for entry in entries}
    return all(
        (entry := there.get(file.name)) is not None
        and (entry["lfs"].get("oid") == file.sha256 if entry.get("lfs") else entry.get("oid") == file.git)
        for file in files
    )


def _commit(site: Site, repository: str, plan: Plan, stale: Iterable[str], parent: str) -> None:
    path, files = f"api/datasets/{quote(repository)}", plan.files
    listed = [
        {"path": file.name, "size": file.size, "sample": base64.b64encode(file.sample).decode()}
        for file in files
    ]
    reply = site.call("POST", f"{path}/preupload/main", what="to take the files", body={"files": listed})
    modes = {entry["path"]: entry["uploadMode"] for entry in reply["files"]}
    large = [file for file in files if modes.get(file.name) == "lfs" or file.size > LARGEST_IN_COMMIT]
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
            before, after = _commit_line(
                "file", {"path": file.name, "encoding": "base64", "content": ""}
            ).rsplit(b'""', 1)
            yield before + b'"'
            yield from _in_base64(file.open())
            yield b'"' + after
        yield from (_commit_line("deletedFile", {"path": name}) for name in stale)

    length = sum(map(len, content()))  # is not kept in memory: a release has many tables
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
        pass  # the files that are there say whether it was made
    except ArchiveConflict:
        raise PublishingError(
            f"Somebody else changed {repository} at {site.host} meanwhile. Send the release again."
        ) from None


def _commit_line(key: str, value: Mapping[str, Any]) -> bytes:
    return json.dumps({"key": key, "value": value}).encode() + b"\n"


def _in_base64(parts: Iterable[bytes]) -> Iterator[bytes]:
    left = b""
    for part in parts:
        left += part
        whole = len(left) // 3 * 3
        yield base64.b64encode(left[:whole])
        left = left[whole:]
    yield base64.b64encode(left)


def _send_large(site: Site, repository: str, files: list[Content]) -> None:
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
            why = str(error.get("message"))[:LONGEST_DETAIL]
            raise PublishingError(f"{site.host} does not take {file.name}: {why}.")
        actions = entry.get("actions") or {}
        if upload := actions.get("upload"):
            _send_parts(site, file, upload)
        if verify := actions.get("verify"):
            address, body = str(verify["href"]), {"oid": file.sha256, "size": file.size}
            if site.is_own(address):  # asks for the token, unlike the stores of files
                path, headers = address.removeprefix(f"{site.url}/"), {"Content-Type": LFS, "Accept": LFS}
                site.call("POST", path, what=file.name, body=body, headers=headers)
            else:
                _report_upload(site, file, address, body, verify.get("header") or {})


def _send_parts(site: Site, file: Content, upload: Mapping[str, Any]) -> None:
    """Send a file to its address, or in parts if each has an address."""
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
    site: Site, file: Content, address: str, body: Mapping[str, Any], header: Mapping[str, str]
) -> None:
    data = json.dumps(body).encode()
    headers = {"Content-Type": LFS, "Accept": LFS, "Content-Length": str(len(data)), **header}
    site.put(address, what=file.name, content=partial(tuple, [data]), headers=headers, method="POST")


def _tag_version(site: Site, path: str, version: str, commit: str) -> None:
    try:
        body = {"tag": f"v{version}", "message": f"Release {version}"}
        site.call("POST", f"{path}/tag/{commit}", what=f"the tag v{version}", body=body)
    except ArchiveConflict:
        pass  # an earlier run named it
