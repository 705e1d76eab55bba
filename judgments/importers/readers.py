"""Read JSON lines and CSV, one record in memory at a time.

pyarrow's readers guess types, and their errors name neither line nor column.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from json import JSONDecoder
from pathlib import Path
from typing import Any, NoReturn

from common.errors import counted
from common.incoming import Excess, limits
from common.incoming.documents import JSONStream, TooDeep, check_depth, load_json
from judgments.importers.records import Record, quoted
from judgments.importers.textio import ImportNotes, ImportProblem, read_chunks, read_lines

SEPARATORS = ",;\t|"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table. `strict` refuses others; otherwise they are ignored.

    `loose` does not look for misspelt names. `instead` maps a required column to its substitute.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    strict: bool = False
    loose: bool = False
    instead: Mapping[str, str] = field(default_factory=dict)

    def check(self, names: Collection[str], file: Path, line: int | None, notes: ImportNotes) -> None:
        """Refuse a missing or probably misspelt column."""
        known = self.required + self.optional
        for name in () if self.loose else names:
            if name in known or name in notes.details():
                continue
            near = get_close_matches(name.lower(), known, n=1, cutoff=0.6 if self.strict else 0.8)
            if near or self.strict:
                expected = f"{near[0]!r} perhaps" if near else f"one of {', '.join(known)}"
                raise ImportProblem(file, line, None, f"the unknown column {quoted(name)}", expected)
            notes.count("ignored-column", detail=name)
        for name in self.required:
            if name not in names and self.instead.get(name) not in names:
                raise ImportProblem(file, line, name, "no such field", "it in every record")


RecordReader = Callable[[Path, Columns, ImportNotes, str | None], Iterator[Record]]


def read_json_lines(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None = None
) -> Iterator[Record]:
    """Skip blank lines."""
    checked: tuple[str, ...] = ()
    for number, line in read_lines(path, encoding=encoding):
        if line.isspace():
            continue
        values = parse_json(line.rstrip("\r\n"), path, number)
        if not isinstance(values, dict):
            found = "a JSON array" if isinstance(values, list) else quoted(values)
            raise ImportProblem(path, number, None, found, "one JSON object a line")
        if checked != (names := tuple(values)):
            columns.check(names, path, number, notes)
            checked = names
        yield Record(path, number, values)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key twice")
    return values


_decode = JSONDecoder(parse_constant=_refuse, object_pairs_hook=_unique).decode


def parse_json(text: str, path: Path, line: int | None) -> object:
    """Refuse NaN, Infinity and repeated keys."""
    try:
        check_depth(text)
        return _decode(text)
    except (ValueError, RecursionError):
        with _json_problems(path, line):
            return load_json(text, **_refusing(path, line))


def read_document(path: Path, encoding: str | None = None) -> Iterator[tuple[str, int | None, Any]]:
    """Yield the members of a JSON document, as `JSONStream.members` does."""
    decoder = JSONDecoder(**_refusing(path, None))
    lists: set[str] = set()
    with _json_problems(path, None):
        for key, number, value in JSONStream(read_chunks(path, encoding=encoding), decoder=decoder).members():
            if number is None and key in lists:
                raise ImportProblem(path, None, key, "this key twice in one object", "every key once")
            lists.add(key)
            yield key, number, value


def _refusing(path: Path, line: int | None) -> dict[str, Any]:
    """Return a decoder's options that say what is refused."""

    def refuse(constant: str) -> NoReturn:
        raise ImportProblem(path, line, None, constant, "a JSON number or null")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = Counter(name for name, _ in pairs)
            twice = next(name for name in names if names[name] > 1)
            raise ImportProblem(path, line, twice, "this key twice in one object", "every key once")
        return values

    return {"parse_constant": refuse, "object_pairs_hook": unique}


@contextmanager
def _json_problems(path: Path, line: int | None) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        found = f"text that is not JSON ({error.msg.lower()} at character {error.colno})"
        expected = "one JSON object a line" if line is not None else "a complete JSON document"
        raise ImportProblem(path, at, None, found, expected) from error
    except TooDeep as error:
        raise ImportProblem(path, line, None, "JSON nested too deeply", "flat records") from error
    except Excess as error:
        raise ImportProblem(path, line, None, error.found, error.expected) from error
    except ValueError as error:  # an integer of thousands of digits
        raise ImportProblem(path, line, None, "a number too long to read", "a JSON number") from error


def json_cell(record: Record, column: str) -> Any:
    value = record.get(column)
    return parse_json(value, record.file, record.line) if record.textual and isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class Header:
    line: int
    separator: str
    names: list[str]


def find_header(
    path: Path,
    line: int,
    text: str,
    *,
    wanted: str,
    score: Callable[[list[str]], int],
    separators: str = SEPARATORS,
    rename: Callable[[str], str] = str.strip,
) -> Header:
    """Choose the separator that scores most, the first on ties."""
    if not text.strip():
        raise ImportProblem(path, line, None, "no header", wanted)
    readings: list[tuple[int, str, list[str]]] = []
    for separator in separators:
        try:
            cells = next(csv.reader([text], delimiter=separator, strict=True))
        except csv.Error:
            continue  # misplaced quotes: another separator may fit
        names = [rename(cell) for cell in cells]
        readings.append((score(names), separator, names))
    best, separator, names = max(readings, default=(0, ",", []), key=lambda reading: reading[0])
    if not best:
        raise ImportProblem(path, line, None, f"the first line {quoted(text.strip())}", wanted)
    if names.count("") > 1:
        raise ImportProblem(
            path, line, None, "columns without a name in the header", "a name for each column"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ImportProblem(path, line, twice[0], "this column twice in the header", "every column once")
    return Header(line, separator, names)


def csv_rows(path: Path, lines: Iterator[tuple[int, str]], header: Header) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells); skip empty records."""
    most, size = limits().line, 0

    def texts() -> Iterator[str]:
        nonlocal size
        for number, text in lines:
            size += len(text)
            if size > most:  # quoted line ends let one record go on for ever
                found = f"a record of more than {most:,} characters"
                raise ImportProblem(path, number, None, found, "shorter ones")
            yield text

    reader = csv.reader(texts(), delimiter=header.separator, strict=True)
    while True:
        start, size = header.line + 1 + reader.line_num, 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ImportProblem(path, start, None, _csv_fault(error), "a CSV record") from error
        if cells is None:
            return
        if any(cells):
            yield start, cells


def named_cells(
    path: Path, line: int, names: list[str], cells: list[str], separator: str = ","
) -> dict[str, str]:
    if len(cells) != len(names):
        found = counted(len(cells), "cell")
        expected = f"{len(names)} as in the header (a text that holds {separator!r} needs quotes)"
        raise ImportProblem(path, line, None, found, expected)
    return dict(zip(names, cells, strict=True))


def read_csv(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None = None
) -> Iterator[Record]:
    """Detect comma, semicolon, tab or bar."""
    lines = read_lines(path, encoding=encoding, newline="")
    number, text, separators = 1, next((text for _, text in lines), ""), SEPARATORS
    if named := re.fullmatch(r"sep=(.)[\r\n]*", text):  # written by Excel above the header
        number, text, separators = 2, next((text for _, text in lines), ""), named.group(1)
    header = find_header(
        path,
        number,
        text,
        wanted=f"a header with {', '.join(columns.required)}",
        score=lambda names: sum(name in names for name in columns.required),
        separators=separators,
        rename=lambda cell: cell.strip().lower(),
    )
    columns.check(header.names, path, number, notes)
    for line, cells in csv_rows(path, lines, header):
        values = named_cells(path, line, header.names, cells, header.separator)
        yield Record(path, line, values, textual=True)


def _csv_fault(error: csv.Error) -> str:
    reason = str(error)
    if "unexpected end" in reason:
        return "a quotation mark that is never closed"
    if "field larger" in reason:
        limit = f"a cell of more than {csv.field_size_limit():,} characters"
        return f"{limit}, perhaps a quotation mark that is never closed"
    if "expected after" in reason:
        return "text behind a closing quotation mark (a quotation mark inside a cell is written twice)"
    return f"a record that cannot be read ({reason})"
