"""Read MS COCO's captions, and systems' captions in the layout of its results.

MS COCO is one JSON document. It is read one entry at a time, and twice, since annotations may come before the
images. Errors name a path in the document, such as `annotations[17].caption`, instead of a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from common.incoming import quote_value
from judgments.importers.mapped.mapped_records import mapped_reader
from judgments.importers.mapped.mapping import ColumnMapping
from judgments.importers.problems import ImportProblem
from judgments.importers.records.column_types import Address, ImageName, cached_validator
from judgments.importers.records.json_records import read_document
from judgments.importers.records.record import Record, RowReader
from judgments.importers.records.rows import ReferenceRow
from judgments.importers.records.sources import DatasetSource
from judgments.importers.records.values import read_name, read_text
from judgments.importers.tables.candidates import TableCandidates
from judgments.importers.tables.datasets import CaptionRegister
from judgments.importers.tables.files import read_json_list


@dataclass(frozen=True, slots=True)
class _Image:
    id: ImageName
    file_name: ImageName | None = None
    coco_url: Address | None = None


@dataclass(frozen=True, slots=True)
class _Annotation:
    image_id: Annotated[str, cached_validator(read_name, expected="the id of an image")]
    id: Annotated[str, cached_validator(read_name, expected="the annotation's id")]
    caption: Annotated[str, cached_validator(read_text, expected="a caption")]


_IMAGE_READER, _ANNOTATION_READER = RowReader(_Image), RowReader(_Annotation)
_RESULTS_MAPPING = ColumnMapping(columns={"image": "image_id"})


def open_results(path: Path, encoding: str | None = None) -> TableCandidates:
    """Open a system's captions: a list of objects with `image_id` and `caption`."""
    return TableCandidates(path, encoding, records=mapped_reader(_RESULTS_MAPPING, read_json_list))


class CocoDataset(DatasetSource):
    """MS COCO's captions in JSON. The name of an image is its id, and ``file_name`` names its picture.

    The document is ``{"images": [{"id": 7, "file_name": "7.jpg"}, ...], "annotations": [{"image_id": 7, "id": 1,
    "caption": "A dog runs."}, ...]}``.
    """

    def rows(self) -> Iterator[ReferenceRow]:
        member_names: set[str] = set()
        images: dict[str, _Image] = {}
        for record in self._read_records("images", member_names):
            image = _IMAGE_READER.read(record)
            if images.setdefault(image.id, image) != image:
                raise record.problem("id", f"image {quote_value(image.id)} a second time", "every image once")
        if not {"images", "annotations"} <= member_names:
            # ``read_document`` gives the entries of a document that is a list the name "".
            actual = "a list" if "" in member_names else "a document without both lists"
            raise ImportProblem(self.path, None, None, actual, 'an object with "images" and "annotations"')
        register = CaptionRegister(self.notes)
        captioned_images: set[str] = set()
        for record in self._read_records("annotations", member_names):
            row = _ANNOTATION_READER.read(record)
            if row.image_id not in images:
                raise record.problem(
                    "image_id", quote_value(record.values["image_id"]), 'an id of the list "images"'
                )
            position = register.next_position(row.image_id)
            # A repeated entry is counted by the register, and left out here.
            if register.add(record, row.id, row.image_id, row.caption, column="id"):
                captioned_images.add(row.image_id)
                image = images[row.image_id]
                yield ReferenceRow(
                    row.image_id, row.caption, row.id, position, url=image.coco_url, file=image.file_name
                )
        if not captioned_images:
            raise ImportProblem(self.path, None, "annotations", "an empty list", "at least one caption")
        self.notes.count("no-captions", len(images) - len(captioned_images))

    def _read_records(self, list_name: str, member_names: set[str]) -> Iterator[Record]:
        """Yield the objects of one list of the document. Add the names of all lists to ``member_names``."""
        for key, index, value, line in read_document(self.path, self._encoding):
            member_names.add(key)
            if key == list_name:
                yield from _entry_as_record(self.path, key, index, value, line)


def _entry_as_record(path: Path, name: str, index: int | None, value: object, line: int) -> Iterator[Record]:
    """Yield an entry of a list as a record.

    Yield nothing at the beginning of a list, for which ``read_document`` gives no index and an empty list.
    """
    if index is None and value != []:
        raise ImportProblem(path, line, name, quote_value(value), "a list")
    if index is not None:
        location = f"{name}[{index}]"
        if not isinstance(value, dict):
            raise ImportProblem(path, line, location, quote_value(value), "an object")
        yield Record(path, line, value, path=location)
