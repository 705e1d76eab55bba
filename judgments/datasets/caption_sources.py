"""Find who wrote the captions of a table: people or systems.

An author is a system, or people. Authors have separate rows, which a column `system` tells apart, or a column each::

    image,system,caption            image,nmt,reference
    1.jpg,nmt,A dog                 1.jpg,A dog,A dog runs
    1.jpg,,A dog runs
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judgments.datasets.upload_parts import PEOPLE, SYSTEM, UploadPart
from judgments.importers import TABLE_FORMATS, ImportProblem
from judgments.importers.mapped.mapped_records import mapped_reader
from judgments.importers.notes import ImportNotes
from judgments.importers.records.columns import Columns
from judgments.importers.records.record import Record
from judgments.importers.records.values import is_blank
from judgments.importers.tables.item_names import with_item_names
from judgments.importers.tables.standard_columns import DATASET_COLUMNS

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
class _AuthorTally:
    """Counts the images and captions of one author, and keeps its first pairs of image and caption."""

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
            # show a caption with a letter such as "é", by which a person sees whether the encoding is right
            self.first_rows[-1] = (image, caption[:CHARACTERS_SHOWN])

    def make_part(self, table: UploadPart, **fields: Any) -> UploadPart:
        """Return the part of a table with the captions of this author. ``fields`` are further fields of the part."""
        return replace(
            table, images=len(self.images), captions=self.caption_count, rows=tuple(self.first_rows), **fields
        )


# by system and column: ("nmt", "") for the rows of a system, ("", "nmt") for its column; ("", "") for rows without a
# system or, if each author has a column, for the source texts, which are to be translated
_Tallies = dict[tuple[str, str], _AuthorTally]


def parts_of_table(
    file: Path, table: UploadPart, report_progress: Callable[[], None]
) -> tuple[list[UploadPart], set[str]]:
    """Return a part for each author of the table's captions, and the names of its images.

    ``table`` is the whole table as one part, by people, with its format and encoding. ``report_progress`` raises an
    error if the job was cancelled. Raise ImportProblem if the table has no captions or no items, or too many systems.
    """
    tallies, images, columns = _count_captions(file, table, report_progress)
    if not tallies:
        expected = "a column caption, or a column for each system" if columns else "at least one row"
        raise ImportProblem(file, None, None, "no captions", expected)
    if images == {""}:
        expected = "a column with the name of a picture, an id or a source text in each row"
        raise ImportProblem(file, None, None, "no column of items", expected)
    table = replace(table, texts="text" in columns)
    if _has_column_per_author(columns):
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
    tallies: _Tallies = defaultdict(_AuthorTally)
    images: set[str] = set()
    columns: list[str] = []
    # Columns of systems have any names, so do not refuse names that look like misspelt standard ones.
    image_columns = Columns(("image",), tuple(STANDARD_NAMES - {"image"}), lenient=True)
    for record_index, record in enumerate(read(file, image_columns, ImportNotes(), table.encoding)):
        if record_index >= MAX_RECORDS:
            break
        if record_index % ROWS_PER_REPORT == 0:
            report_progress()
        columns = columns or list(record.values)
        images.add(str(record.get("image") or ""))
        _count_record(record, columns, tallies)
    # leave out a column that has only empty cells; all outputs in the rows of a named system may be empty, however
    nonempty_tallies = {
        (system, column): tally
        for (system, column), tally in tallies.items()
        if system or tally.empty_caption_count < tally.caption_count
    }
    return nonempty_tallies, images, columns


def _parts_of_columns(table: UploadPart, columns: Sequence[str], tallies: _Tallies) -> list[UploadPart]:
    """Return the parts of a table with a column for each author.

    The part with people's captions or, without such captions, the part with the source texts comes first.
    """
    caption_columns = [column for _, column in tallies if column]
    people_columns = [column for column in caption_columns if PEOPLE_COLUMN.fullmatch(column)]
    parts = [
        tallies["", column].make_part(table, role=SYSTEM, system=column, columns=(column,))
        for column in caption_columns
        if column not in people_columns
    ]
    if people_columns:
        people_tally = _merge_tallies([tallies["", column] for column in people_columns])
        parts.insert(0, people_tally.make_part(table, columns=tuple(people_columns)))
    elif ("", "") in tallies:  # source texts that are not all empty
        parts.insert(0, tallies["", ""].make_part(table, sources=True))
    return parts


def _parts_of_rows(table: UploadPart, columns: Sequence[str], tallies: _Tallies) -> list[UploadPart]:
    """Return the parts of a table with a column `caption`, one for each system and one for people.

    If the table names no system, it is one part, whose role is not known yet.
    """
    unused_columns = tuple(column for column in columns if column not in STANDARD_NAMES)[:MAX_SYSTEMS]
    if list(tallies) == [("", "")]:
        return [tallies["", ""].make_part(table, role="", unused=unused_columns)]
    return [
        tally.make_part(
            table,
            role=SYSTEM if system else PEOPLE,
            system=system,
            only=system,  # read only the rows of this system
            unused=unused_columns if part_index == 0 else (),  # list unused columns once per file
        )
        for part_index, ((system, _), tally) in enumerate(tallies.items())
    ]


def _has_column_per_author(columns: Sequence[str]) -> bool:
    """Return whether the table has a column for each author of captions, instead of a column "caption"."""
    return "caption" not in columns and bool(set(columns) - STANDARD_NAMES)


def _count_record(record: Record, columns: Sequence[str], tallies: _Tallies) -> None:
    """Add the captions of a record to the tallies of their authors."""
    image, text = str(record.get("image") or ""), record.get("text")
    if not _has_column_per_author(columns):
        system = str(record.get("system") or "").strip()
        # count a source text in place of a missing caption, so that a table of source texts alone has a part, too
        caption = record.get("caption") or text
        if system and "caption" in columns and is_blank(record.get("caption")):
            caption = ""  # an empty output of a system
        if caption is not None:
            tallies[system, ""].add(image, str(caption))
        return
    if text is not None:
        tallies["", ""].add(image, str(text))
    for column in columns:
        cell = record.values.get(column)
        if column in STANDARD_NAMES or not isinstance(cell, str):  # JSON can have numbers and lists
            continue
        # An empty cell is no caption of people, but the empty output of a system.
        if cell.strip() or not PEOPLE_COLUMN.fullmatch(column):
            tallies["", column].add(image, cell)


def _merge_tallies(tallies: Sequence[_AuthorTally]) -> _AuthorTally:
    merged_tally = _AuthorTally()
    for tally in tallies:
        merged_tally.images |= tally.images
        merged_tally.caption_count += tally.caption_count
        merged_tally.first_rows = (merged_tally.first_rows + tally.first_rows)[:ROWS_SHOWN]
    return merged_tally
