"""The frozen rows of every format, and the sources that yield them.

Annotated types say how `Shape` (fields.py) reads a field.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import PlainValidator

from judgments.importers.errors import ImportNotes
from judgments.importers.fields import (
    CaptionText,
    Flag,
    ImageName,
    Name,
    Number,
    Seconds,
    ShortName,
    Text,
    Time,
    Unfit,
    Whole,
    WorkerName,
    name,
    read_number,
    shown,
)

PAIR_KINDS = ("HC", "HI", "HM", "MM")
HUMAN = "human"
HUMAN_OTHER = "human-other"
ANNOTATION, SEARCH = "annotation", "search"
RULE_LIMIT = 40

# The columns of an exported judgments file, in CSV order.
JUDGMENT_COLUMNS = (
    "study",
    "unit",
    "protocol",
    "image",
    "reference",
    "first",
    "second",
    "reference_text",
    "first_text",
    "second_text",
    "kind",
    "pair",
    "worker",
    "assignment",
    "hit",
    "value",
    "answer",
    "control",
    "expected",
    "used",
    "presented",
    "simulated",
    "accepted_at",
    "submitted_at",
    "seconds",
    "wall_seconds",
    "comment",
    "revision",
    "invalidated",
    "content",
    "systems",
)


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """A human caption of an image.

    `image` is the image's name in Quorum, `file` the picture's file name if different. `caption_id` is
    unique in the dataset; `position` counts the image's captions from 0.
    """

    image: str
    text: str
    caption_id: str
    position: int
    split: str | None = None
    url: str | None = None
    file: str | None = None


_Decimal = Annotated[float, PlainValidator(lambda value: float(read_number(value, textual=False)))]


@dataclass(frozen=True, slots=True)
class BoxRow:
    """A labelled box over an image: upper left corner and size, as shares of the picture's sides."""

    id: ShortName
    label: ShortName
    x: _Decimal
    y: _Decimal
    width: _Decimal
    height: _Decimal


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image's text (MC12 section 3.2) or labelled boxes (WG15 section 3).

    It precedes the image's captions, if any.
    """

    image: str
    text: str = ""
    boxes: tuple[BoxRow, ...] = ()
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class InputRow:
    """An input row of a HIT template: (column, text) in column order.

    `file` is the picture's file name, if pictures are imported too.
    """

    image: str
    fields: tuple[tuple[str, str], ...]
    file: str | None = None
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two candidates of a dataset for one image (V15 §3).

    `references` is the number of leading references that belong to the pair; None means all.
    """

    pair: str
    image: str
    kind: str
    first_text: str
    second_text: str
    first_system: str
    second_system: str
    references: int | None = None


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A system's caption for an image; `rank` 0 is its best."""

    image: ImageName
    text: CaptionText
    rank: Whole = 0
    score: Number | None = None


def _kind(value: object) -> str:
    if value not in PAIR_KINDS:
        raise Unfit(shown(value), f"one of {', '.join(PAIR_KINDS)}, or nothing")
    return str(value)


def _presented(value: object) -> str:
    if value not in ("first-left", "second-left"):
        raise Unfit(shown(value), "first-left, second-left or nothing")
    return str(value)


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """An answer on a unit, in the columns of an exported judgments file.

    `unit` groups rows within the file. `anonymous` marks a rater from published totals (`anon-1`, ...),
    who is not one person: such workers have no statistics. `aggregated` marks a majority of unpublished
    answers. `revision` counts the worker's answers on the unit from 0; `invalidated` names the rule that
    excluded it; `content` is what else an open kind showed.
    """

    unit: ShortName
    worker: WorkerName
    value: int | float | None
    answer: object | None = None
    study: Name | None = None
    protocol: str | None = None
    image: ImageName | None = None
    reference: Name | None = None
    first: Name | None = None
    second: Name | None = None
    reference_text: Text | None = None
    first_text: Text | None = None
    second_text: Text | None = None
    kind: Annotated[str, PlainValidator(_kind)] | None = None
    pair: ShortName | None = None
    assignment: ShortName | None = None
    hit: ShortName | None = None
    control: Flag = False
    expected: object | None = None
    used: Flag = True
    presented: Annotated[str, PlainValidator(_presented)] | None = None
    simulated: Flag = False
    accepted_at: Time | None = None
    submitted_at: Time | None = None
    seconds: Seconds | None = None
    wall_seconds: Seconds | None = None
    comment: Text = ""
    revision: Whole = 0
    invalidated: Annotated[str, name(limit=RULE_LIMIT)] | None = None
    content: Mapping[str, object] | None = None
    anonymous: bool = False
    aggregated: bool = False


@dataclass(frozen=True, slots=True)
class Credit:
    """A system that captioned an image, or retrieved it; `rank` is the place in its list, from 1."""

    system: str
    rank: int | None = None
    task: str = ANNOTATION


@dataclass(frozen=True, slots=True)
class CreditedRow(JudgmentRow):
    """A judgment with the systems of its captions, by caption id.

    A separate class keeps the fingerprints of files without them.
    """

    credits: Mapping[str, tuple[Credit, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WinnerRow:
    """A published winner of a candidate pair without votes; `winner` is 1 or 2."""

    pair: str
    image: str
    kind: str
    first_text: str
    second_text: str
    winner: int


class Source:
    """A file or folder to import; read it once. `notes` are complete when its rows are exhausted."""

    def __init__(self, path: Path, encoding: str | None = None) -> None:
        self.path = path
        self.notes = ImportNotes()
        self._encoding = encoding


class DatasetSource(Source, ABC):
    """References of images, with images' texts and boxes, and optional candidate pairs."""

    @abstractmethod
    def rows(self) -> Iterator[ReferenceRow | ImageRow | InputRow]: ...

    def references(self) -> Iterator[ReferenceRow]:
        return (row for row in self.rows() if isinstance(row, ReferenceRow))

    def pairs(self) -> Iterator[PairRow]:
        return iter(())


class CandidateSource(Source, ABC):
    """One system's captions. With `images`, an image outside them is an ImportProblem."""

    @abstractmethod
    def candidates(self, images: Container[str] | None = None) -> Iterator[CandidateRow]: ...


class JudgmentSource(Source, ABC):
    """Judgments collected elsewhere. With `images` or `captions`, unknown names are ImportProblems.

    `protocol` is that of every row, or None if rows state it; `anonymous` is true when no rater is a
    person. `winners` yields results published without votes.
    """

    protocol: str | None = None
    anonymous: bool = False

    @abstractmethod
    def judgments(
        self, images: Container[str] | None = None, captions: Container[str] | None = None
    ) -> Iterator[JudgmentRow]: ...

    def winners(self, images: Container[str] | None = None) -> Iterator[WinnerRow]:
        return iter(())
