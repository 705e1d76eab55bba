"""Read a result file row by row, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TypeVar

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import shown
from judgments.importers.mturk.cells import (
    TIME_EXPECTED,
    Groups,
    answers_of,
    groups_of,
    old_answers,
    parse_time,
)
from judgments.importers.mturk.columns import ANSWER, OLD_ANSWERS, canonical, is_known
from judgments.importers.readers import Header, csv_rows, find_header, named_cells
from judgments.importers.textio import read_lines, unguard_formula

SEPARATORS = ",\t;"
MOST_DIGITS = 18
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """An assignment of a result file; cells are parsed, and refused, on access only.

    Attributes:
        cells: canonical column name -> cell; ``columns`` has the names.
        line: the first line of the record.
        zone: of times without one.
        seconds: work time, where the file is more precise than whole seconds.
        control: whether it was a control question.
        truth: right answers of the file, in the columns of ``cells``.
    """

    file: Path
    line: int | None
    cells: Mapping[str, str]
    groups: Groups
    zone: tzinfo | None = None
    seconds: float | None = None
    control: bool = False
    truth: Mapping[str, str] | None = None

    def problem(self, column: str | None, found: str, expected: str) -> ImportProblem:
        return ImportProblem(self.file, self.line, column, found, expected)

    def text(self, column: str) -> str:
        return self.cells.get(column, "")

    def required(self, column: str) -> str:
        cell = self.text(column).strip()
        if not cell:
            raise self.problem(column, "nothing", "it in every row")
        return cell

    def time(self, column: str) -> datetime | None:
        """Return a UTC time, or None for an empty cell."""
        return self._read(column, lambda cell: parse_time(cell, self.zone), TIME_EXPECTED)

    def whole(self, column: str) -> int | None:
        return self._read(column, _whole, "a whole number from 0")

    def _read(self, column: str, read: Callable[[str], T], expected: str) -> T | None:
        cell = self.text(column).strip()
        if not cell:
            return None
        try:
            return read(cell)
        except ValueError:
            raise self.problem(column, shown(cell), expected) from None

    @property
    def rejected(self) -> bool:
        return self.text("AssignmentStatus").strip().lower() == "rejected"

    @property
    def answers(self) -> dict[str, str]:
        """Return field -> value for every form of answers (``cells.py``)."""
        try:
            return answers_of(self.cells, self.groups)
        except ValueError as error:
            expected = "a JSON list with one object, as a crowd-form sends it"
            raise self.problem("Answer.taskAnswers", str(error), expected) from None


def read_results(
    path: Path,
    *,
    required: Sequence[str] = ("WorkerId",),
    encoding: str | None = None,
    zone: tzinfo | None = None,
) -> Iterator[ResultRow]:
    """Yield the assignments of a result file, without rows of unfinished HITs.

    Args:
        required: canonical columns that a result file must have.
        zone: of times without one.

    Raises:
        ImportProblem: no such header, a repeated column, a row of another length, an unclosed quote.
    """
    lines = read_lines(path, encoding=encoding, newline="")
    header = _read_header(path, lines, required)
    groups = groups_of(name[len(ANSWER) :] for name in header.names if name.startswith(ANSWER))
    for line, values in csv_rows(path, lines, header):
        cells = _cells(path, line, header, values)
        if cells.get("WorkerId", "").strip() or cells.get("AssignmentId", "").strip():
            yield ResultRow(path, line, cells, groups, zone)


def _read_header(path: Path, lines: Iterator[tuple[int, str]], required: Sequence[str]) -> Header:
    wanted = f"a header with {' and '.join(required)}"
    header = find_header(
        path,
        *next(lines, (1, "")),
        wanted=wanted,
        score=lambda names: sum(map(is_known, names)),
        separators=SEPARATORS,
        rename=canonical,
    )
    for name in required:
        if name not in header.names:
            raise ImportProblem(path, header.line, None, f"no column {name}", wanted)
    return header


def _cells(path: Path, line: int, header: Header, values: list[str]) -> dict[str, str]:
    names, more = header.names, {}
    if names[-1].lower() == OLD_ANSWERS and len(values) >= len(names):
        names, values, behind = names[:-1], values[: len(names) - 1], values[len(names) - 1 :]
        try:
            more = old_answers(behind)
        except ValueError as error:
            raise ImportProblem(path, line, OLD_ANSWERS, str(error), "names and values in turn") from None
    elif header.separator == "\t" and len(values) < len(names):
        values = values + [""] * (len(names) - len(values))  # those tools omitted empty cells at the end
    cells = named_cells(path, line, names, values, header.separator) | more
    return {name: unguard_formula(cell) if cell[:1] == "'" else cell for name, cell in cells.items()}


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError("no whole number")
    return int(text)
