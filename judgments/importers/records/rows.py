"""The rows that importers yield. They are the same for all formats.

An import recognises a file that was imported before by its fingerprint, a hash of ``repr()`` of rows. Therefore names
of classes and fields must not change.

Papers: Mason and Charniak 2012 (MC12), Wang and Gaizauskas 2015 (WG15), Vedantam et al. 2015 (V15).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import PlainValidator

from common.incoming import quote_value
from judgments.design.tables.sampling import PAIR_KINDS, SIDES
from judgments.importers.records.column_types import (
    Chance,
    Flag,
    ImageName,
    Name,
    Number,
    OutputText,
    Rank,
    Seconds,
    ShortName,
    Text,
    Time,
    WholeNumber,
    WorkerName,
    cached_validator,
)
from judgments.importers.records.values import BadCell, read_name, read_number

RULE_LIMIT = 40  # characters in the name of the rule that invalidated an answer

HUMAN_SYSTEM = "human"  # stands for people as the authors of captions of an image
HUMAN_OTHER = "human-other"  # stands for people as the authors of captions of another image
ANNOTATION, SEARCH = "annotation", "search"  # tasks: captions ranked for an image, images for a caption

# a float even if the number is whole, since a fingerprint differs between 1 and 1.0
_Decimal = Annotated[float, PlainValidator(lambda value: float(read_number(value, textual=False)))]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """A caption of an image that a person wrote.

    Attributes:
        position: the number of the caption among those of the image, from 0.
        file: the file name of the picture, if it is not the image's name.
    """

    image: str
    text: str
    caption_id: str
    position: int
    split: str | None = None
    url: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class BoxRow:
    """A labelled box: its upper left corner and its size, as fractions of the picture's sides."""

    id: ShortName
    label: ShortName
    x: _Decimal
    y: _Decimal
    width: _Decimal
    height: _Decimal


@dataclass(frozen=True, slots=True)
class ImageRow:
    """An image's text (MC12 section 3.2) or labelled boxes (WG15 section 3)."""

    image: str
    text: str = ""
    boxes: tuple[BoxRow, ...] = ()
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class DocumentRow(ImageRow):
    """An image, or segment, of a document.

    This is a separate class, so that images without a document keep their fingerprints.
    """

    document: str = ""


@dataclass(frozen=True, slots=True)
class TitledRow(DocumentRow):
    """A segment of a document whose text has a title."""

    title: str = ""


@dataclass(frozen=True, slots=True)
class InputRow:
    """The inputs of a HIT template for one task, as pairs of column and cell. `file` names the task's picture."""

    image: str
    fields: tuple[tuple[str, str], ...]
    file: str | None = None
    split: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class CandidatePairRow:
    """Two candidates for an image (V15 §3).

    ``references`` is the number of the image's first references that belong to the pair; None for all of them.
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
    """A system's caption for an image. Ranks begin at 1; 0 means that the file states no rank."""

    image: ImageName
    text: OutputText
    rank: Rank = 0
    score: Number | None = None


def _read_pair_kind(value: object) -> str:
    if value not in PAIR_KINDS:
        raise BadCell(quote_value(value), f"one of {', '.join(PAIR_KINDS)}, or nothing")
    return str(value)


def _read_presented(value: object) -> str:
    if value not in ("first-left", "second-left"):
        raise BadCell(quote_value(value), "first-left, second-left or nothing")
    return str(value)


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    """An answer on a unit, in the columns of an exported judgments file.

    Attributes:
        anonymous: whether the rater comes from published totals (`anon-1`, ...) and is not one person.
        aggregated: whether the answer is a majority of unpublished answers.
        revision: the number of the worker's earlier answers on the unit, which this answer replaces.
        invalidated: the name of the rule that excluded the answer.
        content: what a unit of an open kind shows besides its captions.
        chance: the probability with which the unit, or its pair of systems, was drawn for this HIT.
        document: the document of the item. An import uses the document in the dataset instead.
        stored: the checked answer of an open kind, in its stored form.
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
    first_text: OutputText | None = None
    second_text: OutputText | None = None
    kind: Annotated[str, PlainValidator(_read_pair_kind)] | None = None
    pair: ShortName | None = None
    assignment: ShortName | None = None
    hit: ShortName | None = None
    control: Flag = False
    expected: object | None = None
    used: Flag = True
    presented: Annotated[str, PlainValidator(_read_presented)] | None = None
    simulated: Flag = False
    accepted_at: Time | None = None
    submitted_at: Time | None = None
    seconds: Seconds | None = None
    wall_seconds: Seconds | None = None
    comment: Text = ""
    revision: WholeNumber = 0
    invalidated: Annotated[str, cached_validator(read_name, limit=RULE_LIMIT)] | None = None
    content: Mapping[str, object] | None = None
    # Fields with repr=False are not part of fingerprints, so that files that earlier versions imported without them
    # keep theirs.
    chance: Chance | None = field(default=None, repr=False)
    document: Annotated[str, PlainValidator(lambda value: str(value).strip())] | None = field(
        default=None, repr=False
    )
    stored: object | None = field(default=None, repr=False)
    anonymous: bool = False
    aggregated: bool = False


@dataclass(frozen=True, slots=True)
class Credit:
    """A system that captioned or retrieved an image. `rank` begins at 1."""

    system: str
    rank: int | None = None
    task: str = ANNOTATION


@dataclass(frozen=True, slots=True)
class CreditedRow(JudgmentRow):
    """A judgment with the systems of its captions, by caption id, or by side if both sides show the same caption.

    This is a separate class, so that judgments without credits keep their fingerprints.
    """

    credits: Mapping[str, tuple[Credit, ...]] = field(default_factory=dict)

    def of_side(self, side: str) -> tuple[Credit, ...]:
        """Return the credits of the side ``first`` or ``second``."""
        if self.first == self.second and side in self.credits:
            return self.credits[side]
        caption_id = getattr(self, side)
        return self.credits.get(caption_id or "", ())

    def options(self) -> list[Mapping[str, str]]:
        """Return the captions that a unit offers as options, each with its id as ``key``."""
        options: Any = (self.content or {}).get("options", ())
        return [option for option in options if isinstance(option, Mapping)]

    def systems(self) -> tuple[tuple[str, ...], ...]:
        """Return the sorted names of the systems of each side, and then of each option."""
        credits_of_sides = [self.of_side(side) for side in SIDES]
        credits_of_options = [self.credits.get(option.get("key", ""), ()) for option in self.options()]
        return tuple(
            tuple(sorted({credit.system for credit in text_credits}))
            for text_credits in (*credits_of_sides, *credits_of_options)
        )


@dataclass(frozen=True, slots=True)
class WinnerRow:
    """The published winner, 1 for the first or 2 for the second, of a candidate pair whose votes are not published."""

    pair: str
    image: str
    kind: str
    first_text: str
    second_text: str
    winner: int
