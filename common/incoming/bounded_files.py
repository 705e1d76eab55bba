"""Read uploaded or imported files within the limits.

``open_bounded`` opens a file, which may be gzipped. ``uploaded_text`` reads a small text from an upload.
"""

from __future__ import annotations

import gzip
import io
import time
import zlib
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext

from common.amounts import thousands
from common.errors import QuorumError
from common.incoming import (
    MAX_REQUEST_BYTES,
    READ_SIZE,
    UNLIMITED_GROWTH_BYTES,
    LimitExceeded,
    count_bytes,
    limits,
)

GZIP_MAGIC = b"\x1f\x8b"
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)  # exceptions that gzip raises


class TextRefused(QuorumError):
    """An uploaded file is too large, or is not text."""

    title = "The file cannot be used"


def uploaded_text(file: UploadedFile, *, max_bytes: int = MAX_REQUEST_BYTES) -> str:
    """Return the text of an upload. Raise TextRefused if it has more than ``max_bytes`` bytes, or is not valid text."""
    size = file.size or 0
    if size > max_bytes:
        raise TextRefused(
            gettext("%(name)s has %(size)s bytes; expected at most %(most)s.")
            % {"name": file.name, "size": thousands(size), "most": thousands(max_bytes)}
        )
    try:
        text: str = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextRefused(
            gettext("%(name)s is not UTF-8 (byte %(byte)s); please save it as UTF-8.")
            % {"name": file.name, "byte": error.start + 1}
        ) from None
    if "\x00" in text:
        message = gettext("%(name)s contains the character U+0000, which cannot be stored.")
        raise TextRefused(message % {"name": file.name})
    return text


def open_bounded(path: Path) -> io.BufferedReader:
    """Open a file, and decompress it if it is gzip.

    Reading from it may raise LimitExceeded, RequestBytesExceeded or one of GZIP_ERRORS.
    """
    return io.BufferedReader(_BoundedFile(path.open("rb")), READ_SIZE)


class _PiecewiseFile:
    """A file that is read in small pieces.

    The growth of a packed file is compared with the bytes that gzip has read. Since Python 3.12, gzip reads 128 KiB
    at a time, which is too coarse for this comparison.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, io.DEFAULT_BUFFER_SIZE))


class _BoundedFile(io.RawIOBase):
    """A file that raises LimitExceeded when more is read than the limits allow."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file
        self._source: Any = file  # from which the content is read
        self._is_gzip = file.peek(2)[:2] == GZIP_MAGIC
        if self._is_gzip:
            piecewise_file: Any = _PiecewiseFile(file)  # has all methods that gzip calls
            self._source = gzip.GzipFile(fileobj=piecewise_file)
        self._limits = limits()
        self._deadline = time.monotonic() + self._limits.seconds
        self._bytes_read = self._lines_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(min(len(buffer), READ_SIZE))
        buffer[: len(data)] = data
        self._bytes_read += len(data)
        self._lines_read += max(data.count(b"\n"), data.count(b"\r"))  # lines end with LF, CR LF, or CR
        count_bytes(len(data))
        self._check_bounds()
        return len(data)

    def _check_bounds(self) -> None:
        bounds = self._limits
        if self._bytes_read > bounds.bytes:
            raise LimitExceeded(f"more than {bounds.bytes:,} bytes", "fewer (the setting INCOMING_BYTES)")
        packed_bytes_read = self._file.tell()
        max_unpacked_bytes = max(UNLIMITED_GROWTH_BYTES, bounds.growth * packed_bytes_read)
        if self._is_gzip and self._bytes_read > max_unpacked_bytes:
            excess = f"compressed data that grow more than {bounds.growth} times"
            raise LimitExceeded(excess, "an ordinary file (the setting INCOMING_GROWTH)")
        if self._lines_read > bounds.lines:
            raise LimitExceeded(f"more than {bounds.lines:,} lines", "fewer (the setting INCOMING_LINES)")
        if time.monotonic() > self._deadline:
            raise LimitExceeded(
                f"more than is read in {bounds.seconds:,} s", "less (the setting INCOMING_SECONDS)"
            )

    def close(self) -> None:
        if not self.closed:
            self._source.close()
            self._file.close()
        super().close()
