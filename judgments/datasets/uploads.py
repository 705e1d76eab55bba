"""Store uploaded files until a job has read them.

The name of an upload is that of its folder: 32 hexadecimal digits, of which the first are those of the account.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext

from common.amounts import thousands
from common.audit import acting_person
from common.errors import QuorumError
from common.files import remove_stale_files
from common.incoming import RequestBytesExceeded, check_request_size
from common.incoming.archives import MAX_NAME_LENGTH, UploadRefused, check_archive, is_archive, unpack_archive
from judgments.datasets.understanding import inspect_upload
from judgments.datasets.upload_parts import InspectedUpload
from judgments.models import Job
from judgments.studies.generation.progress import Progress, no_progress

MAX_UNCONFIRMED_UPLOADS = 20  # uploads of an account for which no job is queued
ACCOUNT_DIGITS = 8  # hexadecimal digits of the account's row id, with which the name of an upload begins

PICTURE_SUFFIXES = {".jpg", ".jpeg", ".png", ".gif", ".webp"}


@dataclass(frozen=True, slots=True)
class UnpackedUpload:
    """An unpacked upload.

    Attributes:
        path: its only file, or the folder with several files.
        pictures: the folder with pictures, if any.
        root: the folder of all files; paths in an `InspectedUpload` are relative to it.
    """

    path: Path
    pictures: str | None
    root: Path


def _root() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def _folder(upload: str) -> Path:
    assert re.fullmatch(r"[0-9a-f]{32}", upload), "store_upload gives uploads their names"
    return _root() / upload


def _stored_folder(upload: str) -> Path:
    """Return the folder of an upload. Raise UploadRefused if the upload is no longer stored."""
    folder = _folder(upload)
    if not folder.is_dir():
        raise UploadRefused(
            gettext("The uploaded files are no longer stored. Please upload the files again.")
        )
    return folder


def store_upload(files: Iterable[UploadedFile], pictures: UploadedFile | None = None) -> str:
    """Store an upload for its job, and return its name.

    Raises:
        UploadRefused: an archive or a file name is unusable, or the account has too many uploads.
    """
    files = list(files)
    names: set[str] = set()
    for file in files:
        check_name(file.name or "")
        if file.name in names:  # files from several folders
            raise UploadRefused(
                gettext(
                    "Two files are called %(name)s; expected different names, or a zip file that "
                    "contains their folders."
                )
                % {"name": file.name}
            )
        names.add(file.name or "")
        if is_archive(file.name or ""):
            check_archive(file, name=file.name or "")
    if pictures is not None:
        check_archive(pictures, name=pictures.name or "", suffixes=PICTURE_SUFFIXES)
    account = acting_person()
    upload = f"{account.pk if account else 0:0{ACCOUNT_DIGITS}x}{secrets.token_hex(12)}"
    try:
        _write_files(files, _folder(upload) / "files")
        _write_files([pictures] if pictures is not None else [], _folder(upload) / "pictures")
    except OSError:  # the disk may be full; free the space
        discard_upload(upload)
        raise
    if account is not None:
        _enforce_quota(upload)
    return upload


def _write_files(files: Iterable[UploadedFile], folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    for file in files:
        with (folder / (file.name or "")).open("wb") as target:
            for chunk in file.chunks():
                target.write(chunk)


def _enforce_quota(upload: str) -> None:
    """Discard the account's oldest unconfirmed uploads until all of its uploads fit its quota.

    Raises:
        UploadRefused: the new upload would not fit even if all uploads that no queued job needs were discarded.
    """
    max_size = settings.UPLOADS_MB * 10**6
    needed_uploads = {upload, *_uploads_of_jobs()}
    total_size = 0
    unconfirmed_uploads = []  # time of storage, name and size
    for folder in _root().glob(f"{upload[:ACCOUNT_DIGITS]}*"):
        with suppress(FileNotFoundError):  # another request discards it
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            if folder.name in needed_uploads:
                total_size += size
            else:
                unconfirmed_uploads.append((folder.stat().st_mtime, folder.name, size))
    if total_size > max_size:
        discard_upload(upload)
        raise UploadRefused(
            gettext(
                "Your uploads that are not imported yet can have at most %(most)s MB in total. "
                "Try again when their jobs have finished."
            )
            % {"most": thousands(settings.UPLOADS_MB)}
        )
    # from the newest on; the new upload is the first unconfirmed one
    for unconfirmed_count, (_, name, size) in enumerate(sorted(unconfirmed_uploads, reverse=True), start=2):
        total_size += size
        if total_size > max_size or unconfirmed_count > MAX_UNCONFIRMED_UPLOADS:
            discard_upload(name)


def is_upload_of(upload: str, user: User) -> bool:
    """Return whether this is the name of an upload that the account made."""
    return re.fullmatch(rf"{user.pk:0{ACCOUNT_DIGITS}x}[0-9a-f]{{24}}", upload) is not None


def job_file(upload: str) -> Path:
    """Return the path of the file that a job writes for its page; it is deleted together with the upload."""
    return _folder(upload) / "shown.json"


def bad_rows_file(upload: str) -> Path:
    """Return the path where an import stores the rows that it left out."""
    return _folder(upload) / "bad-rows.csv"


def discard_upload(upload: str) -> None:
    shutil.rmtree(_folder(upload), ignore_errors=True)


def discard_leftovers() -> list[str]:
    """Remove uploads that no job needs and that were not changed for a day. Return their names.

    Pictures of datasets, in another folder, are kept even if no dataset is known: the database may be an older copy.
    """
    return remove_stale_files(_root(), "*", kept_names=_uploads_of_jobs())


def _uploads_of_jobs() -> set[str]:
    """Return the names of the uploads that waiting and running jobs read."""
    jobs = Job.objects.under_way().filter(args__has_key="upload")
    return set(jobs.values_list("args__upload", flat=True))


@contextmanager
def open_upload(upload: str, progress: Progress = no_progress) -> Iterator[UnpackedUpload]:
    """Unpack an upload for the ``with`` block.

    Raises:
        UploadRefused: the upload no longer exists, an archive is unusable, or the block raised a QuorumError.
    """
    folder = _stored_folder(upload)
    with tempfile.TemporaryDirectory(dir=folder, prefix="unpacked-") as scratch:
        work = Path(scratch)
        try:
            path = _unpack(sorted((folder / "files").iterdir()), work / "files", progress)
            archives = sorted((folder / "pictures").iterdir())
            pictures = None
            if archives:
                unpacked_path = _unpack(archives, work / "pictures", progress, suffixes=PICTURE_SUFFIXES)
                pictures = str(unpacked_path.parent if unpacked_path.is_file() else unpacked_path)
            yield UnpackedUpload(path=path, pictures=pictures, root=work / "files")
        except RequestBytesExceeded:  # the caller then starts a job that reads the upload
            raise
        except QuorumError as error:
            if not job_file(upload).exists():  # if the file exists, a page shows the errors to correct
                discard_upload(upload)
            raise UploadRefused(_without_folder_paths(str(error), work, folder)) from error


def inspect_stored_upload(
    upload: str,
    uploaded: Sequence[str],
    encoding: str,
    progress: Progress = no_progress,
    maps: Mapping[str, Mapping[str, Any]] | None = None,
) -> InspectedUpload:
    """Detect the contents of a stored upload. ``uploaded`` names its files, ``maps`` says how columns of each are read.

    Raises:
        UploadRefused: the upload no longer exists, or an archive is unusable.
    """
    folder = _stored_folder(upload)
    with tempfile.TemporaryDirectory(dir=folder, prefix="inspected-") as scratch:
        root = Path(scratch)
        pictures = []  # paths; pictures are listed and not unpacked
        for file in sorted((folder / "files").iterdir()):
            if is_archive(file.name):
                with file.open("rb") as archive:
                    pictures += unpack_archive(
                        archive, root, name=file.name, skipped_suffixes=PICTURE_SUFFIXES, progress=progress
                    )
            elif file.suffix.lower() in PICTURE_SUFFIXES:
                pictures.append(file.name)
            else:
                _copy_file(file, root / file.name)
        return inspect_upload(
            root, pictures, uploaded=uploaded, encoding=encoding, maps=maps or {}, progress=progress
        )


def _without_folder_paths(sentence: str, *folders: Path) -> str:
    """Return an error message without the paths of an upload's folders on this machine."""
    for folder in folders:
        for subfolder in ("files", "pictures"):
            sentence = sentence.replace(f"{folder / subfolder}/", "")
            sentence = sentence.replace(str(folder / subfolder), "the upload")
    return sentence


def _copy_file(file: Path, target: Path) -> None:
    check_request_size(file.stat().st_size)
    shutil.copyfile(file, target)


def _unpack(files: list[Path], target: Path, progress: Progress, suffixes: set[str] | None = None) -> Path:
    """Unpack or copy the files into the new folder ``target``. Return the only file, or the folder with several."""
    target.mkdir()
    for file in files:
        if is_archive(file.name):
            with file.open("rb") as archive:
                unpack_archive(archive, target, name=file.name, suffixes=suffixes, progress=progress)
        else:
            _copy_file(file, target / file.name)
    entries = sorted(target.iterdir())
    while len(entries) == 1 and entries[0].is_dir():  # the archive has a folder instead of its files
        target = entries[0]
        entries = sorted(target.iterdir())
    return entries[0] if len(entries) == 1 else target


def check_name(name: str) -> None:
    """Raise UploadRefused for a hidden or long file name, and for one with a path or control characters."""
    is_plain = re.fullmatch(r"[^\x00-\x1f/\\]{1,200}", name) and not name.startswith(".")
    try:
        byte_count = len(os.fsencode(name))
    except UnicodeEncodeError:  # names on this machine are not UTF-8
        byte_count = MAX_NAME_LENGTH + 1
    if not is_plain or byte_count > MAX_NAME_LENGTH:
        raise UploadRefused(
            gettext("A file with the name %(name)r cannot be stored. Please rename the file.")
            % {"name": name}
        )
