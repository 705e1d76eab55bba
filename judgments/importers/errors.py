"""Errors and notes of readers of foreign files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.errors import QuorumError


class ImportProblem(QuorumError):
    """A file cannot be imported.

    `file` is the path as given, `line` the 1-based first line of the record (None inside a JSON
    document), `column` the field or its path in the document, `found` and `expected` describe the
    problem. `str()` is one sentence for the file's author.
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


# "{n}" is the count, "{detail}" distinguishes notes of the same quirk.
QUIRKS = {
    "repeated-line": "Lines that repeat an earlier line word for word, left out: {n}.",
    "repeated-caption": "Captions equal to another caption of their image, kept: {n}.",
    "repaired-key": "Caption ids with a stray number behind the image's name ({detail}), repaired: {n}.",
    "no-split": "Images that no split list names, imported without a split: {n}.",
    "split-without-captions": "Images of the split lists that have no captions, left out: {n}.",
    "no-captions": "Images without captions, left out: {n}.",
    "text-alone": "Images with a text and without captions: {n}.",
    "ignored-column": "Column “{detail}” is not used.",
    "file-names-system": "The file names its own system “{detail}”.",
    "sorted-grades": "Pairs whose grades stand in ascending order, so that raters are not persons: {n}.",
    "own-caption": "Judged pairs of an image and one of its own captions: {n}.",
    "anonymous-totals": "Pairs with published totals, turned into judgments of anonymous raters: {n}.",
    "more-than-three": "Pairs with more than three judgments: {n}.",
    "fewer-votes": "Pairs with fewer votes than the others ({detail}): {n}.",
    "aggregated-votes": "Votes that are already majorities of several answers: {n}.",
    "published-winners": "Winners published without their votes: {n}.",
    "unused-references": "References beyond the first {detail} of an image, which pairs do not use: {n}.",
    "broken-character": "Texts with a character that was already lost (U+FFFD), kept: {n}.",
    "repeated-pair": "Candidate pairs that repeat an earlier pair, kept: {n}.",
    "equal-candidates": "Candidate pairs of two equal texts, kept: {n}.",
    "empty-answer": "Questions of a HIT that were left without an answer, left out: {n}.",
    "rejected-assignment": "Answers of rejected assignments, kept and not used: {n}.",
    "tainted": "Judgments of contributors who fell below the job's trust, kept and not used: {n}.",
    "several-right": "Test questions with several right answers, kept without what is expected: {n}.",
    "skipped": "Tasks that their annotator skipped, left out: {n}.",
    "ground-truth": "Annotations marked as ground truth, taken for what is expected of the others: {n}.",
    "scores-against-ranks": "Lists whose scores do not fall as their ranks rise, taken by their ranks: {n}.",
    "below-depth": "Ranked items below the depth that was asked for, left out: {n}.",
    "candidate-is-reference": "Candidates that equal a reference of their image, kept: {n}.",
}


@dataclass(frozen=True, slots=True)
class Note:
    """A quirk in a file: its name, detail (or ""), count, and a sentence about it."""

    quirk: str
    detail: str
    count: int
    sentence: str


class ImportNotes:
    """Count quirks while a source is read; complete once its generators are exhausted."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, quirk: str, by: int = 1, *, detail: str = "") -> None:
        """Count a quirk of QUIRKS. Raise KeyError for an unknown name; a count of 0 leaves no note."""
        QUIRKS[quirk]
        if by:
            self._counts[quirk, detail] += by

    def __getitem__(self, quirk: str) -> int:
        return sum(n for (name, _), n in self._counts.items() if name == quirk)

    def __iter__(self) -> Iterator[Note]:
        for (quirk, detail), n in self._counts.items():
            yield Note(quirk, detail, n, QUIRKS[quirk].format(n=f"{n:,}", detail=detail))

    def sentences(self) -> list[str]:
        """Return one sentence per quirk, in order of first occurrence."""
        return [note.sentence for note in self]
