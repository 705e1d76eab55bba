"""MS COCO's caption files: annotations (references) and results (candidates).

A JSON document is read as a whole, which needs some six times the file's size in memory; COCO's own
largest caption file (67 MB) fits. Records have no line of their own, so a problem names their place in the
document instead, such as `annotations[17].caption`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import Fields, shown
from judgments.importers.notes import ImportNotes
from judgments.importers.records import CandidateRow, PairRow, ReferenceRow
from judgments.importers.tables import CandidateRegister, CaptionRegister, parse_json
from judgments.importers.textio import read_whole


class _Place(Fields):
    """Fields of an object inside a document: problems name the path to it."""

    __slots__ = ("path",)

    def __init__(self, file: Path, path: str, values: dict[str, object]) -> None:
        super().__init__(file, None, values, textual=False)
        self.path = path

    def where(self, column: str | None) -> str | None:
        return self.path if column is None else f"{self.path}.{column}"


class CocoDataset:
    """Captions JSON: `images` with `id` and `file_name`, `annotations` with `image_id`, `id`, `caption`.

    An image is named by its id, as in results files; its picture by `file_name`.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self._encoding = encoding

    def pairs(self) -> Iterator[PairRow]:
        """No candidate pairs: the format has none."""
        return iter(())

    def rows(self) -> Iterator[ReferenceRow]:
        """Captions are all it has."""
        return self.references()

    def references(self) -> Iterator[ReferenceRow]:
        document = _document(self.path, self._encoding)
        if not isinstance(document, dict) or not {"images", "annotations"} <= document.keys():
            found = "a list" if isinstance(document, list) else "a document without both lists"
            raise ImportProblem(self.path, None, None, found, 'an object with "images" and "annotations"')
        images = self._images(document["images"])
        register = CaptionRegister(self.notes)
        described: set[str] = set()
        for fields in _objects(self.path, "annotations", document["annotations"]):
            image = fields.name("image_id", "the id of an image")
            if image not in images:
                raise fields.problem(
                    "image_id", shown(fields.values["image_id"]), 'an id of the list "images"'
                )
            caption_id = fields.name("id", "the annotation's id")
            text = fields.text("caption", "a caption")
            position = register.position(image)
            if register.add(fields, caption_id, image, text, column="id"):
                described.add(image)
                file, url = images[image]
                yield ReferenceRow(image, text, caption_id, position, url=url, file=file)
        if not described:
            raise ImportProblem(self.path, None, "annotations", "an empty list", "at least one caption")
        self.notes.count("no-captions", len(images) - len(described))

    def _images(self, listed: object) -> dict[str, tuple[str | None, str | None]]:
        images: dict[str, tuple[str | None, str | None]] = {}
        for fields in _objects(self.path, "images", listed):
            image = fields.image("id")
            file = fields.image("file_name") if fields.has("file_name") else None
            about = (file, fields.address("coco_url"))
            if images.setdefault(image, about) != about:
                raise fields.problem("id", f"image {shown(image)} a second time", "every image once")
        return images


class CocoCandidates:
    """Results JSON: a list of objects with `image_id` and `caption`, one an image."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self._encoding = encoding

    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]:
        """The rows; with `images`, an image outside them is a problem."""
        register = CandidateRegister(self.notes, images)
        document = _document(self.path, self._encoding)
        if not isinstance(document, list):
            expected = 'a list of objects with "image_id" and "caption"'
            raise ImportProblem(self.path, None, None, shown(document), expected)
        for fields in _objects(self.path, "", document):
            row = CandidateRow(fields.image("image_id"), fields.text("caption", "a caption"))
            if register.add(fields, row, column="image_id"):
                yield row
        register.finish(self.path)


def _document(path: Path, encoding: str | None) -> object:
    return parse_json(read_whole(path, encoding=encoding), path, None)


def _objects(path: Path, name: str, listed: object) -> Iterator[_Place]:
    if not isinstance(listed, list):
        raise ImportProblem(path, None, name, shown(listed), "a list")
    for number, values in enumerate(listed):
        place = f"{name}[{number}]"
        if not isinstance(values, dict):
            raise ImportProblem(path, None, place, shown(values), "an object")
        yield _Place(path, place, values)
