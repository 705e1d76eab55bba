"""Rows of result files of MTurk and Turkle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TypeVar

from judgments.importers.records import quoted
from judgments.importers.results.mturk_cells import TIME_EXPECTED, Groups, answers_of, parse_time
from judgments.importers.textio import ImportProblem

MOST_DIGITS = 18
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ResultRow:
    """An assignment of a result file; cells are parsed, and refused, on access only.

    Attributes:
        cells: MTurk's column -> cell.
        zone: of times without one.
        groups: of MTurk's radio buttons.
    """

    file: Path
    line: int | None
    cells: Mapping[str, str]
    zone: tzinfo | None = None
    groups: Groups = field(default_factory=dict)

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
