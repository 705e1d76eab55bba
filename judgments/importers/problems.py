"""The errors of imports: one error, or all errors of a file's rows, which are collected and raised as one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from common.errors import QuorumError

MAX_PROBLEMS = 1_000  # problems of a file that are collected
PROBLEMS_SHOWN = 20  # problems that a message lists

R = TypeVar("R")
T = TypeVar("T")


class ImportProblem(QuorumError):
    """A file cannot be imported.

    Attributes:
        line: the number of the record's first line, from 1; None if the format has no lines.
        column: the column, or the path of a value in a document such as ``boxes[2].label``; or an option of a command.
        actual, expected: what was found, and what was expected instead.
        cell: the column in the file and the text of the cell, if a person can correct the cell.
    """

    title = "The file cannot be imported"

    def __init__(
        self, file: str | Path, line: int | None, column: str | None, actual: str, expected: str
    ) -> None:
        super().__init__(str(file), line, column, actual, expected)
        self.file = str(file)
        self.line = line
        self.column = column
        self.actual = actual
        self.expected = expected
        self.cell: tuple[str, str] | None = None

    def __str__(self) -> str:
        location = self.file
        if self.line is not None:
            location += f", line {self.line}"
        if self.column is not None:
            location += f", {self.column}"
        return f"{location}: found {self.actual}, expected {self.expected}."


class ImportProblems(ImportProblem):
    """All errors of a file. The attributes are those of the first error; the message lists the first few errors."""

    def __init__(self, problems: Sequence[ImportProblem]) -> None:
        first = problems[0]
        super().__init__(first.file, first.line, first.column, first.actual, first.expected)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        sentences = list(map(str, self.problems[:PROBLEMS_SHOWN]))
        if unlisted_count := len(self.problems) - len(sentences):
            sentences.append(f"So it is with {unlisted_count:,} more.")
        return "\n".join(sentences)


class RowProblems:
    """Collects the errors in a file's rows, to raise them together.

    If ``on_bad_row`` is set, errors of rows are not raised. Instead, it is called with each bad record and its error.
    """

    def __init__(self) -> None:
        self.on_bad_row: Callable[[Any, ImportProblem], None] | None = None
        self.problems: list[ImportProblem] = []

    def rows(self, records: Iterable[R], read: Callable[[R], T]) -> Iterator[T]:
        """Yield the results of ``read`` for the records before the first error.

        After an error, read the other records only to find further errors. At the end, raise all errors as one.
        """
        try:
            for record in records:
                try:
                    row = read(record)
                except ImportProblem as problem:
                    if self.on_bad_row is not None:
                        self.on_bad_row(record, problem)
                        continue
                    self.problems.append(problem)
                    if len(self.problems) >= MAX_PROBLEMS:
                        break
                else:
                    if not self.problems:
                        yield row
        except ImportProblem as problem:  # after this error, no more records can be read
            self.problems.append(problem)
        if self.problems:
            raise self.problems[0] if len(self.problems) == 1 else ImportProblems(self.problems)
