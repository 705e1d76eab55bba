"""Look at pictures from outside before they are decoded, copy them, and serve them without metadata.

Cameras and phones write where and when a picture was taken. Pixels are not encoded again here. The imported file stays
as it is; only what is served changes.
"""

from __future__ import annotations

import io
import re
import shutil
import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext
from PIL import ExifTags, UnidentifiedImageError
from PIL import Image as PillowImage

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import ADDRESS_LIMIT, compose_name, limits

EXIF = b"Exif\x00\x00"
NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # behind the coded data of a scan
START_OF_SCAN, END_OF_IMAGE = 0xDA, 0xD9
PNG_START = b"\x89PNG\r\n\x1a\n"
# those that a browser needs to show it; others hold texts, positions, thumbnails or an editor's own data
PNG_PICTURE = {
    *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"),
    *(b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI"),
}
WEBP_PICTURE = (b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP")
WEBP_METADATA = {b"EXIF": 0x08, b"XMP ": 0x04}  # and their flags in the header
GIF_COMMENT, GIF_APPLICATION = 0xFE, 0xFF
ANIMATION = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def without_metadata(data: bytes) -> bytes:
    """Return a JPEG, PNG, WebP or GIF without metadata, up to the first broken place.

    A JPEG keeps its colour profile and orientation. Other data are returned unchanged.
    """
    for start, clean in READERS:
        if data.startswith(start):
            return b"".join(clean(data))
    return data


def _jpeg(data: bytes) -> Iterator[bytes]:
    yield data[:2]
    yield _orientation(data)
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in (0xFF, END_OF_IMAGE):  # a byte that fills, or the end; some phones add a second picture
            if marker == END_OF_IMAGE:
                break
            at += 1
            continue
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == START_OF_SCAN:
            following = NEXT_MARKER.search(data, end)
            end = following.start() if following else len(data)
        if _is_shown(marker, data[at + 4 : at + 16]):
            yield data[at:end]
        at = end
    yield b"\xff\xd9"


def _is_shown(marker: int, start: bytes) -> bool:
    if marker == 0xE0:
        return start.startswith(b"JFIF\x00")  # and no thumbnail (JFXX), which may be of the picture uncut
    if marker == 0xE2:
        return start.startswith(b"ICC_PROFILE")
    return marker == 0xEE or not (0xE0 <= marker <= 0xEF or marker == 0xFE)


def _orientation(data: bytes) -> bytes:
    """Return a segment with the orientation alone; b"" if it is the usual one."""
    try:
        with PillowImage.open(io.BytesIO(data), formats=["JPEG"]) as picture:
            side = picture.getexif().get(ExifTags.Base.Orientation, 1)
    except (OSError, ValueError, SyntaxError, struct.error, PillowImage.DecompressionBombError):
        return b""
    if side not in range(2, 9):
        return b""
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Orientation] = side
    content = exif.tobytes()
    content = content if content.startswith(EXIF) else EXIF + content
    return b"\xff\xe1" + (len(content) + 2).to_bytes(2, "big") + content


def _png(data: bytes) -> Iterator[bytes]:
    yield PNG_START
    at = len(PNG_START)
    while at + 8 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] in PNG_PICTURE:
            yield data[at:end]
        if data[at + 4 : at + 8] == b"IEND":
            return
        at = end


def _webp(data: bytes) -> Iterator[bytes]:
    chunks, at = [], 12
    data = data[: 8 + int.from_bytes(data[4:8], "little")]  # what stands behind the picture is none of it
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + size + size % 2
        chunk = data[at:end]
        if name == b"VP8X" and len(chunk) > 8:
            chunk = chunk[:8] + bytes([chunk[8] & ~sum(WEBP_METADATA.values())]) + chunk[9:]
        if name in WEBP_PICTURE:
            chunks.append(chunk)
        at = end
    size = 4 + sum(map(len, chunks))
    yield b"RIFF" + size.to_bytes(4, "little") + data[8:12]
    yield from chunks


def _gif(data: bytes) -> Iterator[bytes]:
    at = 13 + _table(data[10:11])
    yield data[:at]
    while at + 1 < len(data):
        if data[at] == 0x2C:  # a frame
            end = _behind_blocks(data, at + 11 + _table(data[at + 9 : at + 10]))
            yield data[at:end]
        elif data[at] == 0x21:
            kind, end = data[at + 1], _behind_blocks(data, at + 2)
            dropped = kind == GIF_COMMENT or (
                kind == GIF_APPLICATION and data[at + 3 : at + 14] not in ANIMATION
            )
            yield b"" if dropped else data[at:end]
        else:
            break
        at = end
    yield b";"


def _table(flags: bytes) -> int:
    return 3 << ((flags[0] & 7) + 1) if flags and flags[0] & 0x80 else 0


def _behind_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1


READERS: tuple[tuple[bytes, Callable[[bytes], Iterator[bytes]]], ...] = (
    (b"\xff\xd8", _jpeg),
    (PNG_START, _png),
    (b"RIFF", _webp),
    (b"GIF8", _gif),
)


FORMATS = {"JPEG": ".jpg", "PNG": ".png", "GIF": ".gif", "WEBP": ".webp"}
# A JPEG followed by a second picture, as some phones write: browsers show the first.
SUFFIXES = FORMATS | {"MPO": ".jpg"}


class PictureProblem(QuorumError):
    title = "A picture cannot be used"


def picture_format(path: Path) -> str:
    """Return a picture's format. Raise PictureProblem if it is none of ``SUFFIXES``, or too large for a browser's
    memory.
    """
    most = limits()
    if path.stat().st_size > most.picture_bytes:
        raise PictureProblem(
            gettext("%(path)s is too large; expected at most %(most_picture_bytes)s bytes.")
            % {"path": path, "most_picture_bytes": thousands(most.picture_bytes)}
        )
    try:
        with PillowImage.open(path, formats=list(FORMATS)) as picture:
            name, pixels = picture.format or "", picture.width * picture.height
    except PillowImage.DecompressionBombError:
        name, pixels = "", most.pixels + 1
    except (UnidentifiedImageError, OSError, ValueError):
        name, pixels = "", 0
    if pixels > most.pixels:
        raise PictureProblem(
            gettext("%(path)s has too many pixels; expected at most %(most_pixels)s.")
            % {"path": path, "most_pixels": thousands(most.pixels)}
        )
    if name not in SUFFIXES:
        raise PictureProblem(
            gettext("%(path)s is not a picture; expected %(listed)s.")
            % {"path": path, "listed": ", ".join(FORMATS)}
        )
    return name


def open_picture(path: Path) -> PillowImage.Image:
    """Open a picture, to be decoded after `prepare_decoding`. Raise as ``picture_format`` does."""
    picture_format(path)
    return PillowImage.open(path, formats=list(FORMATS))


def prepare_decoding(picture: PillowImage.Image, box: tuple[int, int] | None = None) -> None:
    """Let an open JPEG be decoded no larger than the box needs; without one, Pillow's `thumbnail` does.

    Raise PictureProblem if decoding the picture takes more memory than reading a file may.
    """
    pixels = picture.width * picture.height
    if box:
        picture.draft(None, box)
    if picture.format in ("JPEG", "MPO"):  # libjpeg may keep two bytes of each pixel's band
        size = 2 * len(picture.getbands()) * pixels + (4 * picture.width * picture.height if box else 0)
    else:  # copies in four bands, of which libwebp has two more of its own
        size = (18 if picture.format == "WEBP" else 10) * pixels
    if size > limits().memory:
        raise PictureProblem(
            gettext("A picture of %(width)s x %(height)s pixels takes too much memory to be decoded.")
            % {"width": picture.width, "height": picture.height}
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


def checked_pictures(
    folder: Path, names: Iterable[tuple[str, str]], *, match_names: bool = False
) -> dict[str, Path]:
    """Return the file of each image, from (image name, file name) pairs.

    Args:
        match_names: whether names may differ in case, blanks and ending.

    Raises:
        PictureProblem: a file is missing, outside of the folder, or no picture that browsers show.
    """
    from judgments.importers.names import NamesOfImages  # lazily: pages of work start without the importers

    if not folder.is_dir():
        raise PictureProblem(
            gettext("%(folder)s is not a folder; expected the pictures of the dataset.") % {"folder": folder}
        )
    root = folder.resolve()
    paths: dict[str, Path] = {}
    missing: list[str] = []
    spelled: dict[str, Path] = {}  # file systems keep an accent as it was typed
    files = SimpleLazyObject(lambda: NamesOfImages(_files_in(root)))
    for image, file in names:
        path = (folder / file).resolve()
        if not file.isascii() and not path.is_file():
            spelled = spelled or {
                compose_name(str(entry.relative_to(root))): entry for entry in root.rglob("*")
            }
            path = spelled.get(compose_name(file), path).resolve()
        if match_names and not path.is_file():
            path = (folder / files.name_of(file)).resolve()
        if not path.is_relative_to(root):
            raise PictureProblem(
                gettext("%(file)r leads out of %(folder)s; expected a file in it.")
                % {"file": file, "folder": folder}
            )
        if path.is_file():
            paths[image] = path
        else:
            missing.append(file)
    if missing and (alike := files.name_of(missing[0])) != missing[0]:
        raise PictureProblem(
            gettext(
                "%(folder)s has no picture %(missing)r, but %(alike)r, which is taken if names may differ."
            )
            % {"folder": folder, "missing": missing[0], "alike": alike}
        )
    if missing:
        raise PictureProblem(
            gettext("%(folder)s lacks %(n)s of %(what)s pictures, the first is %(missing)r.")
            % {"folder": folder, "n": len(missing), "what": len(missing) + len(paths), "missing": missing[0]}
        )
    for path in paths.values():
        picture_format(path)
    return paths


def _files_in(root: Path) -> list[str]:
    return [str(entry.relative_to(root)) for entry in root.rglob("*") if entry.is_file()]


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
