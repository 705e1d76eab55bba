"""The one bounded reader: every upload, import and body of a request is read within these limits.

Files are read here, archives by `archives`, JSON by `documents`, pictures by `pictures`. A request reads 64 kB of
files; a job reads the rest.
"""

from __future__ import annotations

import gzip
import io
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext

from common.amounts import thousands
from common.errors import QuorumError
from common.limits import DEFAULTS, Limits

READ_AT_ONCE = 65_536
HEAD = 65_536  # bytes of files that a request reads
SMALL_ENOUGH = 2**20  # bytes below which growth is of no account
GZIP_MAGIC = b"\x1f\x8b"
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)  # what gzip raises

# Bytes that the request may still read.
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


def limits() -> Limits:
    """Return the settings' limits; commands on files run without settings."""
    return cast(Limits, getattr(settings, "INCOMING", DEFAULTS))


class Excess(QuorumError):
    """Something beyond a limit."""

    title = "More than is read"

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found, expected)
        self.found, self.expected = found, expected

    def __str__(self) -> str:
        return f"Found {self.found}, expected {self.expected}."


class BeyondHead(QuorumError):
    """A request would read more than HEAD bytes of files; a job has to."""

    title = "Too large to be read at once"

    def __str__(self) -> str:
        return gettext("The file is too large to be read while somebody waits; a command reads it.")


@contextmanager
def within_request() -> Iterator[None]:
    """Let the block read HEAD bytes of files."""
    token = _left.set([HEAD])
    try:
        yield
    finally:
        _left.reset(token)


def check_head(size: int) -> None:
    """Raise BeyondHead if this is a request and a file of so many bytes is too large for it."""
    if _left.get() is not None and size > HEAD:
        raise BeyondHead


def spend(size: int) -> None:
    """Count bytes that are read. Raise BeyondHead if this is a request and they are too many for it."""
    left = _left.get()
    if left is not None:
        left[0] -= size
        if left[0] < 0:
            raise BeyondHead


class TextRefused(QuorumError):
    title = "The file cannot be used"


def uploaded_text(file: UploadedFile, *, most: int = HEAD) -> str:
    """Return an uploaded text of at most so many bytes."""
    words = {"name": file.name, "size": thousands(file.size or 0), "most": thousands(most)}
    if (file.size or 0) > most:
        raise TextRefused(gettext("%(name)s has %(size)s bytes; expected at most %(most)s.") % words)
    try:
        text: str = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextRefused(
            gettext("%(name)s is not UTF-8 (byte %(byte)s); please save it as UTF-8.")
            % (words | {"byte": error.start + 1})
        ) from None
    if "\x00" in text:
        raise TextRefused(gettext("%(name)s holds the character U+0000, which cannot be stored.") % words)
    return text


def open_bounded(path: Path) -> io.BufferedReader:
    """Open a file, unpacked if it is gzip. Reading raises Excess, BeyondHead, or what gzip raises for damage."""
    return io.BufferedReader(_BoundedFile(path), READ_AT_ONCE)


class _BoundedFile(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._packed = self._file.peek(2)[:2] == GZIP_MAGIC
        self._source: Any = gzip.GzipFile(fileobj=self._file) if self._packed else self._file
        self._limits = limits()
        self._until = time.monotonic() + self._limits.seconds
        self._size = self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._source.read(min(len(buffer), READ_AT_ONCE))
        buffer[: len(data)] = data
        self._size += len(data)
        self._lines += max(data.count(b"\n"), data.count(b"\r"))
        spend(len(data))
        self._check()
        return len(data)

    def _check(self) -> None:
        most = self._limits
        if self._size > most.bytes:
            raise Excess(f"more than {most.bytes:,} bytes", "fewer (the setting INCOMING_BYTES)")
        if self._packed and self._size > max(SMALL_ENOUGH, most.growth * self._file.tell()):
            excess = f"compressed data that grow more than {most.growth} times"
            raise Excess(excess, "an ordinary file (the setting INCOMING_GROWTH)")
        if self._lines > most.lines:
            raise Excess(f"more than {most.lines:,} lines", "fewer (the setting INCOMING_LINES)")
        if time.monotonic() > self._until:
            raise Excess(f"more than is read in {most.seconds:,} s", "less (the setting INCOMING_SECONDS)")

    def close(self) -> None:
        if not self.closed:
            self._source.close()
            self._file.close()
        super().close()
