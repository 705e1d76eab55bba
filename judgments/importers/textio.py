"""Read text files, which may be compressed and in any encoding, within limits.

A byte order mark determines the encoding. Without such a mark, a file must be UTF-8, unless its encoding is given.
Since a wrong guess would show workers "cafÃ©" for "café", other files are refused, and the error names the likely
encoding. Only previews guess the encoding (`likely_encoding`).
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common.incoming import READ_SIZE, LimitExceeded, limits
from common.incoming.bounded_files import GZIP_ERRORS, open_bounded
from judgments.importers.problems import ImportProblem

# by the first bytes of a file that is no text: what the file is, and what was expected instead
_BINARY_FORMATS = {
    b"PK\x03\x04": ("an Excel workbook or another zip archive", "text, or the format xlsx for a workbook"),
    b"\xd0\xcf\x11\xe0": ("a workbook of Excel before 2007", "it saved as .xlsx or CSV"),
    b"PAR1": ("Parquet", "text, or the format parquet"),
}
_BYTE_ORDER_MARKS = (  # those of UTF-32 first, since its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
ENCODING_SAMPLE_BYTES = 2**22  # first bytes of a file from which its encoding is guessed
ENCODING_HEAD_BYTES = 256  # first bytes that show a byte order mark, or UTF-16 without one
MAX_WHOLE_LENGTH = 5_000_000  # characters of a text that is read at once


def read_lines(path: Path, *, encoding: str | None = None, newline: str = "\n") -> Iterator[tuple[int, str]]:
    r"""Yield each line as a pair of its number, from 1, and its text with the line end. Hold one line at a time.

    `newline` is "\n", or "" to accept also a single carriage return as a line end.

    Raises:
        ImportProblem: the file cannot be opened, unpacked or decoded, exceeds a limit, or contains a NUL.
    """
    max_line = limits().line  # a file without line ends would fill the memory
    number = 0
    with import_problems(path, lambda: number + 1), open_bounded(path) as file:
        stream = _text_reader(path, file, encoding, newline)
        while line := stream.readline(max_line):
            number += 1
            if len(line) == max_line:
                raise ImportProblem(
                    path, number, None, f"a line of more than {max_line:,} characters", "shorter lines"
                )
            if "\0" in line:
                raise ImportProblem(path, number, None, "a NUL character", "text")
            yield number, line


def read_chunks(path: Path, *, encoding: str | None = None) -> Iterator[str]:
    """Yield the text in parts. Raise ImportProblem as `read_lines` does."""
    number = 0
    with import_problems(path, lambda: number + 1), open_bounded(path) as file:
        stream = _text_reader(path, file, encoding, "\n")
        while chunk := stream.read(READ_SIZE):
            yield chunk
            number += chunk.count("\n")


def read_whole(path: Path, *, encoding: str | None = None) -> str:
    """Return the text of a file, with the limits and errors of `read_lines`."""
    text = io.StringIO()
    length = 0
    for _, line in read_lines(path, encoding=encoding):
        length += text.write(line)
        if length > MAX_WHOLE_LENGTH:
            raise ImportProblem(
                path, None, None, f"more than {MAX_WHOLE_LENGTH:,} characters", "a shorter file"
            )
    return text.getvalue()


@contextmanager
def import_problems(path: Path, line: Callable[[], int | None]) -> Iterator[None]:
    """Raise ImportProblem if the block fails to read the file. ``line`` returns the line that it was reading."""
    try:
        yield
    except UnicodeDecodeError as error:
        with import_problems(path, line):  # reading the file again may fail, too
            raise _undecodable_error(path, error, line()) from error
    except LimitExceeded as error:
        raise ImportProblem(path, line(), None, error.actual, error.expected) from error
    except GZIP_ERRORS as error:
        raise ImportProblem(
            path, line(), None, "compressed data that is damaged or cut off", "a complete gzip file"
        ) from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ImportProblem(path, None, None, reason, "a file that can be read") from error


def likely_encoding(path: Path) -> str:
    """Guess the encoding from the file's beginning. If no other fits, return Windows-1252, which Excel writes."""
    head = _read_first_bytes(path, ENCODING_SAMPLE_BYTES)
    if encoding := _marked_encoding(head):
        return "utf-8" if encoding == "utf-8-sig" else encoding
    if encoding := _find_unmarked_utf16(head[:ENCODING_HEAD_BYTES]):
        return encoding
    # A few wrong bytes do not mean that the file is Windows-1252: it is UTF-8 if most of its letters beyond ASCII are
    # valid UTF-8. The import then reports the lines of the wrong bytes.
    text = head.decode("utf-8", "ignore")
    wrong_byte_count = len(head) - len(text.encode())
    non_ascii_count = len(text) - len(text.encode("ascii", "ignore"))
    return "windows-1252" if wrong_byte_count > non_ascii_count else "utf-8"


def read_head(path: Path, size: int, *, encoding: str | None = None) -> str:
    """Return the text of a file's first bytes, with U+FFFD for bytes that cannot be decoded."""
    head = _read_first_bytes(path, size)
    return head.decode(_marked_encoding(head) or encoding or "utf-8", errors="replace").lstrip("\ufeff")


def _read_first_bytes(path: Path, size: int) -> bytes:
    with import_problems(path, lambda: 1), open_bounded(path) as file:
        return file.read(size)


def _marked_encoding(head: bytes) -> str | None:
    """Return the encoding that a byte order mark states; None without such a mark."""
    return next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), None)


def _text_reader(path: Path, file: io.BufferedReader, encoding: str | None, newline: str) -> io.TextIOWrapper:
    """Return a reader of the text. Raise ImportProblem for a binary format, and for an unknown or a wrong encoding."""
    head = file.peek(ENCODING_HEAD_BYTES)[:ENCODING_HEAD_BYTES]
    for start, (actual, expected) in _BINARY_FORMATS.items():
        if head.startswith(start):
            raise ImportProblem(path, None, None, actual, expected)
    encoding = _marked_encoding(head) or encoding or "utf-8"
    if encoding == "utf-8" and (name := _find_unmarked_utf16(head)):
        actual = "NUL characters at every other byte, as UTF-16 without a byte order mark has them"
        raise ImportProblem(path, 1, None, actual, f"UTF-8 (--encoding {name} reads this)")
    try:
        return io.TextIOWrapper(file, encoding=encoding, newline=newline)
    except LookupError as error:
        raise ImportProblem(
            path,
            None,
            None,
            f"the unknown encoding {encoding!r}",
            "one such as utf-8, utf-16 or windows-1252",
        ) from error


def _find_unmarked_utf16(head: bytes) -> str | None:
    """Return the encoding if the bytes are probably UTF-16, in which every second byte of ASCII text is zero."""
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        every_second_byte = head[start::2]
        if len(head) > 1 and every_second_byte.count(0) > len(every_second_byte) // 2:
            return name
    return None


def _undecodable_error(path: Path, error: UnicodeDecodeError, line: int | None) -> ImportProblem:
    """Return the error for a file that is not in its encoding. Read the file again to find the line and the byte."""
    encoding = error.encoding
    if encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        actual = f"bytes that are not {encoding.upper()} ({error.reason})"
        return ImportProblem(path, line, None, actual, "an undamaged file")
    with open_bounded(path) as file:
        number = 0
        while text := file.readline(limits().line):
            number += 1
            try:
                text.decode(encoding)
            except UnicodeDecodeError as line_error:
                return _wrong_byte_error(path, number, encoding, text, line_error.start)
    return ImportProblem(path, None, None, f"bytes that are not {encoding.upper()}", "an undamaged file")


def _wrong_byte_error(path: Path, number: int, encoding: str, line: bytes, index: int) -> ImportProblem:
    """Return the error about the byte at an index of a line. Suggest Windows-1252 if the byte is probably a letter."""
    actual = f"byte 0x{line[index]:02X} (number {index + 1} of the line), which is not {encoding.upper()}"
    expected = "UTF-8, or UTF-16 with a byte order mark"
    if encoding == "utf-8":
        letter = line[index : index + 1].decode("cp1252", "ignore")
        neighbours = line[index - 1 : index] + line[index + 1 : index + 2]
        is_between_ascii = all(byte < 0x80 for byte in neighbours)
        if letter and is_between_ascii:
            actual += f" but looks like Windows-1252 ({letter!r} there)"
            expected += (
                " (--encoding windows-1252 reads this); Excel writes UTF-8 where it saves as CSV UTF-8"
            )
            return ImportProblem(path, number, None, actual, expected)
    expected += " (--encoding NAME reads another)"
    return ImportProblem(path, number, None, actual, expected)
