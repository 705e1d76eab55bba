"""Read judgments of result files by a given mapping of columns."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from judgments.drawing.material import content_key
from judgments.importers.judgment_tables import TableJudgments
from judgments.importers.mturk import ANSWER, ResultRow, canonical
from judgments.importers.records import Columns, JudgmentRow, Record, parse_json, quoted
from judgments.importers.textio import ImportNotes, ImportProblem, read_whole

NUMBER = "{n}"  # a counter in column names: 0, 1, 2, ..., where a HIT asked about several things
WHAT = (
    "image", "reference", "first", "second", "reference_text", "first_text", "second_text", "kind", "pair",
    "content",
)  # fmt: skip
NAMES = ("unit", *WHAT, "value", "answer", "control", "expected", "comment", "seconds")
ANSWER_NAMES = ("value", "answer")
_WHOLE = re.compile(r"[+-]?\d{1,18}(?:\.0*)?", re.ASCII)
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
MAPPING_KEYS = ("columns", "values", "zone")
EXAMPLE = "pairs such as image=Input.image,value=Answer.choice"


@dataclass(frozen=True, slots=True)
class ResultColumns:
    """How to read a result file.

    Attributes:
        columns: a judgment's column (``NAMES``) -> the file's, which may hold ``{n}``.
        values: cell -> value, for answers in words; empty if cells are values.
        zone: of times without one.
        worker_name: maps a worker's id in the file to the stored name.
    """

    columns: Mapping[str, str]
    values: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    worker_name: Callable[[str], str] = str


def parse_pairs(text: str, path: Path, option: str, example: str = EXAMPLE) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not (name and equals and value):
            raise ImportProblem(path, None, option, quoted(pair.strip()), example)
        if name in pairs:
            raise ImportProblem(path, None, option, f"{quoted(name)} twice", "it once")
        pairs[name] = value
    return pairs


def parse_zone(text: str, path: Path) -> tzinfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImportProblem(path, None, "--zone", quoted(text), "one such as America/Los_Angeles") from None


def read_mapping(path: Path, worker_name: Callable[[str], str]) -> ResultColumns:
    try:
        mapping = tomllib.loads(read_whole(path))
    except tomllib.TOMLDecodeError as error:
        raise ImportProblem(
            path, None, None, f"no TOML ({error})", "[columns] with a line a column"
        ) from None
    for name in mapping:
        if name not in MAPPING_KEYS:
            raise ImportProblem(path, None, name, "this unknown key", f"one of {', '.join(MAPPING_KEYS)}")
    zone = mapping.get("zone")
    if zone is not None and not isinstance(zone, str):
        raise ImportProblem(path, None, "zone", quoted(zone), "one such as America/Los_Angeles")
    return ResultColumns(
        columns=_texts(path, "columns", mapping.get("columns", {})),
        values=_texts(path, "values", mapping.get("values", {})),
        zone=parse_zone(zone, path) if zone else None,
        worker_name=worker_name,
    )


def _texts(path: Path, name: str, table: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        raise ImportProblem(path, None, name, quoted(table), "a table")
    for key, value in table.items():
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ImportProblem(path, None, f"{name}.{key}", quoted(value), "a text or a whole number")
    return {str(key): str(value) for key, value in table.items()}


class ResultJudgments(TableJudgments):
    """Answers of a result file; those of rejected assignments are stored but excluded.

    A unit is identified by a named column, or by equal image, captions and the rest of ``WHAT``. Image addresses
    may end in the image's name.
    """

    def __init__(
        self,
        path: Path,
        how: ResultColumns,
        *,
        protocol: str | None,
        encoding: str | None,
        read: Callable[[Path, str | None, tzinfo | None], Iterator[ResultRow]],
    ) -> None:
        super().__init__(path, self._read, protocol=protocol, encoding=encoding)
        self.how = how
        self._rows = read
        self._images: Container[str] | None = None
        self._columns = {name: canonical(column) for name, column in how.columns.items()}
        for name in how.columns:
            if name not in NAMES:
                near = get_close_matches(name, NAMES, n=1)
                expected = f"{near[0]!r} perhaps" if near else f"one of {', '.join(NAMES)}"
                raise ImportProblem(path, None, "--columns", f"the unknown name {quoted(name)}", expected)
        if not any(name in how.columns for name in ("unit", *WHAT)):
            raise ImportProblem(
                path, None, "--columns", "nothing that was judged", "image=COLUMN, say, or unit=COLUMN"
            )
        if not any(name in how.columns for name in ANSWER_NAMES):
            raise ImportProblem(
                path, None, "--columns", "no value", "value=COLUMN, or answer=COLUMN for open answers"
            )

    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]:
        self._images = images
        return super().judgments(images, captions)

    def _read(
        self, path: Path, columns: Columns, notes: ImportNotes, encoding: str | None
    ) -> Iterator[Record]:
        unseen = set(self._columns.values())
        for row in self._rows(path, encoding, self.how.zone):
            answers = row.answers
            parts = list(self._parts(row, answers))
            for part in parts:
                unseen -= {self._columns[name] for name, column in part.items() if _has(row, answers, column)}
                texts = {name: self._cell(row, answers, column).strip() for name, column in part.items()}
                if not any(texts.get(name) for name in ANSWER_NAMES):
                    notes.count("empty-answer")
                    continue
                if row.rejected:
                    notes.count("rejected-assignment")
                values = self._values(row, texts, part, alone=len(parts) == 1)
                origins = {name: f"{column} ({name})" for name, column in part.items()}
                yield Record(row.file, row.line, values, origins=origins)
        if unseen:
            actual = f"no answer {quoted(min(unseen))} in any row"
            raise ImportProblem(path, None, "--columns", actual, "one of the file")

    def _parts(self, row: ResultRow, answers: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield name -> column for each part of the HIT; one mapping without numbered columns."""
        numbered = [column for column in self._columns.values() if NUMBER in column]
        if not numbered:
            yield self._columns
            return
        number = 0
        while True:
            any_column = any(_has(row, answers, column.replace(NUMBER, str(number))) for column in numbered)
            if any_column:
                yield {name: column.replace(NUMBER, str(number)) for name, column in self._columns.items()}
            elif number:
                return
            number += 1

    def _cell(self, row: ResultRow, answers: Mapping[str, str], column: str) -> str:
        if column in row.cells:
            return row.cells[column]
        if column.startswith(ANSWER):  # a form may omit unanswered fields
            return answers.get(column[len(ANSWER) :], "")
        near = get_close_matches(column, row.cells, n=1)
        expected = f"{near[0]!r} perhaps" if near else "a column of the file"
        raise ImportProblem(row.file, None, "--columns", f"the unknown column {quoted(column)}", expected)

    def _values(
        self, row: ResultRow, texts: Mapping[str, str], part: Mapping[str, str], *, alone: bool
    ) -> dict[str, Any]:
        values: dict[str, Any] = {
            name: self._typed(row, name, text, part[name]) for name, text in texts.items() if text
        }
        if "unit" not in texts:
            values["unit"] = content_key("unit", *(values.get(name) for name in WHAT))
        values["worker"] = self.how.worker_name(row.required("WorkerId"))
        accepted, submitted = row.time("AcceptTime"), row.time("SubmitTime")
        values |= {
            "assignment": row.text("AssignmentId").strip() or None,
            "hit": row.text("HITId").strip() or None,
            "used": not row.rejected,
            "accepted_at": accepted.isoformat() if accepted else None,
            "submitted_at": submitted.isoformat() if submitted else None,
        }
        if alone:  # a time shared by several answers belongs to none of them
            values["wall_seconds"] = row.whole("WorkTimeInSeconds")
        return values

    def _typed(self, row: ResultRow, name: str, text: str, column: str) -> Any:
        if name in ("value", "expected") and self.how.values:
            if text not in self.how.values:
                raise row.problem(column, quoted(text), f"one of {', '.join(self.how.values)}")
            text = self.how.values[text]
        if name in ("value", "expected", "seconds"):
            return _number(text)
        if name == "control":
            if text.lower() not in _FLAGS:
                raise row.problem(column, quoted(text), "true or false")
            return _FLAGS[text.lower()]
        if name == "image":
            return self._image(text)
        if name == "content" or (name == "answer" and text[0] in "[{"):
            return parse_json(text, row.file, row.line)
        return text

    def _image(self, text: str) -> str:
        """Return the name; of an unknown address, its last part."""
        if self._images is not None and text in self._images:
            return text
        last = unquote(urlsplit(text).path).rpartition("/")[2] if re.match(r"https?://", text) else ""
        return last or text


def _has(row: ResultRow, answers: Mapping[str, str], column: str) -> bool:
    return column in row.cells or (column.startswith(ANSWER) and column[len(ANSWER) :] in answers)


def _number(text: str) -> Any:
    """Leave other text, to be refused later with its column."""
    if _WHOLE.fullmatch(text):
        return int(text.partition(".")[0])
    try:
        return float(text)
    except ValueError:
        return text
