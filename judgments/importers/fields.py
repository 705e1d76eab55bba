"""Read the columns of a record as types.

Dataclass fields carry the types as pydantic annotations; `Shape` reads records as that dataclass. A value
that does not fit raises ImportProblem with file, line, column, found and expected.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import PlainValidator, TypeAdapter, ValidationError, ValidationInfo

from judgments.importers.errors import ImportProblem

# The database's limit; a longer name would fail there without naming its place.
NAME_LIMIT = 200
SHORT_NAME_LIMIT = 80
WORKER_LIMIT = 100
ADDRESS_LIMIT = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}
_TIME = "a time with its zone, such as 2026-01-01T10:00:00Z"
T = TypeVar("T")


class Unfit(ValueError):
    """A value does not fit its column. `place` is its path inside the column: `[3].label`."""

    def __init__(self, found: str, expected: str, place: str = "") -> None:
        super().__init__(found, expected, place)
        self.found = found
        self.expected = expected
        self.place = place


@dataclass(frozen=True, slots=True)
class Record:
    """The values of one record with their place.

    Attributes:
        line: the 1-based first line; None where the format has no lines.
        textual: whether the format is untyped (CSV): an empty cell is missing, and numbers and flags are
            parsed.
        path: the record's path in a document without lines, such as `annotations[3]`.
        origins: column -> its name in problems, where the file's name differs.
    """

    file: Path
    line: int | None
    values: Mapping[str, Any]
    textual: bool = False
    path: str = ""
    origins: Mapping[str, str] = field(default_factory=dict)

    def problem(self, column: str | None, found: str, expected: str) -> ImportProblem:
        where = self.origins.get(column, column) if column else None
        if self.path:
            where = f"{self.path}.{where}" if where else self.path
        return ImportProblem(self.file, self.line, where, found, expected)

    def get(self, column: str) -> Any:
        value = self.values.get(column)
        return None if self.textual and value == "" else value

    def read(self, column: str, read: Callable[[Any], T]) -> T:
        """Return a column as parsed by `read`.

        Raises:
            ImportProblem: `read` raised Unfit.
        """
        try:
            return read(self.values.get(column))
        except Unfit as unfit:
            raise self.problem(f"{column}{unfit.place}", unfit.found, unfit.expected) from None


class Shape(Generic[T]):
    """Read records as rows of a dataclass.

    Args:
        row: the dataclass; its annotated types read the values.
        columns: field -> column, where the names differ.
        given: fields passed by the caller of `read` instead of columns.
    """

    def __init__(
        self, row: type[T], *, columns: Mapping[str, str] | None = None, given: Collection[str] = ()
    ) -> None:
        fields = [one for one in dataclasses.fields(row) if one.name not in given]  # type: ignore[arg-type]
        self._adapter = TypeAdapter(row)
        self._columns = {one.name: (columns or {}).get(one.name, one.name) for one in fields}
        missing = dataclasses.MISSING
        self._required = {
            one.name for one in fields if one.default is missing and one.default_factory is missing
        }

    def read(self, record: Record, **given: Any) -> T:
        """Return the row of a record.

        Raises:
            ImportProblem: a value does not fit, or a required one is missing.
        """
        for name, column in self._columns.items():
            value = record.values.get(column)
            if name in self._required or not (value is None or (record.textual and value == "")):
                given[name] = value
        try:
            return self._adapter.validate_python(given, context=record)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            column, unfit = self._columns[str(first["loc"][0])], first["ctx"]["error"]
            raise record.problem(f"{column}{unfit.place}", unfit.found, unfit.expected) from None


def read_text(value: Any, expected: str = "a text") -> str:
    """Return a non-empty text with its outer blanks."""
    if not isinstance(value, str):
        raise Unfit(shown(value), expected)
    if not value.strip():
        raise Unfit("an empty text", expected)
    if _UNSTORABLE.search(value):
        raise Unfit("a NUL character or half a surrogate pair", expected)
    return value


def read_name(value: Any, expected: str = "a name", limit: int = NAME_LIMIT) -> str:
    """Return a one-line identifier; whole numbers become digits, as MS COCO's image ids."""
    if type(value) is int:
        value = str(value)
    if not isinstance(value, str):
        raise Unfit(shown(value), expected)
    name = value.strip()
    if not name:
        raise Unfit("an empty text", expected)
    if len(name) > limit:
        raise Unfit(f"a name of {len(name):,} characters", f"at most {limit} characters")
    if _CONTROL.search(name) or _UNSTORABLE.search(name):
        raise Unfit(f"control characters in {shown(name)}", expected)
    return name


def read_image(value: Any) -> str:
    """Return an image's name; it must not lead out of a folder."""
    name = read_name(value, "an image's name")
    parts = re.split(r"[/\\]", name)
    if ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:[/\\]", name):
        raise Unfit(shown(name), "a name inside the folder of images")
    return name


def read_address(value: Any) -> str:
    """Return a web address."""
    address = read_text(value)
    if len(address) > ADDRESS_LIMIT:
        raise Unfit(f"an address of {len(address):,} characters", f"at most {ADDRESS_LIMIT} characters")
    if not re.match(r"https?://[^\s/]+\S*\Z", address):
        raise Unfit(shown(address), "an address that begins with http:// or https://")
    return address


def read_number(value: Any, textual: bool, expected: str = "a number") -> float:
    """Return a finite number; whole numbers become int."""
    number = value
    if textual and isinstance(value, str):
        try:
            number = int(value) if re.fullmatch(r"[+-]?\d{1,18}", value.strip()) else float(value)
        except ValueError:
            raise Unfit(shown(value), expected) from None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise Unfit(shown(value), expected)
    if not abs(number) < math.inf:  # refuses nan too; no conversion that a long integer would break
        raise Unfit(shown(value), expected)
    return int(number) if number == int(number) else number


def read_whole(value: Any, textual: bool, expected: str = "a whole number from 0") -> int:
    number = read_number(value, textual, expected)
    if number < 0 or not isinstance(number, int):
        raise Unfit(shown(number), expected)
    return number


def read_flag(value: Any, textual: bool) -> bool:
    """Return true or false; CSV may use 1 and 0."""
    if textual and isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    if not isinstance(value, bool):
        raise Unfit(shown(value), "true or false")
    return value


def read_time(value: Any) -> datetime:
    """Return a time; the file must give its zone."""
    if not isinstance(value, str):
        raise Unfit(shown(value), _TIME)
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        raise Unfit(shown(value), _TIME) from None
    if moment.tzinfo is None:
        raise Unfit(f"{shown(value)} without a time zone", _TIME)
    return moment


def _textual(info: ValidationInfo) -> bool:
    record = info.context
    return isinstance(record, Record) and record.textual


def _seconds(value: Any, info: ValidationInfo) -> float:
    expected = "a number of seconds from 0"
    seconds = read_number(value, _textual(info), expected)
    if seconds < 0:
        raise Unfit(shown(seconds), expected)
    return seconds


def text(expected: str) -> PlainValidator:
    return PlainValidator(lambda value: read_text(value, expected))


def name(expected: str = "a name", limit: int = NAME_LIMIT) -> PlainValidator:
    return PlainValidator(lambda value: read_name(value, expected, limit))


def one_of(*choices: str) -> PlainValidator:
    """Return the type of a name among ``names``."""

    def read(value: Any) -> str:
        chosen = read_name(value)
        if chosen not in choices:
            raise Unfit(shown(chosen), f"one of {', '.join(choices)}")
        return chosen

    return PlainValidator(read)


Text = Annotated[str, text("a text")]
CaptionText = Annotated[str, text("a caption")]
Name = Annotated[str, name()]
ShortName = Annotated[str, name(limit=SHORT_NAME_LIMIT)]
WorkerName = Annotated[str, name(limit=WORKER_LIMIT)]
ImageName = Annotated[str, PlainValidator(read_image)]
Address = Annotated[str, PlainValidator(read_address)]
Number = Annotated[float, PlainValidator(lambda value, info: read_number(value, _textual(info)))]
Whole = Annotated[int, PlainValidator(lambda value, info: read_whole(value, _textual(info)))]
Seconds = Annotated[float, PlainValidator(_seconds)]
Flag = Annotated[bool, PlainValidator(lambda value, info: read_flag(value, _textual(info)))]
Time = Annotated[datetime, PlainValidator(read_time)]


def counted(n: int, noun: str) -> str:
    """Return "1 cell", "2 cells"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def shown(value: object) -> str:
    """Return a short text of a value for messages; '' if missing."""
    if value is None:
        return "nothing"
    if isinstance(value, str) and not value.strip():
        return "an empty text"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be printed
    return text if len(text) <= 60 else text[:57] + "..."
