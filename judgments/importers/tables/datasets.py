"""Read a table as a dataset: a row for each caption, with its image and what is known about the image.

Several rows of an image must agree about it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator

from common.incoming import quote_value
from common.texts import one_text
from judgments.importers.notes import ImportNotes
from judgments.importers.problems import ImportProblem
from judgments.importers.records.column_types import Address, ImageName, Name
from judgments.importers.records.columns import RecordReader
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import BoxRow, DocumentRow, ImageRow, ReferenceRow, TitledRow
from judgments.importers.records.sources import DatasetSource
from judgments.importers.records.values import BadCell, read_name, read_text
from judgments.importers.tables.boxes import read_boxes
from judgments.importers.tables.standard_columns import DATASET_COLUMNS

MAX_TEXT_LENGTH = 100_000  # characters of an image's text

_SPLIT_NAME = re.compile(r"[^\s/\\]{1,20}")


def read_caption(value: Any) -> str:
    return read_text(value, "a caption")


def _read_split(value: Any) -> str:
    split = read_name(value)
    if not _SPLIT_NAME.fullmatch(split):
        raise BadCell(quote_value(split), "a word such as train, dev or test (at most 20 letters)")
    return split


def _read_long_text(value: Any) -> str:
    text = read_text(value)
    if len(text) > MAX_TEXT_LENGTH:
        raise BadCell(f"{len(text):,} characters", f"at most {MAX_TEXT_LENGTH:,}")
    return text


@dataclass(frozen=True, slots=True)
class _ImageColumns:
    """The columns of a row except the caption. It is read separately, since an image with a text needs no caption."""

    image: ImageName
    text: Annotated[str, PlainValidator(_read_long_text)] = ""
    boxes: tuple[BoxRow, ...] = ()
    split: Annotated[str, PlainValidator(_read_split)] | None = None
    url: Address | None = None
    caption_id: Name | None = None
    document: Name | None = None
    text_title: Annotated[str, PlainValidator(_read_long_text)] = ""


_IMAGE_READER = RowReader(_ImageColumns, given_fields=("boxes",))


class TableDataset(DatasetSource):
    """A table with references: the columns `image` and `caption`, and optionally `caption_id`, `split` and others.

    Images may have `boxes` and a `text`. An image with a text needs no caption. Memory holds each image's first record
    (digests of long values), its number of captions, and two 64-bit digests per caption.

    If ``images_alone`` is set, the captions are a system's and are not read. The rows then only name the images.
    """

    # what `rows` has read so far
    _register: CaptionRegister
    _first_records: dict[str, _FirstRecord]  # by image
    _images_without_caption: set[str]

    def __init__(
        self, path: Path, encoding: str | None = None, *, records: RecordReader, images_alone: bool = False
    ) -> None:
        super().__init__(path, encoding)
        self._records = records
        self._images_alone = images_alone

    def rows(self) -> Iterator[ReferenceRow | ImageRow]:
        self._register = CaptionRegister(self.notes)
        self._first_records = {}
        self._images_without_caption = set()
        row_lists = self._read_rows(  # lists, so that all errors of a record are raised while it is read
            self._records, DATASET_COLUMNS, lambda record: list(self._rows_of(record))
        )
        yield from chain.from_iterable(row_lists)
        self.notes.count("text-alone", len(self._images_without_caption))
        self.notes.count("images-alone", len(self._first_records) if self._images_alone else 0)
        if not self._first_records:
            raise ImportProblem(self.path, None, None, "no captions", "at least one record")

    def _rows_of(self, record: Record) -> Iterator[ReferenceRow | ImageRow]:
        """Yield the image's row, if this is its first record, and the caption's row, if it is new."""
        columns = _IMAGE_READER.read(record, boxes=read_boxes(record) or ())
        image = columns.image
        if image not in self._first_records:
            self._first_records[image] = _FirstRecord.from_columns(columns)
            if columns.text_title and not columns.text:
                raise record.problem("text_title", quote_value(columns.text_title), "a text beside its title")
            if (image_row := self._image_row(columns)) is not None:
                yield image_row
        else:
            self._first_records[image].check(record, columns)
        if self._images_alone:
            return
        first_record = self._first_records[image]
        position = self._register.next_position(image)
        if record.get("caption") is None and first_record.text:
            if position == 0:
                self._images_without_caption.add(image)
            return
        self._images_without_caption.discard(image)
        text = record.read("caption", read_caption)
        caption_id = columns.caption_id or f"{image}#{position}"
        if self._register.add(record, caption_id, image, text):
            yield ReferenceRow(image, text, caption_id, position, first_record.split, first_record.url)

    def _image_row(self, columns: _ImageColumns) -> ImageRow | None:
        """Return the row of an image with a text, boxes or a document; None if its references say all about it."""
        values: dict[str, Any] = {
            "image": columns.image,
            "text": columns.text,
            "boxes": columns.boxes,
            "split": columns.split,
            "url": columns.url,
        }
        if columns.text_title:
            return TitledRow(**values, document=columns.document or "", title=columns.text_title)
        if columns.document:
            return DocumentRow(**values, document=columns.document)
        if columns.text or columns.boxes or self._images_alone:
            return ImageRow(**values)
        return None


@dataclass(frozen=True, slots=True)
class _FirstRecord:
    """The first record of an image, with digests of long values; 0 is the digest of an empty value.

    Later records must repeat its values or leave them empty.
    """

    split: str | None
    url: str | None
    document: str | None
    text: int
    text_title: int
    boxes: int

    @classmethod
    def from_columns(cls, columns: _ImageColumns) -> _FirstRecord:
        text, title = (hash(one_text(part)) if part else 0 for part in (columns.text, columns.text_title))
        boxes = hash(columns.boxes) if columns.boxes else 0
        return cls(columns.split, columns.url, columns.document, text=text, text_title=title, boxes=boxes)

    def check(self, record: Record, columns: _ImageColumns) -> None:
        """Raise ImportProblem if a later record of the image has other values."""
        for column, old_value, new_value in (
            ("split", self.split, columns.split),
            ("url", self.url, columns.url),
            ("document", self.document, columns.document),
        ):
            if new_value is not None and new_value != old_value:
                raise record.problem(
                    column, quote_value(new_value), f"{quote_value(old_value)} as before for this image"
                )
        new_record = _FirstRecord.from_columns(columns)
        for column in ("text", "text_title", "boxes"):
            old_digest, new_digest = getattr(self, column), getattr(new_record, column)
            if new_digest and new_digest != old_digest:
                expected = "it in the image's first record"
                if old_digest:
                    expected = "the same as in the image's first record"
                raise record.problem(column, "something else than before", expected)


class CaptionRegister:
    """Finds repeated ids and repeated captions, and counts the captions of each image.

    Memory holds 64-bit digests of ids and of captions.
    """

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._content_by_id: dict[int, int] = {}  # by digest of an id, the digest of its image and text
        self._contents: set[int] = set()  # digests of an image and a text
        self._caption_counts: Counter[str] = Counter()  # by image

    def next_position(self, image: str) -> int:
        """Return the position of the image's next caption, from 0."""
        return self._caption_counts[image]

    def add(self, record: Record, caption_id: str, image: str, text: str, column: str = "caption_id") -> bool:
        """Add a caption, and return whether its id is new. Raise ImportProblem if the id has another caption already.

        ``column`` is the column of the id, for the error.
        """
        id_digest, content = hash(caption_id), hash((image, one_text(text)))
        if id_digest in self._content_by_id:
            if self._content_by_id[id_digest] != content:
                expected = "every id once, or again with the same image and text"
                raise record.problem(column, f"{quote_value(caption_id)} a second time", expected)
            self._notes.count("repeated-line")
            return False
        self._content_by_id[id_digest] = content
        if content in self._contents:
            self._notes.count("repeated-caption")
        self._contents.add(content)
        self._caption_counts[image] += 1
        return True
