"""The input and output of drawing the HITs of a study.

``studies.generation`` reads a ``Material`` (images, captions and outputs of systems) from a dataset. A kind draws a
``Batch`` (units, control items and HITs) from it, and ``studies.generation`` stores the batch. The same material,
design and seed give the same batch on every database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

NO_CONTENT: Mapping[str, Any] = {}  # shared by all units, of which there may be a million

# Key of a batch's notes: the number of units on the largest page, if documents stay whole or pages are drawn later.
LARGEST_PAGE = "largest_page"
# Key of a batch's notes: the largest number of screens on a page, if a screen can show two units.
SCREENS = "screens"

SCREEN = "screen"  # the key in the content of units that one screen shows together, which have the same value


@dataclass(frozen=True, slots=True)
class Text:
    """A caption or another judged text. ``key`` is its id in the dataset."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image, or another item of a dataset, with its texts.

    Attributes:
        split: the name of the dataset's split to which it belongs; "" if there are no splits.
        references: the captions by people, in order.
        outputs: (system, caption) pairs, system by system, each from the best caption down.
        retrievals: (system, caption, rank from 1) for each ranking that returned the image.
        text: the text of the item, as in Mason and Charniak 2012.
        boxes: the labelled boxes of the image, as in Wang and Gaizauskas 2015. A box has "id", "label", and "x", "y",
            "width" and "height" as fractions of the picture's sides.
        fields: (column, text) pairs of an input row, in order.
    """

    name: str
    split: str
    references: tuple[Text, ...]
    outputs: tuple[tuple[str, Text], ...] = ()
    retrievals: tuple[tuple[str, Text, int], ...] = ()
    text: str = ""
    boxes: tuple[Mapping[str, Any], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def distinct_references(self) -> list[Text]:
        return list({text.text: text for text in self.references}.values())


@dataclass(frozen=True, slots=True)
class Pair:
    """A candidate pair: two captions of an image that are compared.

    Attributes:
        kind: HC, HI, HM or MM (``sampling.PairKind``); "" after a change by hand (``by_hand``).
        first_system, second_system: the names of the systems that proposed the captions; None for people.
        references: the ids of the references with which the candidates are compared.
    """

    key: str
    kind: str
    image: str
    first: Text
    second: Text
    first_system: str | None
    second_system: str | None
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """The contents of a dataset, as generation uses them.

    Attributes:
        published_pairs: the candidate pairs that were published with the dataset.
        people: the names of systems whose outputs are captions by people; these captions are no references.
    """

    name: str
    images: tuple[Image, ...]
    published_pairs: tuple[Pair, ...] = ()
    people: frozenset[str] = frozenset()

    @property
    def has_splits(self) -> bool:
        return any(image.split for image in self.images)


@dataclass(frozen=True, slots=True)
class Division:
    """The images that are judged, and the images from which control items are made."""

    judged_images: tuple[Image, ...]
    control_images: tuple[Image, ...]


@dataclass(slots=True)  # not frozen: creating a million frozen units takes twice as long
class UnitSpec:
    """A unit that is not stored yet. Treat it as immutable.

    Attributes:
        key: derived from content and seed (``keys.content_key``).
        image: the name of the image.
        reference, first, second: the texts that it shows. A pair has two candidates, and a caption is ``first``.
        kind, pair: the kind of the pair, such as HC, and its key; "" for other units.
        control: whether it is a control item. Then ``expected`` is the right answer, or range of answers.
        filtered: whether the design's filter (``caption_filter``) removed the caption, shown only to fill up a group.
        audited: whether the filter removed the caption, which is judged to see what the filter misses.
        control_kind: "reference", "degraded", "repeated" or "known-good"; "" for other units.
        content: further JSON for the kind's page.
        source_text: the source text of the item; only for previews.
    """

    key: str
    image: str
    reference: Text | None = None
    first: Text | None = None
    second: Text | None = None
    kind: str = ""
    pair: str = ""
    control: bool = False
    expected: Any = None
    filtered: bool = False
    audited: bool = False
    control_kind: str = ""
    content: Mapping[str, Any] = field(default_factory=lambda: NO_CONTENT)
    source_text: str = ""


@dataclass(slots=True)  # not frozen, since there are nearly as many groups as units
class Group:
    """Units about one image that stay together on a page. Treat it as immutable."""

    image: str
    units: tuple[UnitSpec, ...]


@dataclass(frozen=True, slots=True)
class HITSpec:
    """A HIT that is not stored yet, with its units in order."""

    key: str
    units: tuple[UnitSpec, ...]


@dataclass(frozen=True)
class Batch:
    """The units and HITs that are drawn for a study.

    Attributes:
        pairs: the candidate pairs of the units.
        quiz: groups of control items for the quiz before the work, which are in no HIT.
        notes: counts and sentences about the draw, such as {"passed_filter": 120}, for the study's pages.
        pool: the units of an arena, grouped by pair of systems, from which its pages are drawn later.
        new_texts: texts that the study's author changed by hand, which the dataset may lack.
    """

    hits: tuple[HITSpec, ...]
    pairs: tuple[Pair, ...] = ()
    quiz: tuple[Group, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    pool: tuple[UnitSpec, ...] = ()
    new_texts: tuple[Text, ...] = ()

    @cached_property
    def unit_count(self) -> int:
        """The number of units without control items, including those of an arena's pool."""
        return sum(not unit.control for unit in self.hit_units()) + len(self.pool)

    @cached_property
    def control_count(self) -> int:
        return sum(unit.control for unit in self.hit_units())

    @property
    def place_count(self) -> int:
        """The number of units on all pages, including those drawn later."""
        if self.pool:
            return len(self.hits) * int(self.notes[LARGEST_PAGE])
        return self.unit_count + self.control_count

    def first_page(self) -> tuple[UnitSpec, ...]:
        """Return the units of the first page. For an arena, return an example of a page."""
        units = self.hits[0].units
        if not self.pool:
            return units
        missing_count = self.notes[LARGEST_PAGE] - len(units)
        # take units at equal distances from the pool, to show different pairs of systems
        step = max(1, len(self.pool) // max(1, missing_count))
        return (*units, *self.pool[::step][:missing_count])

    def hit_units(self) -> Iterator[UnitSpec]:
        for hit in self.hits:
            yield from hit.units


def screen_of(unit: Any) -> tuple[str, str] | None:
    """Return the key of the screen that a unit shares with others; None if it is shown alone.

    The repetition of a screen as control items has another key.
    """
    screen = unit.content.get(SCREEN, "")
    return (screen, unit.control_kind) if screen else None
