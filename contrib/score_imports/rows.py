"""Rows of imported scores in memory, as all readers return them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

from common.amounts import thousands
from common.incoming import limits, quote_value
from evaluation.errors import EvaluationError
from evaluation.models import METRIC_NAME
from judgments.importers.textio import ImportProblem
from quorum.numeric.arrays import Floats

CHECK_INTERVAL = 10_000  # rows between two checks of the memory that they take


class CompactTexts(Sequence[str]):
    """A sequence of strings in little memory: one UTF-8 buffer and the offset at which each string ends.

    A list would take some 60 bytes more for each string.
    """

    def __init__(self) -> None:
        self._utf8 = bytearray()
        self._ends = array("q", [0])  # string i has the bytes from _ends[i] to _ends[i + 1]

    def append(self, text: str) -> None:
        self._utf8 += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._utf8))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[row] for row in range(len(self))[index]]
        index = range(len(self))[index]  # turns a negative index into one from the start, and checks it
        return self._utf8[self._ends[index] : self._ends[index + 1]].decode("utf-8", "surrogatepass")

    @property
    def nbytes(self) -> int:
        return len(self._utf8) + self._ends.itemsize * len(self._ends)


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """N rows of one file, with scores by one or more metrics.

    Attributes:
        per: what a row scores: "captions", "systems" or "pairs" (``ScoreKeys.Subject``).
        keys: (N,) values of each column that says what is scored, such as ``image`` and ``caption``; of
            mt-metrics-eval only ``system``.
        scores: (N,) float64 scores of each metric, nan if missing.
        lines: (N,) line on which each row begins, 0 for a row of a request; () if every row is a line.
        segments: (N,) position of each row's item in the dataset, from 0; () if ``keys`` name the item.
    """

    file: Path
    per: str
    keys: Mapping[str, Sequence[str]]
    scores: dict[str, Floats]
    lines: Sequence[int] = ()
    segments: Sequence[int] = ()

    def problem(self, row: int, column: str | None, actual: str, expected: str) -> ImportProblem:
        """Return an error that names a row, given by its index, and a column."""
        line = (self.lines[row] or None) if len(self.lines) else row + 1
        if line is None:  # a row of a request: rows are numbered from 0, as in other messages about a request
            column = f"[{row}].{column}" if column else f"[{row}]"
        return ImportProblem(self.file, line, column, actual, expected)


def check_names(metrics: Iterable[str]) -> None:
    for name in metrics:
        if not METRIC_NAME.fullmatch(name):
            raise EvaluationError(
                f"{quote_value(name)} is no name of a metric; expected up to 80 letters, digits and the marks . _ + -."
            )


def check_size(path: Path, byte_count: int) -> None:
    """Raise ImportProblem if the rows of a file take more than half of the memory allowed for a file."""
    max_bytes = limits().memory // 2
    if byte_count > max_bytes:
        actual = f"more than {thousands(max_bytes >> 20)} MiB of names, texts and scores"
        raise ImportProblem(path, None, None, actual, "smaller files; each metric can have a file of its own")
