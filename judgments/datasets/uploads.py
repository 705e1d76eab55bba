"""Store uploaded files until a job has read them, unpack them safely, and copy pictures.

Archives are untrusted: no entry may leave its folder, be a link, need a password, or grow without bound. Declared
sizes are checked first, but real ones are counted while unpacking.
"""

from __future__ import annotations

import lzma
import os
import re
import secrets
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import quote

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from PIL import Image as PillowImage
from PIL import UnidentifiedImageError

from common.amounts import thousands
from common.audit import acting_person
from common.errors import QuorumError
from common.files import remove_leftovers
from judgments.datasets.picture_metadata import MOST_PICTURE_BYTES
from judgments.importers import ImportProblem
from judgments.importers.records import ADDRESS_LIMIT, compose_name
from judgments.models import Job

MOST_UNCONFIRMED = 20  # uploads of an account that no job waits for
MOST_FILES = 200_000
MOST_BYTES = 10 * 2**30
MOST_GROWTH = 200  # maximal compression ratio of a file; text packs to about a tenth
SMALL_ENOUGH = 2**20  # bytes of a file below which growth is of no account
SMALL_ARCHIVE = 100 * SMALL_ENOUGH  # likewise, of all files together
MOST_LISTING = 64 * 2**20  # bytes of an archive's table of contents, which is read whole
MOST_PIXELS = 64_000_000  # of a picture
END_RECORD = 22  # bytes of the end of an archive without a comment
LONGEST_END = 2**16 + 200  # bytes of the end of an archive: its records, and a comment
CHUNK = 2**20
LONGEST_NAME = 255  # bytes of a path component that common file systems accept
# What zipfile raises for bytes that only resemble an archive.
DAMAGE = (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, zlib.error, lzma.LZMAError)
PICTURE_SUFFIXES = {".jpg", ".jpeg", ".png", ".gif", ".webp"}
FORMATS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp"}
# A JPEG followed by a second picture, as some phones write: browsers show the first.
SUFFIXES = FORMATS | {"MPO": ".jpg"}


class UploadRefused(QuorumError):
    title = "The upload cannot be used"


class PictureProblem(QuorumError):
    title = "A picture cannot be used"


@dataclass(frozen=True, slots=True)
class Files:
    """An unpacked upload: its only file or the folder with several, and the folder with pictures.

    ``root`` is the folder of all files, from which an understood upload names them.
    """

    path: Path
    pictures: str | None
    root: Path


def _root() -> Path:
    return Path(settings.DATA_DIR) / "uploads"


def _folder(upload: str) -> Path:
    assert re.fullmatch(r"[0-9a-f]{32}", upload), "an upload's name is one that keep() gave"
    return _root() / upload


def keep(files: Iterable[UploadedFile], pictures: UploadedFile | None = None) -> str:
    """Store an upload for its job; return its name. Raise UploadRefused for an unusable archive or file name."""
    files = list(files)
    for file in files:
        check_name(file.name or "")
        if is_archive(file.name or ""):
            check_archive(file, name=file.name or "")
    if pictures is not None:
        check_archive(pictures, name=pictures.name or "", suffixes=PICTURE_SUFFIXES)
    account = acting_person()
    upload = f"{account.pk if account else 0:08x}{secrets.token_hex(12)}"
    try:
        for place, group in (("files", files), ("pictures", [pictures] if pictures is not None else [])):
            target = _folder(upload) / place
            target.mkdir(parents=True, mode=0o700)
            for file in group:
                with (target / (file.name or "")).open("wb") as stored:
                    for chunk in file.chunks():
                        stored.write(chunk)
    except OSError:  # a full disk, which needs the space
        discard_upload(upload)
        raise
    if account is not None:
        _keep_to_quota(upload)
    return upload


def _keep_to_quota(upload: str) -> None:
    """Discard the account's oldest uploads that nobody confirmed, until all of them fit its quota.

    Raise UploadRefused if the new one does not fit beside those of waiting jobs.
    """
    most, names = settings.UPLOADS_MB * 10**6, {upload, *_uploads_of_jobs()}
    staying, others = 0, []
    for folder in _root().glob(f"{upload[:8]}*"):
        with suppress(FileNotFoundError):  # another request discards it
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            if folder.name in names:
                staying += size
            else:
                others.append((folder.stat().st_mtime, folder.name, size))
    if staying > most:
        discard_upload(upload)
        raise UploadRefused(
            gettext(
                "Your uploads that are not imported yet would hold more than %(most)s MB; try again when their "
                "jobs are done."
            )
            % {"most": thousands(settings.UPLOADS_MB)}
        )
    for place, (_, name, size) in enumerate(sorted(others, reverse=True), start=2):
        staying += size
        if staying > most or place > MOST_UNCONFIRMED:
            discard_upload(name)


def discard_upload(upload: str) -> None:
    shutil.rmtree(_folder(upload), ignore_errors=True)


def discard_leftovers() -> list[str]:
    """Remove uploads that no job waits for.

    Pictures of datasets that are not there stay: the database may be an older one, or a wrong one.
    """
    return remove_leftovers(_root(), "*", but=_uploads_of_jobs())


def _uploads_of_jobs() -> set[str]:
    wanted = Job.objects.under_way().filter(args__has_key="upload")
    return set(wanted.values_list("args__upload", flat=True))


@contextmanager
def open_upload(upload: str) -> Iterator[Files]:
    """Open the upload's unpacked files for a with block.

    Raises:
        UploadRefused: the upload is gone, an archive is unusable, or the block found a problem in a file.
    """
    folder = _folder(upload)
    if not folder.is_dir():
        raise UploadRefused(gettext("The uploaded files are gone; please upload them again."))
    with tempfile.TemporaryDirectory(dir=folder, prefix="unpacked-") as scratch:
        work = Path(scratch)
        try:
            path = _unpack_files(sorted((folder / "files").iterdir()), work / "files")
            archives = sorted((folder / "pictures").iterdir())
            pictures = (
                _unpack_files(archives, work / "pictures", suffixes=PICTURE_SUFFIXES) if archives else None
            )
            if pictures is not None and pictures.is_file():
                pictures = pictures.parent
            yield Files(path=path, pictures=str(pictures) if pictures else None, root=work / "files")
        except (QuorumError, ImportProblem) as error:
            discard_upload(upload)
            raise UploadRefused(_without(str(error), work, folder)) from error


@contextmanager
def open_upload_without_pictures(upload: str) -> Iterator[tuple[Path, list[str]]]:
    """Open the upload's folder without its pictures, whose names are listed, for a with block.

    Raises:
        UploadRefused: the upload is gone, or an archive is unusable.
    """
    folder = _folder(upload)
    if not folder.is_dir():
        raise UploadRefused(gettext("The uploaded files are gone; please upload them again."))
    with tempfile.TemporaryDirectory(dir=folder, prefix="looked-") as scratch:
        root, pictures = Path(scratch), []
        for file in sorted((folder / "files").iterdir()):
            if is_archive(file.name):
                with file.open("rb") as packed:
                    pictures += unpack(packed, root, name=file.name, passed_over=PICTURE_SUFFIXES)
            elif file.suffix.lower() in PICTURE_SUFFIXES:
                pictures.append(file.name)
            else:
                shutil.copyfile(file, root / file.name)
        yield root, pictures


def _without(sentence: str, *folders: Path) -> str:
    for folder in folders:
        for place in ("files", "pictures"):
            sentence = sentence.replace(f"{folder / place}/", "").replace(str(folder / place), "the upload")
    return sentence


def _unpack_files(files: list[Path], target: Path, suffixes: set[str] | None = None) -> Path:
    target.mkdir()
    for file in files:
        if is_archive(file.name):
            with file.open("rb") as packed:
                unpack(packed, target, name=file.name, suffixes=suffixes)
        else:
            shutil.copyfile(file, target / file.name)
    inside = sorted(target.iterdir())
    while len(inside) == 1 and inside[0].is_dir():  # a folder was packed, not its files
        target = inside[0]
        inside = sorted(target.iterdir())
    return inside[0] if len(inside) == 1 else target


def is_archive(name: str) -> bool:
    return name.lower().endswith(".zip")


def check_name(name: str) -> None:
    is_plain = re.fullmatch(r"[^\x00-\x1f/\\]{1,200}", name) and not name.startswith(".")
    if not is_plain or len(os.fsencode(name)) > LONGEST_NAME:
        raise UploadRefused(
            gettext("The file name %(name)r cannot be kept; please rename the file.") % {"name": name}
        )


def check_archive(packed: IO[bytes] | UploadedFile, *, name: str, suffixes: set[str] | None = None) -> None:
    """Raise UploadRefused with the first problem of an archive's table of contents."""
    _wanted_members(_archive(packed, name), name, suffixes, _size(packed))
    packed.seek(0)


def unpack(
    packed: IO[bytes],
    target: Path,
    *,
    name: str,
    suffixes: set[str] | None = None,
    passed_over: Collection[str] = (),
) -> list[str]:
    """Unpack below ``target``; return the names of files skipped for a suffix in ``passed_over``.

    Raise UploadRefused if the archive is unsafe, damaged, or larger than declared.
    """
    archive = _archive(packed, name)
    left_out = []
    for member, inner in _wanted_members(archive, name, suffixes, _size(packed)):
        if inner.suffix.lower() in passed_over:
            left_out.append(str(inner))
            continue
        file = target.joinpath(*inner.parts)
        left = member.file_size
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, file.open("xb") as out:
                while chunk := source.read(CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise UploadRefused(
                            gettext("%(name)s: %(filename)r is larger than the archive says.")
                            % {"name": name, "filename": member.filename}
                        )
                    out.write(chunk)
        except DAMAGE as error:
            raise UploadRefused(
                gettext("%(name)s: %(filename)r is damaged (%(error)s).")
                % {"name": name, "filename": member.filename, "error": error}
            ) from error
        except (FileExistsError, IsADirectoryError, NotADirectoryError):
            raise UploadRefused(
                gettext("%(name)s holds two things named %(filename)r.")
                % {"name": name, "filename": member.filename}
            ) from None
    return left_out


def _size(packed: IO[bytes] | UploadedFile) -> int:
    packed.seek(0, 2)
    return packed.tell()


def _listing_size(packed: IO[bytes] | UploadedFile) -> int:
    """Return the bytes of the table of contents, as the archive's end states them; 0 without an end."""
    size = _size(packed)
    packed.seek(max(0, size - LONGEST_END))
    tail = packed.read(LONGEST_END)
    # As zipfile: without a comment first, as the record may hold the mark itself.
    end = len(tail) - END_RECORD
    if not (tail[end : end + 4] == b"PK\x05\x06" and tail.endswith(b"\x00\x00")):
        end = tail.rfind(b"PK\x05\x06")
    if end < 0 or end + 16 > len(tail):
        return 0
    if tail[end - 20 : end - 16] == b"PK\x06\x07":  # of an archive above 4 GB
        return int.from_bytes(tail[end - 36 : end - 28], "little")
    return int.from_bytes(tail[end + 12 : end + 16], "little")


def _archive(packed: IO[bytes] | UploadedFile, name: str) -> zipfile.ZipFile:
    if _listing_size(packed) > MOST_LISTING:
        raise UploadRefused(
            gettext("%(name)s lists too many files; at most %(most_files)s are read.")
            % {"name": name, "most_files": thousands(MOST_FILES)}
        )
    try:
        return zipfile.ZipFile(packed)
    except DAMAGE:
        raise UploadRefused(
            gettext("%(name)s is not a zip archive, or a damaged one.") % {"name": name}
        ) from None


def _wanted_members(
    archive: zipfile.ZipFile, name: str, suffixes: set[str] | None, size: int
) -> list[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Return the files with their targets, if all may be unpacked."""
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise UploadRefused(
            gettext("%(name)s holds %(n)s files; at most %(most_files)s are read.")
            % {"name": name, "n": thousands(len(members)), "most_files": thousands(MOST_FILES)}
        )
    total = sum(member.file_size for member in members)
    if total > MOST_BYTES:
        raise UploadRefused(
            gettext("%(name)s would unpack to %(total)s bytes; at most %(most_bytes)s are read.")
            % {"name": name, "total": thousands(total), "most_bytes": thousands(MOST_BYTES)}
        )
    if total > max(SMALL_ARCHIVE, MOST_GROWTH * size):  # many small bombs, or members that share their bytes
        raise UploadRefused(
            gettext("%(name)s would grow more than %(most_growth)s times; nothing was read.")
            % {"name": name, "most_growth": MOST_GROWTH}
        )
    wanted = []
    for member in members:
        inner = PurePosixPath(member.filename)
        if member.is_dir() or not inner.parts or _is_litter(inner):
            continue
        _refuse_unsafe(member, inner, name)
        if suffixes is not None and inner.suffix.lower() not in suffixes:
            listed = ", ".join(sorted(suffixes))
            raise UploadRefused(
                gettext("%(name)s holds %(filename)r; expected pictures alone (%(listed)s).")
                % {"name": name, "filename": member.filename, "listed": listed}
            )
        wanted.append((member, inner))
    if not wanted:
        raise UploadRefused(gettext("%(name)s is empty.") % {"name": name})
    return wanted


def _is_litter(inner: PurePosixPath) -> bool:
    return inner.parts[0] == "__MACOSX" or inner.name in (".DS_Store", "Thumbs.db", "desktop.ini")


def _refuse_unsafe(member: zipfile.ZipInfo, inner: PurePosixPath, name: str) -> None:
    shown = repr(member.filename)
    if any(len(part.encode("utf-8", "surrogateescape")) > LONGEST_NAME for part in inner.parts):
        raise UploadRefused(
            gettext("%(name)s holds %(shown)s…, a name too long to be kept; please rename the file.")
            % {"name": name, "shown": shown[:40]}
        )
    leads_out = inner.is_absolute() or ".." in inner.parts or "\\" in member.filename or ":" in inner.parts[0]
    if leads_out or re.search(r"[\x00-\x1f]", member.filename):
        raise UploadRefused(
            gettext("%(name)s holds %(shown)s, which leads out of the archive's folder; nothing was read.")
            % {"name": name, "shown": shown}
        )
    mode = member.external_attr >> 16
    if mode and not (stat.S_ISREG(mode) or stat.S_IFMT(mode) == 0):
        raise UploadRefused(
            gettext("%(name)s holds %(shown)s, which is a link or a device; expected files alone.")
            % {"name": name, "shown": shown}
        )
    if member.flag_bits & 0x1:
        raise UploadRefused(
            gettext("%(name)s: %(shown)s needs a password; expected an archive without one.")
            % {"name": name, "shown": shown}
        )
    if member.file_size > max(SMALL_ENOUGH, MOST_GROWTH * member.compress_size):
        raise UploadRefused(
            gettext("%(name)s: %(shown)s would grow more than %(most_growth)s times; nothing was read.")
            % {"name": name, "shown": shown, "most_growth": MOST_GROWTH}
        )


def is_address(images: str) -> bool:
    return images.startswith(("http://", "https://"))


def picture_address(images: str, file: str) -> str:
    """Raise PictureProblem if the address is too long to store."""
    address = f"{images.rstrip('/')}/{quote(file)}"
    if len(address) > ADDRESS_LIMIT:
        raise PictureProblem(
            gettext(
                "The address of picture %(file)r would have %(n)s characters; expected at most "
                "%(address_limit)s."
            )
            % {"file": file, "n": len(address), "address_limit": ADDRESS_LIMIT}
        )
    return address


def checked_pictures(folder: Path, names: Iterable[tuple[str, str]]) -> dict[str, Path]:
    """Return the file of each image, from (image name, file name) pairs.

    Raises:
        PictureProblem: a file is missing, outside of the folder, or no picture that browsers show.
    """
    if not folder.is_dir():
        raise PictureProblem(
            gettext("%(folder)s is not a folder; expected the pictures of the dataset.") % {"folder": folder}
        )
    root = folder.resolve()
    found: dict[str, Path] = {}
    missing: list[str] = []
    spelled: dict[str, Path] = {}  # file systems keep an accent as it was typed
    for image, file in names:
        path = (folder / file).resolve()
        if not file.isascii() and not path.is_file():
            spelled = spelled or {compose_name(str(one.relative_to(root))): one for one in root.rglob("*")}
            path = spelled.get(compose_name(file), path).resolve()
        if not path.is_relative_to(root):
            raise PictureProblem(
                gettext("%(file)r leads out of %(folder)s; expected a file in it.")
                % {"file": file, "folder": folder}
            )
        if path.is_file():
            found[image] = path
        else:
            missing.append(file)
    if missing:
        raise PictureProblem(
            gettext("%(folder)s lacks %(n)s of %(what)s pictures, the first is %(missing)r.")
            % {"folder": folder, "n": len(missing), "what": len(missing) + len(found), "missing": missing[0]}
        )
    for path in found.values():
        picture_format(path)
    return found


def picture_format(path: Path) -> str:
    """Return a picture's format. Raise PictureProblem if it is none of ``SUFFIXES``, or too large for a browser's
    memory.
    """
    if path.stat().st_size > MOST_PICTURE_BYTES:
        raise PictureProblem(
            gettext("%(path)s is too large; expected at most %(most_picture_bytes)s bytes.")
            % {"path": path, "most_picture_bytes": thousands(MOST_PICTURE_BYTES)}
        )
    try:
        with PillowImage.open(path, formats=list(FORMATS)) as picture:
            name, pixels = picture.format or "", picture.width * picture.height
    except PillowImage.DecompressionBombError:
        name, pixels = "", MOST_PIXELS + 1
    except (UnidentifiedImageError, OSError, ValueError):
        name, pixels = "", 0
    if pixels > MOST_PIXELS:
        raise PictureProblem(
            gettext("%(path)s has too many pixels; expected at most %(most_pixels)s.")
            % {"path": path, "most_pixels": thousands(MOST_PIXELS)}
        )
    if name not in SUFFIXES:
        raise PictureProblem(
            gettext("%(path)s is not a picture; expected %(listed)s.")
            % {"path": path, "listed": ", ".join(FORMATS)}
        )
    return name


class PictureCopy:
    """Copy pictures into the folder of a dataset without pictures; remove it if the ``with`` block fails.

    A kill may have left pictures in it, which the first copy removes.
    """

    def __init__(self, dataset_name: str) -> None:
        self.folder = Path(settings.MEDIA_ROOT) / "pictures" / dataset_name
        self._begun = False

    def __enter__(self) -> PictureCopy:
        return self

    def __exit__(self, error: type[BaseException] | None, *rest: object) -> None:
        if error is not None and self._begun:
            shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, number: int, source: Path) -> str:
        """Copy a picture and return its name for ``Item.picture``.

        The original name is dropped: it may give away the answer.
        """
        if not self._begun:
            self._begun = True
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
        target = self.folder / f"{number:06d}{SUFFIXES[picture_format(source)]}"
        shutil.copyfile(source, target)
        target.chmod(0o600)
        return str(target.relative_to(settings.MEDIA_ROOT))
