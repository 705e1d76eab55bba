"""Open text files, which may be compressed and in any encoding, within limits. Collect errors and notes of imports.

A byte order mark determines the encoding. Without such a mark, a file must be UTF-8, unless its encoding is given.
Since a wrong guess would show workers "cafÃ©" for "café", other files are refused, and the error names the likely
encoding. Only previews guess the encoding (`likely_encoding`).
"""

from __future__ import annotations

import codecs
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from common.errors import QuorumError
from common.incoming import READ_SIZE, LimitExceeded, limits
from common.incoming.bounded_files import GZIP_ERRORS, open_bounded

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
MAX_PROBLEMS = 1_000  # problems of a file that are collected
PROBLEMS_SHOWN = 20  # problems that a message lists
MAX_WHOLE_LENGTH = 5_000_000  # characters of a text that is read at once
R = TypeVar("R")
T = TypeVar("T")
# The notes by the code of an oddity. "{n}" is the count. "{detail}" distinguishes several notes of the same kind.
QUIRK_NOTES = {
    "repeated-line": "Lines that are identical to an earlier line, left out: {n}.",
    "repeated-caption": "Texts that are identical to another text of the same item (imported): {n}.",
    "repaired-key": "Caption ids with an extra number after the image name ({detail}), corrected: {n}.",
    "no-split": "Images that are in no list of a split, imported without a split: {n}.",
    "split-without-captions": "Images without captions in the lists of splits, left out: {n}.",
    "no-captions": "Items without texts, left out: {n}.",
    "images-alone": "Items that have texts of systems but no references by people: {n}.",
    "text-alone": "Items that have a source text but no references: {n}.",
    "acting-column": "Column “{detail}” is imported, because it has a standard name. To leave it out, use COLUMN=-.",
    "turned-pair": "Rows that show an earlier pair in the reverse order; the pair and its answer were reversed: "
    "{n}.",
    "criteria": "The file has several criteria; a separate study was created for each of them: {detail}.",
    "alike": "Names that differ only in case or blanks are treated as different: {detail}.",
    "header-row": "The header is row {detail}. The rows above it were not read.",
    "respelled-picture": "Pictures with names that the table spells differently, such as {detail}: {n}.",
    "ignored-column": "Column “{detail}” is not used.",
    "file-names-system": "The system is called “{detail}” in the file.",
    "sorted-grades": "Pairs whose grades are sorted by value, so that their columns do not stand for "
    "participants: {n}.",
    "own-caption": "Judged pairs of an image and a caption that was written for this image: {n}.",
    "anonymous-totals": "Pairs with published counts of votes, imported as judgments of anonymous "
    "participants: {n}.",
    "more-than-three": "Pairs with more than three judgments: {n}.",
    "fewer-votes": "Pairs with fewer votes than the others ({detail}): {n}.",
    "aggregated-votes": "Votes that stand for the majority of several answers: {n}.",
    "published-winners": "Winners that were published without votes: {n}.",
    "unused-references": "References that are not used for pairs, since an image has more than {detail}: {n}.",
    "broken-character": "Texts in which the file has the replacement character U+FFFD instead of a lost "
    "character, imported: {n}.",
    "repeated-pair": "Candidate pairs that repeat an earlier pair (imported): {n}.",
    "equal-candidates": "Candidate pairs with two identical texts (imported): {n}.",
    "bad-row": "Rows with an error, left out: {n}.",
    "skipped-row": "Rows that this file format leaves out, such as check questions: {n}.",
    "empty-answer": "Unanswered questions of a page of work, left out: {n}.",
    "rejected-assignment": "Answers of rejected assignments, which are stored but not used: {n}.",
    "scores-against-ranks": "Lists in which scores and ranks give different orders; the ranks are used: {n}.",
    "below-depth": "Ranked items below the requested depth, left out: {n}.",
    "candidate-is-reference": "Candidates that are identical to a reference of the same image (imported): {n}.",
}


class ImportProblem(QuorumError):
    """A file cannot be imported.

    Attributes:
        line: the number of the record's first line, from 1; None if the format has no lines.
        column: the field, or its path in the document.
        cell: the cell's column in the file and its value, if a person can correct the cell.
    """

    title = "The file cannot be imported"

    def __init__(
        self, file: str | Path, line: int | None, column: str | None, actual: str, expected: str
    ) -> None:
        super().__init__(str(file), line, column, actual, expected)
        self.file = str(file)
        self.line = line
        self.column = column
        self.actual = actual
        self.expected = expected
        self.cell: tuple[str, str] | None = None

    def __str__(self) -> str:
        location = self.file
        if self.line is not None:
            location += f", line {self.line}"
        if self.column is not None:
            location += f", {self.column}"
        return f"{location}: found {self.actual}, expected {self.expected}."


class ImportProblems(ImportProblem):
    """All errors of a file. The attributes are those of the first error; the message lists the first few errors."""

    def __init__(self, problems: Sequence[ImportProblem]) -> None:
        first = problems[0]
        super().__init__(first.file, first.line, first.column, first.actual, first.expected)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        sentences = list(map(str, self.problems[:PROBLEMS_SHOWN]))
        if unlisted_count := len(self.problems) - len(sentences):
            sentences.append(f"So it is with {unlisted_count:,} more.")
        return "\n".join(sentences)


class RowProblems:
    """Collects the errors in a file's rows, to raise them together.

    If ``on_bad_row`` is set, it is called with each record that has an error and with the error, instead of raising it.
    """

    def __init__(self) -> None:
        self.on_bad_row: Callable[[Any, ImportProblem], None] | None = None
        self.problems: list[ImportProblem] = []

    def rows(self, records: Iterable[R], read: Callable[[R], T]) -> Iterator[T]:
        """Yield the results of ``read`` for the records before the first error. At the end, raise all errors."""
        try:
            for record in records:
                try:
                    row = read(record)
                except ImportProblem as problem:
                    if self.on_bad_row is not None:
                        self.on_bad_row(record, problem)
                        continue
                    self.problems.append(problem)
                    if len(self.problems) >= MAX_PROBLEMS:
                        break
                else:
                    if not self.problems:
                        yield row
        except ImportProblem as problem:  # after this error, no more records can be read
            self.problems.append(problem)
        if self.problems:
            raise self.problems[0] if len(self.problems) == 1 else ImportProblems(self.problems)


class ImportNotes:
    """Counts oddities while a source is read. The counts are complete after the last row."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, quirk: str, by: int = 1, *, detail: str = "") -> None:
        """Add ``by`` to the count of an oddity in QUIRK_NOTES. Adding 0 does nothing."""
        assert quirk in QUIRK_NOTES
        if by:
            self._counts[quirk, detail] += by

    def __getitem__(self, quirk: str) -> int:
        return sum(n for (name, _), n in self._counts.items() if name == quirk)

    def details(self) -> set[str]:
        """Return the details of all notes so far."""
        return {detail for _, detail in self._counts}

    def sentences(self) -> list[str]:
        return [
            QUIRK_NOTES[quirk].format(n=f"{n:,}", detail=detail)
            for (quirk, detail), n in self._counts.items()
        ]


def read_lines(path: Path, *, encoding: str | None = None, newline: str = "\n") -> Iterator[tuple[int, str]]:
    r"""Yield each line as a pair of its number, from 1, and its text with the line end. Hold one line at a time.

    `newline` is "\n", or "" to accept also a single carriage return as a line end.

    Raises:
        ImportProblem: the file cannot be opened, unpacked or decoded, exceeds a limit, or contains a NUL.
    """
    max_line = limits().line  # a file without line ends would fill the memory
    number = 0
    with import_problems(path, lambda: number + 1), open_bounded(path) as raw:
        stream = _text_reader(path, raw, encoding, newline)
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
    with import_problems(path, lambda: number + 1), open_bounded(path) as raw:
        stream = _text_reader(path, raw, encoding, "\n")
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
    """Raise ImportProblem if the file in the block cannot be read. ``line`` returns the line of the problem."""
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
    # A single wrong byte does not mean that the file is Windows-1252; the import reports the byte's line.
    text = head.decode("utf-8", "ignore")
    wrong_bytes = len(head) - len(text.encode())
    letters_beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return "windows-1252" if wrong_bytes > letters_beyond_ascii else "utf-8"


def read_head(path: Path, size: int, *, encoding: str | None = None) -> str:
    """Return the text of a file's first bytes, with U+FFFD for bytes that cannot be decoded."""
    head = _read_first_bytes(path, size)
    return head.decode(_marked_encoding(head) or encoding or "utf-8", errors="replace").lstrip("\ufeff")


def _read_first_bytes(path: Path, size: int) -> bytes:
    with import_problems(path, lambda: 1), open_bounded(path) as raw:
        return raw.read(size)


def _marked_encoding(head: bytes) -> str | None:
    return next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), None)


def _text_reader(path: Path, raw: io.BufferedReader, encoding: str | None, newline: str) -> io.TextIOWrapper:
    head = raw.peek(ENCODING_HEAD_BYTES)[:ENCODING_HEAD_BYTES]
    for start, (actual, expected) in _BINARY_FORMATS.items():
        if head.startswith(start):
            raise ImportProblem(path, None, None, actual, expected)
    encoding = _marked_encoding(head) or encoding or "utf-8"
    if encoding == "utf-8" and (name := _find_unmarked_utf16(head)):
        actual = "NUL characters at every other byte, as UTF-16 without a byte order mark has them"
        raise ImportProblem(path, 1, None, actual, f"UTF-8 (--encoding {name} reads this)")
    try:
        return io.TextIOWrapper(raw, encoding=encoding, newline=newline)
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
        if len(head) > 1 and head[start::2].count(0) > len(head[start::2]) // 2:
            return name
    return None


def _undecodable_error(path: Path, error: UnicodeDecodeError, line: int | None) -> ImportProblem:
    """Return the error for a file that is not in its encoding. Read the file again to find the line and the byte."""
    encoding = error.encoding
    if encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        actual = f"bytes that are not {encoding.upper()} ({error.reason})"
        return ImportProblem(path, line, None, actual, "an undamaged file")
    with open_bounded(path) as raw:
        number = 0
        while text := raw.readline(limits().line):
            number += 1
            try:
                text.decode(encoding)
            except UnicodeDecodeError as line_error:
                return _wrong_byte_error(path, number, encoding, text, line_error.start)
    return ImportProblem(path, None, None, f"bytes that are not {encoding.upper()}", "an undamaged file")


def _wrong_byte_error(path: Path, number: int, encoding: str, line: bytes, index: int) -> ImportProblem:
    """Return the error about the byte of a line at this index. It hints at Windows-1252 if that fits."""
    actual = f"byte 0x{line[index]:02X} (number {index + 1} of the line), which is not {encoding.upper()}"
    expected = "UTF-8, or UTF-16 with a byte order mark"
    if encoding == "utf-8":
        letter = line[index : index + 1].decode("cp1252", "ignore")
        is_between_ascii = all(byte < 0x80 for byte in line[index - 1 : index] + line[index + 1 : index + 2])
        if letter and is_between_ascii:
            actual += f" but looks like Windows-1252 ({letter!r} there)"
            expected += (
                " (--encoding windows-1252 reads this); Excel writes UTF-8 where it saves as CSV UTF-8"
            )
            return ImportProblem(path, number, None, actual, expected)
    expected += " (--encoding NAME reads another)"
    return ImportProblem(path, number, None, actual, expected)
