"""The base classes of sources: files and folders to import as datasets, candidates or judgments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from judgments.importers.notes import ImportNotes
from judgments.importers.problems import RowProblems
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

T = TypeVar("T")


class ImportSource:
    """A file or folder to import. ``notes`` are complete after the last row; another reading adds to them again."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self.row_problems = RowProblems()
        self._encoding = encoding

    def _read_rows(
        self, records: RecordReader, columns: Columns, read_row: Callable[[Record], T]
    ) -> Iterator[T]:
        """Yield the rows of a table, which ``read_row`` makes. At the end, raise the errors of all rows as one."""
        return self.row_problems.rows(records(self.path, columns, self.notes, self._encoding), read_row)


class DatasetSource(ImportSource, ABC):
    """The references, texts and boxes of images, and optional candidate pairs."""

    @abstractmethod
    def rows(self) -> Iterator[ReferenceRow | ImageRow | InputRow]:
        """Yield the images (of HIT templates: rows of inputs) and references. An image comes before its references."""

    def references(self) -> Iterator[ReferenceRow]:
        return (row for row in self.rows() if isinstance(row, ReferenceRow))

    def pairs(self) -> Iterator[CandidatePairRow]:
        return iter(())


class CandidateSource(ImportSource, ABC):
    """One system's captions.

    Attributes:
        contents: the boxes and keywords that the system names. The key is the image with "boxes" or "keywords", such as
            ``("1.jpg", "keywords")``. They are complete after the last caption.
    """

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        super().__init__(path, encoding)
        self.contents: dict[tuple[str, str], tuple[str, ...]] = {}

    @abstractmethod
    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]:
        """Yield the captions. Raise ImportProblem for an image that is not among ``images``, unless it is None."""


class JudgmentSource(ImportSource, ABC):
    """Judgments that were collected elsewhere.

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
    ) -> Iterator[JudgmentRow]:
        """Yield the judgments. Raise ImportProblem for an image or a caption that the dataset does not have.

        Args:
            images: the names of the dataset's images; None to accept any name.
            captions: the texts of the dataset's captions, by id; None to accept any id.
        """

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        """Yield the winners of pairs whose votes are not published."""
        return iter(())
