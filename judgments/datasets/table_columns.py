"""The columns of an uploaded table, and the columns of Quorum that they may stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from django.utils.translation import gettext_noop

from common.files import as_cell
from judgments.importers import HEADER_FORMATS, ColumnMapping, ImportProblem, fill_layout
from judgments.importers.mapped.column_guesses import guess_columns
from judgments.importers.mapped.mapped_records import read_first_rows
from judgments.importers.mapped.mapping import OMITTED_COLUMN as NOT_USED
from judgments.importers.names import is_picture_name
from judgments.importers.records.title_rows import header_line
from judgments.importers.tables.files import first_lines
from judgments.importers.tables.standard_columns import CANDIDATE_COLUMNS, DATASET_COLUMNS

MAX_COLUMNS_SHOWN = 60  # columns of a file that are shown
MAX_CELL_LENGTH = 120  # characters of a cell that are shown
PEOPLE = "people"  # the choice for a column of one person's answers, which is named after the person

# labels of Quorum's columns on a page; other columns are shown by their names
COLUMN_LABELS = {
    "image": gettext_noop("item: a file name, or an id"),
    "caption": gettext_noop("text by a system or by people"),
    "text": gettext_noop("source text"),
    "system": gettext_noop("name of the system"),
    "caption_id": gettext_noop("id of the text"),
    "split": gettext_noop("split, such as test"),
    "url": gettext_noop("address of the picture"),
    "boxes": gettext_noop("boxes in the picture"),
    "image_width": gettext_noop("the picture’s width in pixels"),
    "image_height": gettext_noop("the picture’s height in pixels"),
    "document": gettext_noop("document of the item"),
    "text_title": gettext_noop("the source text’s title"),
    "rank": gettext_noop("rank in the system’s list"),
    "score": gettext_noop("the system’s score"),
}
PICTURE_COLUMNS = {"url", "boxes", "image_width", "image_height"}  # columns about pictures, not about texts

# names such as "model_a" of columns in tables of pairs, which have the first system's texts
FIRST_SYSTEM_COLUMN = re.compile(r"first[ _-]?(system|model)|(system|model)[ _-]?a", re.I)


@dataclass(frozen=True)
class TableUse:
    """The columns that an import reads from a table, and how a page asks for them.

    The import of judgments overrides the methods (contrib/judgment_imports/columns.py).

    Attributes:
        required: Quorum's columns that the page asks for if the table lacks them.
        optional: Quorum's columns that the page offers.
        substitutes: the columns that can replace a required column, by that column; one of them suffices.
        labels: the labels of columns on the page; a column without a label is shown by its name.
        choices: what a column of the file can be used for besides Quorum's columns: the label by value (``PEOPLE``).
        template: the template of the page.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    substitutes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=lambda: COLUMN_LABELS)
    choices: Mapping[str, str] = field(default_factory=dict)
    template: str = "judgments/columns.html"

    def remove_impossible_guesses(self, guesses: dict[str, str]) -> None:
        """Remove impossible guesses. ``guesses`` has the file's column by Quorum's column."""
        if FIRST_SYSTEM_COLUMN.fullmatch(guesses.get("system", "")):
            del guesses["system"]

    def column_context(self, args: Mapping[str, Any], table: UploadTable) -> dict[str, Any]:
        """Return more context for the template of the page of columns. ``args`` are the arguments of the job so far."""
        return {}

    def arguments(
        self, args: Mapping[str, Any], values: Mapping[str, str], files: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the arguments of the import, besides those about columns, from the posted ``values`` and ``files``."""
        return {}


# The uses by kind of job; "dataset" is an upload whose contents are detected first.
TABLE_USES = {
    "dataset": TableUse(
        required=("image", "caption"),
        optional=(*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, "system"),
    ),
    "import_candidates": TableUse(
        required=("image", "caption"),
        optional=CANDIDATE_COLUMNS.required + CANDIDATE_COLUMNS.optional,
        substitutes={"caption": CANDIDATE_COLUMNS.substitutes["caption"]},
    ),
}
NO_COLUMNS = TableUse(required=(), optional=())


def add_table_use(kind: str, use: TableUse) -> None:
    """Register the columns that a kind of import job reads from a table."""
    TABLE_USES[kind] = use


@dataclass(slots=True)
class UploadTable:
    """The columns and first cells of a table, the meaning of its columns, and the errors in its rows.

    Attributes:
        names: the file's columns.
        rows: the first rows, as cells in the order of ``names``.
        chosen: the file's column, by Quorum's column, such as ``{"image": "filename", "caption": "output"}``.
        problems: the errors, such as ``{"said": message, "file": name}``. If a person can correct the cell, its
            ``line``, ``column`` and ``cell``, the present text, are added.
        lines: the first lines as pairs of line number and cells, for a table that may have a title above its header.
        header_row: the line of the header, from 1; 0 for the first line.
        is_folder: whether several files were uploaded.
        where, missing: the condition that rows must fulfil, and the words that mean an empty cell, as in
            `ColumnMapping`.
    """

    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    chosen: dict[str, str] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)
    lines: list[tuple[int, list[str]]] = field(default_factory=list)
    header_row: int = 0
    is_folder: bool = False
    where: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def has_columns_for(self, use: str) -> bool:
        """Return whether the columns already have the names that the import ``use``, a key of ``TABLE_USES``, needs."""
        table_use = TABLE_USES[use]
        names = {name.lower() for name in self.names}
        return all(
            name in names or names & set(table_use.substitutes.get(name, ())) for name in table_use.required
        )

    def has_our_names(self) -> bool:
        """Return whether the columns have Quorum's names, so that they need no mapping. A column `image` shows this."""
        return "image" in map(str.lower, self.names)

    def as_mapping(self) -> dict[str, Any]:
        """Return the fields of the `ColumnMapping` by which the table is read."""
        return self.row_options() | {"columns": self.chosen}

    def renamed_columns(self) -> dict[str, str]:
        """Return the chosen columns whose name in the file is not Quorum's."""
        return {column: source for column, source in self.chosen.items() if column != source.lower()}

    def row_options(self) -> dict[str, Any]:
        """Return the set options of `ColumnMapping` for rows: ``header_row``, ``where`` and ``missing``."""
        values = {"header_row": self.header_row, "where": self.where, "missing": self.missing}
        return {name: value for name, value in values.items() if value}


def _read_first_lines(path: Path, format: str, encoding: str = "") -> list[tuple[int, list[str]]]:
    """Return the first lines of a table that are not empty, as pairs of line number and cells.

    Return [] for formats without lines, and for a folder.
    """
    if format not in HEADER_FORMATS or path.is_dir():
        return []
    lines = first_lines(path, encoding or None, workbook=format == "xlsx")
    shown_lines = []
    for number, cells in lines:
        if any(cells):
            shown_cells = [cell[:MAX_CELL_LENGTH] for cell in cells[:MAX_COLUMNS_SHOWN]]
            shown_lines.append((number, shown_cells))
    return shown_lines


def has_title(lines: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Return whether the first line is probably a title, since a later line has more cells with a text."""
    text_counts = [len([cell for cell in cells if cell.strip()]) for _, cells in lines]
    return any(count > text_counts[0] for count in text_counts[1:])


def read_upload_table(
    path: Path,
    format: str,
    *,
    use: str,
    encoding: str = "",
    last_columns: Mapping[str, str] | None = None,
    header_row: int = 0,
) -> tuple[UploadTable, ImportProblem | None]:
    """Read the first lines and rows of a table, and guess its columns.

    Return the table, and the error if its rows cannot be read, else None. The reason may be a title that was read as
    the header (`has_title`).

    Args:
        use: the kind of import, a key of ``TABLE_USES``.
        last_columns: the file's column, by Quorum's column, in the last import. These columns replace the guess if the
            file has all of them, and if they include all of Quorum's columns that are guessed.
        header_row: the line of the header, from 1; 0 to find it.

    Raises:
        RequestBytesExceeded: the table is too large for a request.
    """
    table = UploadTable(header_row=header_row, is_folder=path.is_dir())
    try:
        table.lines = _read_first_lines(path, format, encoding)
        likely_header_row = header_line(table.lines, TABLE_USES[use].optional)
        table.header_row = header_row or (likely_header_row if likely_header_row > 1 else 0)
        # the mapping already has columns if the format is another platform's, with a layout in judgments/importers
        mapping, read_records = fill_layout(format, path, ColumnMapping(header_row=table.header_row))
        rows = read_first_rows(mapping, read_records, path, encoding or None)
    except ImportProblem as problem:
        return table, problem
    table.names = list(dict.fromkeys(chain.from_iterable(rows)))[:MAX_COLUMNS_SHOWN]
    table.rows = [[as_cell(row.get(name))[:MAX_CELL_LENGTH] for name in table.names] for row in rows]
    columns_asked = [name for name in TABLE_USES[use].optional if name not in mapping.columns]
    last_columns = last_columns or {}
    last_sources = {name: source for name, source in last_columns.items() if source != NOT_USED}
    guesses = guess_columns(table.names, columns_asked)
    has_last_columns = bool(last_sources) and set(last_sources.values()) <= set(table.names)
    if has_last_columns and guesses.keys() <= last_columns.keys():
        guesses = last_sources
    TABLE_USES[use].remove_impossible_guesses(guesses)
    # the first column with only names of pictures is that of the images
    if "image" in columns_asked and "image" not in guesses:
        for name in table.names:
            if all(is_picture_name(str(row.get(name)).strip()) for row in rows):
                if name:  # a column without a name cannot be chosen
                    guesses["image"] = name
                break
    table.chosen = guesses
    return table, None
