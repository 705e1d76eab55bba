"""The one error that readers of foreign files raise."""

from __future__ import annotations

from pathlib import Path

from common.errors import QuorumError


class ImportProblem(QuorumError):
    """A file cannot be imported: where, what was found, and what was expected.

    `file` is the path as it was given, `line` the 1-based line on which the record starts (None where
    the format has no lines, as inside a JSON document), `column` the name of the field or its path in
    the document. `str()` is one sentence for the person who made the file.
    """

    title = "The file cannot be imported"

    def __init__(
        self, file: str | Path, line: int | None, column: str | None, found: str, expected: str
    ) -> None:
        super().__init__(str(file), line, column, found, expected)
        self.file = str(file)
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place += f", line {self.line}"
        if self.column is not None:
            place += f", {self.column}"
        return f"{place}: found {self.found}, expected {self.expected}."
