"""Files and folders to import, which yield their rows once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from judgments.importers.records.columns import Columns, RecordReader
from judgments.importers.records.record import Record
from judgments.importers.records.rows import (
    CandidatePairRow,
    CandidateRow,
    ImageRow,
    InputRow,
    JudgmentRow,
    ReferenceRow,
    WinnerRow,
)
from judgments.importers.textio import ImportNotes, RowProblems

T = TypeVar("T")


class ImportSource:
    """A file or folder to import, to be read once. `notes` are complete when its rows are exhausted."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self.refusals = RowProblems()
        self._encoding = encoding

    def _read(self, records: RecordReader, columns: Columns, row: Callable[[Record], T]) -> Iterator[T]:
        """Yield the rows of a table, or raise the problems of all of them."""
        return self.refusals.rows(records(self.path, columns, self.notes, self._encoding), row)


class DatasetSource(ImportSource, ABC):
    """References of images, images' texts and boxes, and optional candidate pairs."""

    @abstractmethod
    def rows(self) -> Iterator[ReferenceRow | ImageRow | InputRow]: ...

    def references(self) -> Iterator[ReferenceRow]:
        return (row for row in self.rows() if isinstance(row, ReferenceRow))

    def pairs(self) -> Iterator[CandidatePairRow]:
        return iter(())


class CandidateSource(ImportSource, ABC):
    """One system's captions. With `images`, an image outside them is an ImportProblem.

    Attributes:
        contents: image, and "boxes" or "keywords" -> what the system names; complete when the captions are exhausted.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self.contents: dict[tuple[str, str], tuple[str, ...]] = {}

    @abstractmethod
    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]: ...


class JudgmentSource(ImportSource, ABC):
    """Judgments collected elsewhere. With `images` or `captions` (id to text), unknown names are ImportProblems.

    Attributes:
        protocol: of every row; None if rows state it.
        anonymous: whether no rater is a person.
        setting: what the rows so far need of a design (`Kind.setting_with`).
    """

    protocol: str | None = None
    anonymous: bool = False
    setting: str = ""

    @property
    def states_scale(self) -> bool:
        """Return whether the file or its reader says which scale the answers are on, and not they alone."""
        return False

    @abstractmethod
    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]: ...

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        return iter(())
