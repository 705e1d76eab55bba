"""Read a table as a dataset."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator

from common.incoming import quote_value
from common.texts import one_text
from judgments.importers.records.column_types import Address, ImageName, Name
from judgments.importers.records.columns import RecordReader
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import BoxRow, DocumentRow, ImageRow, ReferenceRow, TitledRow
from judgments.importers.records.sources import DatasetSource
from judgments.importers.records.values import BadCell, read_name, read_text
from judgments.importers.tables.boxes import read_boxes
from judgments.importers.tables.standard_columns import DATASET_COLUMNS
from judgments.importers.textio import ImportNotes, ImportProblem

MAX_TEXT_LENGTH = 100_000  # characters of an image's text

_SPLIT_NAME = re.compile(r"[^\s/\\]{1,20}")

read_caption = partial(read_text, expected="a caption")


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
    """The columns about an image. `rows` reads captions separately, since an image with a text needs no caption."""

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
    """A table with references: `image, caption` and optionally `caption_id, split, url, document`.

    Images may have `boxes` and a `text`. An image with a text needs no caption. Memory holds each image's first record
    (digests of long values), its number of captions, and two 64-bit digests per caption.

    If `images_alone` is set, the captions are a system's and are not read. The rows then only name the images.
    """

    def __init__(
        self, path: Path, encoding: str | None = None, *, records: RecordReader, images_alone: bool = False
    ) -> None:
        super().__init__(path, encoding)
        self._records = records
        self._images_alone = images_alone

    def rows(self) -> Iterator[ReferenceRow | ImageRow]:
        register = CaptionRegister(self.notes)
        first_records: dict[str, _FirstRecord] = {}
        without_caption: set[str] = set()
        row_lists = self._read_rows(
            self._records,
            DATASET_COLUMNS,
            lambda record: list(self._rows_of(record, first_records, without_caption, register)),
        )
        yield from chain.from_iterable(row_lists)
        self.notes.count("text-alone", len(without_caption))
        self.notes.count("images-alone", len(first_records) if self._images_alone else 0)
        if not first_records:
            raise ImportProblem(self.path, None, None, "no captions", "at least one record")

    def _rows_of(
        self,
        record: Record,
        first_records: dict[str, _FirstRecord],
        without_caption: set[str],
        register: CaptionRegister,
    ) -> Iterator[ReferenceRow | ImageRow]:
        """Yield the image's row, if this is its first record, and the caption's row, if it is new."""
        row = _IMAGE_READER.read(record, boxes=read_boxes(record) or ())
        image = row.image
        if image not in first_records:
            first_records[image] = _FirstRecord.from_row(row)
            if row.text_title and not row.text:
                raise record.problem("text_title", quote_value(row.text_title), "a text beside its title")
            values: dict[str, Any] = {
                "image": image,
                "text": row.text,
                "boxes": row.boxes,
                "split": row.split,
                "url": row.url,
            }
            if row.text_title:
                yield TitledRow(**values, document=row.document or "", title=row.text_title)
            elif row.document:
                yield DocumentRow(**values, document=row.document)
            elif row.text or row.boxes or self._images_alone:
                yield ImageRow(**values)
        else:
            first_records[image].check(record, row)
        if self._images_alone:
            return
        first = first_records[image]
        if record.get("caption") is None and first.text:
            if not register.position(image):
                without_caption.add(image)
            return
        without_caption.discard(image)
        text = record.read("caption", read_caption)
        position = register.position(image)
        caption_id = row.caption_id or f"{image}#{position}"
        if register.add(record, caption_id, image, text):
            yield ReferenceRow(image, text, caption_id, position, first.split, first.url)


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
    def from_row(cls, row: _ImageColumns) -> _FirstRecord:
        text, title = (hash(one_text(part)) if part else 0 for part in (row.text, row.text_title))
        boxes = hash(row.boxes) if row.boxes else 0
        return cls(row.split, row.url, row.document, text=text, text_title=title, boxes=boxes)

    def check(self, record: Record, row: _ImageColumns) -> None:
        """Raise ImportProblem if a later record of the image has other values."""
        for column, old_value, new_value in (
            ("split", self.split, row.split),
            ("url", self.url, row.url),
            ("document", self.document, row.document),
        ):
            if new_value is not None and new_value != old_value:
                raise record.problem(
                    column, quote_value(new_value), f"{quote_value(old_value)} as before for this image"
                )
        new_record = _FirstRecord.from_row(row)
        for column in ("text", "text_title", "boxes"):
            old_digest, new_digest = getattr(self, column), getattr(new_record, column)
            if new_digest and new_digest != old_digest:
                expected = "it in the image's first record"
                if old_digest:
                    expected = "the same as in the image's first record"
                raise record.problem(column, "something else than before", expected)


class CaptionRegister:
    """Finds repeated captions by 64-bit digests of ids and texts."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._content_by_id: dict[int, int] = {}
        self._contents: set[int] = set()  # digests of an image and a text
        self._caption_counts: Counter[str] = Counter()  # by image

    def position(self, image: str) -> int:
        """Return the position of the image's next caption, which is the number of its captions so far."""
        return self._caption_counts[image]

    def add(self, record: Record, caption_id: str, image: str, text: str, column: str = "caption_id") -> bool:
        """Return whether the caption is new. Raise ImportProblem if its id has another caption."""
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
