"""Files and folders to import, whose rows can be read once."""

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
    """A file or folder to import; its rows can be read once. `notes` are complete after the last row."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self.refusals = RowProblems()
        self._encoding = encoding

    def _read(self, records: RecordReader, columns: Columns, row: Callable[[Record], T]) -> Iterator[T]:
        """Yield the rows of a table; at the end, raise all errors in its rows together."""
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
    """One system's captions. With `images`, any other image is an ImportProblem.

    Attributes:
        contents: (image, "boxes" or "keywords") -> what the system names; complete after the last caption.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self.contents: dict[tuple[str, str], tuple[str, ...]] = {}

    @abstractmethod
    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]: ...


class JudgmentSource(ImportSource, ABC):
    """Judgments collected elsewhere. With `images` or `captions` (id -> text), unknown names are ImportProblems.

    Attributes:
        protocol: of every row; None if rows state it.
        anonymous: whether no rater is an identified person.
        setting: the design options that the rows so far need (`Kind.setting_with`).
    """

    protocol: str | None = None
    anonymous: bool = False
    setting: str = ""

    @property
    def states_scale(self) -> bool:
        """Whether the scale of the answers is stated, and not only inferred from them."""
        return False

    @abstractmethod
    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]: ...

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        return iter(())
