"""What a study is generated from and generates: plain values, no database.

``services`` reads a ``Material`` from the rows of a dataset, a kind turns it into a ``Batch``, and ``services``
stores that. Everything in between is pure, so the same material, design and seed give the same batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from common.errors import DesignError
from judgments.drawing.draws import rng_for, shuffled


@dataclass(frozen=True, slots=True)
class Text:
    """A caption by its id in the dataset."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image with its references in order and what each machine said about it, the best first.

    Where the dataset has them: the text that stands with it (MC12), its labelled boxes (WG15), a row of inputs as
    (column, text) in order. ``found`` holds (system, caption, rank from 1) wherever a system that ranked images for a
    caption returned this one.
    """

    name: str
    split: str
    references: tuple[Text, ...]
    outputs: tuple[tuple[str, Text], ...] = ()
    found: tuple[tuple[str, Text, int], ...] = ()
    text: str = ""
    boxes: tuple[Mapping[str, Any], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two candidates for an image, and the keys of the references they are compared on."""

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
    """A dataset as generation sees it.

    Attributes:
        images: in import order.
        published: candidate pairs that come with the dataset.
        people: names of the systems that are people's held-out captions.
    """

    name: str
    images: tuple[Image, ...]
    published: tuple[Pair, ...] = ()
    people: frozenset[str] = frozenset()

    @property
    def has_splits(self) -> bool:
        """Whether any image is in a split."""
        return any(image.split for image in self.images)

    def divided(self, *, judged: str, controls: str, seed: int, control_needed: bool) -> Division:
        """The images that are judged and those that control items come from; never the same image.

        Where both are one split, or the dataset has no splits at all, a tenth of those images (at least two), drawn
        with the seed, is set aside for control items if the design has any, and the rest is judged.
        """
        if self.has_splits and judged != controls:
            return Division(
                judged=tuple(image for image in self.images if image.split == judged),
                controls=tuple(image for image in self.images if image.split == controls),
            )
        images = tuple(image for image in self.images if image.split == judged or not self.has_splits)
        if not control_needed:
            return Division(judged=images, controls=())
        count = max(2, len(images) // 10)
        drawn = {image.name for image in shuffled(images, rng_for(seed, "control split"))[:count]}
        return Division(
            judged=tuple(image for image in images if image.name not in drawn),
            controls=tuple(image for image in images if image.name in drawn),
        )


@dataclass(frozen=True, slots=True)
class Division:
    """The judged images and the images of control items; disjoint."""

    judged: tuple[Image, ...]
    controls: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class UnitSpec:
    """A unit before it is a row. ``first`` and ``second`` are in the unit's order, not the order shown.

    ``content`` is whatever else its kind shows, as JSON; ``control_kind`` says which kind of control item it is;
    ``audited`` was left out by the filter, and is judged to see what the filter misses; ``source_text`` is the text of
    its item, which a preview fills in.
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
    content: Mapping[str, Any] = field(default_factory=dict)
    source_text: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Units that stay together on a page and concern one image."""

    image: str
    units: tuple[UnitSpec, ...]


@dataclass(frozen=True, slots=True)
class HITSpec:
    """A page of work: its key and its units in order."""

    key: str
    units: tuple[UnitSpec, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything a study gets at generation; ``quiz`` are known items that stand in no HIT."""

    hits: tuple[HITSpec, ...]
    pairs: tuple[Pair, ...] = ()
    quiz: tuple[Group, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def unit_count(self) -> int:
        """Units that are no control items."""
        return sum(not unit.control for hit in self.hits for unit in hit.units)

    @property
    def control_count(self) -> int:
        """Control items."""
        return sum(unit.control for hit in self.hits for unit in hit.units)


def drawn_images(
    images: Sequence[Image], wanted: str | int, rng: np.random.Generator, *, which: str = ""
) -> list[Image]:
    """All images, or ``wanted`` of them drawn with ``rng`` and kept in import order.

    Args:
        which: what ``images`` have that others of the split lack, for the message.

    Raises:
        DesignError: there are fewer.
    """
    if wanted == "all":
        return list(images)
    count = int(wanted)
    if count > len(images):
        raise DesignError(
            f"sampling.images is {count}, but the split has {len(images)} images{which}.",
            field="sampling.images",
        )
    chosen = set(rng.permutation(len(images))[:count].tolist())
    return [image for index, image in enumerate(images) if index in chosen]
