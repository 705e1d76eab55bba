"""Remove the metadata of served pictures.

Cameras and phones record where and when a picture was taken. Pixels are not encoded again, and the imported file
stays unchanged.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Iterator

from PIL import ExifTags
from PIL import Image as PillowImage

EXIF = b"Exif\x00\x00"
NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")  # the marker after the coded data of a scan
START_OF_SCAN, END_OF_IMAGE = 0xDA, 0xD9
PNG_START = b"\x89PNG\r\n\x1a\n"
# chunks that a browser needs to show the picture; others hold texts, positions, thumbnails or an editor's own data
PNG_PICTURE = {
    *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"),
    *(b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI"),
}
WEBP_PICTURE = (b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP")
WEBP_METADATA = {b"EXIF": 0x08, b"XMP ": 0x04}  # flags of the header, by chunk
GIF_COMMENT, GIF_APPLICATION = 0xFE, 0xFF
ANIMATION = (b"NETSCAPE2.0", b"ANIMEXTS1.0")


def strip_metadata(data: bytes) -> bytes:
    """Return a JPEG, PNG, WebP or GIF without metadata, and without anything after the first corrupt part.

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
        if marker in (0xFF, END_OF_IMAGE):  # a fill byte, or the end; some phones append a second picture
            if marker == END_OF_IMAGE:
                break
            at += 1
            continue
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == START_OF_SCAN:
            following = NEXT_MARKER.search(data, end)
            end = following.start() if following else len(data)
        if _is_needed_segment(marker, data[at + 4 : at + 16]):
            yield data[at:end]
        at = end
    yield b"\xff\xd9"


def _is_needed_segment(marker: int, start: bytes) -> bool:
    if marker == 0xE0:
        return start.startswith(b"JFIF\x00")  # excludes thumbnails (JFXX), which may show the uncut picture
    if marker == 0xE2:
        return start.startswith(b"ICC_PROFILE")
    return marker == 0xEE or not (0xE0 <= marker <= 0xEF or marker == 0xFE)


def _orientation(data: bytes) -> bytes:
    """Return an EXIF segment with the orientation only; b"" if the picture is upright."""
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
    data = data[: 8 + int.from_bytes(data[4:8], "little")]  # drop data after the picture
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
            end = _end_of_blocks(data, at + 11 + _table(data[at + 9 : at + 10]))
            yield data[at:end]
        elif data[at] == 0x21:
            kind, end = data[at + 1], _end_of_blocks(data, at + 2)
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


def _end_of_blocks(data: bytes, at: int) -> int:
    while at < len(data) and data[at]:
        at += 1 + data[at]
    return at + 1


READERS: tuple[tuple[bytes, Callable[[bytes], Iterator[bytes]]], ...] = (
    (b"\xff\xd8", _jpeg),
    (PNG_START, _png),
    (b"RIFF", _webp),
    (b"GIF8", _gif),
)
