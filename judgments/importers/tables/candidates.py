"""Read a table as the candidates of one system."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from common.incoming import quote_value
from common.texts import one_text, quote_difference
from judgments.importers.names import ImageNames
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.columns import RecordReader
from judgments.importers.records.json_records import json_cell
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import CandidateRow
from judgments.importers.records.sources import CandidateSource
from judgments.importers.records.values import (
    NAME_LIMIT,
    SHORT_NAME_LIMIT,
    BadCell,
    is_blank,
    read_image,
    read_name,
    read_text,
)
from judgments.importers.tables.standard_columns import CANDIDATE_COLUMNS, CONTENT_SEPARATORS

MAX_NAMES = 1_000  # boxes or keywords of a system for one image


class TableCandidates(CandidateSource):
    """A table with one system's captions, or with the boxes and keywords that it names.

    The columns are `image` and `caption`, optionally `rank` and `score`, or `image` with `boxes` or `keywords`. Several
    captions of an image need distinct ranks. A column `system` must have the same system in all rows. If there is no
    column `image`, `text` identifies items by their source texts. If several items have the same text, the rows with
    this text are about these items in turn.

    Attributes:
        items_of: returns the names of the dataset's items with a source text in normal form; None without a dataset.
        boxes_of: returns the ids of an image's boxes in the dataset; None to accept any id.
    """

    reader = RowReader(CandidateRow, columns={"text": "caption"})  # a row's text is its caption
    items_of: Callable[[str], Sequence[str]] | None = None
    boxes_of: Callable[[str], Collection[str]] | None = None

    # what `candidates` has read so far: the system that rows name, and the ordinals of outputs by source text and hash
    _system: str | None
    _ordinals_by_text: defaultdict[str, dict[int, int]]

    def __init__(
        self, path: Path, encoding: str | None = None, *, records: RecordReader, match_names: bool = False
    ) -> None:
        super().__init__(path, encoding)
        self._records = records
        self._match_names = match_names  # whether image names may differ in case, blanks and ending

    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]:
        self._system = None
        self._ordinals_by_text = defaultdict(dict)
        register = CandidateRegister(self.notes, self._text_of)
        image_names = ImageNames(images)

        def read_new_row(record: Record) -> CandidateRow | None:
            """Return the caption of a record; None if it has no caption, or repeats one. Store boxes and keywords."""
            self._check_system(record)
            if "image" not in record.values:
                record = self._add_image(record)
            kinds = [kind for kind in CONTENT_SEPARATORS if kind in record.values]
            has_caption = "caption" in record.values or not kinds
            row = self.reader.read(record) if has_caption else _read_row_without_caption(record)
            if self._match_names:
                row = replace(row, image=image_names.name_of(row.image))
            image_names.check(record, row.image)
            for kind in kinds:
                self._add_content(record, row.image, kind)
            return row if has_caption and register.add(record, row) else None

        yield from filter(None, self._read_rows(self._records, CANDIDATE_COLUMNS, read_new_row))
        if not self.contents:
            register.check_not_empty(self.path)

    def _check_system(self, record: Record) -> None:
        """Note the first name of the system. Raise ImportProblem for another name."""
        if record.get("system") is None:
            return
        name = record.read("system", lambda value: read_name(value, limit=SHORT_NAME_LIMIT))
        if self._system is None:
            self.notes.count("file-names-system", detail=name)
        elif name != self._system:
            expected = f"one system a file, as {quote_value(self._system)} before"
            raise record.problem("system", quote_value(name), expected)
        self._system = name

    def _add_content(self, record: Record, image: str, kind: str) -> None:
        """Store the boxes or keywords of a row. Further rows of the image must repeat them or be empty."""
        names = self._read_names(record, kind)
        if kind == "boxes" and names and self.boxes_of is not None:
            box_ids = self.boxes_of(image)
            for name in names:
                if name not in box_ids:
                    expected = f"boxes of image {quote_value(image)}: {', '.join(box_ids) or 'it has none'}"
                    raise record.problem(kind, quote_value(name), expected)
        earlier_names = self.contents.get((image, kind), ())
        if earlier_names and names and earlier_names != names:
            raise record.problem(
                kind, f"other {kind} of image {quote_value(image)} than before", "one list an image"
            )
        self.contents[image, kind] = earlier_names or names

    def _read_names(self, record: Record, kind: str) -> tuple[str, ...]:
        """Return the ids of boxes or the keywords in a cell: a list, JSON of a list, or a text such as ``dog; cat``."""
        cell = record.get(kind)
        if isinstance(cell, str) and (record.textual or record.json_texts):  # lists are texts, as in CSV
            is_json = cell.lstrip().startswith("[")
            cell = json_cell(record, kind) if is_json else re.split(CONTENT_SEPARATORS[kind], cell)
            if isinstance(cell, list):
                cell = [name for name in cell if not is_blank(name)]
        if cell is None:
            return ()
        if not isinstance(cell, list) or len(cell) > MAX_NAMES:
            actual = f"{len(cell):,} of them" if isinstance(cell, list) else quote_value(cell)
            raise record.problem(kind, actual, f"a list of at most {MAX_NAMES:,} {kind}, or nothing")
        read_entry = _read_box_id if kind == "boxes" else _read_keyword
        try:
            return tuple(dict.fromkeys(map(read_entry, cell)))
        except BadCell as bad_cell:
            raise record.problem(kind, bad_cell.actual, bad_cell.expected) from None

    def _text_of(self, image: str, rank: int) -> str | None:
        """Return the file's first caption for an image and rank; None if no row names the image."""
        for record in self._records(self.path, CANDIDATE_COLUMNS, ImportNotes(), self._encoding):
            with suppress(ImportProblem):
                row = self.reader.read(record)
                if "caption" in record.values and (row.image, row.rank or 1) == (image, rank):
                    return row.text
        return None

    def _add_image(self, record: Record) -> Record:
        """Return a record with the image that its source text identifies.

        The n-th distinct output for a text belongs to the n-th item with the text, or to the last such item.
        """
        text = one_text(record.read("text", read_text))
        items = self.items_of(text) if self.items_of is not None else ()
        if not items:
            raise record.problem(
                "text", quote_value(record.get("text")), "the source text of an item of the dataset"
            )
        ordinals = self._ordinals_by_text[text]
        output = [record.get(name) for name in ("caption", *CONTENT_SEPARATORS)]
        ordinal = ordinals.setdefault(hash(str(output)), len(ordinals))
        image = items[min(ordinal, len(items) - 1)]
        return replace(record, values={**record.values, "image": image})


def _read_row_without_caption(record: Record) -> CandidateRow:
    return CandidateRow(record.read("image", read_image), "")


def _read_box_id(value: object) -> str:
    return read_name(value, "a box's id", SHORT_NAME_LIMIT)


def _read_keyword(value: object) -> str:
    keyword = " ".join(read_text(value, "a keyword").split())
    if len(keyword) > NAME_LIMIT:
        raise BadCell(f"a keyword of {len(keyword):,} characters", f"at most {NAME_LIMIT} characters")
    return keyword


class CandidateRegister:
    """Finds a second caption of an image at the same rank. Memory holds 64-bit digests of captions.

    Args:
        text_of: returns the first caption of an image at a rank, or None, by reading the file again, at most once.
    """

    def __init__(self, notes: ImportNotes, text_of: Callable[[str, int], str | None]) -> None:
        self._notes = notes
        self._text_of = text_of
        self._has_reread_file = False
        # the line and the content's digest of each caption, by image and rank
        self._first_captions: dict[tuple[str, int], tuple[int | None, int]] = {}

    def add(self, record: Record, row: CandidateRow) -> bool:
        """Add a candidate, and return whether it is new. Raise ImportProblem if its rank has another caption."""
        key = (row.image, row.rank or 1)
        content_digest = hash((one_text(row.text), row.score))
        if key in self._first_captions:
            line, earlier_digest = self._first_captions[key]
            if earlier_digest != content_digest:
                location = "" if line is None else f" (the first is on line {line})"
                difference = self._quote_difference(row)
                actual = f"a second caption of image {quote_value(row.image)}{location}{difference}"
                raise record.problem("image", actual, "one caption an image, or ranks that differ")
            self._notes.count("repeated-line")
            return False
        self._first_captions[key] = (record.line, content_digest)
        return True

    def _quote_difference(self, row: CandidateRow) -> str:
        """Quote the stored and the new caption from where they first differ, for an error message.

        Return "" after the first call, since each call would read the file again.
        """
        if self._has_reread_file:
            return ""
        self._has_reread_file = True
        text = self._text_of(row.image, row.rank or 1)
        earlier_quote, quote = quote_difference(text or "", row.text)
        return "" if text is None or earlier_quote == quote else f": {earlier_quote} there and {quote} here"

    def check_not_empty(self, path: Path) -> None:
        """Raise ImportProblem if the file had no candidates."""
        if not self._first_captions:
            raise ImportProblem(path, None, None, "no candidates", "at least one record")
