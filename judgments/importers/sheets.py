"""Read Excel workbooks, Parquet files and JSON lists as tables; detect a table's format by its first bytes.

A workbook's XML is read as a stream, without a tree, within the limits of archives. Neither is read in a request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from common.incoming import HEAD, READ_AT_ONCE, Excess, check_head, limits
from common.incoming.workbooks import DAMAGE_OF_WORKBOOKS, MOST_COLUMNS, workbook_rows
from judgments.importers.records import (
    Columns,
    Record,
    RecordReader,
    quoted,
    read_csv,
    read_document,
    read_json_lines,
)
from judgments.importers.textio import ImportNotes, ImportProblem, read_head, unreadable

ROWS_AT_ONCE = 256


def read_table(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Read CSV, JSON lines, a JSON list, an Excel workbook or Parquet, whatever the file is."""
    head = read_head(path, READ_AT_ONCE, encoding=encoding).lstrip()
    read = next((reader for start, reader in _BY_START.items() if head.startswith(start)), read_csv)
    return read(path, columns, notes, encoding)


def read_json_list(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
) -> Iterator[Record]:
    """Yield the objects of a JSON document that is a list."""
    for key, number, value in read_document(path, encoding):
        if number is not None and isinstance(value, dict):
            columns.check(tuple(value), path, None, notes)
            yield Record(path, None, value, path=f"{key}[{number}]")
        elif number is not None or key:
            actual = "an object" if key else quoted(value)
            raise ImportProblem(path, None, None, actual, "a list of objects")


def read_workbook(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the rows of the first sheet, whose first row is the header."""
    names: dict[int, str] = {}
    for number, cells in _rows(path):
        if not names:
            cells = {at: cell for at, cell in cells.items() if cell.strip()}
            listed = columns.header or columns.names_of(cells.values())
            names = dict(zip(range(len(listed)) if columns.header else cells, listed, strict=True))
            if len(set(names.values())) < len(names):
                raise ImportProblem(path, number, None, "a column twice in the header", "every column once")
            columns.check(list(names.values()), path, number, notes)
            if not columns.header:
                continue
        if beyond := [at for at, cell in cells.items() if cell and at not in names]:
            actual = f"{quoted(cells[beyond[0]])} in column {beyond[0] + 1}"
            raise ImportProblem(path, number, None, actual, "cells below the header alone")
        if any(cells.values()):
            yield Record(path, number, {name: cells.get(at, "") for at, name in names.items()}, textual=True)
    if not names:
        raise ImportProblem(path, None, None, "an empty sheet", "a header and rows")


def _rows(path: Path) -> Iterator[tuple[int, dict[int, str]]]:
    number = None
    with _readable(path, "an Excel workbook (.xlsx)", DAMAGE_OF_WORKBOOKS):
        try:
            for number, cells in workbook_rows(path):
                yield number, cells
        except Excess as error:
            raise ImportProblem(path, number, None, error.actual, error.expected) from error


@contextmanager
def _readable(path: Path, expected: str, damage: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except damage as error:
        why = str(error).partition("\n")[0][:200] or type(error).__name__
        raise ImportProblem(path, None, None, f"damaged data ({why})", expected) from error
    except OSError as error:
        raise unreadable(path, error) from error


def read_parquet(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the rows, numbered from 1; texts stay packed until their row comes."""
    import pyarrow as pa  # here, as few processes need it
    import pyarrow.parquet as pq

    check_head(HEAD + 1)
    most, damage = limits(), (pa.ArrowException, KeyError, UnicodeDecodeError)
    with _readable(path, "a Parquet file", damage), pq.ParquetFile(path) as plain:
        about, names = plain.metadata, plain.schema_arrow.names
        size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
        for actual, number, allowed in (
            ("rows", about.num_rows, most.lines),
            ("columns", about.num_columns, MOST_COLUMNS),
            ("bytes", size, most.bytes),
        ):
            if number > allowed:
                raise ImportProblem(path, None, None, f"{number:,} {actual}", f"at most {allowed:,}")
        renamed = columns.names_of(names)
        columns.check(renamed, path, None, notes)
        texts = [
            column.name
            for column in plain.schema_arrow
            if pa.types.is_string(column.type) and "." not in column.name
        ]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            batches = file.iter_batches(ROWS_AT_ONCE)
            rows = ((batch.columns, row) for batch in batches for row in range(batch.num_rows))
            for number, (cells, row) in enumerate(rows, 1):
                values = (_plain(column[row].as_py()) for column in cells)
                yield Record(path, number, dict(zip(renamed, values, strict=True)))


_BY_START: dict[str, RecordReader] = {
    "PK\x03\x04": read_workbook,
    "PAR1": read_parquet,
    "[": read_json_list,
    "{": read_json_lines,
}
_PLAIN: dict[type, Callable[[Any], Any]] = {
    bytes: lambda value: None,  # a picture
    Decimal: float,
    **dict.fromkeys((date, datetime, time), lambda value: value.isoformat()),
}


def _plain(value: Any) -> Any:
    """Return what JSON holds."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(_plain, value))
    change = _PLAIN.get(type(value))
    return value if change is None else change(value)
