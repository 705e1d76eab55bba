"""Name the items of a table that has no column `image`, but the source text of each row's item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from common.texts import one_text
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.tables.standard_columns import STANDARD_COLUMNS


class _ItemNames:
    """The names of a file's items: ``text-1``, ``text-2`` and so on, in the order of the file.

    Rows with equal texts are about one item, unless a system has several different outputs for the text. The n-th
    distinct output of a system for a text belongs to the n-th item with this text::

        text   system  output   item
        Hallo  nmt     Hello    text-1
        Hallo  nmt     Hi       text-2
        Hallo  llm     Hey      text-1
    """

    def __init__(self) -> None:
        self._names: dict[tuple[str, int], str] = {}  # by text and ordinal of the output
        # the ordinals of outputs, by text and system, and by the output's digest
        self._ordinals: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)

    def name_of(self, text: str, system: str, output: tuple[str, ...]) -> str:
        """Return the name of the item with this text, for which a system has this output."""
        ordinals = self._ordinals[text, system]
        digest = hash(output)  # the outputs themselves would need much memory
        ordinal = ordinals.setdefault(digest, len(ordinals))
        return self._names.setdefault((text, ordinal), f"text-{len(self._names) + 1}")


def with_item_names(read_records: RecordReader) -> RecordReader:
    """Return a reader that adds the column `image`, with names of items, to the records that ``read_records`` yields.

    Records that have this column, or that have no column `text`, are unchanged.
    """

    def records(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
        required_columns = tuple(name for name in columns.required if name != "image")
        extended_columns = replace(
            columns, required=required_columns, optional=(*columns.optional, "image", "text", "system")
        )
        # the columns of systems' outputs in a table without a column `system` (`TablePart.columns`)
        columns_of_systems = [name for name in columns.optional if name not in STANDARD_COLUMNS]
        item_names = _ItemNames()
        for record in read_records(path, extended_columns, notes, encoding):
            if "image" not in record.values and record.get("text") is not None:
                text, system = one_text(str(record.get("text"))), str(record.get("system") or "")
                # A caption without a system is a reference, not an output: all references of a text belong to its
                # first item.
                output_columns = ("caption",) if system else columns_of_systems
                output = tuple(str(record.get(name)) for name in output_columns)
                name = item_names.name_of(text, system, output)
                record = replace(record, values={**record.values, "image": name})
            yield record

    return records
