"""Open text files with any compression, byte order mark, encoding and line length.

A byte order mark decides; otherwise the file must be UTF-8, or its encoding must be given. Guessing could
show workers "cafÃ©" for "café", so other files are refused, naming the likely encoding.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from judgments.importers.errors import ImportProblem

# A longer line means a file without line ends, which would fill the memory.
LINE_LIMIT = 16 * 1024 * 1024

_MARKS = (  # checked first: UTF-32's little-endian mark begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GZIP_MAGIC = b"\x1f\x8b"


def read_lines(path: Path, *, encoding: str | None = None, newline: str = "\n") -> Iterator[tuple[int, str]]:
    r"""Yield (1-based line number, line with its end), holding one line at a time.

    `newline` is "\n", or "" to accept a lone carriage return too. Raise ImportProblem if the file cannot
    be opened, unpacked or decoded, or holds a NUL or a line beyond LINE_LIMIT.
    """
    number = 0
    try:
        with _open_binary(path) as raw, _decoded(path, raw, encoding, newline) as stream:
            while line := stream.readline(LINE_LIMIT):
                number += 1
                if len(line) == LINE_LIMIT:
                    raise ImportProblem(
                        path, number, None, f"a line of more than {LINE_LIMIT:,} characters", "shorter lines"
                    )
                if "\0" in line:
                    raise ImportProblem(path, number, None, "a NUL character", "text")
                yield number, line
    except UnicodeDecodeError as error:
        raise _undecodable(path, error, number) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ImportProblem(
            path, number + 1, None, "compressed data that is damaged or cut off", "a complete gzip file"
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def read_whole(path: Path, *, encoding: str | None = None) -> str:
    """Return a file's whole text, with the errors of `read_lines`; keep line ends."""
    return "".join(line for _, line in read_lines(path, encoding=encoding))


def unreadable(path: Path, error: OSError) -> ImportProblem:
    reason = (error.strerror or type(error).__name__).lower()
    return ImportProblem(path, None, None, reason, "a file that can be read")


def _open_binary(path: Path) -> BinaryIO:
    plain = path.open("rb")
    if plain.peek(2)[:2] != _GZIP_MAGIC:
        return plain
    plain.close()
    return cast(BinaryIO, gzip.open(path, "rb"))


def _decoded(path: Path, raw: BinaryIO, encoding: str | None, newline: str) -> io.TextIOWrapper:
    buffered = io.BufferedReader(cast(io.RawIOBase, raw))
    head = buffered.peek(256)[:256]
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    chosen = marked or encoding or "utf-8"
    if chosen == "utf-8":
        _refuse_unmarked_utf16(path, head)
    try:
        return io.TextIOWrapper(buffered, encoding=chosen, newline=newline)
    except LookupError as error:
        raise ImportProblem(
            path, None, None, f"the unknown encoding {chosen!r}", "one such as utf-8, utf-16 or windows-1252"
        ) from error


def _refuse_unmarked_utf16(path: Path, head: bytes) -> None:
    # Plain ASCII in unmarked UTF-16 is zero at every other byte.
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) > 1 and head[start::2].count(0) > len(head[start::2]) // 2:
            found = "NUL characters at every other byte, as UTF-16 without a byte order mark has them"
            raise ImportProblem(path, 1, None, found, f"UTF-8, or the encoding named (encoding={name})")


def _undecodable(path: Path, error: UnicodeDecodeError, lines_read: int) -> ImportProblem:
    encoding = error.encoding
    if encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        found = f"bytes that are not {encoding.upper()} ({error.reason})"
        return ImportProblem(path, lines_read + 1, None, found, "an undamaged file")
    with _open_binary(path) as raw:
        number = 0
        while line := raw.readline(LINE_LIMIT):
            number += 1
            try:
                line.decode(encoding)
            except UnicodeDecodeError as where:
                return _wrong_byte(path, number, encoding, line, where.start)
    return ImportProblem(path, None, None, f"bytes that are not {encoding.upper()}", "an undamaged file")


def _wrong_byte(path: Path, number: int, encoding: str, line: bytes, at: int) -> ImportProblem:
    found = f"byte 0x{line[at]:02X} (number {at + 1} of the line), which is not {encoding.upper()}"
    expected = "UTF-8, UTF-16 with a byte order mark, or the file's encoding named"
    if encoding == "utf-8":
        try:
            letter = line[at : at + 1].decode("cp1252")
        except UnicodeDecodeError:
            letter = ""
        alone = all(byte < 0x80 for byte in (line[at - 1 : at] + line[at + 1 : at + 2]))
        if letter and alone:
            found += f" but looks like Windows-1252 ({letter!r} there)"
            expected += " (encoding=windows-1252)"
    return ImportProblem(path, number, None, found, expected)


_RISKY = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")


def guard_formula(text: str) -> str:
    """Return `text` as a safe CSV cell.

    Spreadsheets take a cell that begins with `= + - @`, a tab or a carriage return as a formula. It gets
    a leading apostrophe; so does a cell that seems to have one, so that removing one apostrophe restores
    every text.
    """
    return f"'{text}" if _RISKY.match(text) else text


def unguard_formula(cell: str) -> str:
    return cell[1:] if _GUARDED.match(cell) else cell
