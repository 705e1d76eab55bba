"""Read tables with the inputs of HIT templates, and lists of pairs of an image and a caption to judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import Columns
from judgments.importers.records.csv_records import read_csv
from judgments.importers.records.json_records import read_json_lines
from judgments.importers.records.record import Record
from judgments.importers.records.rows import InputRow
from judgments.importers.records.sources import DatasetSource
from judgments.importers.records.values import read_image, read_name, read_text
from judgments.importers.textio import read_lines

INPUT_COLUMNS = Columns((), lenient=True, header_row=1)  # lenient: no name counts as misspelt
PICTURE_COLUMN = "picture"  # the picture of a row of inputs
MAX_COLUMNS = 200
MAX_COLUMN_LENGTH = 100  # characters of a column's name
MAX_CELL_LENGTH = 100_000  # characters of a cell

PAIR_COLUMNS = Columns(("image", "caption"))


class InputTable(DatasetSource):
    """CSV with a column for each `${field}` of a HIT template and a row for each task, as for MTurk and Turkle.

    Column names are case-sensitive. A column `picture` names the row's picture, if pictures are imported.
    """

    def rows(self) -> Iterator[InputRow]:
        """Yield the rows. Their names are `row-1`, `row-2` and so on."""
        number = 0
        for number, record in enumerate(read_csv(self.path, INPUT_COLUMNS, self.notes, self._encoding), 1):
            if number == 1:
                self._check_names(list(record.values))
            yield self._make_row(number, record)
        if not number:
            raise ImportProblem(self.path, None, None, "no rows", "one row of inputs at least")

    def _check_names(self, names: list[str]) -> None:
        if len(names) > MAX_COLUMNS:
            raise ImportProblem(self.path, 1, None, f"{len(names)} columns", f"at most {MAX_COLUMNS}")
        for name in names:
            header_cell = Record(self.path, 1, {"": name})  # a record, so that an error names file and line
            header_cell.read("", lambda value: read_name(value, "a name for every column", MAX_COLUMN_LENGTH))

    def _make_row(self, number: int, record: Record) -> InputRow:
        for name, cell in record.values.items():
            if len(cell) > MAX_CELL_LENGTH:
                raise record.problem(
                    name, f"a cell of {len(cell):,} characters", f"at most {MAX_CELL_LENGTH:,}"
                )
        picture = record.values.get(PICTURE_COLUMN, "").strip()
        # an address is no file of the imported folder
        file = record.read(PICTURE_COLUMN, read_image) if picture and "://" not in picture else None
        return InputRow(f"row-{number}", tuple(record.values.items()), file=file)


def read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each pair in JSON lines or CSV: the name of the image, and the id or the text of the caption."""
    first_line = next((line for _, line in read_lines(path) if not line.isspace()), "")
    read_records = read_json_lines if first_line.lstrip().startswith("{") else read_csv
    is_empty = True
    for record in read_records(path, PAIR_COLUMNS, ImportNotes(), None):
        is_empty = False
        caption = record.read("caption", lambda value: read_text(value, "a caption's id or text"))
        yield record.read("image", read_image), caption
    if is_empty:
        raise ImportProblem(path, None, None, "no pairs", "at least one record")
