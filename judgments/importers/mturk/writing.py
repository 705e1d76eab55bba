"""Results in the requester pages' columns: what is written reads back the same (whole seconds, whole cents)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from judgments.importers.formulas import guard_formula
from judgments.importers.mturk.cells import format_cents, format_time
from judgments.importers.mturk.columns import ANSWER, COLUMNS, INPUT, REVIEW_COLUMNS
from judgments.importers.mturk.results import ResultRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An assignment with its HIT. The fields stand in the order of the file's columns; None is an empty cell."""

    hit_id: str
    hit_type_id: str = ""
    title: str = ""
    description: str = ""
    keywords: str = ""
    reward_cents: int | None = None
    created_at: datetime | None = None
    max_assignments: int | None = None
    annotation: str = ""
    duration_seconds: int | None = None
    auto_approval_seconds: int | None = None
    expires_at: datetime | None = None
    similar_hits: int | None = None
    lifetime_seconds: int | None = None
    assignment_id: str
    worker_id: str
    status: str = ""
    accepted_at: datetime | None = None
    submitted_at: datetime | None = None
    auto_approval_at: datetime | None = None
    approved_at: datetime | None = None
    rejected_at: datetime | None = None
    feedback: str = ""
    work_seconds: int | None = None
    lifetime_rate: str = ""
    month_rate: str = ""
    week_rate: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    approve: str = ""
    reject: str = ""


_FIELDS = tuple(one.name for one in fields(Result))[: len(COLUMNS)]
_COLUMN_OF = dict(zip(_FIELDS, COLUMNS, strict=True))
_READ: dict[str, Callable[[ResultRow, str], Any]] = {
    "reward_cents": ResultRow.cents,
    **dict.fromkeys(
        (name for name in _FIELDS if name.endswith("_at")),
        ResultRow.time,
    ),
    **dict.fromkeys(
        (
            name
            for name in _FIELDS
            if name.endswith("_seconds") or name in ("max_assignments", "similar_hits")
        ),
        ResultRow.whole,
    ),
}


def result_header(inputs: Sequence[str], answers: Sequence[str]) -> list[str]:
    """The first line, for HITs made from ``inputs`` and forms with the fields ``answers``."""
    return [
        *COLUMNS,
        *(f"{INPUT}{name}" for name in inputs),
        *(f"{ANSWER}{name}" for name in answers),
        *REVIEW_COLUMNS,
    ]


def result_cells(result: Result, inputs: Sequence[str], answers: Sequence[str]) -> list[str]:
    """A line; spreadsheet programs take none of its cells for a formula."""
    cells = [_cell(name, getattr(result, name)) for name in _FIELDS]
    cells += [result.inputs.get(name, "") for name in inputs]
    cells += [result.answers.get(name, "") for name in answers]
    return [guard_formula(cell) for cell in (*cells, result.approve, result.reject)]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_time(value)
    return format_cents(value) if name == "reward_cents" else str(value)


def result_of(row: ResultRow) -> Result:
    """A row with all of its columns read.

    Raises:
        ImportProblem: a cell does not hold what its column is for.
    """
    cells = {name: _READ.get(name, ResultRow.text)(row, _COLUMN_OF[name]) for name in _FIELDS}
    approve, reject = REVIEW_COLUMNS
    return Result(
        **cells,
        inputs=row.inputs,
        answers=row.answers,
        approve=row.text(approve),
        reject=row.text(reject),
    )
