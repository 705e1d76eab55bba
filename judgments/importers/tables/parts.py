"""Read one part of a table with captions of several systems, or of people: the captions of one of them.

A table has a column `system` and a column `caption`, or a column of captions for each system::

    image,system,caption            image,nmt,llm
    1.jpg,nmt,A dog                 1.jpg,A dog,A dog runs
    1.jpg,llm,A dog runs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.values import is_blank
from judgments.importers.tables.standard_columns import (
    CANDIDATE_COLUMNS,
    CONTENT_SEPARATORS,
    DATASET_COLUMNS,
)

MAX_RECORDS_SEARCHED = 1_000  # first records that are searched for a system


@dataclass(frozen=True, slots=True)
class TablePart:
    """The part of a table with one system's captions, or with people's.

    Attributes:
        system: the system of the rows to take; "" for rows without a system, None for all rows.
        columns: the columns of the captions, if the table has these columns instead of a column `caption`.
        images_alone: whether the dataset of the table has only the images, and no captions; for `open_dataset`.
        of_system: whether the captions in ``columns`` are a system's, so that an empty cell is an empty output.
    """

    system: str | None = None
    columns: tuple[str, ...] = ()
    images_alone: bool = False
    of_system: bool = False

    def reader_of(self, read: RecordReader) -> RecordReader:
        """Return a reader of this part of the tables that ``read`` reads."""

        def records(
            path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
        ) -> Iterator[Record]:
            if self.columns:
                yield from self._records_of_columns(read, path, columns, notes, encoding)
            elif self.system is not None:
                yield from self._records_of_system(read, path, columns, notes, encoding)
            else:
                yield from read(path, columns, notes, encoding)

        return records

    def _records_of_columns(
        self, read: RecordReader, path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Record]:
        """Yield a record for each row and each of the part's columns, with its caption. Skip empty cells of people."""
        names = (*columns.optional, *self.columns)
        extended_columns = Columns(("image",), names, lenient=True, substitutes=columns.substitutes)
        shared_columns = {"image", *columns.optional}
        if self.of_system:  # boxes and keywords of a row with several systems are no system's
            shared_columns -= set(CONTENT_SEPARATORS)
        for record in read(path, extended_columns, notes, encoding):
            shared_values = {name: value for name, value in record.values.items() if name in shared_columns}
            for column in self.columns:
                is_output = self.of_system and column in record.values
                if is_output or not is_blank(record.values.get(column)):
                    values = {**shared_values, "caption": record.values[column]}
                    yield replace(record, values=values, origins={"caption": column})

    def _records_of_system(
        self, read: RecordReader, path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Record]:
        """Yield the records of the part's system, without the column `system`."""
        names = tuple(dict.fromkeys((*columns.optional, "system")))
        for record in read(path, replace(columns, optional=names), notes, encoding):
            if str(record.get("system") or "").strip() != self.system:
                continue
            # boxes that the row defines are the dataset's, not part of the system's output
            has_boxes_of_dataset = self.system and _defines_boxes(record)
            omitted_columns = ("system", "boxes") if has_boxes_of_dataset else ("system",)
            values = {name: cell for name, cell in record.values.items() if name not in omitted_columns}
            yield replace(record, values=values)


def _defines_boxes(record: Record) -> bool:
    """Return whether a row defines the boxes of its image, as JSON objects. Otherwise it has only ids of boxes."""
    boxes = record.get("boxes")
    return "{" in boxes if isinstance(boxes, str) else any(isinstance(box, dict) for box in boxes or ())


WHOLE_TABLE = TablePart()


def read_system_names(read: RecordReader, path: Path, encoding: str | None) -> list[str]:
    """Return the systems in a table's column `system`, in the order of the file; [] if there is no such column.

    "" stands for people, who have no system.
    """
    systems: dict[str, None] = {}
    names = (*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, *CANDIDATE_COLUMNS.optional)
    for index, record in enumerate(read(path, Columns((), names, lenient=True), ImportNotes(), encoding)):
        # all rows of CSV have the columns of the header; a column that a mapping renamed is in `origins`
        if record.textual and "system" not in (record.values.keys() | record.origins.keys()):
            return []
        systems[str(record.get("system") or "").strip()] = None
        # JSON may omit the key in some records, so several are searched
        if index == MAX_RECORDS_SEARCHED and not any(systems):
            return []
    return list(systems)
