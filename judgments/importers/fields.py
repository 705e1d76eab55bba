"""One record of a table, and the checks that every column goes through."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path

from judgments.importers.errors import ImportProblem
from judgments.importers.notes import ImportNotes

# What Quorum stores; a longer name would fail in the database without a word about where it stands.
NAME_LIMIT = 200
SHORT_NAME_LIMIT = 80
WORKER_LIMIT = 100
ADDRESS_LIMIT = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
_FLAGS = {"true": True, "1": True, "false": False, "0": False}


class Fields:
    """The values of one record with the place they came from.

    `textual` is true for formats without types (CSV): there an empty cell is a missing value, and
    numbers and flags are read from their text.
    """

    __slots__ = ("file", "line", "textual", "values")

    def __init__(self, file: Path, line: int | None, values: Mapping[str, object], *, textual: bool) -> None:
        self.file = file
        self.line = line
        self.values = values
        self.textual = textual

    def where(self, column: str | None) -> str | None:
        """How a problem names a column; documents without lines name their path to it."""
        return column

    def problem(self, column: str | None, found: str, expected: str) -> ImportProblem:
        return ImportProblem(self.file, self.line, self.where(column), found, expected)

    def raw(self, column: str) -> object | None:
        value = self.values.get(column)
        return None if self.textual and value == "" else value

    def has(self, column: str) -> bool:
        return self.raw(column) is not None

    def text(self, column: str, expected: str = "a text") -> str:
        """A text with something in it, unchanged: blanks at its edges stay."""
        return self.check_text(self.values.get(column), column, expected)

    def check_text(self, value: object, column: str, expected: str = "a text") -> str:
        """The same for a value inside a column, which `column` then says: `references[3]`."""
        if not isinstance(value, str):
            raise self.problem(column, shown(value), expected)
        return check_text(value, self.file, self.line, self.where(column), expected)

    def optional_text(self, column: str) -> str | None:
        return self.text(column) if self.has(column) else None

    def name(self, column: str, expected: str = "a name", limit: int = NAME_LIMIT) -> str:
        """An identifier in one line; whole numbers become their digits, as MS COCO's image ids do."""
        value = self.raw(column)
        if type(value) is int:
            value = str(value)
        if not isinstance(value, str):
            raise self.problem(column, shown(value), expected)
        return check_name(value, self.file, self.line, self.where(column), expected, limit)

    def optional_name(self, column: str, limit: int = NAME_LIMIT) -> str | None:
        return self.name(column, limit=limit) if self.has(column) else None

    def image(self, column: str = "image") -> str:
        """An image's name; it may be looked for under a folder, so it must not lead out of it."""
        return check_image(self.name(column, "an image's name"), self.file, self.line, self.where(column))

    def address(self, column: str) -> str | None:
        value = self.optional_text(column)
        if value is not None and len(value) > ADDRESS_LIMIT:
            found = f"an address of {len(value):,} characters"
            raise self.problem(column, found, f"at most {ADDRESS_LIMIT} characters")
        if value is not None and not re.match(r"https?://[^\s/]+\S*\Z", value):
            raise self.problem(column, shown(value), "an address that begins with http:// or https://")
        return value

    def number(self, column: str, expected: str = "a number") -> float | None:
        """A finite number or None; whole numbers come back as int."""
        value = self.raw(column)
        if value is None:
            return None
        if self.textual and isinstance(value, str):
            try:
                value = float(value) if not re.fullmatch(r"[+-]?\d{1,18}", value.strip()) else int(value)
            except ValueError:
                raise self.problem(column, shown(value), expected) from None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.problem(column, shown(value), expected)
        if not abs(value) < math.inf:  # nan as well; no conversion that a long integer would break
            raise self.problem(column, shown(self.raw(column)), expected)
        return int(value) if value == int(value) else value

    def whole(self, column: str, expected: str = "a whole number from 0") -> int | None:
        value = self.number(column, expected)
        if value is not None and (value < 0 or not isinstance(value, int)):
            raise self.problem(column, shown(value), expected)
        return value

    def flag(self, column: str, default: bool) -> bool:
        value = self.raw(column)
        if value is None:
            return default
        if self.textual and isinstance(value, str) and value.strip().lower() in _FLAGS:
            return _FLAGS[value.strip().lower()]
        if not isinstance(value, bool):
            raise self.problem(column, shown(value), "true or false")
        return value

    def time(self, column: str) -> datetime | None:
        expected = "a time with its zone, such as 2026-01-01T10:00:00Z"
        value = self.raw(column)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.problem(column, shown(value), expected)
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            raise self.problem(column, shown(value), expected) from None
        if moment.tzinfo is None:
            raise self.problem(column, f"{shown(value)} without a time zone", expected)
        return moment


def check_text(value: str, file: Path, line: int | None, column: str | None, expected: str = "a text") -> str:
    """`value` itself, or ImportProblem when it is blank or no database could store it."""
    if not value.strip():
        raise ImportProblem(file, line, column, "an empty text", expected)
    if _UNSTORABLE.search(value):
        raise ImportProblem(file, line, column, "a NUL character or half a surrogate pair", expected)
    return value


def check_name(
    value: str,
    file: Path,
    line: int | None,
    column: str | None,
    expected: str = "a name",
    limit: int = NAME_LIMIT,
) -> str:
    """`value` without blanks at its edges, or ImportProblem when it is no identifier."""
    name = value.strip()
    if not name:
        raise ImportProblem(file, line, column, "an empty text", expected)
    if len(name) > limit:
        found = f"a name of {len(name):,} characters"
        raise ImportProblem(file, line, column, found, f"at most {limit} characters")
    if _CONTROL.search(name) or _UNSTORABLE.search(name):
        raise ImportProblem(file, line, column, f"control characters in {shown(name)}", expected)
    return name


def check_image(name: str, file: Path, line: int | None, column: str | None) -> str:
    """An image's name that stays inside the folder it is looked for in."""
    parts = re.split(r"[/\\]", name)
    if ".." in parts or parts[0] == "" or re.match(r"[A-Za-z]:[/\\]", name):
        raise ImportProblem(file, line, column, shown(name), "a name inside the folder of images")
    return name


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table. When `strict`, any other column is an error; else it goes unused.

    `instead` names for a required column another one that may stand in its place.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    strict: bool = False
    instead: Mapping[str, str] = field(default_factory=dict)

    def check(self, names: Collection[str], file: Path, line: int | None, notes: ImportNotes) -> None:
        """Raise ImportProblem for a column that is missing, or that looks like a misspelt one."""
        known = self.required + self.optional
        for name in names:
            if name in known or any(note.detail == name for note in notes):
                continue
            near = get_close_matches(name.lower(), known, n=1, cutoff=0.6 if self.strict else 0.8)
            if near or self.strict:
                expected = f"{near[0]!r} perhaps" if near else f"one of {', '.join(known)}"
                raise ImportProblem(file, line, None, f"the unknown column {shown(name)}", expected)
            notes.count("ignored-column", detail=name)
        for name in self.required:
            if name not in names and self.instead.get(name) not in names:
                raise ImportProblem(file, line, name, "no such field", "it in every record")


def counted(n: int, noun: str) -> str:
    """ "1 cell", "2 cells"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def shown(value: object) -> str:
    """A value for the eyes of a person: short, and nothing for a missing one."""
    if value is None:
        return "nothing"
    if isinstance(value, str) and not value.strip():
        return "an empty text"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be printed
    return text if len(text) <= 60 else text[:57] + "..."
