"""What the readers share: CSV rows with their lines, a JSON array one record at a time, values as cells."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import counted, shown
from judgments.importers.tables import csv_fault
from judgments.importers.textio import LINE_LIMIT, read_lines

_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a file and the line on which it starts."""

    line: int
    values: Mapping[str, Any]


def csv_records(
    path: Path, *, encoding: str | None, required: tuple[str, ...] = (), separator: str = ","
) -> Iterator[Record]:
    """The rows of a CSV file under its header.

    Raises:
        ImportProblem: a column is missing or stands twice, a row has other cells than the header.
    """
    lines = read_lines(path, encoding=encoding, newline="")
    reader = csv.reader((text for _, text in lines), delimiter=separator, strict=True)
    names: list[str] | None = None
    while True:
        start = 1 + reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ImportProblem(path, start, None, csv_fault(error), "a CSV record") from error
        if cells is None:
            if names is None:
                raise ImportProblem(path, 1, None, "no header", "one that names the columns")
            return
        if names is None:
            names = [cell.strip() for cell in cells]
            _check_header(path, names, required)
        elif any(cells):
            if len(cells) != len(names):
                found, expected = counted(len(cells), "cell"), f"{len(names)} as in the header"
                raise ImportProblem(path, start, None, found, expected)
            yield Record(start, dict(zip(names, cells, strict=True)))


def _check_header(path: Path, names: list[str], required: tuple[str, ...]) -> None:
    for name in required:
        if name not in names:
            raise ImportProblem(path, 1, None, f"no column {name}", f"a header with {' and '.join(required)}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ImportProblem(path, 1, twice[0], "this column twice in the header", "every column once")


def json_array(path: Path, *, encoding: str | None) -> Iterator[Record]:
    """The objects of a JSON array, one in memory at a time.

    Raises:
        ImportProblem: it is no array of objects, or damaged.
    """
    stream = read_lines(path, encoding=encoding)
    decoder, held, line = JSONDecoder(), "", 1
    began = False
    while True:
        stripped = held.lstrip(_SPACE)
        line += held.count("\n", 0, len(held) - len(stripped))
        held = stripped
        if not held:
            held = _more(path, stream, line, at_least=1)
        elif not began:
            if held[0] != "[":
                raise ImportProblem(path, line, None, shown(held[:30]), "a JSON array of objects")
            began, held = True, held[1:]
        elif held[0] == ",":
            held = held[1:]
        elif held[0] == "]":
            return
        else:
            value, end, held = _next_value(path, decoder, held, stream, line)
            if not isinstance(value, dict):
                raise ImportProblem(path, line, None, shown(value), "an object")
            yield Record(line, value)
            line += held.count("\n", 0, end)
            held = held[end:]


def _next_value(
    path: Path, decoder: JSONDecoder, held: str, stream: Iterator[tuple[int, str]], line: int
) -> tuple[Any, int, str]:
    """(value, where it ends in what is held, what is held). Reads on, twice as much each time, until it is whole."""
    while True:
        try:
            value, end = decoder.raw_decode(held)
        except JSONDecodeError as error:
            if len(held) > LINE_LIMIT:
                raise ImportProblem(path, line, None, "a record that does not end", "shorter ones") from None
            try:
                held += _more(path, stream, line, at_least=len(held))
            except ImportProblem:
                at, found = line + error.lineno - 1, error.msg[:1].lower() + error.msg[1:]
                raise ImportProblem(path, at, None, f"damaged JSON ({found})", "a JSON array") from None
        except RecursionError:
            raise ImportProblem(path, line, None, "JSON nested too deeply", "a flatter document") from None
        else:
            return value, end, held


def _more(path: Path, stream: Iterator[tuple[int, str]], line: int, *, at_least: int) -> str:
    parts: list[str] = []
    size = 0
    for _, text in stream:
        parts.append(text)
        size += len(text)
        if size >= at_least:
            break
    if not parts:
        raise ImportProblem(path, line, None, "the end of the file", "the end of the JSON array")
    return "".join(parts)


def cell_of(value: Any) -> str:
    """A value as a cell: texts as they are, nothing as '', what has parts as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
