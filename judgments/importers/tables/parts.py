"""The part of a table that holds one system's captions, or people's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from common.texts import one_text
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.values import is_blank
from judgments.importers.tables.standard_columns import CANDIDATE_COLUMNS, CONTENTS, DATASET_COLUMNS, STANDARD
from judgments.importers.textio import ImportNotes

MAX_RECORDS_SEARCHED = 1_000  # first records that are searched for names of systems


def numbering_items(read: RecordReader) -> RecordReader:
    """Return a reader that names the items of a table without a column `image` by their source texts.

    Items are ``text-1``, ``text-2`` and so on, in the order of the file. Rows with equal texts are about one item. A
    second output of a system for the same text begins another item.
    """

    def records(path: Path, wanted: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
        required = tuple(name for name in wanted.required if name != "image")
        several = replace(wanted, required=required, optional=(*wanted.optional, "image", "text", "system"))
        columns_of_systems = [name for name in wanted.optional if name not in STANDARD]
        numbers: dict[tuple[str, int], str] = {}
        outputs: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for record in read(path, several, notes, encoding):
            if "image" not in record.values and record.get("text") is not None:
                text, system = one_text(str(record.get("text"))), str(record.get("system") or "")
                names = ("caption",) if system else columns_of_systems
                output = hash(tuple(str(record.get(name)) for name in names))
                position = outputs[text, system].setdefault(output, len(outputs[text, system]))
                name = numbers.setdefault((text, position), f"text-{len(numbers) + 1}")
                record = replace(record, values={**record.values, "image": name})
            yield record

    return records


@dataclass(frozen=True, slots=True)
class TablePart:
    """The part of a table with one system's captions, or with people's.

    Attributes:
        system: take only rows with this `system`; "" takes rows without a system, and None takes all rows.
        columns: the columns of the captions, if the table has them instead of a column `caption`.
        of_system: whether the captions are a system's, so that an empty cell is an empty output.
        images_alone: whether a dataset gets only the images, without the captions.
    """

    system: str | None = None
    columns: tuple[str, ...] = ()
    images_alone: bool = False
    of_system: bool = False

    def reader_of(self, records: RecordReader) -> RecordReader:
        def read(path: Path, wanted: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
            if self.columns:
                yield from self._records_of_columns(records, path, wanted, notes, encoding)
            elif self.system is None:
                yield from records(path, wanted, notes, encoding)
            else:
                several = replace(wanted, optional=tuple({*wanted.optional, "system"}))
                for record in records(path, several, notes, encoding):
                    if str(record.get("system") or "").strip() == self.system:
                        left_out = (
                            ("system", "boxes") if self.system and _defines_boxes(record) else ("system",)
                        )
                        values = {name: cell for name, cell in record.values.items() if name not in left_out}
                        yield replace(record, values=values)

        return read

    def _records_of_columns(
        self, records: RecordReader, path: Path, wanted: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Record]:
        optional = (*wanted.optional, *self.columns)
        wide = Columns(("image",), optional, lenient=True, substitutes=wanted.substitutes)
        for record in records(path, wide, notes, encoding):
            shared = {"image", *wanted.optional}
            shared -= set(CONTENTS) if self.of_system else set()  # in other columns, boxes are the dataset's
            about = {name: value for name, value in record.values.items() if name in shared}
            for column in self.columns:
                if column in record.values if self.of_system else not is_blank(record.values.get(column)):
                    values = {**about, "caption": record.values[column]}
                    yield replace(record, values=values, origins={"caption": column})


def _defines_boxes(record: Record) -> bool:
    """Return whether a row defines the boxes of its image. Otherwise it names the boxes in a system's output."""
    boxes = record.get("boxes")
    return "{" in boxes if isinstance(boxes, str) else any(isinstance(box, dict) for box in boxes or ())


WHOLE_TABLE = TablePart()


def systems_named(read: RecordReader, path: Path, encoding: str | None) -> list[str]:
    """Return the systems in a table's column `system`, in order; "" stands for people."""
    systems: dict[str, None] = {}
    optional = (*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, *CANDIDATE_COLUMNS.optional)
    for number, record in enumerate(read(path, Columns((), optional, lenient=True), ImportNotes(), encoding)):
        if record.textual and "system" not in (record.values.keys() | record.origins.keys()):
            return []
        systems[str(record.get("system") or "").strip()] = None
        if number == MAX_RECORDS_SEARCHED and not any(systems):
            return []
    return list(systems)
