"""Find who wrote the captions of a table: people or systems, which have separate rows or separate columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judgments.datasets.upload_parts import PEOPLE, SYSTEM, UploadPart
from judgments.importers import TABLE_FORMATS, ImportProblem
from judgments.importers.mapped_records import mapped_reader
from judgments.importers.records.columns import Columns
from judgments.importers.records.record import Record
from judgments.importers.records.values import is_blank
from judgments.importers.tables.item_names import with_item_names
from judgments.importers.tables.standard_columns import DATASET_COLUMNS
from judgments.importers.textio import ImportNotes

MAX_RECORDS = 50_000  # rows of a file that are read while a person waits; the import reads all
ROWS_PER_REPORT = 1_000
MAX_SYSTEMS = 50  # systems in one file
ROWS_SHOWN, CHARACTERS_SHOWN = 3, 300  # first rows that a page shows, and first characters of a caption
STANDARD_NAMES = {*DATASET_COLUMNS.optional, "image", "caption", "system", "rank", "score"}
# names of columns with people's captions, in the languages of the pages
PEOPLE_COLUMN = re.compile(
    r"((ref|r[eé]f[eé]rence|referenz|referencia|caption|gold|human|humain|humano|mensch|people|person|"
    r"description|beschreibung)(s|en)?[ _-]*)+\d*",
    re.I,
)


@dataclass(slots=True)
class _SourceTally:
    """Counts the images and captions of one source, and keeps its first pairs of image and caption."""

    images: set[str] = field(default_factory=set)
    caption_count: int = 0
    empty_caption_count: int = 0
    first_rows: list[tuple[str, str]] = field(default_factory=list)

    def add(self, image: str, caption: str) -> None:
        self.images.add(image)
        self.caption_count += 1
        self.empty_caption_count += not caption.strip()
        if len(self.first_rows) < ROWS_SHOWN:
            self.first_rows.append((image, caption[:CHARACTERS_SHOWN]))
        elif not caption.isascii() and self.first_rows[-1][1].isascii():
            # an accent shows a person whether the encoding is right
            self.first_rows[-1] = (image, caption[:CHARACTERS_SHOWN])

    def make_part(self, table: UploadPart, **fields: Any) -> UploadPart:
        """Return a copy of the table's part with the counts of this tally."""
        return replace(
            table, images=len(self.images), captions=self.caption_count, rows=tuple(self.first_rows), **fields
        )


_Tallies = dict[tuple[str, str], _SourceTally]  # by system, and by column if columns hold captions


def parts_of_table(
    file: Path, table: UploadPart, report_progress: Callable[[], None]
) -> tuple[list[UploadPart], set[str]]:
    """Return a part for each source of the table's captions, and the names of its images.

    Args:
        report_progress: reports progress; it raises an error if the work is to stop.

    Raises:
        ImportProblem: the table has no captions, names no items, or has too many systems.
    """
    tallies, images, columns = _count_captions(file, table, report_progress)
    if not tallies:
        expected = "a column caption, or a column for each system" if columns else "at least one row"
        raise ImportProblem(file, None, None, "no captions", expected)
    if images == {""}:
        expected = "a column with the name of a picture, an id or a source text in each row"
        raise ImportProblem(file, None, None, "no column of items", expected)
    table = replace(table, texts="text" in columns)
    if _is_wide(columns):
        return _parts_of_columns(table, columns, tallies), images
    systems = [system for system, _ in tallies]
    if len(systems) > MAX_SYSTEMS:
        raise ImportProblem(
            file, None, "system", f"{len(systems)} systems", f"at most {MAX_SYSTEMS} in a file"
        )
    return _parts_of_rows(table, columns, tallies), images


def _count_captions(
    file: Path, table: UploadPart, report_progress: Callable[[], None]
) -> tuple[_Tallies, set[str], list[str]]:
    """Return the tallies by (system, column), the names of the images, and the table's columns."""
    read = TABLE_FORMATS[table.format]
    if table.mapping is not None:
        read = mapped_reader(table.mapping, read)
    read = with_item_names(read)
    tallies: _Tallies = defaultdict(_SourceTally)
    images: set[str] = set()
    columns: list[str] = []
    image_columns = Columns(("image",), tuple(STANDARD_NAMES - {"image"}), lenient=True)
    for record_index, record in enumerate(read(file, image_columns, ImportNotes(), table.encoding)):
        if record_index >= MAX_RECORDS:
            break
        if record_index % ROWS_PER_REPORT == 0:
            report_progress()
        columns = columns or list(record.values)
        images.add(str(record.get("image") or ""))
        _count_record(record, columns, tallies)
    # leave out columns with empty cells only; rows that name their system may all be empty
    sources = {
        (system, column): tally
        for (system, column), tally in tallies.items()
        if system or tally.empty_caption_count < tally.caption_count
    }
    return sources, images, columns


def _parts_of_columns(table: UploadPart, columns: Sequence[str], tallies: _Tallies) -> list[UploadPart]:
    caption_columns = [column for _, column in tallies if column]
    people_columns = [column for column in caption_columns if PEOPLE_COLUMN.fullmatch(column)]
    parts = [
        tallies["", column].make_part(table, role=SYSTEM, system=column, columns=(column,))
        for column in caption_columns
        if column not in people_columns
    ]
    if people_columns:
        joined = _merge_tallies([tallies["", column] for column in people_columns])
        parts.insert(0, joined.make_part(table, columns=tuple(people_columns)))
    elif "text" in columns:
        parts.insert(0, tallies["", ""].make_part(table, sources=True))
    return parts


def _parts_of_rows(table: UploadPart, columns: Sequence[str], tallies: _Tallies) -> list[UploadPart]:
    unused = tuple(column for column in columns if column not in STANDARD_NAMES)[:MAX_SYSTEMS]
    if list(tallies) == [("", "")]:
        return [tallies["", ""].make_part(table, role="", unused=unused)]
    return [
        tally.make_part(
            table,
            role=SYSTEM if system else PEOPLE,
            system=system,
            only=system,
            unused=() if part_index else unused,  # list unused columns once per file
        )
        for part_index, ((system, _), tally) in enumerate(tallies.items())
    ]


def _is_wide(columns: Sequence[str]) -> bool:
    """Return whether the table has a column for each source of captions, instead of a column "caption"."""
    return "caption" not in columns and bool(set(columns) - STANDARD_NAMES)


def _count_record(record: Record, columns: Sequence[str], tallies: _Tallies) -> None:
    image, text = str(record.get("image") or ""), record.get("text")
    if not _is_wide(columns):
        # without a caption, a source text counts as one, except beside the name of a system
        caption, system = record.get("caption") or text, str(record.get("system") or "").strip()
        if system and "caption" in columns and is_blank(record.get("caption")):
            caption = ""
        if caption is not None:
            tallies[system, ""].add(image, str(caption))
        return
    if text is not None:
        tallies["", ""].add(image, str(text))
    for column in columns:
        cell = record.values.get(column)
        if column in STANDARD_NAMES or not isinstance(cell, str):
            continue
        if cell.strip() or not PEOPLE_COLUMN.fullmatch(column):
            tallies["", column].add(image, cell)


def _merge_tallies(tallies: Sequence[_SourceTally]) -> _SourceTally:
    joined = _SourceTally()
    for tally in tallies:
        joined.images |= tally.images
        joined.caption_count += tally.caption_count
        joined.first_rows = (joined.first_rows + tally.first_rows)[:ROWS_SHOWN]
    return joined
