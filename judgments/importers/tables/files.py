"""Read the records of a table, whatever the format of its file.

`read_table` detects JSON lines, CSV, a JSON list, an Excel workbook or Parquet by the first bytes of a file. The XML
of a workbook is read as a stream, within the limits for archives. Parquet is read in a separate process. Requests
read neither workbooks nor Parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, islice
from pathlib import Path

from common.incoming import READ_SIZE, quote_value, refuse_in_request
from common.incoming.isolation import parquet_rows
from common.incoming.workbooks import WORKBOOK_ERRORS, workbook_rows
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.csv_records import TITLE_HINT, read_csv, read_first_lines, split_first_lines
from judgments.importers.records.json_records import read_document, read_json_lines
from judgments.importers.records.record import Record
from judgments.importers.records.title_rows import MAX_HEADER_LINES
from judgments.importers.textio import import_problems, read_head, read_lines


def read_table(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the records of CSV, JSON lines, a JSON list, an Excel workbook or Parquet."""
    head = read_head(path, READ_SIZE, encoding=encoding).lstrip()
    readers = (reader for start, reader in _READERS_BY_START.items() if head.startswith(start))
    read_records = next(readers, read_csv)
    return read_records(path, columns, notes, encoding)


def read_json_list(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
) -> Iterator[Record]:
    """Yield the objects of a JSON document that is a list."""
    for key, number, value, line in read_document(path, encoding):
        if key:
            raise ImportProblem(path, line, None, "an object", "a list of objects")
        if number is None:  # the beginning of the list, or a document that is a single value
            continue
        if not isinstance(value, dict):
            raise ImportProblem(path, line, None, quote_value(value), "a list of objects")
        columns.check(tuple(value), path, line, notes)
        yield Record(path, line, value, path=f"[{number}]")


def read_workbook(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the rows of the first sheet, below its header."""
    names: dict[int, str] = {}  # names of columns, by index
    rows = _numbered_rows(path)
    first_rows = list(islice(rows, MAX_HEADER_LINES))
    # 0 if ``columns`` has the names instead of a header
    header_row = columns.header_row or columns.line_of_header(_with_cell_lists(first_rows))
    notes.count("header-row", header_row > 1, detail=str(header_row))  # a note only if a title is above

    def is_above_header(row: tuple[int, dict[int, str]]) -> bool:
        number, _ = row
        return number < header_row

    for number, cells in dropwhile(is_above_header, chain(first_rows, rows)):
        if not names:
            cells = {index: cell for index, cell in cells.items() if cell.strip()}
            names = _names_by_index(columns, cells)
            if len(set(names.values())) < len(names):
                raise ImportProblem(path, number, None, "a column twice in the header", "every column once")
            columns.check(list(names.values()), path, number, notes)
            if not columns.header:
                continue
        unnamed_index = next((index for index, cell in cells.items() if cell and index not in names), None)
        if unnamed_index is not None:
            actual = f"{quote_value(cells[unnamed_index])} in column {unnamed_index + 1}"
            raise ImportProblem(path, number, None, actual, f"cells below the header alone{TITLE_HINT}")
        if any(cells.values()):
            values = {name: cells.get(index, "") for index, name in names.items()}
            yield Record(path, number, values, textual=True)  # numbers and flags in it are texts
    if not names:
        raise ImportProblem(path, None, None, "an empty sheet", "a header and rows")


def _names_by_index(columns: Columns, cells: dict[int, str]) -> dict[int, str]:
    """Return the names in ``columns.header`` or, if it is empty, in ``cells``, the header row, by column index."""
    if columns.header:
        return dict(enumerate(columns.header))
    return dict(zip(cells, columns.names_of(cells.values()), strict=True))


def _numbered_rows(path: Path) -> Iterator[tuple[int, dict[int, str]]]:
    """Yield each row of the first sheet as a pair of its number, from 1, and its cells by index of their column."""
    number = None  # the row that is being read, for errors
    with import_problems(path, lambda: number):
        try:
            for number, cells in workbook_rows(path):
                yield number, cells
        except WORKBOOK_ERRORS as error:
            reason = str(error).partition("\n")[0][:200] or type(error).__name__
            expected = "an Excel workbook (.xlsx)"
            raise ImportProblem(path, None, None, f"damaged data ({reason})", expected) from error


def _with_cell_lists(rows: Iterable[tuple[int, dict[int, str]]]) -> list[tuple[int, list[str]]]:
    """Return the rows with lists of cells instead of dicts by index. Cells that a sheet omits are ""."""
    rows_with_lists = []
    for number, cells in rows:
        cell_count = max(cells, default=-1) + 1
        rows_with_lists.append((number, [cells.get(index, "") for index in range(cell_count)]))
    return rows_with_lists


def first_lines(path: Path, encoding: str | None, *, workbook: bool) -> list[tuple[int, list[str]]]:
    """Return the first rows of CSV or of a workbook as pairs of line number and cells, without interpreting them."""
    if workbook:
        return _with_cell_lists(islice(_numbered_rows(path), MAX_HEADER_LINES))
    return split_first_lines(read_first_lines(read_lines(path, encoding=encoding, newline="")))


def read_parquet(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the rows of a Parquet file. They are numbered from 1."""
    refuse_in_request()
    number = None  # the row that is being read, for errors
    with import_problems(path, lambda: number):
        rows = parquet_rows(path)
        names = columns.names_of(next(rows))
        columns.check(names, path, None, notes)
        for number, values in enumerate(rows, 1):
            yield Record(path, number, dict(zip(names, values, strict=True)), json_texts=True)


_READERS_BY_START: dict[str, RecordReader] = {
    "PK\x03\x04": read_workbook,
    "PAR1": read_parquet,
    "[": read_json_list,
    "{": read_json_lines,
}
