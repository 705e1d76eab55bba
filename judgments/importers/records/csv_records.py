"""Read the records of CSV files."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, dropwhile
from pathlib import Path
from typing import Any

from common.amounts import with_noun
from common.incoming import limits, quote_value
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns
from judgments.importers.records.record import Record
from judgments.importers.records.title_rows import MAX_HEADER_LINES
from judgments.importers.textio import read_lines

TITLE_HINT = " (--header-row N, if rows of a title stand above it)"

SEPARATORS = ",;\t|"
MAX_HEAD_LENGTH = 100_000  # characters of first lines that are searched for the header
_WHOLE_QUOTE = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a CSV file: its line, the separator of cells, and the names of the columns.

    For a file without a header, the line is the one before the first record, and the names come from a layout.
    """

    line: int
    separator: str
    names: list[str]


def _find_header(path: Path, line: int, text: str, columns: Columns, separators: str) -> Header:
    """Return the header, split at the separator by which its names fit the columns best.

    Of several such separators, take the first. Raise ImportProblem if the header is empty or unusable.
    """
    expected_columns = f"a header with {', '.join(columns.required) or 'the columns'}"
    if not text.strip():
        raise ImportProblem(path, line, None, "no header", expected_columns)
    best_score, separator = 0, ","
    names: list[str] = []
    for candidate in separators:
        try:
            cells = next(csv.reader([text], delimiter=candidate, strict=True))
        except csv.Error:
            continue  # misplaced quotes: another separator may fit
        candidate_names = columns.names_of(cells)
        score = columns.score(candidate_names)
        if score > best_score:
            best_score, separator, names = score, candidate, candidate_names
    if not best_score:
        raise ImportProblem(path, line, None, f"the first line {quote_value(text.strip())}", expected_columns)
    if names.count("") > 1:  # one may have row numbers, as pandas writes them
        raise ImportProblem(
            path, line, None, "columns without a name in the header", f"a name for each column{TITLE_HINT}"
        )
    repeated_names = [name for name, count in Counter(names).items() if count > 1]
    if repeated_names:
        raise ImportProblem(
            path, line, repeated_names[0], "this column twice in the header", "every column once"
        )
    return Header(line, separator, names)


def _csv_rows(
    path: Path, lines: Iterator[tuple[int, str]], header: Header, *, quoted: bool
) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the cells of each record that is not empty. Unless ``quoted``, inner quotes are text."""
    max_length = limits().line
    record_length = 0

    def texts() -> Iterator[str]:
        nonlocal record_length
        for number, text in lines:
            record_length += len(text)
            if record_length > max_length:  # a record with quoted line ends may be very long
                actual = f"a record of more than {max_length:,} characters"
                raise ImportProblem(path, number, None, actual, "shorter ones")
            yield text

    reader = csv.reader(
        texts(),
        delimiter=header.separator,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    while True:
        first_line = header.line + 1 + reader.line_num
        record_length = 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ImportProblem(path, first_line, None, _describe_csv_error(error), "a CSV record") from error
        if cells is None:
            return
        if any(cells):
            yield first_line, cells if quoted else list(map(_unquote_cell, cells))


def _unquote_cell(cell: str) -> str:
    """Return a cell without its quotation marks if they surround the whole cell."""
    match = _WHOLE_QUOTE.fullmatch(cell)
    return match.group(1).replace('""', '"') if match else cell


def read_first_lines(lines: Iterator[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the first lines of a file with their numbers; fewer lines if they are long."""
    head: list[tuple[int, str]] = []
    while len(head) < MAX_HEADER_LINES and sum(len(text) for _, text in head) < MAX_HEAD_LENGTH:
        if (line := next(lines, None)) is None:
            break
        head.append(line)
    return head


def split_first_lines(
    lines: Sequence[tuple[int, str]], separators: str = SEPARATORS
) -> list[tuple[int, list[str]]]:
    """Return the rows as pairs of line number and cells, up to the first row that cannot be read."""
    texts = [text for _, text in lines]

    def separator_score(mark: str) -> tuple[int, int]:
        # first the number of lines, since a column of texts may have many commas, but the separator is in every line
        return sum(mark in text for text in texts), sum(text.count(mark) for text in texts)

    separator = max(separators, key=separator_score)
    reader = csv.reader(texts, delimiter=separator)
    rows = []
    index = 0
    with suppress(csv.Error):
        for cells in reader:
            rows.append((lines[index][0], cells))
            index = reader.line_num  # a row with quoted line ends has several lines
    return rows


def read_csv(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the records of a CSV file. Its separator may be a comma, semicolon, tab or vertical bar."""
    lines = read_lines(path, encoding=encoding, newline="")
    first_lines = read_first_lines(lines)
    separators = SEPARATORS
    # Excel writes a separator that is not the usual one above the header.
    if first_lines and (match := re.fullmatch(r"sep=(.)[\r\n]*", first_lines[0][1])):
        first_lines, separators = first_lines[1:], match.group(1)
    first_number = first_lines[0][0] if first_lines else 1
    first_rows = split_first_lines(first_lines, separators)
    header_row = columns.header_row or columns.line_of_header(first_rows) or first_number
    lines = dropwhile(lambda line: line[0] < header_row, chain(first_lines, lines))
    number, text = next(lines, (header_row, ""))
    notes.count("header-row", number > first_number, detail=str(number))  # a note only if a title is above
    if columns.header:
        header = Header(number - 1, max(separators, key=text.count), list(columns.header))
        lines = chain([(number, text)], lines)
    else:
        header = _find_header(path, number, text, columns, separators)
    columns.check(header.names, path, number, notes)
    for line, cells in _csv_rows(path, lines, header, quoted=columns.quoted):
        yield Record(path, line, _row_values(path, line, header, cells, columns), textual=True)


def _row_values(path: Path, line: int, header: Header, cells: list[str], columns: Columns) -> dict[str, Any]:
    """Return a row's cells by column (``columns.rest`` gets all others). Refuse a wrong number of cells."""
    names, missing_count = header.names, len(header.names) - len(cells)
    if columns.rest and names[-1].lower() == columns.rest and missing_count <= 0:
        rest_position = len(names) - 1
        values: dict[str, Any] = dict(zip(names[:-1], cells[:rest_position], strict=True))
        return values | {columns.rest: cells[rest_position:]}
    # in layouts without a header, and in files of MTurk's command line tools, rows may omit empty cells at their end
    if missing_count > 0 and (columns.header or (columns.rest and header.separator == "\t")):
        cells = cells + [""] * missing_count
    if len(cells) != len(names):
        hint = TITLE_HINT if len(names) == 1 else f" (a text that holds {header.separator!r} needs quotes)"
        expected = f"{len(names)} as in the header{hint}"
        raise ImportProblem(path, line, None, with_noun(len(cells), "cell"), expected)
    return dict(zip(names, cells, strict=True))


def _describe_csv_error(error: csv.Error) -> str:
    reason = str(error)
    if "unexpected end" in reason:
        return "a quotation mark that is never closed"
    if "field larger" in reason:
        limit = f"a cell of more than {csv.field_size_limit():,} characters"
        return f"{limit}, perhaps a quotation mark that is never closed"
    if "expected after" in reason:
        return "text behind a closing quotation mark (a quotation mark inside a cell is written twice)"
    return f"a record that cannot be read ({reason})"
