"""Read judgments from JSON lines or CSV, in the columns of the export."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evaluation.statistics.aggregation.preferences import sides_of
from judgments.importers.readers import Columns, RecordReader, json_cell, parse_json
from judgments.importers.records import (
    ANNOTATION,
    JUDGMENT_COLUMNS,
    SEARCH,
    SHORT_NAME_LIMIT,
    BadValue,
    Credit,
    CreditedRow,
    JudgmentRow,
    JudgmentSource,
    Record,
    Shape,
    quoted,
    read_name,
    read_number,
    read_text,
)
from judgments.importers.textio import ImportProblem, unguard_formula
from judgments.kinds import KINDS, Kind

_REQUIRED = ("unit", "worker")
_COLUMNS = Columns(_REQUIRED, tuple(name for name in JUDGMENT_COLUMNS if name not in _REQUIRED), strict=True)
MOST_RANK = 100_000  # deeper than any run is kept
_READ_HERE = ("value", "answer", "protocol", "expected", "content", "anonymous", "aggregated")
JUDGMENT = Shape(JudgmentRow, given=_READ_HERE)
CREDITED = Shape(CreditedRow, given=(*_READ_HERE, "credits"))
ANONYMOUS = re.compile(r"anon-[1-9]\d*")


class TableJudgments(JudgmentSource):
    """Judgments in the export's columns; `unit`, `worker` and an answer are required.

    Workers named `anon-1`, `anon-2`, ... are anonymous, as in published totals. Memory holds a 64-bit digest per
    unit and worker, and one per unit.
    """

    def __init__(
        self, path: Path, records: RecordReader, *, protocol: str | None, encoding: str | None
    ) -> None:
        super().__init__(path, encoding)
        self.protocol = protocol
        self._records = records
        if protocol is not None and protocol not in _readable():
            raise ImportProblem(path, None, None, f"the unknown protocol {protocol!r}", _known_protocols())

    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]:
        lines: dict[int, int | None] = {}
        revisions: dict[int, int] = {}
        contents: dict[int, int] = {}
        for record in self._records(self.path, _COLUMNS, self.notes, self._encoding):
            row = self._row(record)
            held = "" if row.content is None else json.dumps(row.content, sort_keys=True)
            content = hash((row.protocol, row.image, row.reference, row.first, row.second, row.pair, held))
            if contents.setdefault(hash(row.unit), content) != content:
                expected = "the same protocol, image, captions and pair in all of its rows"
                raise record.problem("unit", f"{quoted(row.unit)} with other content than before", expected)
            answered = hash((row.unit, row.worker))
            if answered in lines and row.revision != revisions[answered] + 1:
                found = f"a second answer of {quoted(row.worker)} on unit {quoted(row.unit)}"
                raise record.problem(
                    "worker",
                    f"{found} (the first is on line {lines[answered]})",
                    "one answer a worker and unit",
                )
            lines[answered], revisions[answered] = record.line, row.revision
            if images is not None and row.image is not None and row.image not in images:
                raise record.problem("image", quoted(row.image), "an image of the dataset")
            if captions is not None:
                for column in ("reference", "first", "second"):
                    name = getattr(row, column)
                    if name is not None and name not in captions:
                        raise record.problem(column, quoted(name), "a caption of the dataset")
            yield row
        if not lines:
            raise ImportProblem(self.path, None, None, "no judgments", "at least one record")

    def _row(self, record: Record) -> JudgmentRow:
        record = _unguarded(record)
        protocol = self._protocol(record)
        value, answer = _answered(record, protocol)
        given = {
            "protocol": protocol,
            "value": value,
            "answer": answer,
            "expected": _expected(record),
            "content": _content(record),
            "anonymous": ANONYMOUS.fullmatch(str(record.get("worker")).strip()) is not None,
        }
        credits = _credits(record)
        row = (
            JUDGMENT.read(record, **given)
            if credits is None
            else CREDITED.read(record, credits=credits, **given)
        )
        if row.accepted_at and row.submitted_at and row.submitted_at < row.accepted_at:
            raise record.problem("submitted_at", "a time before accepted_at", "one after it")
        if row.chance is not None and row.hit is None:
            raise record.problem("hit", "nothing", "the HIT that was drawn, as there is a chance")
        if row.presented and protocol is not None and not KINDS[protocol].two_sided:
            raise record.problem("presented", quoted(row.presented), f"nothing: {protocol} has no sides")
        return row

    def _protocol(self, record: Record) -> str | None:
        if record.get("protocol") is None:
            return self.protocol
        protocol = record.read("protocol", read_name)
        if protocol not in _readable():
            raise record.problem("protocol", quoted(protocol), _known_protocols())
        if self.protocol is not None and protocol != self.protocol:
            raise record.problem("protocol", quoted(protocol), f"{self.protocol!r}, the study's protocol")
        return protocol


def _unguarded(record: Record) -> Record:
    if not record.textual:
        return record
    cells = {
        column: unguard_formula(cell)
        for column, cell in record.values.items()
        if isinstance(cell, str) and cell.startswith("'")
    }
    return replace(record, values={**record.values, **cells}) if cells else record


def _readable() -> list[str]:
    """Leave out a researcher's own page: its questions lie in the design, which no table holds."""
    return [name for name, kind in KINDS.items() if not kind.page.custom]


def _known_protocols() -> str:
    return f"one of {', '.join(_readable())}"


def _answered(record: Record, protocol: str | None) -> tuple[float | None, object | None]:
    answer = _json_or_text(record, "answer")
    if isinstance(answer, str):
        answer = record.read("answer", lambda _: read_text(answer))
    elif answer is not None and not isinstance(answer, list | dict):
        raise record.problem("answer", quoted(answer), "a text, a list or an object")
    if protocol is None:
        value = _value(record)
        if value is None and answer is None:
            raise record.problem("value", "nothing", "a number, or an answer")
        return value, answer
    kind = KINDS[protocol]
    if kind.is_open:
        if answer is None:
            raise record.problem("answer", "nothing", f"the answer of a {protocol} unit")
        return _value(record), answer
    expected = _scale(kind)
    value = _value(record, expected)
    if kind.two_sided and record.get("answers") is not None and value is not None:
        try:
            sides_of([value])
        except ValueError:
            raise record.problem("value", quoted(value), "an answer to a pair (docs/ties.md)") from None
        return value, answer
    if not isinstance(value, int) or value not in kind.values:
        raise record.problem("value", quoted(value), expected)
    return value, answer


def _scale(kind: Kind) -> str:
    low, high = min(kind.values), max(kind.values)
    scale = f"{low} or {high}" if len(kind.values) == 2 else f"a number from {low} to {high}"
    return f"{scale} ({kind.name})"


def _value(record: Record, expected: str = "a number") -> float | None:
    if record.get("value") is None:
        return None
    return record.read("value", lambda value: read_number(value, record.textual, expected))


def _json_or_text(record: Record, column: str) -> object:
    """In CSV, parse what is JSON."""
    value = record.get(column)
    if record.textual and isinstance(value, str) and value[0] in '[{"':
        return parse_json(value, record.file, record.line)
    return value


def _expected(record: Record) -> object | None:
    value = _json_or_text(record, "expected")
    if value is None or isinstance(value, list | dict):
        return value
    text = str(value).strip() if type(value) in (int, str) else ""
    if re.fullmatch(r"\d{1,3}", text):
        return int(text)
    if re.fullmatch(r"\d{1,3}-\d{1,3}", text):
        return text
    raise record.problem("expected", quoted(value), 'a value, or a range of grades such as "3-4"')


def _content(record: Record) -> dict[str, object] | None:
    value = json_cell(record, "content")
    if value is not None and not isinstance(value, dict):
        raise record.problem("content", quoted(value), "an object")
    return value


def _credits(record: Record) -> Mapping[str, tuple[Credit, ...]] | None:
    value = json_cell(record, "systems")
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(own, list) for own in value.values()):
        raise record.problem("systems", quoted(value), "an object from caption ids to lists of systems")
    content = json_cell(record, "content")
    options = content.get("options") if isinstance(content, dict) else None
    known = {record.get(name) for name in ("first", "second")}
    known |= {one.get("key") for one in options or () if isinstance(one, dict)}
    unknown = [key for key in value if key not in known]
    if unknown:
        raise record.problem("systems", f"the caption id {quoted(unknown[0])}", "a caption of the unit")
    return record.read("systems", lambda _: {key: tuple(map(_credit, own)) for key, own in value.items()})


def _credit(value: object) -> Credit:
    if not isinstance(value, dict) or not value.keys() <= {"system", "rank", "task"}:
        raise BadValue(quoted(value), 'an object such as {"system": "nearest", "rank": 1}')
    system, rank, task = value.get("system"), value.get("rank"), value.get("task", ANNOTATION)
    if not isinstance(system, str):
        raise BadValue(quoted(system), "a system's name")
    if rank is not None and (type(rank) is not int or not 1 <= rank <= MOST_RANK):
        raise BadValue(f"the rank {quoted(rank)}", f"a whole number from 1 to {MOST_RANK:,}")
    if task not in (ANNOTATION, SEARCH):
        raise BadValue(f"the task {quoted(task)}", f"{ANNOTATION} or {SEARCH}")
    return Credit(read_name(system, "a system's name", SHORT_NAME_LIMIT), rank, task)


def answer_cell(answer: object) -> str:
    return "" if answer is None else json.dumps(answer, ensure_ascii=False)
