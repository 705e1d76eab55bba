"""Read parts of a table: the captions of one system, or those of people. Name items that have only a source text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from common.texts import one_text
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.values import is_blank
from judgments.importers.tables.standard_columns import (
    CANDIDATE_COLUMNS,
    CONTENT_SEPARATORS,
    DATASET_COLUMNS,
    STANDARD_COLUMNS,
)
from judgments.importers.textio import ImportNotes

MAX_RECORDS_SEARCHED = 1_000  # first records that are searched for names of systems


def numbering_items(read: RecordReader) -> RecordReader:
    """Return a reader that names the items of a table without a column `image` by their source texts.

    Items are ``text-1``, ``text-2`` and so on, in the order of the file. Rows with equal texts are about one item. A
    second, different output of a system for the same text begins another item, however.
    """

    def records(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
        required = tuple(name for name in columns.required if name != "image")
        extended_columns = replace(
            columns, required=required, optional=(*columns.optional, "image", "text", "system")
        )
        # other optional columns are those of `TablePart.columns`, each with the outputs of a system
        columns_of_systems = [name for name in columns.optional if name not in STANDARD_COLUMNS]
        item_names: dict[tuple[str, int], str] = {}
        ordinals: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for record in read(path, extended_columns, notes, encoding):
            if "image" not in record.values and record.get("text") is not None:
                text, system = one_text(str(record.get("text"))), str(record.get("system") or "")
                # The n-th distinct output of a system for a text belongs to the text's n-th item. References are no
                # outputs, so that all of a text's belong to its first item.
                output_columns = ("caption",) if system else columns_of_systems
                # a digest, since the texts would need much memory
                digest = hash(tuple(str(record.get(name)) for name in output_columns))
                ordinal = ordinals[text, system].setdefault(digest, len(ordinals[text, system]))
                name = item_names.setdefault((text, ordinal), f"text-{len(item_names) + 1}")
                record = replace(record, values={**record.values, "image": name})
            yield record

    return records


@dataclass(frozen=True, slots=True)
class TablePart:
    """The part of a table with one system's captions, or with people's.

    Attributes:
        system: take only rows with this `system`; "" takes rows without a system, and None takes all rows.
        columns: the columns of the captions, if the table has them instead of a column `caption`.
        images_alone: whether a dataset gets only the images, without the captions; `open_dataset` reads this.
        of_system: whether the captions are a system's, so that an empty cell is an empty output.
    """

    system: str | None = None
    columns: tuple[str, ...] = ()
    images_alone: bool = False
    of_system: bool = False

    def reader_of(self, records: RecordReader) -> RecordReader:
        """Return a reader of this part of the tables that ``records`` reads."""

        def read(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
            if self.columns:
                yield from self._records_of_columns(records, path, columns, notes, encoding)
            elif self.system is None:
                yield from records(path, columns, notes, encoding)
            else:
                extended_columns = replace(
                    columns, optional=tuple(dict.fromkeys((*columns.optional, "system")))
                )
                for record in records(path, extended_columns, notes, encoding):
                    if str(record.get("system") or "").strip() == self.system:
                        omits_boxes = self.system and _defines_boxes(record)
                        omitted = ("system", "boxes") if omits_boxes else ("system",)
                        values = {name: cell for name, cell in record.values.items() if name not in omitted}
                        yield replace(record, values=values)

        return read

    def _records_of_columns(
        self, records: RecordReader, path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Record]:
        """Yield a record with one caption for each of the part's columns that has a caption in a row."""
        optional = (*columns.optional, *self.columns)
        extended_columns = Columns(("image",), optional, lenient=True, substitutes=columns.substitutes)
        for record in records(path, extended_columns, notes, encoding):
            shared_columns = {"image", *columns.optional}
            if self.of_system:  # in other columns, boxes are the dataset's
                shared_columns -= set(CONTENT_SEPARATORS)
            shared_values = {name: value for name, value in record.values.items() if name in shared_columns}
            for column in self.columns:
                is_output = self.of_system and column in record.values
                if is_output or not is_blank(record.values.get(column)):
                    values = {**shared_values, "caption": record.values[column]}
                    yield replace(record, values=values, origins={"caption": column})


def _defines_boxes(record: Record) -> bool:
    """Return whether a row defines the boxes of its image. Otherwise it names the boxes in a system's output."""
    boxes = record.get("boxes")
    return "{" in boxes if isinstance(boxes, str) else any(isinstance(box, dict) for box in boxes or ())


WHOLE_TABLE = TablePart()


def read_system_names(read: RecordReader, path: Path, encoding: str | None) -> list[str]:
    """Return the systems in a table's column `system`, in order; "" stands for people. Without it, return []."""
    systems: dict[str, None] = {}
    optional = (*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, *CANDIDATE_COLUMNS.optional)
    for index, record in enumerate(read(path, Columns((), optional, lenient=True), ImportNotes(), encoding)):
        # All rows of CSV have the header's columns, so the first row tells. A renamed column is in `origins`.
        if record.textual and "system" not in (record.values.keys() | record.origins.keys()):
            return []
        systems[str(record.get("system") or "").strip()] = None
        # JSON may omit keys, so the first records are searched.
        if index == MAX_RECORDS_SEARCHED and not any(systems):
            return []
    return list(systems)
