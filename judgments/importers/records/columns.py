"""The columns of a table, and the type of the functions that read its records.

Readers hold one record in memory at a time. They do not use pyarrow, whose readers guess types and raise errors
without line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.incoming import quote_value
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.record import Record
from judgments.importers.records.title_rows import header_line
from quorum.numeric.names import nearest_name


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a reader expects in a table.

    Attributes:
        required: columns that the table must have.
        optional: other columns that are known.
        strict: whether other columns are refused; otherwise they are ignored.
        lenient: whether other columns are ignored even if their names are probably misspelt names of known columns.
        substitutes: the columns that can replace a required column, by that column.
        header_row: the line of the header, from 1, below a title; 0 to find it.
        header: the column names of a layout without a header.
        rest: the column that gets all remaining cells of a row, from the column's position on.
        quoted: whether quotation marks surround cells; otherwise those inside a cell are text.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    strict: bool = False
    lenient: bool = False
    substitutes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    rest: str = ""
    quoted: bool = True
    header_row: int = 0

    def names_of(self, cells: Iterable[str]) -> list[str]:
        """Return the column names of a header, with Quorum's spelling for names that differ only in case."""
        spelling = {name.lower(): name for name in (*self.required, *self.optional)}
        return [spelling.get(cell.strip().lower(), cell.strip()) for cell in cells]

    def line_of_header(self, lines: Sequence[tuple[int, Sequence[str]]]) -> int:
        """Return the line of the header among the first lines; 0 for none. Call this only if ``header_row`` is 0."""
        return 0 if self.header else header_line(lines, {*self.required, *self.optional})

    def score(self, names: list[str]) -> int:
        """Return how well names fit these columns, to choose the separator of a header.

        The score is the number of required columns among the names. If no column is required, it is the number of all
        names, in which an optional column counts more. Without known names, the separator with most names thus fits.
        """
        if self.required:
            return sum(self._has_column(names, name) for name in self.required)
        optional_count = sum(name in self.optional for name in names)
        return len(self.optional) * optional_count + len(names)

    def check(self, names: Collection[str], file: Path, line: int | None, notes: ImportNotes) -> None:
        """Raise ImportProblem for a missing, refused or probably misspelt column. Note columns that are ignored."""
        known_columns = self.required + self.optional
        for name in () if self.lenient else names:
            if name in known_columns or name in notes.details():  # an ignored column was noted before
                continue
            # a name that is ignored otherwise is refused only if it is very similar
            similar = nearest_name(name, known_columns, cutoff=0.6 if self.strict else 0.8)
            if similar or self.strict:
                expected = f"{similar!r} perhaps" if similar else f"one of {', '.join(known_columns)}"
                raise ImportProblem(file, line, None, f"the unknown column {quote_value(name)}", expected)
            notes.count("ignored-column", detail=name)
        for name in self.required:
            if not self._has_column(names, name):
                raise ImportProblem(file, line, name, "no such field", "it in every record")

    def _has_column(self, names: Collection[str], column: str) -> bool:
        """Return whether the names have a required column or one of its substitutes."""
        return any(name in names for name in (column, *self.substitutes.get(column, ())))


# A function that yields the records of a file. It gets the path, the expected columns, the notes to add to, and the
# encoding.
RecordReader = Callable[[Path, Columns, ImportNotes, str | None], Iterator[Record]]
