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

EXIF_HEADER = b"Exif\x00\x00"
# The marker after the coded data of a scan. In these data, 0xFF is followed by 0x00 or by a restart marker.
NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
# Markers of a JPEG, after the byte 0xFF. Adobe's segment says how colours are coded.
JFIF_SEGMENT, EXIF_SEGMENT, ICC_SEGMENT, ADOBE_SEGMENT = 0xE0, 0xE1, 0xE2, 0xEE
APPLICATION_SEGMENTS = range(0xE0, 0xF0)
JPEG_COMMENT, START_OF_SCAN, END_OF_IMAGE = 0xFE, 0xDA, 0xD9
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# chunks that a browser needs to show the picture; others hold texts, positions, thumbnails or an editor's own data
PNG_PICTURE_CHUNKS = {
    *(b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT"),
    *(b"cHRM", b"gAMA", b"iCCP", b"sBIT", b"sRGB", b"cICP", b"mDCV", b"cLLI"),
}
WEBP_PICTURE_CHUNKS = (b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP")
WEBP_METADATA_FLAGS = 0x08 | 0x04  # flags of EXIF and XMP in the chunk VP8X
GIF_HEADER_SIZE = 13  # bytes of the signature and the screen's descriptor
GIF_FRAME, GIF_EXTENSION = 0x2C, 0x21  # first bytes of blocks
GIF_COMMENT, GIF_APPLICATION = 0xFE, 0xFF  # kinds of extensions
ANIMATION_APPLICATIONS = (b"NETSCAPE2.0", b"ANIMEXTS1.0")  # their extensions repeat an animation


def strip_metadata(data: bytes) -> bytes:
    """Return a JPEG, PNG, WebP or GIF without metadata, and without anything after the first corrupt part.

    A JPEG keeps its colour profile and orientation. Other data are returned unchanged.
    """
    for signature, cleaner in CLEANERS_BY_SIGNATURE:
        if data.startswith(signature):
            return b"".join(cleaner(data))
    return data


def _clean_jpeg(data: bytes) -> Iterator[bytes]:
    """Yield the segments that show the picture. A segment is 0xFF, a marker, the size in two bytes, and its content."""
    yield data[:2]  # the start of the image
    yield _orientation_segment(data)
    start = 2
    while start + 4 <= len(data) and data[start] == 0xFF:
        marker = data[start + 1]
        if marker == END_OF_IMAGE:  # some phones append a second picture
            break
        if marker == 0xFF:  # a fill byte
            start += 1
            continue
        # the size includes its own two bytes, but not the marker
        end = start + 2 + int.from_bytes(data[start + 2 : start + 4], "big")
        if marker == START_OF_SCAN:
            next_marker = NEXT_MARKER.search(data, end)
            end = next_marker.start() if next_marker else len(data)
        if _is_needed_segment(marker, data[start + 4 : start + 16]):
            yield data[start:end]
        start = end
    yield b"\xff\xd9"


def _is_needed_segment(marker: int, start: bytes) -> bool:
    if marker == JFIF_SEGMENT:
        return start.startswith(b"JFIF\x00")  # excludes thumbnails (JFXX), which may show the uncut picture
    if marker == ICC_SEGMENT:
        return start.startswith(b"ICC_PROFILE")
    is_metadata = marker in APPLICATION_SEGMENTS or marker == JPEG_COMMENT
    return marker == ADOBE_SEGMENT or not is_metadata


def _orientation_segment(data: bytes) -> bytes:
    """Return an EXIF segment with the orientation only; b"" if the picture is upright."""
    try:
        with PillowImage.open(io.BytesIO(data), formats=["JPEG"]) as picture:
            orientation = picture.getexif().get(ExifTags.Base.Orientation, 1)
    except (OSError, ValueError, SyntaxError, struct.error, PillowImage.DecompressionBombError):
        return b""
    if orientation not in range(2, 9):  # 1 is upright; 2 to 8 are rotated or mirrored
        return b""
    exif = PillowImage.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    content = exif.tobytes()
    content = content if content.startswith(EXIF_HEADER) else EXIF_HEADER + content
    return bytes([0xFF, EXIF_SEGMENT]) + (len(content) + 2).to_bytes(2, "big") + content


def _clean_png(data: bytes) -> Iterator[bytes]:
    yield PNG_SIGNATURE
    start = len(PNG_SIGNATURE)
    while start + 8 <= len(data):
        # a chunk has four bytes each for its size, its name and, after the data, a checksum
        end = start + 12 + int.from_bytes(data[start : start + 4], "big")
        name = data[start + 4 : start + 8]
        if name in PNG_PICTURE_CHUNKS:
            yield data[start:end]
        if name == b"IEND":
            return
        start = end


def _clean_webp(data: bytes) -> Iterator[bytes]:
    chunks, start = [], 12  # the chunks begin after "RIFF", the size and "WEBP"
    data = data[: 8 + int.from_bytes(data[4:8], "little")]  # drop data after the picture
    while start + 8 <= len(data):
        name, size = data[start : start + 4], int.from_bytes(data[start + 4 : start + 8], "little")
        end = start + 8 + size + size % 2  # chunks of odd size have one byte of padding
        chunk = data[start:end]
        if name == b"VP8X" and len(chunk) > 8:
            chunk = chunk[:8] + bytes([chunk[8] & ~WEBP_METADATA_FLAGS]) + chunk[9:]
        if name in WEBP_PICTURE_CHUNKS:
            chunks.append(chunk)
        start = end
    size = 4 + sum(map(len, chunks))  # with the four letters "WEBP"
    yield b"RIFF" + size.to_bytes(4, "little") + data[8:12]
    yield from chunks


def _clean_gif(data: bytes) -> Iterator[bytes]:
    start = GIF_HEADER_SIZE + _colour_table_size(data[10:11])
    yield data[:start]
    while start + 1 < len(data):
        if data[start] == GIF_FRAME:
            # a descriptor of 10 bytes, the last with the table's flags; the table; a byte with the size of codes
            end = _end_of_blocks(data, start + 11 + _colour_table_size(data[start + 9 : start + 10]))
            yield data[start:end]
        elif data[start] == GIF_EXTENSION:
            kind, end = data[start + 1], _end_of_blocks(data, start + 2)
            application = data[start + 3 : start + 14]  # the 11 letters after the size of the first block
            is_metadata = kind == GIF_COMMENT or (
                kind == GIF_APPLICATION and application not in ANIMATION_APPLICATIONS
            )
            yield b"" if is_metadata else data[start:end]
        else:
            break
        start = end
    yield b";"


def _colour_table_size(flags: bytes) -> int:
    """Return the size of a colour table: 2 to 256 colours of three bytes, or none.

    ``flags`` is one byte: its highest bit tells whether there is a table, and its lowest three bits are n if the table
    has 2 ** (n + 1) colours.
    """
    return 3 << ((flags[0] & 7) + 1) if flags and flags[0] & 0x80 else 0


def _end_of_blocks(data: bytes, offset: int) -> int:
    """Return the end of the blocks that begin here. Each begins with its size; a block of size 0 is the last."""
    while offset < len(data) and data[offset]:
        offset += 1 + data[offset]
    return offset + 1


CLEANERS_BY_SIGNATURE: tuple[tuple[bytes, Callable[[bytes], Iterator[bytes]]], ...] = (
    (b"\xff\xd8", _clean_jpeg),
    (PNG_SIGNATURE, _clean_png),
    (b"RIFF", _clean_webp),
    (b"GIF8", _clean_gif),
)
