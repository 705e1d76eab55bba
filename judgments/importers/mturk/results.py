"""Reading a result file row by row, one row in memory at a time."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TypeVar

from judgments.importers.errors import ImportProblem
from judgments.importers.fields import counted, shown
from judgments.importers.formulas import unguard_formula
from judgments.importers.mturk.answers import Groups, answers_of, groups_of, old_answers
from judgments.importers.mturk.cells import TIME_EXPECTED, batch_of, parse_cents, parse_time
from judgments.importers.mturk.columns import ANSWER, INPUT, OLD_ANSWERS, canonical, is_known
from judgments.importers.tables import csv_fault
from judgments.importers.textio import read_lines

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
    line: int
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

    def cents(self, column: str) -> int | None:
        """An amount of money, None for an empty cell."""
        return self._read(column, parse_cents, "an amount in whole cents, such as $0.10")

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
    def batch(self) -> str:
        """The number of its batch, or ''."""
        return batch_of(self.text("RequesterAnnotation"))

    @property
    def rejected(self) -> bool:
        """Whether the requester did not pay for it."""
        return self.text("AssignmentStatus").strip().lower() == "rejected"

    @property
    def inputs(self) -> dict[str, str]:
        """What the HIT was made from: column of the input file -> cell."""
        return {column[len(INPUT) :]: cell for column, cell in self.cells.items() if column.startswith(INPUT)}

    @property
    def answers(self) -> dict[str, str]:
        """Field -> value, whatever way they came (``answers.py``)."""
        try:
            return answers_of(self.cells, self.groups)
        except ValueError as error:
            expected = "a JSON list with one object, as a crowd-form sends it"
            raise self.problem("Answer.taskAnswers", str(error), expected) from None


@dataclass(frozen=True, slots=True)
class _Header:
    line: int
    separator: str
    names: list[str]


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
    reader = csv.reader((text for _, text in lines), delimiter=header.separator, strict=True)
    while True:
        start = header.line + 1 + reader.line_num
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise ImportProblem(path, start, None, csv_fault(error), "a CSV record") from error
        if values is None:
            return
        if not any(values):
            continue
        cells = _cells(path, start, header, values)
        if cells.get("WorkerId", "").strip() or cells.get("AssignmentId", "").strip():
            yield ResultRow(path, start, cells, groups, zone)


def _cells(path: Path, line: int, header: _Header, values: list[str]) -> dict[str, str]:
    names, more = header.names, {}
    if names[-1].lower() == OLD_ANSWERS and len(values) >= len(names):
        names, values, behind = names[:-1], values[: len(names) - 1], values[len(names) - 1 :]
        try:
            more = old_answers(behind)
        except ValueError as error:
            raise ImportProblem(path, line, OLD_ANSWERS, str(error), "names and values in turn") from None
    elif header.separator == "\t" and len(values) < len(names):
        values = values + [""] * (len(names) - len(values))  # those tools left out empty cells at the end
    if len(values) != len(names):
        found, expected = counted(len(values), "cell"), f"{len(names)} as in the header"
        raise ImportProblem(path, line, None, found, expected)
    cells = dict(zip(names, values, strict=True)) | more
    return {name: unguard_formula(cell) if cell[:1] == "'" else cell for name, cell in cells.items()}


def _read_header(path: Path, lines: Iterator[tuple[int, str]], required: Sequence[str]) -> _Header:
    number, text = next(lines, (1, ""))
    wanted = f"a header with {' and '.join(required)}"
    if not text.strip():
        raise ImportProblem(path, number, None, "no header", wanted)
    readings: list[tuple[int, str, list[str]]] = []
    for separator in SEPARATORS:
        try:
            names = [canonical(name) for name in next(csv.reader([text], delimiter=separator, strict=True))]
        except csv.Error:
            continue  # quotes that make no sense with this separator: another one may fit
        readings.append((sum(is_known(name) for name in names), separator, names))
    known, separator, names = max(readings, default=(0, ",", []), key=lambda reading: reading[0])
    missing = [name for name in required if name not in names]
    if not known or missing:
        found = f"no column {missing[0]}" if known else f"the first line {shown(text.strip())}"
        raise ImportProblem(path, number, None, found, wanted)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ImportProblem(path, number, twice[0], "this column twice in the header", "every column once")
    return _Header(number, separator, names)


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError("no whole number")
    return int(text)
