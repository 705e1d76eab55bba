"""MS COCO's caption files: annotations (references) and results (candidates).

The document is read whole, which needs about six times its size in memory. Problems name a path in it, such as
`annotations[17].caption`, instead of a line.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from judgments.importers.readers import parse_json
from judgments.importers.records import (
    Address,
    CandidateRow,
    CandidateSource,
    CaptionText,
    DatasetSource,
    ImageName,
    Record,
    ReferenceRow,
    Shape,
    name,
    quoted,
)
from judgments.importers.tables import CandidateRegister, CaptionRegister
from judgments.importers.textio import ImportProblem, read_whole


@dataclass(frozen=True, slots=True)
class _Image:
    id: ImageName
    file_name: ImageName | None = None
    coco_url: Address | None = None


@dataclass(frozen=True, slots=True)
class _Annotation:
    image_id: Annotated[str, name("the id of an image")]
    id: Annotated[str, name("the annotation's id")]
    caption: CaptionText


_IMAGE, _ANNOTATION = Shape(_Image), Shape(_Annotation)
_RESULT = Shape(CandidateRow, columns={"image": "image_id", "text": "caption"}, given=("rank", "score"))


class CocoDataset(DatasetSource):
    """Captions JSON: `images` with `id` and `file_name`, `annotations` with `image_id`, `id`, `caption`.

    An image is named by its id, its picture by `file_name`.
    """

    def rows(self) -> Iterator[ReferenceRow]:
        document = _document(self.path, self._encoding)
        if not isinstance(document, dict) or not {"images", "annotations"} <= document.keys():
            found = "a list" if isinstance(document, list) else "a document without both lists"
            raise ImportProblem(self.path, None, None, found, 'an object with "images" and "annotations"')
        images: dict[str, _Image] = {}
        for record in _records(self.path, "images", document["images"]):
            image = _IMAGE.read(record)
            if images.setdefault(image.id, image) != image:
                raise record.problem("id", f"image {quoted(image.id)} a second time", "every image once")
        register = CaptionRegister(self.notes)
        described: set[str] = set()
        for record in _records(self.path, "annotations", document["annotations"]):
            row = _ANNOTATION.read(record)
            if row.image_id not in images:
                raise record.problem(
                    "image_id", quoted(record.values["image_id"]), 'an id of the list "images"'
                )
            position = register.position(row.image_id)
            if register.add(record, row.id, row.image_id, row.caption, column="id"):
                described.add(row.image_id)
                image = images[row.image_id]
                yield ReferenceRow(
                    row.image_id, row.caption, row.id, position, url=image.coco_url, file=image.file_name
                )
        if not described:
            raise ImportProblem(self.path, None, "annotations", "an empty list", "at least one caption")
        self.notes.count("no-captions", len(images) - len(described))


class CocoCandidates(CandidateSource):
    """Results JSON: a list of objects with `image_id` and `caption`, one per image."""

    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]:
        register = CandidateRegister(self.notes, images)
        document = _document(self.path, self._encoding)
        if not isinstance(document, list):
            expected = 'a list of objects with "image_id" and "caption"'
            raise ImportProblem(self.path, None, None, quoted(document), expected)
        for record in _records(self.path, "", document):
            row = _RESULT.read(record)
            if register.add(record, row, column="image_id"):
                yield row
        register.finish(self.path)


def _document(path: Path, encoding: str | None) -> object:
    return parse_json(read_whole(path, encoding=encoding), path, None)


def _records(path: Path, name: str, listed: object) -> Iterator[Record]:
    if not isinstance(listed, list):
        raise ImportProblem(path, None, name, quoted(listed), "a list")
    for number, values in enumerate(listed):
        place = f"{name}[{number}]"
        if not isinstance(values, dict):
            raise ImportProblem(path, None, place, quoted(values), "an object")
        yield Record(path, None, values, path=place)
