"""The rows of every format, the sources that yield them, and the readers of JSON lines and CSV.

Readers hold one record in memory at a time. pyarrow's guess types, and their errors name neither line nor column.
`Shape` reads records by a dataclass with pydantic annotations. A value that does not fit raises ImportProblem with
file, line, column, found and expected.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from functools import lru_cache
from itertools import chain
from json import JSONDecoder
from pathlib import Path
from typing import Annotated, Any, Generic, NoReturn, TypeVar

from pydantic import PlainValidator, TypeAdapter, ValidationError, ValidationInfo

from common.amounts import counted
from common.files import as_cell
from common.incoming import (
    ADDRESS_LIMIT,
    Excess,
    JSONStream,
    TooDeep,
    check_depth,
    compose_name,
    limits,
    load_json,
    quoted,
)
from judgments.design.tables import PAIR_KINDS, SIDES
from judgments.importers.textio import ImportNotes, ImportProblem, Refusals, read_chunks, read_lines
from quorum.statistics.inputs import LARGEST

# The database's limit; a longer name would fail there without naming its place.
NAME_LIMIT = 200
SHORT_NAME_LIMIT = 80
WORKER_LIMIT = 100
RULE_LIMIT = 40
MOST_SHOWN = 1_000  # characters of a cell with a problem
MOST_CACHED = 10_000  # texts of a column
MOST_SECONDS = 1_000_000_000  # thirty years
HUMAN = "human"
HUMAN_OTHER = "human-other"
ANNOTATION, SEARCH = "annotation", "search"
# Columns with our names that decide which rows count, and how.
DECIDING = ("control", "expected", "used", "invalidated", "simulated", "revision", "kind", "pair")
IF_TITLE = " (--header-row N, if rows of a title stand above it)"
MISSING_WORDS = ("NA", "N/A", "n/a", "na", "None", "none", "null", "NULL", "nan", "NaN")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
FROM_1 = "a whole number from 1, the best"
_TIME = "a time with its zone, such as 2026-01-01T10:00:00Z"
T = TypeVar("T")


class BadValue(ValueError):
    """A value does not fit its column. `path` is the part of it: `[3].label`."""

    def __init__(self, actual: str, expected: str, path: str = "") -> None:
        super().__init__(actual, expected, path)
        self.actual = actual
        self.expected = expected
        self.path = path


@dataclass(frozen=True, slots=True)
class Record:
    """The values of one record with their place.

    Attributes:
        line: the 1-based first line; None if the format has no lines.
        textual: whether the format is untyped (CSV): empty cells are missing, numbers and flags are parsed.
        json_texts: whether lists and objects are JSON in texts, as in all untyped formats.
        path: the record's path in a document, such as `annotations[3]`; several may be on one line.
        origins: column -> its name in the file, if that is another.
        renamed: whether problems name both.
    """

    file: Path
    line: int | None
    values: Mapping[str, Any]
    textual: bool = False
    json_texts: bool = False
    path: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)
    renamed: bool = False

    def problem(self, column: str | None, actual: str, expected: str) -> ImportProblem:
        of_table = self.textual or self.renamed  # of a published set nothing is taken otherwise
        if of_table and (
            word := next((word for word in MISSING_WORDS if actual.startswith(quoted(word))), "")
        ):
            expected += f", or nothing, as --missing {word} reads it"
        origin = where = self.origins.get(column, column) if column else None
        if self.renamed and column in DECIDING and origin == column:
            expected += f" ({column}=- leaves the column out)"
        if self.renamed and origin != column:
            where = f"{origin} ({column})"
        if self.path:
            where = f"{self.path}.{where}" if where else self.path
        problem = ImportProblem(self.file, self.line, where, actual, expected)
        if column and self.line is not None and not self.path:
            name = re.split(r"[.\[]", column)[0]
            problem.cell = self.origins.get(name, name), as_cell(self.values.get(name))[:MOST_SHOWN]
        return problem

    def get(self, column: str) -> Any:
        value = self.values.get(column)
        return None if self.textual and value == "" else value

    def read(self, column: str, read: Callable[[Any], T]) -> T:
        """Return a column as parsed by `read`, which may raise BadValue."""
        try:
            return read(self.values.get(column))
        except BadValue as unfit:
            raise self.problem(f"{column}{unfit.path}", unfit.actual, unfit.expected) from None


class Shape(Generic[T]):
    """Read records as rows of a dataclass.

    Args:
        columns: field -> column, if the names differ.
        passed: fields that the caller of `read` passes.
    """

    def __init__(
        self, row: type[T], *, columns: Mapping[str, str] | None = None, passed: Collection[str] = ()
    ) -> None:
        fields = [column for column in dataclasses.fields(row) if column.name not in passed]  # type: ignore[arg-type]
        self._adapter = TypeAdapter(row)
        self._columns = {column.name: (columns or {}).get(column.name, column.name) for column in fields}
        missing = dataclasses.MISSING
        self._required = {
            column.name
            for column in fields
            if column.default is missing and column.default_factory is missing
        }

    def read(self, record: Record, **values: Any) -> T:
        for name, column in self._columns.items():
            value = record.values.get(column)
            if name in self._required or not (value is None or (record.textual and value == "")):
                values[name] = value
        try:
            return self._adapter.validate_python(values, context=record)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            column, unfit = self._columns[str(first["loc"][0])], first["ctx"]["error"]
            raise record.problem(f"{column}{unfit.path}", unfit.actual, unfit.expected) from None


def read_text(value: Any, expected: str = "a text") -> str:
    """Keep outer blanks; refuse an empty text."""
    if not isinstance(value, str):
        raise BadValue(quoted(value), expected)
    if not value.strip():
        raise BadValue("an empty text", expected)
    if _UNSTORABLE.search(value):
        raise BadValue("a NUL character or half a surrogate pair", expected)
    return value


def read_output(value: Any, expected: str = "a text") -> str:
    """Return what a system wrote, "" for a cell that is empty or blank: an empty output is an output."""
    return "" if is_blank(value) else read_text(value, expected)


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def by_name(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return name -> row id, by stored and by composed names."""
    known = dict(rows)
    return {compose_name(name): pk for name, pk in known.items()} | known


def read_name(value: Any, expected: str = "a name", limit: int = NAME_LIMIT) -> str:
    """Return a composed one-line identifier; whole numbers become digits (MS COCO's image ids)."""
    if type(value) is int:
        value = str(value)
    if not isinstance(value, str):
        raise BadValue(quoted(value), expected)
    name = compose_name(value.strip())
    if not name:
        raise BadValue("an empty text", expected)
    if name in ("nan", "NaN"):
        raise BadValue(f"{quoted(name)}, a missing answer", expected)
    if len(name) > limit:
        raise BadValue(f"a name of {len(name):,} characters", f"at most {limit} characters")
    if _CONTROL.search(name) or _UNSTORABLE.search(name):
        raise BadValue(f"control characters in {quoted(name)}", expected)
    return name


def read_image(value: Any) -> str:
    """Refuse a name that leads out of a folder."""
    name = read_name(value, "an image's name")
    parts = re.split(r"[/\\]", name)
    if ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:[/\\]", name):
        raise BadValue(quoted(name), "a name inside the folder of images")
    return name


def read_address(value: Any) -> str:
    address = read_text(value)
    if len(address) > ADDRESS_LIMIT:
        raise BadValue(f"an address of {len(address):,} characters", f"at most {ADDRESS_LIMIT} characters")
    if not re.match(r"https?://[^\s/]+\S*\Z", address):
        raise BadValue(quoted(address), "an address that begins with http:// or https://")
    return address


def read_number(value: Any, textual: bool, expected: str = "a number") -> float:
    """Return a finite number, as int if whole."""
    number = value
    if textual and isinstance(value, str):
        try:
            number = int(value) if re.fullmatch(r"[+-]?\d{1,18}", value.strip()) else float(value)
        except ValueError:
            raise BadValue(quoted(value), expected) from None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise BadValue(quoted(value), expected)
    if not abs(number) < math.inf:  # refuses nan too; no conversion that a long integer would break
        raise BadValue(quoted(value), expected)
    if abs(number) > LARGEST:
        raise BadValue(quoted(value), f"{expected}, of size {LARGEST:g} at most")
    return int(number) if number == int(number) else number


def read_whole(value: Any, textual: bool, expected: str = "a whole number from 0", least: int = 0) -> int:
    number = read_number(value, textual, expected)
    if number < least or not isinstance(number, int):
        raise BadValue(quoted(number), expected)
    return number


def read_flag(value: Any, textual: bool) -> bool:
    """Accept 1 and 0, yes and no in CSV."""
    if textual and isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    if not isinstance(value, bool):
        raise BadValue(quoted(value), "true or false")
    return value


def read_time(value: Any) -> datetime:
    if not isinstance(value, str):
        raise BadValue(quoted(value), _TIME)
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise BadValue(quoted(value), _TIME) from None
    if moment.tzinfo is None:
        raise BadValue(f"{quoted(value)} without a time zone", _TIME)
    return moment


def cached_texts(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Cache `read` for texts: names, captions and times stand in many rows of a file."""
    read_once = lru_cache(MOST_CACHED)(read)
    return lambda value: read_once(value) if type(value) is str else read(value)


def _textual(info: ValidationInfo) -> bool:
    record = info.context
    return isinstance(record, Record) and record.textual


def _chance(value: object, info: ValidationInfo) -> float:
    expected = "a number above 0 and at most 1, or nothing"
    number = float(read_number(value, _textual(info), expected))
    if not 0 < number <= 1:
        raise BadValue(quoted(value), expected)
    return number


def _seconds(value: Any, info: ValidationInfo) -> float:
    expected = f"a number of seconds from 0 to {MOST_SECONDS:,}"
    seconds = read_number(value, _textual(info), expected)
    if not 0 <= seconds <= MOST_SECONDS:
        raise BadValue(quoted(seconds), expected)
    return seconds


def text(expected: str) -> PlainValidator:
    return PlainValidator(cached_texts(lambda value: read_text(value, expected)))


def output(expected: str) -> PlainValidator:
    return PlainValidator(cached_texts(lambda value: read_output(value, expected)))


def name(expected: str = "a name", limit: int = NAME_LIMIT) -> PlainValidator:
    return PlainValidator(cached_texts(lambda value: read_name(value, expected, limit)))


def one_of(*choices: str) -> PlainValidator:
    def read(value: Any) -> str:
        chosen = read_name(value)
        if chosen not in choices:
            raise BadValue(quoted(chosen), f"one of {', '.join(choices)}")
        return chosen

    return PlainValidator(read)


Text = Annotated[str, text("a text")]
CaptionText = Annotated[str, text("a caption")]
OutputText = Annotated[str, output("a caption")]
Name = Annotated[str, name()]
ShortName = Annotated[str, name(limit=SHORT_NAME_LIMIT)]
WorkerName = Annotated[str, name(limit=WORKER_LIMIT)]
ImageName = Annotated[str, PlainValidator(cached_texts(read_image))]
Address = Annotated[str, PlainValidator(read_address)]
Number = Annotated[float, PlainValidator(lambda value, info: read_number(value, _textual(info)))]
Rank = Annotated[int, PlainValidator(lambda value, info: read_whole(value, _textual(info), FROM_1, least=1))]
Whole = Annotated[int, PlainValidator(lambda value, info: read_whole(value, _textual(info)))]
Seconds = Annotated[float, PlainValidator(_seconds)]
Chance = Annotated[float, PlainValidator(_chance)]
Flag = Annotated[bool, PlainValidator(lambda value, info: read_flag(value, _textual(info)))]
Time = Annotated[datetime, PlainValidator(cached_texts(read_time))]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """A human caption of an image; `position` counts the image's captions from 0.

    `file` is the picture's file name if it differs from the image's name.
    """

    image: str
    text: str
    caption_id: str
    position: int
    split: str | None = None
    url: str | None = None
    file: str | None = None


_Decimal = Annotated[float, PlainValidator(lambda value: float(read_number(value, textual=False)))]


@dataclass(frozen=True, slots=True)
class BoxRow:
    """A labelled box: upper left corner and size, as shares of the picture's sides."""

    id: ShortName
    label: ShortName
    x: _Decimal
    y: _Decimal
    width: _Decimal
    height: _Decimal


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image's text (MC12 section 3.2) or labelled boxes (WG15 section 3)."""

    image: str
    text: str = ""
    boxes: tuple[BoxRow, ...] = ()
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentRow(ImageRow):
    """An image, or segment, of a document; a class of its own, to keep the fingerprints of others."""

    document: str = ""


@dataclass(frozen=True, slots=True)
class TitledRow(DocumentRow):
    title: str = ""


@dataclass(frozen=True, slots=True)
class InputRow:
    image: str
    fields: tuple[tuple[str, str], ...]
    file: str | None = None
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two candidates for an image (V15 §3), with its first `references` references (None: all)."""

    pair: str
    image: str
    kind: str
    first_text: str
    second_text: str
    first_system: str
    second_system: str
    references: int | None = None


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A system's caption for an image; ranks count from 1, and 0 is said by no file."""

    image: ImageName
    text: OutputText
    rank: Rank = 0
    score: Number | None = None


def _kind(value: object) -> str:
    if value not in PAIR_KINDS:
        raise BadValue(quoted(value), f"one of {', '.join(PAIR_KINDS)}, or nothing")
    return str(value)


def _presented(value: object) -> str:
    if value not in ("first-left", "second-left"):
        raise BadValue(quoted(value), "first-left, second-left or nothing")
    return str(value)


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """An answer on a unit, in the columns of an exported judgments file.

    Attributes:
        anonymous: whether the rater comes from published totals (`anon-1`, ...) and is not one person.
        aggregated: whether it is a majority of unpublished answers.
        revision: counts the worker's answers on the unit from 0.
        invalidated: the rule that excluded it.
        content: what else an open kind showed.
        chance: by which the unit, or its pair of systems, was drawn for this HIT.
        document: of which the item is a part; an import takes the dataset's.
        stored: the checked answer of an open kind, in its stored form.
    """

    unit: ShortName
    worker: WorkerName
    value: int | float | None
    answer: object | None = None
    study: Name | None = None
    protocol: str | None = None
    image: ImageName | None = None
    reference: Name | None = None
    first: Name | None = None
    second: Name | None = None
    reference_text: Text | None = None
    first_text: OutputText | None = None
    second_text: OutputText | None = None
    kind: Annotated[str, PlainValidator(_kind)] | None = None
    pair: ShortName | None = None
    assignment: ShortName | None = None
    hit: ShortName | None = None
    control: Flag = False
    expected: object | None = None
    used: Flag = True
    presented: Annotated[str, PlainValidator(_presented)] | None = None
    simulated: Flag = False
    accepted_at: Time | None = None
    submitted_at: Time | None = None
    seconds: Seconds | None = None
    wall_seconds: Seconds | None = None
    comment: Text = ""
    revision: Whole = 0
    invalidated: Annotated[str, name(limit=RULE_LIMIT)] | None = None
    content: Mapping[str, object] | None = None
    # Not in fingerprints, which stay those of files that were imported before it was read.
    chance: Chance | None = field(default=None, repr=False)
    document: Annotated[str, PlainValidator(lambda value: str(value).strip())] | None = field(
        default=None, repr=False
    )
    stored: object | None = field(default=None, repr=False)
    anonymous: bool = False
    aggregated: bool = False


@dataclass(frozen=True, slots=True)
class Credit:
    """A system that captioned or retrieved an image; `rank` is from 1."""

    system: str
    rank: int | None = None
    task: str = ANNOTATION


@dataclass(frozen=True, slots=True)
class CreditedRow(JudgmentRow):
    """A judgment with the systems of its captions, by caption id; by side where both sides show one caption.

    It is a class of its own, to keep the fingerprints of files without credits.
    """

    credits: Mapping[str, tuple[Credit, ...]] = field(default_factory=dict)

    def of_side(self, side: str) -> tuple[Credit, ...]:
        """Return the credits of ``first`` or ``second``."""
        key = getattr(self, side)
        if self.first == self.second and side in self.credits:
            return self.credits[side]
        return self.credits.get(key or "", ())

    def options(self) -> list[Mapping[str, str]]:
        """Return the options that a unit shows, each with its id as `key`."""
        options: Any = (self.content or {}).get("options", ())
        return [option for option in options if isinstance(option, Mapping)]

    def systems(self) -> tuple[tuple[str, ...], ...]:
        """Return the names of the systems of each side, and of each option."""
        credits = (
            *map(self.of_side, SIDES),
            *(self.credits.get(option.get("key", ""), ()) for option in self.options()),
        )
        return tuple(tuple(sorted({credit.system for credit in of_text})) for of_text in credits)


@dataclass(frozen=True, slots=True)
class WinnerRow:
    """A published winner (1 or 2) of a candidate pair without votes."""

    pair: str
    image: str
    kind: str
    first_text: str
    second_text: str
    winner: int


class Source:
    """A file or folder to import, to be read once. `notes` are complete when its rows are exhausted."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self.refusals = Refusals()
        self._encoding = encoding

    def _read(self, records: RecordReader, columns: Columns, row: Callable[[Record], T]) -> Iterator[T]:
        """Yield the rows of a table, or raise the problems of all of them."""
        return self.refusals.rows(records(self.path, columns, self.notes, self._encoding), row)


class DatasetSource(Source, ABC):
    """References of images, images' texts and boxes, and optional candidate pairs."""

    @abstractmethod
    def rows(self) -> Iterator[ReferenceRow | ImageRow | InputRow]: ...

    def references(self) -> Iterator[ReferenceRow]:
        return (row for row in self.rows() if isinstance(row, ReferenceRow))

    def pairs(self) -> Iterator[PairRow]:
        return iter(())


class CandidateSource(Source, ABC):
    """One system's captions. With `images`, an image outside them is an ImportProblem.

    Attributes:
        contents: image, and "boxes" or "keywords" -> what the system names; complete when the captions are exhausted.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self.contents: dict[tuple[str, str], tuple[str, ...]] = {}

    @abstractmethod
    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]: ...


class JudgmentSource(Source, ABC):
    """Judgments collected elsewhere. With `images` or `captions` (id to text), unknown names are ImportProblems.

    Attributes:
        protocol: of every row; None if rows state it.
        anonymous: whether no rater is a person.
        setting: what the rows so far need of a design (`Kind.setting_with`).
    """

    protocol: str | None = None
    anonymous: bool = False
    setting: str = ""

    @property
    def states_scale(self) -> bool:
        """Return whether the file or its reader says which scale the answers are on, and not they alone."""
        return False

    @abstractmethod
    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]: ...

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        return iter(())


SEPARATORS = ",;\t|"
_WHOLE_QUOTE = re.compile(r'"((?:[^"]|"")*)"')


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table. `strict` refuses others; otherwise they are ignored.

    `loose` does not look for misspelt names. `instead` maps a required column to its substitutes.

    `header_row` is the line of the header, from 1, below rows of a title. Of tables in layouts of others: `header`
    names the columns of one without a header; `rest` takes the cells of a row from its place on; `quoted` is false
    where quotation marks are text, but around whole cells.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    strict: bool = False
    loose: bool = False
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    rest: str = ""
    quoted: bool = True
    header_row: int = 0

    def names_of(self, cells: Iterable[str]) -> list[str]:
        """Return the names of a header; known ones may be written in another case."""
        known = {name.lower(): name for name in (*self.required, *self.optional)}
        return [known.get(cell.strip().lower(), cell.strip()) for cell in cells]

    def score(self, names: list[str]) -> int:
        """Return how well a header fits: required columns count most, or where none is, all columns."""
        if self.required:
            return sum(self._holds(names, name) for name in self.required)
        return len(self.optional) * sum(name in self.optional for name in names) + len(names)

    def check(self, names: Collection[str], file: Path, line: int | None, notes: ImportNotes) -> None:
        """Refuse a missing or probably misspelt column."""
        known = self.required + self.optional
        for name in () if self.loose else names:
            if name in known or name in notes.details():
                continue
            near = get_close_matches(name.lower(), known, n=1, cutoff=0.6 if self.strict else 0.8)
            if near or self.strict:
                expected = f"{near[0]!r} perhaps" if near else f"one of {', '.join(known)}"
                raise ImportProblem(file, line, None, f"the unknown column {quoted(name)}", expected)
            notes.count("ignored-column", detail=name)
        for name in self.required:
            if not self._holds(names, name):
                raise ImportProblem(file, line, name, "no such field", "it in every record")

    def _holds(self, names: Collection[str], required: str) -> bool:
        return any(name in names for name in (required, *self.instead.get(required, ())))


RecordReader = Callable[[Path, Columns, ImportNotes, str | None], Iterator[Record]]


def read_json_lines(
    path: Path, columns: Columns, notes: ImportNotes, encoding: str | None = None
) -> Iterator[Record]:
    """Skip blank lines."""
    checked: tuple[str, ...] = ()
    for number, line in read_lines(path, encoding=encoding):
        if line.isspace():
            continue
        values = parse_json(line.rstrip("\r\n"), path, number)
        if not isinstance(values, dict):
            actual = "a JSON array" if isinstance(values, list) else quoted(values)
            raise ImportProblem(path, number, None, actual, "one JSON object a line")
        if checked != (names := tuple(values)):
            columns.check(names, path, number, notes)
            checked = names
        yield Record(path, number, values)


def parse_json(text: str, path: Path, line: int | None) -> object:
    """Refuse NaN, Infinity and repeated keys."""
    try:
        check_depth(text)
        return _decode(text)
    except (ImportProblem, ValueError, RecursionError):  # again, to say where
        with _json_problems(path, line):
            return load_json(text, **_refusing(path, line))


def read_document(path: Path, encoding: str | None = None) -> Iterator[tuple[str, int | None, Any, int]]:
    """Yield the members of a JSON document, as `JSONStream.members` does, each with its line."""
    decoder = JSONDecoder(**_refusing(path, None))
    lists: set[str] = set()
    with _json_problems(path, None):
        stream = JSONStream(read_chunks(path, encoding=encoding), decoder=decoder)
        for key, number, value in stream.members():
            if number is None and key in lists:
                raise ImportProblem(path, None, key, "this key twice in one object", "every key once")
            lists.add(key)
            yield key, number, value, stream.line


def _refusing(path: Path, line: int | None) -> dict[str, Any]:
    """Return a decoder's options that say what is refused."""

    def refuse(constant: str) -> NoReturn:
        raise ImportProblem(path, line, None, constant, "a JSON number or null")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = Counter(name for name, _ in pairs)
            twice = next(name for name in names if names[name] > 1)
            raise ImportProblem(path, line, twice, "this key twice in one object", "every key once")
        return values

    return {"parse_constant": refuse, "object_pairs_hook": unique}


_decode = JSONDecoder(**_refusing(Path(), None)).decode


@contextmanager
def _json_problems(path: Path, line: int | None) -> Iterator[None]:
    try:
        yield
    except json.JSONDecodeError as error:
        at = line if line is not None else error.lineno
        actual = f"text that is not JSON ({error.msg.lower()} at character {error.colno})"
        expected = "one JSON object a line" if line is not None else "a complete JSON document"
        raise ImportProblem(path, at, None, actual, expected) from error
    except TooDeep as error:
        raise ImportProblem(path, line, None, "JSON nested too deeply", "flat records") from error
    except Excess as error:
        raise ImportProblem(path, line, None, error.actual, error.expected) from error
    except ValueError as error:  # an integer of thousands of digits
        raise ImportProblem(path, line, None, "a number too long to read", "a JSON number") from error


def json_cell(record: Record, column: str) -> Any:
    value = record.get(column)
    encoded = (record.textual or record.json_texts) and isinstance(value, str)
    return parse_json(value, record.file, record.line) if encoded else value


@dataclass(frozen=True, slots=True)
class Header:
    line: int
    separator: str
    names: list[str]


def find_header(
    path: Path,
    line: int,
    text: str,
    *,
    wanted: str,
    score: Callable[[list[str]], int],
    separators: str = SEPARATORS,
    rename: Callable[[list[str]], list[str]] = lambda cells: list(map(str.strip, cells)),
) -> Header:
    """Choose the separator that scores most, the first on ties."""
    if not text.strip():
        raise ImportProblem(path, line, None, "no header", wanted)
    readings: list[tuple[int, str, list[str]]] = []
    for separator in separators:
        try:
            cells = next(csv.reader([text], delimiter=separator, strict=True))
        except csv.Error:
            continue  # misplaced quotes: another separator may fit
        names = rename(cells)
        readings.append((score(names), separator, names))
    best, separator, names = max(readings, default=(0, ",", []), key=lambda reading: reading[0])
    if not best:
        raise ImportProblem(path, line, None, f"the first line {quoted(text.strip())}", wanted)
    if names.count("") > 1:
        raise ImportProblem(
            path, line, None, "columns without a name in the header", f"a name for each column{IF_TITLE}"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ImportProblem(path, line, twice[0], "this column twice in the header", "every column once")
    return Header(line, separator, names)


def csv_rows(
    path: Path, lines: Iterator[tuple[int, str]], header: Header, *, quoted: bool = True
) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells); skip empty records."""
    most, size = limits().line, 0

    def texts() -> Iterator[str]:
        nonlocal size
        for number, text in lines:
            size += len(text)
            if size > most:  # quoted line ends let one record go on for ever
                actual = f"a record of more than {most:,} characters"
                raise ImportProblem(path, number, None, actual, "shorter ones")
            yield text

    reader = csv.reader(
        texts(),
        delimiter=header.separator,
        strict=True,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )
    while True:
        start, size = header.line + 1 + reader.line_num, 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise ImportProblem(path, start, None, _csv_fault(error), "a CSV record") from error
        if cells is None:
            return
        if any(cells):
            yield start, cells if quoted else list(map(_unquoted, cells))


def _unquoted(cell: str) -> str:
    whole = _WHOLE_QUOTE.fullmatch(cell)
    return whole.group(1).replace('""', '"') if whole else cell


def named_cells(
    path: Path, line: int, names: list[str], cells: list[str], separator: str = ","
) -> dict[str, str]:
    if len(cells) != len(names):
        actual = counted(len(cells), "cell")
        why = IF_TITLE if len(names) == 1 else f" (a text that holds {separator!r} needs quotes)"
        expected = f"{len(names)} as in the header{why}"
        raise ImportProblem(path, line, None, actual, expected)
    return dict(zip(names, cells, strict=True))


def read_csv(path: Path, columns: Columns, notes: ImportNotes, encoding: str | None) -> Iterator[Record]:
    """Detect comma, semicolon, tab or bar."""
    lines = read_lines(path, encoding=encoding, newline="")
    number, text, separators = 1, next((text for _, text in lines), ""), SEPARATORS
    if named := re.fullmatch(r"sep=(.)[\r\n]*", text):  # written by Excel above the header
        number, text, separators = 2, next((text for _, text in lines), ""), named.group(1)
    while number < columns.header_row and text:
        number, text = number + 1, next((text for _, text in lines), "")
    if columns.header:
        header = Header(number - 1, max(separators, key=text.count), list(columns.header))
        lines = chain([(number, text)], lines)
    else:
        wanted = f"a header with {', '.join(columns.required) or 'the columns'}"
        header = find_header(
            path,
            number,
            text,
            wanted=wanted,
            score=columns.score,
            separators=separators,
            rename=columns.names_of,
        )
    columns.check(header.names, path, number, notes)
    for line, cells in csv_rows(path, lines, header, quoted=columns.quoted):
        yield Record(path, line, _values(path, line, header, cells, columns), textual=True)


def _values(path: Path, line: int, header: Header, cells: list[str], columns: Columns) -> dict[str, Any]:
    names, lacking = header.names, len(header.names) - len(cells)
    if columns.rest and names[-1].lower() == columns.rest and lacking <= 0:
        values: dict[str, Any] = dict(zip(names[:-1], cells, strict=False))
        return values | {columns.rest: cells[len(names) - 1 :]}
    if lacking > 0 and (columns.header or (columns.rest and header.separator == "\t")):
        cells = cells + [""] * lacking  # empty cells at the end may be omitted there
    return named_cells(path, line, names, cells, header.separator)


def _csv_fault(error: csv.Error) -> str:
    reason = str(error)
    if "unexpected end" in reason:
        return "a quotation mark that is never closed"
    if "field larger" in reason:
        limit = f"a cell of more than {csv.field_size_limit():,} characters"
        return f"{limit}, perhaps a quotation mark that is never closed"
    if "expected after" in reason:
        return "text behind a closing quotation mark (a quotation mark inside a cell is written twice)"
    return f"a record that cannot be read ({reason})"
