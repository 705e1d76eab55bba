"""JSON lines and CSV: datasets, candidates, and the record readers that other formats build on."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from judgments.importers.boxes import boxes_of
from judgments.importers.errors import ImportProblem
from judgments.importers.fields import SHORT_NAME_LIMIT, Columns, Fields, counted, shown
from judgments.importers.notes import ImportNotes
from judgments.importers.records import CandidateRow, ImageRow, PairRow, ReferenceRow
from judgments.importers.textio import read_lines

DATASET_COLUMNS = Columns(
    ("image", "caption"),
    ("caption_id", "split", "url", "text", "boxes", "image_width", "image_height"),
    instead={"caption": "text"},
)
MOST_TEXT = 100_000  # characters of the text that stands with an image
PAIR_COLUMNS = Columns(("image", "caption"), ())
CANDIDATE_COLUMNS = Columns(("image", "caption"), ("rank", "score", "system"))
_SEPARATORS = ",;\t|"
_SPLIT = re.compile(r"[^\s/\\]{1,20}")

RecordReader = Callable[[Path, Columns, ImportNotes, str | None], Iterator[Fields]]


def read_json_lines(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None = None
) -> Iterator[Fields]:
    """One JSON object a line; blank lines are passed over. Holds one line at a time."""
    for number, line in read_lines(path, encoding=encoding):
        if line.isspace():
            continue
        values = parse_json(line.rstrip("\r\n"), path, number)
        if not isinstance(values, dict):
            found = "a JSON array" if isinstance(values, list) else shown(values)
            raise ImportProblem(path, number, None, found, "one JSON object a line")
        columns.check(values, path, number, notes)
        yield Fields(path, number, values, textual=False)


def parse_json(text: str, path: Path, line: int | None) -> object:
    """The JSON value in a text. NaN and Infinity, which JSON does not have, and repeated keys are refused."""

    def refuse(constant: str) -> NoReturn:
        raise ImportProblem(path, line, None, constant, "a JSON number or null")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = Counter(name for name, _ in pairs)
            twice = next(name for name in names if names[name] > 1)
            raise ImportProblem(path, line, twice, "this key twice in one object", "every key once")
        return values

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        found = f"text that is not JSON ({error.msg.lower()} at character {error.colno})"
        expected = "one JSON object a line" if line is not None else "a complete JSON document"
        raise ImportProblem(path, at, None, found, expected) from error
    except RecursionError as error:
        raise ImportProblem(path, line, None, "JSON nested too deeply", "flat records") from error
    except ValueError as error:  # an integer of thousands of digits
        raise ImportProblem(path, line, None, "a number too long to read", "a JSON number") from error


def read_csv(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None = None
) -> Iterator[Fields]:
    """The records of a CSV file with a header; the line number is that of the record's start.

    Comma, semicolon, tab or bar separate, whichever makes the required columns appear in the header.
    Raises ImportProblem for a missing header, a column that stands twice, ragged rows, unclosed quotes.
    """
    lines = read_lines(path, encoding=encoding, newline="")
    first, header = 1, next((text for _, text in lines), "")
    separators = _SEPARATORS
    if named := re.fullmatch(r"sep=(.)[\r\n]*", header):  # written by Excel above the header
        first, header, separators = 2, next((text for _, text in lines), ""), named.group(1)
    separator, names = _header(path, first, header, columns, separators)
    columns.check(names, path, first, notes)
    reader = csv.reader((text for _, text in lines), delimiter=separator, strict=True)
    while True:
        start = first + 1 + reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ImportProblem(path, start, None, csv_fault(error), "a CSV record") from error
        if cells is None:
            return
        if not any(cells):
            continue
        if len(cells) != len(names):
            found = counted(len(cells), "cell")
            expected = f"{len(names)} as in the header (a text that holds {separator!r} needs quotes)"
            raise ImportProblem(path, start, None, found, expected)
        yield Fields(path, start, dict(zip(names, cells, strict=True)), textual=True)


def _header(path: Path, line: int, text: str, columns: Columns, separators: str) -> tuple[str, list[str]]:
    wanted = f"a header with {', '.join(columns.required)}"
    if not text.strip():
        raise ImportProblem(path, line, None, "no header", wanted)
    readings: list[tuple[int, str, list[str]]] = []
    for separator in separators:
        try:
            cells = next(csv.reader([text], delimiter=separator, strict=True))
        except csv.Error:
            continue  # quotes that make no sense with this separator: another one may fit
        names = [cell.strip().lower() for cell in cells]
        readings.append((sum(name in names for name in columns.required), separator, names))
    if not readings:
        raise ImportProblem(path, line, None, f"the header {shown(text.strip())}", wanted)
    hits, separator, names = max(readings, key=lambda reading: reading[0])
    if not hits:
        raise ImportProblem(path, line, None, f"the first line {shown(text.strip())}", wanted)
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ImportProblem(path, line, twice[0], "this column twice in the header", "every column once")
    return separator, names


def csv_fault(error: csv.Error) -> str:
    """What is wrong with a record, in words."""
    reason = str(error)
    if "unexpected end" in reason:
        return "a quotation mark that is never closed"
    if "field larger" in reason:
        limit = f"a cell of more than {csv.field_size_limit():,} characters"
        return f"{limit}, perhaps a quotation mark that is never closed"
    if "expected after" in reason:
        return "text behind a closing quotation mark (a quotation mark inside a cell is written twice)"
    return f"a record that cannot be read ({reason})"


READERS: dict[str, RecordReader] = {"jsonl": read_json_lines, "csv": read_csv}


class TableDataset:
    """References from JSON lines or CSV with `image, caption` and optionally `caption_id, split, url`; and images
    with the `text` that stands with them, which need no caption, and with `boxes`.

    Streams: besides the record in hand it holds what each image's first record said (digests of the long ones), its
    count and two 64-bit digests a caption, which find repeated ids and texts. Read it once; open it again for a
    second pass.
    """

    def __init__(self, path: Path, records: RecordReader, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self._records = records
        self._encoding = encoding

    def pairs(self) -> Iterator[PairRow]:
        """No candidate pairs: the format has none."""
        return iter(())

    def references(self) -> Iterator[ReferenceRow]:
        """The captions alone."""
        return (row for row in self.rows() if isinstance(row, ReferenceRow))

    def rows(self) -> Iterator[ReferenceRow | ImageRow]:
        """Captions; before its captions, an image that has a text or boxes."""
        register = CaptionRegister(self.notes)
        about: dict[str, _About] = {}
        silent: set[str] = set()
        for fields in self._records(self.path, DATASET_COLUMNS, self.notes, self._encoding):
            image = fields.image()
            said = ImageRow(
                image, _long_text(fields), boxes_of(fields) or (), _split(fields), fields.address("url")
            )
            if image not in about:
                about[image] = _About.of(said)
                if said.text or said.boxes:
                    yield said
            else:
                about[image].check(fields, said)
            if not fields.has("caption") and about[image].text:
                if not register.position(image):
                    silent.add(image)
                continue
            silent.discard(image)
            text = fields.text("caption", "a caption")
            position = register.position(image)
            caption_id = fields.optional_name("caption_id") or f"{image}#{position}"
            if register.add(fields, caption_id, image, text):
                yield ReferenceRow(image, text, caption_id, position, about[image].split, about[image].url)
        self.notes.count("text-alone", len(silent))
        if not about:
            raise ImportProblem(self.path, None, None, "no captions", "at least one record")


@dataclass(frozen=True, slots=True)
class _About:
    """What an image's first record said of it; later ones may say the same again or nothing."""

    split: str | None
    url: str | None
    text: int
    boxes: int

    @classmethod
    def of(cls, row: ImageRow) -> _About:
        return cls(row.split, row.url, hash(row.text) if row.text else 0, hash(row.boxes) if row.boxes else 0)

    def check(self, fields: Fields, row: ImageRow) -> None:
        """ImportProblem where a later record says something else."""
        for column, before, now in (("split", self.split, row.split), ("url", self.url, row.url)):
            if now is not None and now != before:
                raise fields.problem(column, shown(now), f"{shown(before)} as before for this image")
        later = _About.of(row)
        for column, known, again in (("text", self.text, later.text), ("boxes", self.boxes, later.boxes)):
            if again and again != known:
                expected = (
                    "the same as in the image's first record" if known else "it in the image's first record"
                )
                raise fields.problem(column, "something else than before", expected)


class CaptionRegister:
    """Finds captions that stand twice, by 64-bit digests of ids and texts."""

    def __init__(self, notes: ImportNotes) -> None:
        self._notes = notes
        self._by_id: dict[int, int] = {}
        self._texts: set[int] = set()
        self._counts: Counter[str] = Counter()

    def position(self, image: str) -> int:
        """How many captions of the image were added so far."""
        return self._counts[image]

    def add(self, fields: Fields, caption_id: str, image: str, text: str, column: str = "caption_id") -> bool:
        """True for a new caption, False for an exact repetition; the same id otherwise is a problem."""
        key, content = hash(caption_id), hash((image, text))
        if key in self._by_id:
            if self._by_id[key] != content:
                expected = "every id once, or again with the same image and text"
                raise fields.problem(column, f"{shown(caption_id)} a second time", expected)
            self._notes.count("repeated-line")
            return False
        self._by_id[key] = content
        if content in self._texts:
            self._notes.count("repeated-caption")
        self._texts.add(content)
        self._counts[image] += 1
        return True


def read_pairs(path: Path, encoding: str | None = None) -> Iterator[tuple[str, str]]:
    """Image and caption of each record of JSON lines or CSV; the first character tells which of the two it is.

    Raises:
        ImportProblem: the file is neither, or a record lacks one of the columns, or there is none.
    """
    first = next((line for _, line in read_lines(path, encoding=encoding) if not line.isspace()), "")
    records = read_json_lines if first.lstrip().startswith("{") else read_csv
    found = False
    for fields in records(path, PAIR_COLUMNS, ImportNotes(), encoding):
        found = True
        yield fields.image(), fields.text("caption", "a caption's id or text")
    if not found:
        raise ImportProblem(path, None, None, "no pairs", "at least one record")


class TableCandidates:
    """One system's captions from JSON lines or CSV with `image, caption`, optionally `rank, score`.

    Several captions of an image need ranks that differ. A `system` column must name one system only.
    Streams; holds one entry an image and rank. Read it once.
    """

    def __init__(self, path: Path, records: RecordReader, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self._records = records
        self._encoding = encoding

    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]:
        """The rows; with `images`, an image outside them is a problem."""
        register = CandidateRegister(self.notes, images)
        system: str | None = None
        for fields in self._records(self.path, CANDIDATE_COLUMNS, self.notes, self._encoding):
            if name := fields.optional_name("system", SHORT_NAME_LIMIT):
                if system is None:
                    self.notes.count("file-names-system", detail=name)
                elif name != system:
                    raise fields.problem(
                        "system", shown(name), f"one system a file, as {shown(system)} before"
                    )
                system = name
            row = CandidateRow(
                fields.image(),
                fields.text("caption", "a caption"),
                fields.whole("rank") or 0,
                fields.number("score"),
            )
            if register.add(fields, row):
                yield row
        register.finish(self.path)


class CandidateRegister:
    """Finds unknown images and a second caption of the same image and rank."""

    def __init__(self, notes: ImportNotes, images: Container[str] | None) -> None:
        self._notes = notes
        self._images = images
        self._seen: dict[tuple[str, int], tuple[int | None, int]] = {}

    def add(self, fields: Fields, row: CandidateRow, column: str = "image") -> bool:
        """True for a new candidate, False for an exact repetition."""
        if self._images is not None and row.image not in self._images:
            raise fields.problem(column, shown(row.image), "an image of the dataset")
        key, content = (row.image, row.rank), hash((row.text, row.score))
        if key in self._seen:
            line, before = self._seen[key]
            if before != content:
                where = "" if line is None else f" (the first is on line {line})"
                found = f"a second caption of image {shown(row.image)}{where}"
                raise fields.problem(column, found, "one caption an image, or ranks that differ")
            self._notes.count("repeated-line")
            return False
        self._seen[key] = (fields.line, content)
        return True

    def finish(self, path: Path) -> None:
        """Refuse a file without candidates."""
        if not self._seen:
            raise ImportProblem(path, None, None, "no candidates", "at least one record")


def _split(fields: Fields) -> str | None:
    split = fields.optional_name("split")
    if split is not None and not _SPLIT.fullmatch(split):
        raise fields.problem("split", shown(split), "a word such as train, dev or test (at most 20 letters)")
    return split


def _long_text(fields: Fields) -> str:
    text = fields.optional_text("text") or ""
    if len(text) > MOST_TEXT:
        raise fields.problem("text", f"{len(text):,} characters", f"at most {MOST_TEXT:,}")
    return text
