"""The base classes of sources: files and folders to import, whose rows can be read once."""

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
    """A file or folder to import. Its rows can be read once. `notes` are complete after the last row."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self.row_problems = RowProblems()
        self._encoding = encoding

    def _read_rows(
        self, records: RecordReader, columns: Columns, read_row: Callable[[Record], T]
    ) -> Iterator[T]:
        """Yield the rows of a table. At its end, raise one exception with the errors of all rows, if any."""
        return self.row_problems.rows(records(self.path, columns, self.notes, self._encoding), read_row)


class DatasetSource(ImportSource, ABC):
    """The references, texts and boxes of images, and optional candidate pairs."""

    @abstractmethod
    def rows(self) -> Iterator[ReferenceRow | ImageRow | InputRow]: ...

    def references(self) -> Iterator[ReferenceRow]:
        return (row for row in self.rows() if isinstance(row, ReferenceRow))

    def pairs(self) -> Iterator[CandidatePairRow]:
        return iter(())


class CandidateSource(ImportSource, ABC):
    """One system's captions. If `images` is set, another image raises ImportProblem.

    Attributes:
        contents: the boxes and keywords that the system names, by (image, "boxes" or "keywords"); complete after the
            last caption.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self.contents: dict[tuple[str, str], tuple[str, ...]] = {}

    @abstractmethod
    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]: ...


class JudgmentSource(ImportSource, ABC):
    """Judgments collected elsewhere. If `images` or `captions` (texts by id) is set, another name raises ImportProblem.

    Attributes:
        protocol: the protocol of every row; None if rows state it.
        anonymous: whether no rater is an identified person.
        setting: the design options that the rows so far need (`Kind.extend_setting`).
    """

    protocol: str | None = None
    anonymous: bool = False
    setting: str = ""

    @property
    def states_scale(self) -> bool:
        """Whether the scale is stated, and not only inferred from the answers."""
        return False

    @abstractmethod
    def judgments(
        self, images: Container[str] | None = None, captions: Mapping[str, str] | None = None
    ) -> Iterator[JudgmentRow]: ...

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        return iter(())
