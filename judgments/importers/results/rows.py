"""Rows of result files of any platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TypeVar

from judgments.importers.records import quoted
from judgments.importers.results.mturk_cells import TIME_EXPECTED, Groups, answers_of, parse_time
from judgments.importers.textio import ImportNotes, ImportProblem

MOST_DIGITS = 18
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """An assignment of a result file; cells are parsed, and refused, on access only.

    Attributes:
        cells: MTurk's or the platform's own column -> cell.
        zone: of times without one.
        groups: of MTurk's radio buttons.
        seconds: work time, if the file has fractions.
        control: whether it was a control question.
        truth: right answers of the file, in the columns of ``cells``.
    """

    file: Path
    line: int | None
    cells: Mapping[str, str]
    zone: tzinfo | None = None
    groups: Groups = field(default_factory=dict)
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
            raise self.problem(column, quoted(cell), expected) from None

    @property
    def rejected(self) -> bool:
        return self.text("AssignmentStatus").strip().lower() == "rejected"

    @property
    def answers(self) -> dict[str, str]:
        try:
            return answers_of(self.cells, self.groups)
        except ValueError as error:
            expected = "a JSON list with one object, as a crowd-form sends it"
            raise self.problem("Answer.taskAnswers", str(error), expected) from None


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError("no whole number")
    return int(text)


@dataclass(frozen=True, slots=True)
class ResultSource:
    """How a platform's result files become rows.

    Attributes:
        read: (path, encoding, zone, notes) -> rows.
        canonical: maps a column's name to that in ``ResultRow.cells``.
        unit: the default column that identifies units.
        sparse: whether a row may lack unanswered columns.
        rejected: the quirk of excluded rows.
    """

    read: Callable[[Path, str | None, tzinfo | None, ImportNotes], Iterator[ResultRow]]
    canonical: Callable[[str], str] = str
    unit: str | None = None
    sparse: bool = False
    rejected: str = "rejected-assignment"
