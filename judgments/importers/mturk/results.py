"""Reading a result file row by row, one row in memory at a time."""

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
    """One assignment of a result file. A cell is read when it is asked for, and refused with its line then: what a
    file says besides does not matter.

    Attributes:
        cells: canonical column name -> the cell; ``columns`` has the names.
        line: the line on which the record starts.
        zone: what times are taken for that name no zone.
        seconds: how long the work took, where a file says more than whole seconds.
        control: whether the question was there to see how well people answer.
        truth: what the file holds to be right, in the columns of ``cells``.
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
        """The sentence about a cell."""
        return ImportProblem(self.file, self.line, column, found, expected)

    def text(self, column: str) -> str:
        """The cell, '' where there is none."""
        return self.cells.get(column, "")

    def required(self, column: str) -> str:
        """A cell that must not be empty."""
        cell = self.text(column).strip()
        if not cell:
            raise self.problem(column, "nothing", "it in every row")
        return cell

    def time(self, column: str) -> datetime | None:
        """A moment in UTC, None for an empty cell."""
        return self._read(column, lambda cell: parse_time(cell, self.zone), TIME_EXPECTED)

    def whole(self, column: str) -> int | None:
        """A whole number from 0, None for an empty cell."""
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
        """Whether the requester did not pay for it."""
        return self.text("AssignmentStatus").strip().lower() == "rejected"

    @property
    def answers(self) -> dict[str, str]:
        """Field -> value, whatever way they came (``cells.py``)."""
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
    """The assignments of a result file. Rows of HITs that nobody did, which some tools wrote, are passed over.

    Args:
        required: columns, by canonical names, without which it is no result file.
        zone: for times that name none.

    Raises:
        ImportProblem: no such header, a column twice, a row with other cells than the header, an unclosed quote.
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
        values = values + [""] * (len(names) - len(values))  # those tools left out empty cells at the end
    cells = named_cells(path, line, names, values, header.separator) | more
    return {name: unguard_formula(cell) if cell[:1] == "'" else cell for name, cell in cells.items()}


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError("no whole number")
    return int(text)
