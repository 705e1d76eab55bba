"""The inputs of a HIT template: a CSV file with a column for each `${field}`, a row for each task.

As the requester pages and Turkle take it: names of columns keep their capitals, cells may hold line breaks and may be
empty. A column `picture` names the row's picture, where pictures are imported with it.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import check_image, check_name, counted, shown
from judgments.importers.notes import ImportNotes
from judgments.importers.records import InputRow, PairRow, ReferenceRow
from judgments.importers.tables import csv_fault
from judgments.importers.textio import read_lines

PICTURE = "picture"
MOST_COLUMNS = 200
MOST_CELL = 100_000
LONGEST_COLUMN = 100
_SEPARATORS = ",;\t|"


class InputTable:
    """The rows of an inputs file. Streams, holding one record; read it once."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self._encoding = encoding

    def pairs(self) -> Iterator[PairRow]:
        """None: rows have no captions."""
        return iter(())

    def references(self) -> Iterator[ReferenceRow]:
        """None."""
        return iter(())

    def rows(self) -> Iterator[InputRow]:
        """One for each record, named by its number: `row-1`.

        Raises:
            ImportProblem: no header, a column twice or without a name, ragged rows, unclosed quotes, no rows.
        """
        lines = read_lines(self.path, encoding=self._encoding, newline="")
        text = next((line for _, line in lines), "")
        separator, names = self._header(text)
        reader = csv.reader((line for _, line in lines), delimiter=separator, strict=True)
        count = 0
        while True:
            start = 2 + reader.line_num
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise ImportProblem(self.path, start, None, csv_fault(error), "a CSV record") from error
            if cells is None:
                break
            if not any(cells):
                continue
            if len(cells) != len(names):
                found = counted(len(cells), "cell")
                expected = f"{len(names)} as in the header (a text that holds {separator!r} needs quotes)"
                raise ImportProblem(self.path, start, None, found, expected)
            count += 1
            yield self._row(count, start, names, cells)
        if not count:
            raise ImportProblem(self.path, None, None, "no rows", "one row of inputs at least")

    def _row(self, number: int, line: int, names: list[str], cells: list[str]) -> InputRow:
        for name, cell in zip(names, cells, strict=True):
            if len(cell) > MOST_CELL:
                found = f"a cell of {len(cell):,} characters"
                raise ImportProblem(self.path, line, name, found, f"at most {MOST_CELL:,}")
        fields = tuple(zip(names, cells, strict=True))
        picture = dict(fields).get(PICTURE, "").strip()
        if picture:
            picture = check_image(picture, self.path, line, PICTURE) if "://" not in picture else ""
        return InputRow(f"row-{number}", fields, file=picture or None)

    def _header(self, text: str) -> tuple[str, list[str]]:
        """The separator that makes the most columns, the comma where several do, and the columns."""
        if not text.strip():
            raise ImportProblem(self.path, 1, None, "no header", "the names of the columns in the first line")
        readings: list[tuple[str, list[str]]] = []
        for separator in _SEPARATORS:
            try:
                cells = next(csv.reader([text], delimiter=separator, strict=True))
            except csv.Error:
                continue  # quotes that make no sense with this separator: another one may fit
            readings.append((separator, [cell.strip() for cell in cells]))
        if not readings:
            expected = "the names of the columns"
            raise ImportProblem(self.path, 1, None, f"the header {shown(text.strip())}", expected)
        separator, names = max(readings, key=lambda reading: len(reading[1]))
        if len(names) > MOST_COLUMNS:
            raise ImportProblem(self.path, 1, None, f"{len(names)} columns", f"at most {MOST_COLUMNS}")
        for name in names:
            check_name(name, self.path, 1, None, "a name for every column", LONGEST_COLUMN)
        twice = [name for name, n in Counter(names).items() if n > 1]
        if twice:
            raise ImportProblem(
                self.path, 1, twice[0], "this column twice in the header", "every column once"
            )
        return separator, names
