"""The columns of a table that is imported, with its first rows, and what they are probably called here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judgments.importers import TABLE_FORMATS, ColumnMapping, read_layouts, read_table
from judgments.importers.mapping import NAMES, first_rows, guessed
from judgments.importers.tables import CANDIDATE_COLUMNS, DATASET_COLUMNS
from judgments.importers.textio import as_cell

MOST_COLUMNS = 60  # of a file that are shown
LONGEST_SHOWN = 120  # characters of a cell
REQUIRED = {
    "dataset": ("image", "caption"),
    "import_candidates": ("image", "caption"),
    "import_judgments": ("unit", "worker"),
}
WANTED: dict[str, tuple[str, ...]] = {
    "dataset": (*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, "system"),
    "import_candidates": CANDIDATE_COLUMNS.required + CANDIDATE_COLUMNS.optional,
    "import_judgments": tuple(name for name in NAMES if name not in ("systems", "answers", "study")),
}


@dataclass(slots=True)
class Table:
    """A table's columns with their first cells, what they were taken for, and the problems of its rows.

    Attributes:
        chosen: our column -> the file's.
        problems: the sentence of each, with line, column and cell where a person can put it right.
    """

    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)

    def fits(self, use: str) -> bool:
        """Return whether the columns have our names already."""
        return set(REQUIRED[use]) <= {name.lower() for name in self.names}

    def foreign(self) -> dict[str, str]:
        """Return the chosen columns that a reader does not know by their names."""
        return {mine: source for mine, source in self.chosen.items() if mine != source.lower()}


def table_of(
    path: Path, format: str, *, use: str, encoding: str = "", offered: Mapping[str, str] | None = None
) -> Table:
    """Look at the first rows of a table. Raise ImportProblem, or BeyondHead in a request.

    Args:
        offered: our column -> the file's, of the last mapping; it counts if the file has all of them.
    """
    how = read_layouts().get(format, ColumnMapping())
    rows = first_rows(how, TABLE_FORMATS.get(format, read_table), path, encoding or None)
    names = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
    wanted = [name for name in WANTED[use] if name not in how.columns]
    known = offered if offered and set(offered.values()) <= set(names) else guessed(names, wanted)
    cells = [[as_cell(row.get(name))[:LONGEST_SHOWN] for name in names] for row in rows]
    return Table(names, cells, dict(known))
