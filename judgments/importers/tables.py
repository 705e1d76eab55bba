"""Read tables of any format as datasets, inputs of HIT templates, and candidates.

`read_table` detects JSON lines, CSV, a JSON list, an Excel workbook or Parquet by a file's first bytes. A workbook's
XML is read as a stream, without a tree, within the limits of archives; Parquet by a process of its own. Neither is
read in a request.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import PlainValidator

from common.incoming import HEAD, READ_AT_ONCE, Excess, check_head, quoted
from common.incoming.apart import parquet_rows
from common.incoming.archives import DAMAGE_OF_WORKBOOKS, workbook_rows
from common.texts import one_text, parting
from judgments.importers.names import NamesOfImages
from judgments.importers.records import (
    IF_TITLE,
    NAME_LIMIT,
    SEPARATORS,
    SHORT_NAME_LIMIT,
    Address,
    BadValue,
    BoxRow,
    CandidateRow,
    CandidateSource,
    Columns,
    DatasetSource,
    DocumentRow,
    ImageName,
    ImageRow,
    InputRow,
    Name,
    Record,
    RecordReader,
    ReferenceRow,
    Shape,
    TitledRow,
    is_blank,
    json_cell,
    read_csv,
    read_document,
    read_image,
    read_json_lines,
    read_name,
    read_number,
    read_text,
)
from judgments.importers.textio import ImportNotes, ImportProblem, read_head, read_lines, unreadable

DATASET_COLUMNS = Columns(
    ("image", "caption"),
    ("caption_id", "split", "url", "text", "boxes", "image_width", "image_height", "document", "text_title"),
    instead={"caption": ("text",)},
)

PAIR_COLUMNS = Columns(("image", "caption"))

INPUTS = Columns((), loose=True)

# What a system names of an image, and what separates its names in a cell.
CONTENTS = {"boxes": r"[\s;]+", "keywords": ";"}

CANDIDATE_COLUMNS = Columns(
    ("image", "caption"),
    ("rank", "score", "system", "text", *CONTENTS),
    instead={"image": ("text",), "caption": tuple(CONTENTS)},
)

STANDARD = {*DATASET_COLUMNS.optional, *DATASET_COLUMNS.required, *CANDIDATE_COLUMNS.optional}

MOST_TEXT = 100_000  # characters of an image's text

MOST_BOXES = 100

MOST_NAMES = 1_000  # that a system gives for an image

SIZE = ("image_width", "image_height")

KEYS = ("id", "label", "x", "y", "width", "height")

BEYOND = 0.005  # share of a side by which boxes may exceed the picture; they are clipped

DECIMALS = 6

# Of the inputs of HIT templates:
PICTURE = "picture"

MOST_INPUTS = 200

MOST_CELL = 100_000

LONGEST_COLUMN = 100

_SPLIT = re.compile(r"[^\s/\\]{1,20}")

_BOX = Shape(BoxRow)

read_caption = partial(read_text, expected="a caption")


def _split(value: Any) -> str:
    split = read_name(value)
    if not _SPLIT.fullmatch(split):
        raise BadValue(quoted(split), "a word such as train, dev or test (at most 20 letters)")
    return split


def _long_text(value: Any) -> str:
    text = read_text(value)
    if len(text) > MOST_TEXT:
        raise BadValue(f"{len(text):,} characters", f"at most {MOST_TEXT:,}")
    return text


@dataclass(frozen=True, slots=True)
class _AboutImage:
    """A record's image columns; captions are separate, as an image with a text needs none."""

    image: ImageName
    text: Annotated[str, PlainValidator(_long_text)] = ""
    boxes: tuple[BoxRow, ...] = ()
    split: Annotated[str, PlainValidator(_split)] | None = None
    url: Address | None = None
    caption_id: Name | None = None
    document: Name | None = None
    text_title: Annotated[str, PlainValidator(_long_text)] = ""


_ABOUT = Shape(_AboutImage, passed=("boxes",))


class TableDataset(DatasetSource):
    """References from JSON lines or CSV with `image, caption` and optionally `caption_id, split, url, document`.

    Images may have `boxes`, and a `text`, with which they need no caption. Memory holds each image's first record
    (digests of long values), its count and two 64-bit digests per caption.

    With `images_alone` the captions are a system's, and only name the images.
    """

    def __init__(
        self,
        path: Path,
        encoding: str | None = None,
        *,
        records: RecordReader,
        images_alone: bool = False,
    ) -> None:
        super().__init__(path, encoding)
        self._records = records
        self._images_alone = images_alone

    def rows(self) -> Iterator[ReferenceRow | ImageRow]:
        register = CaptionRegister(self.notes)
        about: dict[str, _FirstRecord] = {}
        silent: set[str] = set()
        read = self._read(
            self._records,
            DATASET_COLUMNS,
            lambda record: list(self._rows_of(record, about, silent, register)),
        )
        yield from chain.from_iterable(read)
        self.notes.count("text-alone", len(silent))
        self.notes.count("images-alone", len(about) if self._images_alone else 0)
        if not about:
            raise ImportProblem(self.path, None, None, "no captions", "at least one record")

    def _rows_of(
        self, record: Record, about: dict[str, _FirstRecord], silent: set[str], register: CaptionRegister
    ) -> Iterator[ReferenceRow | ImageRow]:
        row = _ABOUT.read(record, boxes=boxes_of(record) or ())
        image = row.image
        if image not in about:
            about[image] = _FirstRecord.of(row)
            if row.text_title and not row.text:
                raise record.problem("text_title", quoted(row.text_title), "a text beside its title")
            whole = (image, row.text, row.boxes, row.split, row.url)
            if row.text_title:
                yield TitledRow(*whole, row.document or "", row.text_title)
            elif row.document:
                yield DocumentRow(*whole, row.document)
            elif row.text or row.boxes or self._images_alone:
                yield ImageRow(*whole)
        else:
            about[image].check(record, row)
        if self._images_alone:
            return
        if record.get("caption") is None and about[image].text:
            if not register.position(image):
                silent.add(image)
            return
        silent.discard(image)
        text = record.read("caption", read_caption)
        position = register.position(image)
        caption_id = row.caption_id or f"{image}#{position}"
        if register.add(record, caption_id, image, text):
            yield ReferenceRow(image, text, caption_id, position, about[image].split, about[image].url)


@dataclass(frozen=True, slots=True)
class _FirstRecord:
    """An image's first record; later ones may repeat it or be empty."""

    split: str | None
    url: str | None
    document: str | None
    text: int
    text_title: int
    boxes: int

    @classmethod
    def of(cls, row: _AboutImage) -> _FirstRecord:
        text, title = (hash(one_text(part)) if part else 0 for part in (row.text, row.text_title))
        return cls(row.split, row.url, row.document, text, title, hash(row.boxes) if row.boxes else 0)

    def check(self, record: Record, row: _AboutImage) -> None:
        for column, before, now in (
            ("split", self.split, row.split),
            ("url", self.url, row.url),
            ("document", self.document, row.document),
        ):
            if now is not None and now != before:
                raise record.problem(column, quoted(now), f"{quoted(before)} as before for this image")
        later = _FirstRecord.of(row)
        for column in ("text", "text_title", "boxes"):
            before, again = getattr(self, column), getattr(later, column)
            if again and again != before:
                expected = (
                    "the same as in the image's first record" if before else "it in the image's first record"
                )
                raise record.problem(column, "something else than before", expected)


class CaptionRegister:
    """Find repeated captions by 64-bit digests of ids and texts."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._by_id: dict[int, int] = {}
        self._texts: set[int] = set()
        self._counts: Counter[str] = Counter()

    def position(self, image: str) -> int:
        return self._counts[image]

    def add(self, record: Record, caption_id: str, image: str, text: str, column: str = "caption_id") -> bool:
        """Return whether the caption is new; refuse a used id."""
        key, content = hash(caption_id), hash((image, one_text(text)))
        if key in self._by_id:
            if self._by_id[key] != content:
                expected = "every id once, or again with the same image and text"
                raise record.problem(column, f"{quoted(caption_id)} a second time", expected)
            self._notes.count("repeated-line")
            return False
        self._by_id[key] = content
        if content in self._texts:
            self._notes.count("repeated-caption")
        self._texts.add(content)
        self._counts[image] += 1
        return True


def numbering_items(read: RecordReader) -> RecordReader:
    """Return a reader that names the items of a table without a column `image` by their source texts.

    Items are ``text-1``, ``text-2``, ... in the order of the file. Rows with equal texts are about one item, unless a
    system gives something else for the same text: that is another.
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
class Taken:
    """The part of a table that is one system's captions, or people's.

    Attributes:
        only: rows with this `system`; "" for those without one; None for all rows.
        columns: columns that hold a caption each, instead of `caption`.
        of_system: whether they are a system's, so that an empty cell is an empty output.
        images_alone: whether a dataset gets the images without their captions.
    """

    only: str | None = None
    columns: tuple[str, ...] = ()
    images_alone: bool = False
    of_system: bool = False

    def of(self, records: RecordReader) -> RecordReader:
        def read(path: Path, wanted: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
            if self.columns:
                yield from self._from_columns(records, path, wanted, encoding)
            elif self.only is None:
                yield from records(path, wanted, notes, encoding)
            else:
                several = replace(wanted, optional=tuple({*wanted.optional, "system"}))
                for record in records(path, several, notes, encoding):
                    if str(record.get("system") or "").strip() == self.only:
                        left_out = (
                            ("system", "boxes") if self.only and _defines_boxes(record) else ("system",)
                        )
                        values = {name: cell for name, cell in record.values.items() if name not in left_out}
                        yield replace(record, values=values)

        return read

    def _from_columns(
        self, records: RecordReader, path: Path, wanted: Columns, encoding: str | None
    ) -> Iterator[Record]:
        optional = (*wanted.optional, *self.columns)
        wide = Columns(("image",), optional, loose=True, instead=wanted.instead)
        for record in records(path, wide, ImportNotes(), encoding):
            shared = {"image", *wanted.optional}
            shared -= set(CONTENTS) if self.of_system else set()  # boxes are the dataset's there
            about = {name: value for name, value in record.values.items() if name in shared}
            for column in self.columns:
                if column in record.values if self.of_system else not is_blank(record.values.get(column)):
                    values = {**about, "caption": record.values[column]}
                    yield replace(record, values=values, origins={"caption": column})


def _defines_boxes(record: Record) -> bool:
    """Return whether a row has the boxes of its image, as in a dataset, and not what a system names of them."""
    boxes = record.get("boxes")
    return "{" in boxes if isinstance(boxes, str) else any(isinstance(box, dict) for box in boxes or ())


ALL = Taken()

MOST_LOOKED_AT = 1_000  # records that tell whether a file names systems


def systems_named(read: RecordReader, path: Path, encoding: str | None) -> list[str]:
    """Return who wrote the captions of a table, by its column `system`, in order; "" for people."""
    systems: dict[str, None] = {}
    optional = (*DATASET_COLUMNS.required, *DATASET_COLUMNS.optional, *CANDIDATE_COLUMNS.optional)
    for number, record in enumerate(read(path, Columns((), optional, loose=True), ImportNotes(), encoding)):
        if record.textual and "system" not in (record.values.keys() | record.origins.keys()):
            return []
        systems[str(record.get("system") or "").strip()] = None
        if number == MOST_LOOKED_AT and not any(systems):
            return []
    return list(systems)


def boxes_of(record: Record) -> tuple[BoxRow, ...] | None:
    """Return a record's boxes, as shares of the picture's sides from the upper left corner.

    Boxes in pixels need the columns `image_width` and `image_height`.
    """
    if record.get("boxes") is None:
        return None
    expected = 'a list of {"id", "label", "x", "y", "width", "height"}'
    listed = json_cell(record, "boxes")
    if not isinstance(listed, list):
        raise record.problem("boxes", quoted(listed), expected)
    if len(listed) > MOST_BOXES:
        raise record.problem("boxes", f"{len(listed):,} boxes", f"at most {MOST_BOXES}")
    size = _size(record)
    boxes: dict[str, BoxRow] = {}
    for index, entry in enumerate(listed):
        where = f"boxes[{index}]"
        if not isinstance(entry, dict):
            raise record.problem(where, quoted(entry), expected)
        box = _box(Record(record.file, record.line, entry, path=where), size)
        if box.id in boxes:
            raise record.problem(f"{where}.id", f"{quoted(box.id)} a second time", "every id once an image")
        boxes[box.id] = box
    return tuple(boxes.values())


def _size(record: Record) -> tuple[float, float] | None:
    width, height = (_side(record, name) for name in SIZE)
    if (width is None) != (height is None):
        missing = SIZE[1 if height is None else 0]
        raise record.problem(missing, "nothing", "both sides of the picture, or none")
    return None if width is None or height is None else (width, height)


def _side(record: Record, name: str) -> float | None:
    if record.get(name) is None:
        return None
    side = record.read(name, lambda value: read_number(value, record.textual))
    if side <= 0:
        raise record.problem(name, quoted(side), "the picture's size in pixels")
    return side


def _box(record: Record, size: tuple[float, float] | None) -> BoxRow:
    for name in KEYS:
        if name not in record.values:
            raise record.problem(name, "no such key", "it in every box")
    for name in record.values:
        if name not in KEYS:
            raise record.problem(None, f"the unknown key {quoted(name)}", f"one of {', '.join(KEYS)}")
    box = _BOX.read(record)
    x, width = _within(record, ("x", "width"), box.x, box.width, size and size[0])
    y, height = _within(record, ("y", "height"), box.y, box.height, size and size[1])
    return replace(box, x=x, y=y, width=width, height=height)


def _within(
    record: Record, names: tuple[str, str], start: float, length: float, pixels: float | None
) -> tuple[float, float]:
    """Return (start, length) as shares of a side; `pixels` is its length for pixel boxes."""
    side = pixels or 1.0
    if length <= 0:
        raise record.problem(names[1], quoted(length), "more than 0")
    if start < -BEYOND * side or start + length > (1 + BEYOND) * side:
        expected = (
            f"pixels from 0 to {side:g}"
            if pixels
            else "shares of the picture's side from 0 to 1 (boxes in pixels need columns image_width and image_height)"
        )
        raise record.problem(names[0], f"{start:g} to {start + length:g}", expected)
    first, last = max(0.0, start / side), min(1.0, (start + length) / side)
    return round(first, DECIMALS), round(last - first, DECIMALS)


class InputTable(DatasetSource):
    """CSV with a column per `${field}` of a HIT template and a row per task, as for MTurk and Turkle.

    Column names are case-sensitive. A column `picture` names the row's picture, if pictures are imported.
    """

    def rows(self) -> Iterator[InputRow]:
        """Yield records named by number: `row-1`."""
        count = 0
        for count, record in enumerate(read_csv(self.path, INPUTS, self.notes, self._encoding), 1):
            if count == 1:
                self._check_names(list(record.values))
            yield self._row(count, record)
        if not count:
            raise ImportProblem(self.path, None, None, "no rows", "one row of inputs at least")

    def _check_names(self, names: list[str]) -> None:
        if len(names) > MOST_INPUTS:
            raise ImportProblem(self.path, 1, None, f"{len(names)} columns", f"at most {MOST_INPUTS}")
        for name in names:
            Record(self.path, 1, {"": name}).read(
                "", lambda value: read_name(value, "a name for every column", LONGEST_COLUMN)
            )

    def _row(self, number: int, record: Record) -> InputRow:
        for name, cell in record.values.items():
            if len(cell) > MOST_CELL:
                raise record.problem(name, f"a cell of {len(cell):,} characters", f"at most {MOST_CELL:,}")
        picture = record.values.get(PICTURE, "").strip()
        file = record.read(PICTURE, read_image) if picture and "://" not in picture else None
        return InputRow(f"row-{number}", tuple(record.values.items()), file=file)


def read_pairs(path: Path) -> Iterator[tuple[str, str]]:
    first = next((line for _, line in read_lines(path) if not line.isspace()), "")
    records = read_json_lines if first.lstrip().startswith("{") else read_csv
    is_empty = True
    for record in records(path, PAIR_COLUMNS, ImportNotes(), None):
        is_empty = False
        caption = record.read("caption", lambda value: read_text(value, "a caption's id or text"))
        yield record.read("image", read_image), caption
    if is_empty:
        raise ImportProblem(path, None, None, "no pairs", "at least one record")


class TableCandidates(CandidateSource):
    """One system's captions: `image, caption`, optionally `rank, score`; or the `boxes` and `keywords` that it names.

    Several captions of an image need distinct ranks. A `system` column must name one system. Without `image`, `text`
    names the items by their source texts; where several items have one, what is said of it in turn is about each.

    Attributes:
        items_of: source text in one form -> names of the dataset's items with it.
        boxes_of: image -> ids of its boxes in the dataset; None takes any.
    """

    shape = Shape(CandidateRow, columns={"text": "caption"})
    items_of: Callable[[str], Sequence[str]] | None = None
    boxes_of: Callable[[str], Collection[str]] | None = None

    def __init__(
        self,
        path: Path,
        encoding: str | None = None,
        *,
        records: RecordReader,
        match_names: bool = False,
    ) -> None:
        super().__init__(path, encoding)
        self._records = records
        self._match_names = match_names

    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]:
        register = CandidateRegister(self.notes, images, self._text_of)
        names = NamesOfImages(images) if self._match_names and isinstance(images, Iterable) else None
        outputs: defaultdict[str, dict[int, int]] = defaultdict(dict)
        system: str | None = None

        def new_row(record: Record) -> CandidateRow | None:
            nonlocal system
            if record.get("system") is not None:
                name = record.read("system", lambda value: read_name(value, limit=SHORT_NAME_LIMIT))
                if system is None:
                    self.notes.count("file-names-system", detail=name)
                elif name != system:
                    expected = f"one system a file, as {quoted(system)} before"
                    raise record.problem("system", quoted(name), expected)
                system = name
            if "image" not in record.values:
                record = self._with_item(record, outputs)
            kinds = [kind for kind in CONTENTS if kind in record.values]
            says = "caption" in record.values or not kinds
            row = self.shape.read(record) if says else CandidateRow(record.read("image", read_image), "")
            if names is not None and images is not None and row.image not in images:
                row = replace(row, image=names.name_of(row.image))
            register.check_image(record, row.image)
            for kind in kinds:
                self._add_content(record, row.image, kind)
            return row if says and register.add(record, row) else None

        yield from filter(None, self._read(self._records, CANDIDATE_COLUMNS, new_row))
        if not self.contents:
            register.finish(self.path)

    def _add_content(self, record: Record, image: str, kind: str) -> None:
        """Take what a row names of an image; of several rows of an image, others may repeat it or be empty."""
        listed = self._names_in(record, kind)
        if kind == "boxes" and listed and self.boxes_of is not None:
            there = self.boxes_of(image)
            for name in listed:
                if name not in there:
                    expected = f"boxes of image {quoted(image)}: {', '.join(there) or 'it has none'}"
                    raise record.problem(kind, quoted(name), expected)
        before = self.contents.get((image, kind), ())
        if before and listed and before != listed:
            raise record.problem(
                kind, f"other {kind} of image {quoted(image)} than before", "one list an image"
            )
        self.contents[image, kind] = before or listed

    def _names_in(self, record: Record, kind: str) -> tuple[str, ...]:
        cell = record.get(kind)
        if isinstance(cell, str) and (record.textual or record.json_texts):
            in_json = cell.lstrip().startswith("[")
            cell = json_cell(record, kind) if in_json else re.split(CONTENTS[kind], cell)
            cell = [name for name in cell if not is_blank(name)] if isinstance(cell, list) else cell
        if cell is None:
            return ()
        if not isinstance(cell, list) or len(cell) > MOST_NAMES:
            actual = f"{len(cell):,} of them" if isinstance(cell, list) else quoted(cell)
            raise record.problem(kind, actual, f"a list of at most {MOST_NAMES:,} {kind}, or nothing")
        read = _box_id if kind == "boxes" else _keyword
        try:
            return tuple(dict.fromkeys(map(read, cell)))
        except BadValue as unfit:
            raise record.problem(kind, unfit.actual, unfit.expected) from None

    def _text_of(self, image: str, rank: int) -> str | None:
        """Return the first caption that the file has there; None if its rows do not name items."""
        for record in self._records(self.path, CANDIDATE_COLUMNS, ImportNotes(), self._encoding):
            with suppress(ImportProblem):
                row = self.shape.read(record)
                if "caption" in record.values and (row.image, row.rank or 1) == (image, rank):
                    return row.text
        return None

    def _with_item(self, record: Record, outputs: defaultdict[str, dict[int, int]]) -> Record:
        text = one_text(record.read("text", read_text))
        items = self.items_of(text) if self.items_of is not None else ()
        if not items:
            raise record.problem(
                "text", quoted(record.get("text")), "the source text of an item of the dataset"
            )
        before = outputs[text]
        said = [record.get(name) for name in ("caption", *CONTENTS)]
        position = before.setdefault(hash(str(said)), len(before))
        image = items[min(position, len(items) - 1)]
        return replace(record, values={**record.values, "image": image})


def _box_id(value: object) -> str:
    return read_name(value, "a box's id", SHORT_NAME_LIMIT)


def _keyword(value: object) -> str:
    keyword = " ".join(read_text(value, "a keyword").split())
    if len(keyword) > NAME_LIMIT:
        raise BadValue(f"a keyword of {len(keyword):,} characters", f"at most {NAME_LIMIT} characters")
    return keyword


class CandidateRegister:
    """Find a second caption of an image and rank. Memory holds a 64-bit digest for each.

    ``text_of`` reads the first one again, which is done once a file.
    """

    def __init__(
        self, notes: ImportNotes, images: Container[str] | None, text_of: Callable[[str, int], str | None]
    ) -> None:
        self._notes = notes
        self._images = images
        self._dataset_images: NamesOfImages | None = None  # read for the first name that is unknown
        self._text_of = text_of
        self._looked_back = False
        self._seen: dict[tuple[str, int], tuple[int | None, int]] = {}

    def check_image(self, record: Record, image: str) -> None:
        """Refuse an image that the dataset has not."""
        if self._images is not None and image not in self._images:
            self._dataset_images = self._dataset_images or NamesOfImages(self._images)
            raise record.problem("image", quoted(image), self._dataset_images.expected(image))

    def add(self, record: Record, row: CandidateRow) -> bool:
        """Return whether the candidate is new; refuse another caption of the same rank."""
        key, content = (row.image, row.rank or 1), hash((one_text(row.text), row.score))
        if key in self._seen:
            line, before = self._seen[key]
            if before != content:
                where = "" if line is None else f" (the first is on line {line})"
                actual = f"a second caption of image {quoted(row.image)}{where}{self._parting(row)}"
                raise record.problem("image", actual, "one caption an image, or ranks that differ")
            self._notes.count("repeated-line")
            return False
        self._seen[key] = (record.line, content)
        return True

    def _parting(self, row: CandidateRow) -> str:
        """Quote where a caption differs from the first one."""
        if self._looked_back:
            return ""
        self._looked_back = True
        text = self._text_of(row.image, row.rank or 1)
        first, second = parting(text or "", row.text)
        return "" if text is None or first == second else f": {first} there and {second} here"

    def finish(self, path: Path) -> None:
        if not self._seen:
            raise ImportProblem(path, None, None, "no candidates", "at least one record")


def read_table(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Read CSV, JSON lines, a JSON list, an Excel workbook or Parquet, whatever the file is."""
    head = read_head(path, READ_AT_ONCE, encoding=encoding).lstrip()
    read = next((reader for start, reader in _BY_START.items() if head.startswith(start)), read_csv)
    return read(path, columns, notes, encoding)


def read_json_list(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
) -> Iterator[Record]:
    """Yield the objects of a JSON document that is a list."""
    for key, number, value, line in read_document(path, encoding):
        if number is not None and isinstance(value, dict):
            columns.check(tuple(value), path, line, notes)
            yield Record(path, line, value, path=f"{key}[{number}]")
        elif number is not None or key:
            actual = "an object" if key else quoted(value)
            raise ImportProblem(path, line, None, actual, "a list of objects")


def read_workbook(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the rows of the first sheet; the first is the header, unless `columns` says which."""
    names: dict[int, str] = {}
    for number, cells in _rows(path):
        if number < columns.header_row:
            continue
        if not names:
            cells = {at: cell for at, cell in cells.items() if cell.strip()}
            listed = columns.header or columns.names_of(cells.values())
            names = dict(zip(range(len(listed)) if columns.header else cells, listed, strict=True))
            if len(set(names.values())) < len(names):
                raise ImportProblem(path, number, None, "a column twice in the header", "every column once")
            columns.check(list(names.values()), path, number, notes)
            if not columns.header:
                continue
        if beyond := [at for at, cell in cells.items() if cell and at not in names]:
            actual = f"{quoted(cells[beyond[0]])} in column {beyond[0] + 1}"
            raise ImportProblem(path, number, None, actual, f"cells below the header alone{IF_TITLE}")
        if any(cells.values()):
            yield Record(path, number, {name: cells.get(at, "") for at, name in names.items()}, textual=True)
    if not names:
        raise ImportProblem(path, None, None, "an empty sheet", "a header and rows")


def _rows(path: Path) -> Iterator[tuple[int, dict[int, str]]]:
    number = None
    try:
        for number, cells in workbook_rows(path):
            yield number, cells
    except Excess as error:
        raise ImportProblem(path, number, None, error.actual, error.expected) from error
    except DAMAGE_OF_WORKBOOKS as error:
        why = str(error).partition("\n")[0][:200] or type(error).__name__
        raise ImportProblem(path, None, None, f"damaged data ({why})", "an Excel workbook (.xlsx)") from error
    except OSError as error:
        raise unreadable(path, error) from error


def first_lines(
    path: Path, encoding: str | None, *, workbook: bool, most: int
) -> Iterator[tuple[int, list[str]]]:
    """Yield the first rows of CSV or of a workbook with their lines, whatever they hold."""
    if workbook:
        for number, cells in islice(_rows(path), most):
            yield number, [cells.get(at, "") for at in range(max(cells, default=-1) + 1)]
        return
    lines = [text for _, text in islice(read_lines(path, encoding=encoding, newline=""), most)]
    separator = max(SEPARATORS, key="".join(lines).count)
    yield from enumerate(csv.reader(lines, delimiter=separator), 1)


def read_parquet(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Yield the rows, numbered from 1."""
    check_head(HEAD + 1)
    number = None
    try:
        rows = parquet_rows(path)
        names = columns.names_of(next(rows))
        columns.check(names, path, None, notes)
        for number, values in enumerate(rows, 1):
            yield Record(path, number, dict(zip(names, values, strict=True)), json_texts=True)
    except Excess as error:
        raise ImportProblem(path, number, None, error.actual, error.expected) from error
    except OSError as error:
        raise unreadable(path, error) from error


_BY_START: dict[str, RecordReader] = {
    "PK\x03\x04": read_workbook,
    "PAR1": read_parquet,
    "[": read_json_list,
    "{": read_json_lines,
}
