"""Unpack uploaded zip archives safely.

An entry may not be outside the target folder, be a link, need a password, or grow without limit. Declared sizes are
checked first. Real sizes are counted while unpacking.
"""

from __future__ import annotations

import re
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Collection
from pathlib import Path, PurePosixPath
from typing import IO

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import MAX_REQUEST_BYTES, UNLIMITED_GROWTH_BYTES, check_request_size, count_bytes, limits

SMALL_ARCHIVE = 100 * UNLIMITED_GROWTH_BYTES  # unpacked bytes up to which no limit of growth applies
# Bytes of a file's entry in the table of contents, which is read as a whole: 46 bytes and a name of up to 255, with
# some bytes for times and owners.
MAX_LISTED_BYTES = 330
ENTRY_SIGNATURE = b"PK\x01\x02"  # begins an entry of the table of contents
END_SIGNATURE = b"PK\x05\x06"  # begins the end record
END_RECORD_BYTES = 22  # without a comment
ZIP64_LOCATOR_SIGNATURE = b"PK\x06\x07"
ZIP64_LOCATOR_BYTES = 20
ZIP64_RECORD_BYTES = 56
MAX_END_BYTES = 2**16 + 200  # bytes of the end of an archive: records, and a comment of less than 2**16 bytes
CHUNK_BYTES = 2**20
ENCRYPTED = 0x1  # flag of an entry
MAX_NAME_LENGTH = 255  # bytes of a path component in common file systems
# Exceptions that zipfile raises for damaged archives.
ARCHIVE_ERRORS = (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error)


class UploadRefused(QuorumError):
    """An uploaded file or archive is unusable or unsafe."""

    title = "The upload cannot be used"


def is_archive(name: str) -> bool:
    return name.lower().endswith(".zip")


def check_archive(zip_file: IO[bytes] | UploadedFile, *, name: str, suffixes: set[str] | None = None) -> None:
    """Raise UploadRefused for the first problem in an archive's table of contents.

    A long table of contents is not checked, since that is too slow for a request. The job that unpacks it checks it.
    """
    if listing_size(zip_file, name) <= MAX_REQUEST_BYTES:
        _members_to_unpack(_open_archive(zip_file, name), name, suffixes, _file_size(zip_file))
    zip_file.seek(0)


def unpack_archive(
    zip_file: IO[bytes],
    target: Path,
    *,
    name: str,
    suffixes: set[str] | None = None,
    skipped_suffixes: Collection[str] = (),
    progress: Callable[[float, str], None] = lambda share, name: None,
) -> list[str]:
    """Unpack an archive into a folder. Return the names of the files that were skipped.

    Raise UploadRefused if the archive is unsafe, damaged, or larger than it declares.

    Args:
        name: the name of the archive, for messages.
        suffixes: the endings that files must have, such as {".png"}; None for any.
        skipped_suffixes: the endings of files that are not unpacked.
        progress: a function that is called with a share and a file's name while the archive is unpacked. The share is
            always 0, since unpacking is only the first step of a job.
    """
    archive = _open_archive(zip_file, name)
    deadline = time.monotonic() + limits().seconds
    skipped_names = []
    for member in _members_to_unpack(archive, name, suffixes, _file_size(zip_file)):
        inner_path = PurePosixPath(member.filename)
        progress(0.0, inner_path.name)
        if inner_path.suffix.lower() in skipped_suffixes:
            skipped_names.append(str(inner_path))
            continue
        names = {"name": name, "filename": member.filename}
        file = target.joinpath(*inner_path.parts)
        bytes_left = member.file_size
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, file.open("xb") as out:
                while chunk := source.read(CHUNK_BYTES):
                    progress(0.0, inner_path.name)
                    count_bytes(len(chunk))
                    bytes_left -= len(chunk)
                    if bytes_left < 0:
                        problem = gettext("%(name)s: %(filename)r is larger than the archive says.")
                        raise UploadRefused(problem % names)
                    if time.monotonic() > deadline:
                        raise UploadRefused(gettext("%(name)s takes too long to unpack.") % names)
                    out.write(chunk)
        except ARCHIVE_ERRORS as error:
            problem = gettext("%(name)s: %(filename)r is damaged (%(error)s).") % {**names, "error": error}
            raise UploadRefused(problem) from error
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            raise UploadRefused(gettext("%(name)s contains two files named %(filename)r.") % names) from None
    return skipped_names


def _file_size(zip_file: IO[bytes] | UploadedFile) -> int:
    zip_file.seek(0, 2)
    return zip_file.tell()


def _too_many_files_error(name: str) -> UploadRefused:
    return UploadRefused(
        gettext("%(name)s lists too many files; at most %(most_files)s are read.")
        % {"name": name, "most_files": thousands(limits().files)}
    )


def listing_size(zip_file: IO[bytes] | UploadedFile, name: str) -> int:
    """Return the size in bytes of the table of contents. Raise UploadRefused if it is too large to be read."""
    size = _read_listing_size(zip_file)
    if size > MAX_LISTED_BYTES * limits().files:
        raise _too_many_files_error(name)
    return size


def _read_listing_size(zip_file: IO[bytes] | UploadedFile) -> int:
    """Return the size of the table of contents, as stated in the end record; 0 if the archive has no end record.

    The size is at byte 12 of the end record. In archives larger than 4 GB, it is at byte 40 of a Zip64 record of 56
    bytes, which a locator of 20 bytes separates from the end record (APPNOTE.TXT of PKWARE, 4.3.14 to 4.3.16).
    """
    size = _file_size(zip_file)
    zip_file.seek(max(0, size - MAX_END_BYTES))
    tail = zip_file.read(MAX_END_BYTES)
    # Like zipfile, first look for a record without comment, since a comment may contain the signature.
    end = len(tail) - END_RECORD_BYTES
    if not (tail[end : end + 4] == END_SIGNATURE and tail.endswith(b"\x00\x00")):
        end = tail.rfind(END_SIGNATURE)
    if end < 0 or end + 16 > len(tail):
        return 0
    locator = end - ZIP64_LOCATOR_BYTES
    if tail[locator : locator + 4] == ZIP64_LOCATOR_SIGNATURE:
        record = locator - ZIP64_RECORD_BYTES
        return int.from_bytes(tail[record + 40 : record + 48], "little")
    return int.from_bytes(tail[end + 12 : end + 16], "little")


def _open_archive(zip_file: IO[bytes] | UploadedFile, name: str) -> zipfile.ZipFile:
    """Open an archive. Raise UploadRefused if it is damaged, or has too many files."""
    size = listing_size(zip_file, name)
    check_request_size(size)
    zip_file.seek(max(0, _file_size(zip_file) - MAX_END_BYTES - size))
    # Count the signatures of entries first, since zipfile makes an object of each entry.
    if zip_file.read(size + MAX_END_BYTES).count(ENTRY_SIGNATURE) > limits().files:
        raise _too_many_files_error(name)
    try:
        return zipfile.ZipFile(zip_file)
    except (*ARCHIVE_ERRORS, OSError):  # OSError for an offset before the beginning of the file
        raise UploadRefused(
            gettext("%(name)s is not a zip archive, or it is damaged.") % {"name": name}
        ) from None


def _members_to_unpack(
    archive: zipfile.ZipFile, name: str, suffixes: set[str] | None, archive_size: int
) -> list[zipfile.ZipInfo]:
    """Return the files of an archive of ``archive_size`` bytes. Raise UploadRefused if one may not be unpacked."""
    members = archive.infolist()
    archive_limits = limits()
    total_bytes = sum(member.file_size for member in members)
    if total_bytes > archive_limits.bytes:
        raise UploadRefused(
            gettext("%(name)s would have %(total)s bytes when unpacked; at most %(most_bytes)s are read.")
            % {"name": name, "total": thousands(total_bytes), "most_bytes": thousands(archive_limits.bytes)}
        )
    # The limit of each file (``_describe_problem``) does not stop many small zip bombs, or entries that share data.
    if total_bytes > max(SMALL_ARCHIVE, archive_limits.growth * archive_size):
        raise UploadRefused(
            gettext(
                "Nothing was read: when unpacked, %(name)s would be more than %(most_growth)s times "
                "as large as the archive."
            )
            % {"name": name, "most_growth": archive_limits.growth}
        )
    unpacked_members = []
    for member in members:
        inner_path = PurePosixPath(member.filename)
        if member.is_dir() or not inner_path.parts or _is_litter(inner_path):
            continue
        if problem := _describe_problem(member, inner_path, suffixes):
            sentence = gettext("In %(name)s, the file %(file)s %(problem)s.")
            raise UploadRefused(
                sentence % {"name": name, "file": repr(member.filename[:60]), "problem": problem}
            )
        unpacked_members.append(member)
    if not unpacked_members:
        raise UploadRefused(gettext("%(name)s is empty.") % {"name": name})
    return unpacked_members


def _is_litter(inner_path: PurePosixPath) -> bool:
    """Return whether a file is one that operating systems add to folders unasked."""
    return inner_path.parts[0] == "__MACOSX" or inner_path.name in (".DS_Store", "Thumbs.db", "desktop.ini")


def _describe_problem(member: zipfile.ZipInfo, inner_path: PurePosixPath, suffixes: set[str] | None) -> str:
    """Return why a file may not be unpacked, as the end of a sentence about it; "" if it may be."""
    if any(len(part.encode("utf-8", "surrogateescape")) > MAX_NAME_LENGTH for part in inner_path.parts):
        return gettext("has a name that is too long; please rename it")
    parts = inner_path.parts
    # on Windows, a backslash separates folders, and a colon follows the letter of a drive
    leads_out = inner_path.is_absolute() or ".." in parts or "\\" in member.filename or ":" in parts[0]
    if leads_out or re.search(r"[\x00-\x1f]", member.filename):
        return gettext("has a path outside the folder of the archive; nothing was read")
    unix_mode = member.external_attr >> 16
    if stat.S_IFMT(unix_mode) not in (0, stat.S_IFREG):  # 0: the archive has no Unix modes
        return gettext("is a link or a device; expected only files")
    if member.flag_bits & ENCRYPTED:
        return gettext("needs a password; expected an archive without one")
    # zipfile decompresses other methods without a limit for memory
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return gettext("uses a compression method that is not supported; expected an ordinary zip archive")
    if member.file_size > max(UNLIMITED_GROWTH_BYTES, limits().growth * member.compress_size):
        return gettext("would be more than %(n)s times as large when unpacked; nothing was read") % {
            "n": limits().growth
        }
    if suffixes is not None and inner_path.suffix.lower() not in suffixes:
        return gettext("is not a picture (%(listed)s); nothing was read") % {
            "listed": ", ".join(sorted(suffixes))
        }
    return ""
