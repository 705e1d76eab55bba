"""Inputs and outputs of generation, and seeded draws.

``studies.generation`` reads a ``Material`` from a dataset, a kind turns it into a ``Batch``, and
``studies.generation`` stores that. The same material, design and seed give the same batch, on every database. Every
purpose has its own random stream, so a new step never shifts another step's draws.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from json.encoder import encode_basestring
from typing import Any, TypeVar

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from common.texts import one_text

NOTHING: Mapping[str, Any] = {}  # one for a million units
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Text:
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image with its ordered references and each system's outputs, best first.

    Attributes:
        retrieved: (system, caption, rank from 1) for each ranking that returned it.
        text: MC12's.
        boxes: WG15's.
        fields: a row of inputs as (column, text) in order.
    """

    name: str
    split: str
    references: tuple[Text, ...]
    outputs: tuple[tuple[str, Text], ...] = ()
    retrieved: tuple[tuple[str, Text, int], ...] = ()
    text: str = ""
    boxes: tuple[Mapping[str, Any], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    @property
    def distinct_references(self) -> list[Text]:
        return list({text.text: text for text in self.references}.values())


@dataclass(frozen=True, slots=True)
class Pair:
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
    """A dataset as generation reads it.

    Attributes:
        published: candidate pairs of the dataset.
        people: names of systems that are people's held-out captions.
    """

    name: str
    images: tuple[Image, ...]
    published: tuple[Pair, ...] = ()
    people: frozenset[str] = frozenset()

    @property
    def has_splits(self) -> bool:
        return any(image.split for image in self.images)


@dataclass(frozen=True, slots=True)
class Division:
    judged: tuple[Image, ...]
    controls: tuple[Image, ...]


@dataclass(slots=True)  # a frozen one takes twice as long to make, and a million are made
class UnitSpec:
    """A unit before it is a row. Never changed.

    Attributes:
        audited: whether it was filtered out and is judged for the audit.
        content: other JSON that its kind shows.
        source_text: the text of its item, in a preview.
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
    content: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    source_text: str = ""


@dataclass(slots=True)  # as many as units, nearly
class Group:
    """Units about one image that stay together on a page. Never changed."""

    image: str
    units: tuple[UnitSpec, ...]


@dataclass(frozen=True, slots=True)
class HITSpec:
    key: str
    units: tuple[UnitSpec, ...]


@dataclass(frozen=True)
class Batch:
    """All that generation makes for a study; ``quiz`` holds known items outside HITs.

    Pages of an arena are drawn later from ``pool``, which is grouped by pairs of systems. ``new_texts`` were written by
    hand; the dataset may lack them.
    """

    hits: tuple[HITSpec, ...]
    pairs: tuple[Pair, ...] = ()
    quiz: tuple[Group, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)
    pool: tuple[UnitSpec, ...] = ()
    new_texts: tuple[Text, ...] = ()

    @cached_property
    def unit_count(self) -> int:
        return sum(not unit.control for hit in self.hits for unit in hit.units) + len(self.pool)

    @property
    def place_count(self) -> int:
        """The number of units on all pages, including those drawn later."""
        if self.pool:
            return len(self.hits) * int(self.notes[LARGEST_PAGE])
        return self.unit_count + self.control_count

    def first_page(self) -> tuple[UnitSpec, ...]:
        """Return the units of the first page; for an arena, an example of it."""
        more = self.notes[LARGEST_PAGE] - len(self.hits[0].units) if self.pool else 0
        step = max(1, len(self.pool) // max(1, more))
        return (*self.hits[0].units, *self.pool[::step][:more])

    @cached_property
    def control_count(self) -> int:
        return sum(unit.control for hit in self.hits for unit in hit.units)


def draw_images(
    images: Sequence[Image], wanted: str | int, rng: np.random.Generator, *, which: str = ""
) -> list[Image]:
    """Return all images, or a sample of ``wanted`` in import order.

    ``which`` is for the message.
    """
    if wanted == "all":
        return list(images)
    count = int(wanted)
    if count > len(images):
        raise DesignError(
            gettext("sampling.images is %(count)s, but the split has %(n)s images%(which)s.")
            % {"count": count, "n": len(images), "which": which},
            field="sampling.images",
        )
    chosen = set(rng.permutation(len(images))[:count].tolist())
    return [image for index, image in enumerate(images) if index in chosen]


T = TypeVar("T")
Named = TypeVar("Named", bound=Hashable)
# in a batch's notes: how many units its largest page has, where documents stay whole or pages are drawn later
LARGEST_PAGE = "largest_page"
SCREENS = "screens"  # and how many screens a page has at most, where a screen can show two units
SCREEN = "screen"  # content key of units that one screen shows together: the mark they share


def screen_of(unit: Any) -> tuple[str, str] | None:
    """Return what the units of one screen share; None for a unit that is shown alone.

    A screen that is repeated as control items is another one.
    """
    mark = unit.content.get(SCREEN, "")
    return (mark, unit.control_kind) if mark else None


def content_key(*parts: object) -> str:
    """Return 20 hexadecimal digits of the SHA-256 of ``parts`` as JSON."""
    return _digits(f"[{','.join(map(_as_json, parts))}]")


def content_keys(*parts: object, last: Iterable[str]) -> list[str]:
    """Return the ``content_key`` of ``parts`` and each of ``last``."""
    start = "".join(f"{_as_json(part)}," for part in parts)
    return [_digits(f"[{start}{encode_basestring(final)}]") for final in last]


def _as_json(part: object) -> str:
    if isinstance(part, str):
        return encode_basestring(part)
    return str(part) if type(part) is int else _compact(part)


def _digits(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def candidate_key(text: str) -> str:
    return f"c-{content_key(text)}"


def text_key(text: str) -> str:
    """Return the ``candidate_key`` of a text in one form, which all its writings share."""
    return candidate_key(one_text(text))


# Fields by which files name what an item is a part of.
DOCUMENT_FIELDS = ("document", "doc", "talk")


def document_in(fields: Iterable[Sequence[str]]) -> str:
    """Return the document, or talk, that the item with these fields is a part of; "" if none is named."""
    named = {name: value.strip() for name, value in fields}
    return next((named[name] for name in DOCUMENT_FIELDS if named.get(name)), "")


def first_of_documents(items: Iterable[tuple[Named, str]]) -> dict[Named, Named]:
    """Return item -> the first item of its document, of the items that are part of one.

    Segments of a document are judged alike, so that intervals take them together. A single document says nothing of
    others; then intervals are for its segments, and this is {}.
    """
    first: dict[str, Named] = {}
    clusters = {item: first.setdefault(document, item) for item, document in items if document}
    return clusters if len(first) > 1 else {}


def rng_for(seed: int, purpose: str) -> np.random.Generator:
    digest = hashlib.sha256(f"{seed}|{purpose}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big")))


def shuffled(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    return [values[index] for index in rng.permutation(len(values)).tolist()]


def balanced_sides(count: int, rng: np.random.Generator) -> list[bool]:
    """Draw whether each unit shows the second candidate first, balanced to within one."""
    flipped = count // 2 + (int(rng.integers(2)) if count % 2 else 0)
    return shuffled([True] * flipped + [False] * (count - flipped), rng)
