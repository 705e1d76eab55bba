"""What every reader yields: typed, frozen rows with nothing of the file's format left in them.

Annotated types say how a field is read where a `Shape` reads the row from a record (fields.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import PlainValidator

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

# The columns of an exported judgments file, in the order in which a CSV has them.
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
    """A caption that a person wrote for an image.

    `image` is the image's name in Quorum, `file` the picture's file name where that differs.
    `caption_id` is unique in the dataset; `position` counts the captions of the image from 0.
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
    """A labelled box over an image: upper left corner and size, in shares of the picture's sides."""

    id: ShortName
    label: ShortName
    x: _Decimal
    y: _Decimal
    width: _Decimal
    height: _Decimal


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image that brings more than captions: the text that stands with it (MC12 section 3.2), labelled boxes
    (WG15 section 3). It comes before the image's captions, of which it may have none."""

    image: str
    text: str = ""
    boxes: tuple[BoxRow, ...] = ()
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class InputRow:
    """A row of the inputs of a HIT template: (column, text) in the order of the columns. `file` is the picture's file
    name, where pictures come along."""

    image: str
    fields: tuple[tuple[str, str], ...]
    file: str | None = None
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two candidates for one image, as a dataset brings them (V15 §3).

    `references` says how many leading references of the image belong to the pair; None means all.
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
    """A system's caption for an image; `rank` 0 is its best one."""

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
    """One answer on one unit, with the columns of an exported judgments file.

    `unit` groups the rows of one unit within the file. `anonymous` marks a rater who is not a person
    but a place in published totals (`anon-1`, ...): nothing may be said about such a worker.
    `aggregated` marks a value that is itself a majority of answers which were not published.
    `revision` counts the worker's answers on the unit from 0; `invalidated` names the rule that took the
    answer out; `content` is what else an open kind showed.
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
    """A system gave a caption for an image, or found the image for it: `rank` is the place in its list, from 1."""

    system: str
    rank: int | None = None
    task: str = ANNOTATION


@dataclass(frozen=True, slots=True)
class CreditedRow(JudgmentRow):
    """A judgment with the systems behind its captions, by caption id. A class of its own, so that files without them
    keep their fingerprints."""

    credits: Mapping[str, tuple[Credit, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WinnerRow:
    """A published winner of a candidate pair without the votes behind it; `winner` is 1 or 2."""

    pair: str
    image: str
    kind: str
    first_text: str
    second_text: str
    winner: int
