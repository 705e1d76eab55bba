"""Judgments from JSON lines or CSV, with exactly the columns in which they are exported."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import SHORT_NAME_LIMIT, WORKER_LIMIT, Columns, Fields, check_name, shown
from judgments.importers.formulas import unguard_formula
from judgments.importers.notes import ImportNotes
from judgments.importers.records import (
    ANNOTATION,
    JUDGMENT_COLUMNS,
    PAIR_KINDS,
    SEARCH,
    Credit,
    CreditedRow,
    JudgmentRow,
    WinnerRow,
)
from judgments.importers.tables import RecordReader, parse_json

_REQUIRED = ("unit", "worker")
_COLUMNS = Columns(_REQUIRED, tuple(name for name in JUDGMENT_COLUMNS if name not in _REQUIRED), strict=True)
RULE_LIMIT = 40
MOST_RANK = 100_000  # deeper than any run is kept
_ANONYMOUS = re.compile(r"anon-[1-9]\d*")


class Scale(NamedTuple):
    """The whole numbers that a protocol's `value` may be."""

    low: int
    high: int

    def __str__(self) -> str:
        return (
            f"{self.low} or {self.high}"
            if self.high - self.low == 1
            else f"a number from {self.low} to {self.high}"
        )


# What a protocol lets `value` be; protocols that are not named here answer in `answer` instead.
_VALUES = {
    "triplet": Scale(1, 2),
    "pairwise": Scale(1, 2),
    "relevance": Scale(0, 1),
    "graded": Scale(1, 4),
    "slider": Scale(0, 100),
}
_OPEN = ("caption", "keywords", "grounding", "best-worst")
_TWO_SIDED = ("triplet", "pairwise")


class TableJudgments:
    """Exported judgments, or others in the same columns; `unit`, `worker` and an answer are required.

    A worker named `anon-1`, `anon-2`, ... is anonymous, as it is when published totals are imported.
    Streams: besides the row in hand it holds a 64-bit digest a unit and worker, and one a unit. Read it once.
    """

    def __init__(
        self,
        path: Path,
        records: RecordReader,
        *,
        protocol: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self.path = path
        self.notes = ImportNotes()
        self.protocol = protocol
        self.anonymous = False
        self._records = records
        self._encoding = encoding
        if protocol is not None and protocol not in _VALUES and protocol not in _OPEN:
            raise ImportProblem(path, None, None, f"the unknown protocol {protocol!r}", _known_protocols())

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """None: every row is a judgment."""
        return iter(())

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        """The rows; with `images` and `captions`, unknown names are problems."""
        lines: dict[int, int | None] = {}
        revisions: dict[int, int] = {}
        contents: dict[int, int] = {}
        for fields in self._records(self.path, _COLUMNS, self.notes, self._encoding):
            row = self._row(fields)
            held = json.dumps(row.content, sort_keys=True)
            content = hash((row.protocol, row.image, row.reference, row.first, row.second, row.pair, held))
            if contents.setdefault(hash(row.unit), content) != content:
                expected = "the same protocol, image, captions and pair in all of its rows"
                raise fields.problem("unit", f"{shown(row.unit)} with other content than before", expected)
            answered = hash((row.unit, row.worker))
            if answered in lines and row.revision != revisions[answered] + 1:
                found = f"a second answer of {shown(row.worker)} on unit {shown(row.unit)}"
                raise fields.problem(
                    "worker",
                    f"{found} (the first is on line {lines[answered]})",
                    "one answer a worker and unit",
                )
            lines[answered], revisions[answered] = fields.line, row.revision
            if images is not None and row.image is not None and row.image not in images:
                raise fields.problem("image", shown(row.image), "an image of the dataset")
            if captions is not None:
                for column in ("reference", "first", "second"):
                    name = getattr(row, column)
                    if name is not None and name not in captions:
                        raise fields.problem(column, shown(name), "a caption of the dataset")
            yield row
        if not lines:
            raise ImportProblem(self.path, None, None, "no judgments", "at least one record")

    def _row(self, fields: Fields) -> JudgmentRow:
        fields = _unguarded(fields)
        protocol = self._protocol(fields)
        worker = fields.name("worker", limit=WORKER_LIMIT)
        accepted, submitted = fields.time("accepted_at"), fields.time("submitted_at")
        if accepted is not None and submitted is not None and submitted < accepted:
            raise fields.problem("submitted_at", "a time before accepted_at", "one after it")
        seconds = fields.number("seconds", "a number of seconds")
        if seconds is not None and seconds < 0:
            raise fields.problem("seconds", shown(seconds), "a number of seconds from 0")
        wall = fields.number("wall_seconds", "a number of seconds")
        if wall is not None and wall < 0:
            raise fields.problem("wall_seconds", shown(wall), "a number of seconds from 0")
        revision = fields.number("revision", "a whole number from 0") or 0
        if not isinstance(revision, int) or revision < 0:
            raise fields.problem("revision", shown(revision), "a whole number from 0")
        value, answer = _answered(fields, protocol)
        credits = _credits(fields)
        return (JudgmentRow if credits is None else partial(CreditedRow, credits=credits))(
            unit=fields.name("unit", limit=SHORT_NAME_LIMIT),
            worker=worker,
            value=value,
            answer=answer,
            study=fields.optional_name("study"),
            protocol=protocol,
            image=fields.image() if fields.has("image") else None,
            reference=fields.optional_name("reference"),
            first=fields.optional_name("first"),
            second=fields.optional_name("second"),
            reference_text=fields.optional_text("reference_text"),
            first_text=fields.optional_text("first_text"),
            second_text=fields.optional_text("second_text"),
            kind=_kind(fields),
            pair=fields.optional_name("pair", SHORT_NAME_LIMIT),
            assignment=fields.optional_name("assignment", SHORT_NAME_LIMIT),
            hit=fields.optional_name("hit", SHORT_NAME_LIMIT),
            control=fields.flag("control", False),
            expected=_expected(fields),
            used=fields.flag("used", True),
            presented=_presented(fields, protocol),
            simulated=fields.flag("simulated", False),
            accepted_at=accepted,
            submitted_at=submitted,
            seconds=seconds,
            wall_seconds=wall,
            comment=fields.optional_text("comment") or "",
            revision=revision,
            invalidated=fields.optional_name("invalidated", RULE_LIMIT),
            content=_content(fields),
            anonymous=_ANONYMOUS.fullmatch(worker) is not None,
        )

    def _protocol(self, fields: Fields) -> str | None:
        protocol = fields.optional_name("protocol")
        if protocol is None:
            return self.protocol
        if protocol not in _VALUES and protocol not in _OPEN:
            raise fields.problem("protocol", shown(protocol), _known_protocols())
        if self.protocol is not None and protocol != self.protocol:
            raise fields.problem("protocol", shown(protocol), f"{self.protocol!r}, the study's protocol")
        return protocol


def _unguarded(fields: Fields) -> Fields:
    """The fields without the apostrophes of a CSV export; most rows have none and stay as they are."""
    cells = {
        column: unguard_formula(cell)
        for column, cell in fields.values.items()
        if fields.textual and isinstance(cell, str) and cell.startswith("'")
    }
    return Fields(fields.file, fields.line, {**fields.values, **cells}, textual=True) if cells else fields


def _known_protocols() -> str:
    return f"one of {', '.join((*_VALUES, *_OPEN))}"


def _answered(fields: Fields, protocol: str | None) -> tuple[int | float | None, object | None]:
    """(value, answer) of a row, one of which is there."""
    answer = fields.raw("answer")
    if fields.textual and isinstance(answer, str) and answer[0] in '[{"':
        answer = parse_json(answer, fields.file, fields.line)
    if isinstance(answer, str):
        answer = fields.check_text(answer, "answer")
    elif answer is not None and not isinstance(answer, (list, dict)):
        raise fields.problem("answer", shown(answer), "a text, a list or an object")
    if protocol in _OPEN:
        if answer is None:
            raise fields.problem("answer", "nothing", f"the answer of a {protocol} unit")
        return fields.number("value"), answer
    if protocol is None:
        value = fields.number("value")
        if value is None and answer is None:
            raise fields.problem("value", "nothing", "a number, or an answer")
        return value, answer
    scale = _VALUES[protocol]
    expected = f"{scale} ({protocol})"
    value = fields.number("value", expected)
    if value is None or not isinstance(value, int) or not scale.low <= value <= scale.high:
        raise fields.problem("value", shown(value), expected)
    return value, answer


def _kind(fields: Fields) -> str | None:
    kind = fields.optional_name("kind")
    if kind is not None and kind not in PAIR_KINDS:
        raise fields.problem("kind", shown(kind), f"one of {', '.join(PAIR_KINDS)}, or nothing")
    return kind


def _expected(fields: Fields) -> object | None:
    """The right answer of a control item: a whole number, a range such as "3-4", or an open answer as JSON."""
    value = fields.raw("expected")
    if value is None:
        return None
    if fields.textual and isinstance(value, str) and value[0] in '[{"':
        value = parse_json(value, fields.file, fields.line)
    if isinstance(value, (list, dict)):
        return value
    text = str(value).strip() if type(value) in (int, str) else ""
    if re.fullmatch(r"\d{1,3}", text):
        return int(text)
    if re.fullmatch(r"\d{1,3}-\d{1,3}", text):
        return text
    raise fields.problem("expected", shown(value), 'a value, or a range of grades such as "3-4"')


def _content(fields: Fields) -> dict[str, object] | None:
    """What else the unit showed: an object, in CSV as JSON."""
    value = fields.raw("content")
    if fields.textual and isinstance(value, str):
        value = parse_json(value, fields.file, fields.line)
    if value is not None and not isinstance(value, dict):
        raise fields.problem("content", shown(value), "an object")
    return value


def _credits(fields: Fields) -> Mapping[str, tuple[Credit, ...]] | None:
    """The systems behind the unit's captions, by caption id: an object, in CSV as JSON."""
    value = fields.raw("systems")
    if fields.textual and isinstance(value, str):
        value = parse_json(value, fields.file, fields.line)
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(own, list) for own in value.values()):
        raise fields.problem("systems", shown(value), "an object from caption ids to lists of systems")
    content = fields.raw("content")
    if fields.textual and isinstance(content, str):
        content = parse_json(content, fields.file, fields.line)
    options = content.get("options") if isinstance(content, dict) else None
    known = {fields.raw(name) for name in ("first", "second")}
    known |= {one.get("key") for one in options or () if isinstance(one, dict)}
    unknown = [key for key in value if key not in known]
    if unknown:
        raise fields.problem("systems", f"the caption id {shown(unknown[0])}", "a caption of the unit")
    return {key: tuple(_credit(fields, one) for one in own) for key, own in value.items()}


def _credit(fields: Fields, value: object) -> Credit:
    if not isinstance(value, dict) or not value.keys() <= {"system", "rank", "task"}:
        raise fields.problem("systems", shown(value), 'an object such as {"system": "nearest", "rank": 1}')
    system, rank, task = value.get("system"), value.get("rank"), value.get("task", ANNOTATION)
    if not isinstance(system, str):
        raise fields.problem("systems", shown(system), "a system's name")
    name = check_name(system, fields.file, fields.line, "systems", "a system's name", SHORT_NAME_LIMIT)
    if rank is not None and (type(rank) is not int or not 1 <= rank <= MOST_RANK):
        raise fields.problem("systems", f"the rank {shown(rank)}", f"a whole number from 1 to {MOST_RANK:,}")
    if task not in (ANNOTATION, SEARCH):
        raise fields.problem("systems", f"the task {shown(task)}", f"{ANNOTATION} or {SEARCH}")
    return Credit(name, rank, task)


def _presented(fields: Fields, protocol: str | None) -> Literal["first-left", "second-left"] | None:
    value = fields.raw("presented")
    if value is None:
        return None
    if value != "first-left" and value != "second-left":
        raise fields.problem("presented", shown(value), "first-left, second-left or nothing")
    if protocol is not None and protocol not in _TWO_SIDED:
        raise fields.problem("presented", shown(value), f"nothing: {protocol} has no sides")
    return value


def answer_cell(answer: object) -> str:
    """An open answer as one CSV cell: JSON, so that texts, lists and objects come back as they were."""
    return "" if answer is None else json.dumps(answer, ensure_ascii=False)
