"""The one bounded reader: every upload, import and body of a request is read within these limits.

Files and JSON are read here, archives by `archives`. A request reads 64 kB of files; a job reads the rest.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import time
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext

from common.amounts import thousands
from common.environment import DEFAULTS, Limits
from common.errors import QuorumError

READ_AT_ONCE = 65_536
HEAD = 65_536  # bytes of files that a request reads
ADDRESS_LIMIT = 500  # characters
SMALL_ENOUGH = 2**20  # bytes below which growth is of no account
GZIP_MAGIC = b"\x1f\x8b"
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)  # what gzip raises

# Bytes that the request may still read.
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


def limits() -> Limits:
    """Return the settings' limits; commands on files run without settings."""
    return cast(Limits, getattr(settings, "INCOMING", DEFAULTS))


def compose_name(name: str) -> str:
    """Return the name in Unicode's composed form, so that both spellings of an accent are one name."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def unpacked_name(name: str) -> str:
    """Return the name of the file in a file of gzip, `a.csv` of `a.csv.gz`; another name as it is."""
    return name[:-3] if name.lower().endswith(".gz") else name


def quoted(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str) and not value.strip():
        return "an empty text"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be printed
    return text if len(text) <= 60 else text[:57] + "..."


class Excess(QuorumError):
    """Something beyond a limit."""

    title = "More than is read"

    def __init__(self, actual: str, expected: str) -> None:
        super().__init__(actual, expected)
        self.actual, self.expected = actual, expected

    def __str__(self) -> str:
        return f"Found {self.actual}, expected {self.expected}."


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
    values = {"name": file.name, "size": thousands(file.size or 0), "most": thousands(most)}
    if (file.size or 0) > most:
        raise TextRefused(gettext("%(name)s has %(size)s bytes; expected at most %(most)s.") % values)
    try:
        text: str = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TextRefused(
            gettext("%(name)s is not UTF-8 (byte %(byte)s); please save it as UTF-8.")
            % (values | {"byte": error.start + 1})
        ) from None
    if "\x00" in text:
        raise TextRefused(gettext("%(name)s holds the character U+0000, which cannot be stored.") % values)
    return text


def open_bounded(path: Path) -> io.BufferedReader:
    """Open a file, unpacked if it is gzip. Reading raises Excess, BeyondHead, or what gzip raises for damage."""
    return io.BufferedReader(_BoundedFile(path.open("rb")), READ_AT_ONCE)


class _Pieces:
    """A file read piece by piece: from Python 3.12 on gzip reads 128 KiB ahead, by which its growth is measured."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, io.DEFAULT_BUFFER_SIZE))


class _BoundedFile(io.RawIOBase):
    def __init__(self, file: io.BufferedReader) -> None:
        self._file, self._source = file, file  # type: io.BufferedReader, Any
        self._packed = file.peek(2)[:2] == GZIP_MAGIC
        if self._packed:
            pieces: Any = _Pieces(file)  # has what gzip calls
            self._source = gzip.GzipFile(fileobj=pieces)
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


TEXT = re.compile(rb'"(?:[^"\\]+|\\.)*+"', re.DOTALL)
STEPS = bytes(sign in b"[{" for sign in range(256))  # 1 into a list or object, 0 out of it
NO_BRACKETS = bytes(sign for sign in range(256) if sign not in b"[]{}")
_BLANKS = " \t\r\n"
_LONGEST_MARK = 16  # characters of a word, an escape or a number's end that may be cut off
_PLAIN = json.JSONDecoder()


class TooDeep(ValueError):
    """JSON nested too deeply."""


def load_json(text: str | bytes, **hooks: Any) -> Any:
    """Parse a document. Raise ValueError if it is no JSON, TooDeep if it is nested beyond the limit."""
    check_depth(text)
    try:
        return json.loads(text, **hooks)
    except RecursionError:
        raise TooDeep from None


def check_depth(text: str | bytes) -> None:
    """Raise TooDeep if lists and objects are nested beyond the limit, without parsing them."""
    most = limits().depth
    openings = (
        text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    )
    if openings <= most:
        return
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    brackets = TEXT.sub(b"", body).translate(STEPS, delete=NO_BRACKETS)
    if max(accumulate(brackets, lambda depth, step: depth + (1 if step else -1), initial=0)) > most:
        raise TooDeep


class JSONStream:
    """Decode a document through a moving window, which holds one entry of its lists.

    Args:
        most: characters of an entry.

    Attributes:
        line: where the value begins that was read last, from 1.
    """

    def __init__(
        self, chunks: Iterable[str], *, most: int | None = None, decoder: json.JSONDecoder = _PLAIN
    ) -> None:
        self._chunks = iter(chunks)
        self._most = most or limits().line
        self._decoder = decoder
        self._buffer, self._at, self._ended = "", 0, False
        self._lines, self._column = 0, 0  # before the buffer
        self.line, self._counted = 1, 0  # the line of the character there in the buffer
        self._mark = 0  # where the last character stands that _next returned

    def members(self) -> Iterator[tuple[str, int | None, Any]]:
        """Yield (key, number, entry) of each list in the document, "" for the document itself.

        A list begins with (key, None, []), and (key, None, value) is a member that is none. Raise json.JSONDecodeError,
        or another ValueError for a number that is too long, TooDeep or Excess.
        """
        if (mark := self._next(peek=True)) == "[":
            yield from self._list("")
        elif mark == "{":
            yield from self._object()
        else:
            yield "", None, self._value()
        if self._next():
            raise self._fault("Extra data")

    def _object(self) -> Iterator[tuple[str, int | None, Any]]:
        self._next()
        if self._next(peek=True) == "}":
            self._next()
            return
        mark = ","
        while mark == ",":
            if self._next(peek=True) != '"':
                self._next()
                raise self._fault("Expecting property name enclosed in double quotes")
            key = self._value()
            if self._next() != ":":
                raise self._fault("Expecting ':' delimiter")
            if self._next(peek=True) == "[":
                yield from self._list(key)
            else:
                yield key, None, self._value()
            mark = self._next()
        if mark != "}":
            raise self._fault("Expecting ',' delimiter")

    def _list(self, key: str) -> Iterator[tuple[str, int | None, Any]]:
        self._next()
        yield key, None, []
        if self._next(peek=True) == "]":
            self._next()
            return
        number, mark, most = 0, ",", limits().lines
        while mark == ",":
            if number == most:
                raise Excess(f"more than {most:,} entries of a list", "fewer (the setting INCOMING_LINES)")
            yield key, number, self._value()
            number, mark = number + 1, self._next()
        if mark != "]":
            raise self._fault("Expecting ',' delimiter")

    def _more(self) -> bool:
        """Read on; return False at the end."""
        if self._ended:
            return False
        chunk = next(self._chunks, "")
        self._ended = not chunk
        passed = self._buffer[: self._at]
        self._lines += passed.count("\n")
        self._column = len(passed) - passed.rfind("\n") - 1 + (0 if "\n" in passed else self._column)
        self._buffer, self._at = self._buffer[self._at :] + chunk, 0
        self.line, self._counted = self._lines + 1, 0
        return True

    def _next(self, *, peek: bool = False) -> str:
        """Return the next character that is no blank; "" at the end."""
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._buffer):
                self._mark = self._at
                self._at += not peek
                return self._buffer[self._mark]
            if not self._more():
                self._mark = self._at
                return ""

    def _value(self) -> Any:
        self._next(peek=True)
        self.line += self._buffer.count("\n", self._counted, self._at)
        self._counted = self._at
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except RecursionError:
                raise TooDeep from None
            except ValueError as error:  # broken, or cut off where the window ends
                if not self._is_broken(error):
                    if len(self._buffer) - self._at > self._most:
                        raise Excess(
                            f"an entry of more than {self._most:,} characters", "shorter ones"
                        ) from None
                    if self._more():
                        continue
                raise self._placed(error) from None
            if len(self._buffer) - end < _LONGEST_MARK and self._more():
                continue  # a number may go on
            check_depth(self._buffer[self._at : end])
            self._at = end
            return value

    def _is_broken(self, error: ValueError) -> bool:
        if not isinstance(error, json.JSONDecodeError) or error.msg.startswith("Unterminated"):
            return False
        return error.pos + _LONGEST_MARK < len(self._buffer)

    def _fault(self, message: str) -> ValueError:
        """Return the error of the character that `_next` returned last."""
        return self._placed(json.JSONDecodeError(message, self._buffer, self._mark))

    def _placed(self, error: ValueError) -> ValueError:
        """Return the error with its place in the document."""
        if isinstance(error, json.JSONDecodeError):
            error.colno += self._column if error.lineno == 1 else 0
            error.lineno += self._lines
        return error
