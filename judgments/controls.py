"""Control items: units whose right answer is known. Pure functions; each draws from the stream it is handed.

Four kinds, as translation campaigns have them (the items BAD, CHK and REF of Appraise):

- reference: a person's caption of the image against one of another image (H13 §4.3.2),
- degraded: an own caption damaged (``degrading``),
- repeated: a judged unit of the same HIT once more; right is what the worker said the other time,
- known-good: an item whose answer the designer states.

Reference and degraded ones come from the control split, so that no judged image is among them (H13 §4.3.2: the
development split).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from judgments.draws import candidate_key, content_key, rng_for, shuffled
from judgments.errors import DesignError
from judgments.material import Group, Image, Material, Text

REFERENCE, DEGRADED, REPEATED, KNOWN_GOOD = "reference", "degraded", "repeated", "known-good"
FROM_IMAGES = (REFERENCE, DEGRADED)  # the kinds that need a control split
REPEATS = "repeats"  # in the content of a repeated unit: the key of the unit that it shows again
MOST_RIGHT = 3  # H13: one to three right captions among ten
LEAST_GROUPS_TO_REPEAT = 2  # between a unit and its repetition there must be another

T = TypeVar("T")
Dealer = Callable[[int, Sequence[Group]], list[Group]]
Make = Callable[[str, Image, Sequence[Image], np.random.Generator], Group]
MakeOrNot = Callable[[str, Image, Sequence[Image], np.random.Generator], Group | None]


@dataclass(frozen=True, slots=True)
class Known:
    """An item whose right answer the designer stated, its texts found in the dataset or made candidates.

    Attributes:
        number: from 1, in the order of the study file.
        expected: the right answer in the order of the texts.
    """

    number: int
    image: Image
    reference: Text | None
    first: Text | None
    second: Text | None
    expected: Any
    why: str


MakeKnown = Callable[[str, Sequence[Known], Sequence[Image], np.random.Generator], Group]


@dataclass(frozen=True, slots=True)
class Makers:
    """How a kind of HIT makes its control items; None where it has none of that kind.

    Attributes:
        reference: (place, image, control images, generator) -> group; the place tells equal items of different HITs
            apart.
        degraded: likewise; None where no caption of the image can be damaged.
        known: (place, items, control images, generator) -> group.
        known_together: whether the known items of an image make one group; else each is one.
        least_references: how many references an image needs to give one.
    """

    reference: Make
    degraded: MakeOrNot | None = None
    known: MakeKnown | None = None
    known_together: bool = False
    least_references: int = 1


def control_dealer(
    images: Sequence[Image],
    *,
    split: str,
    per_hit: int,
    kinds: Sequence[str],
    makers: Makers,
    known: Sequence[Known],
    shows_picture: bool,
    seed: int,
) -> Dealer:
    """A function (page number, page) -> the control groups of that page.

    Which kind each place gets is drawn with the seed, in equal shares. A page may get fewer: a lone group cannot be
    repeated at a distance, and known items whose images are all on the page already stay away from it.

    Args:
        images: those of the control split.
        kinds: of ``controls.kinds``.
        known: the designer's items, for known-good ones.
        shows_picture: whether workers see the image, which then must not stand on a page twice.

    Raises:
        DesignError: the kind of HIT or the material cannot give what is asked for.
    """
    if not per_hit:
        return lambda number, page: []
    usable = [image for image in images if len(image.references) >= makers.least_references]
    _check(usable, split=split, per_hit=per_hit, kinds=kinds, makers=makers, known=known)
    rng = rng_for(seed, "controls")
    deck = Deck(usable, rng, name=lambda image: image.name)
    kind_deck = Deck(list(dict.fromkeys(kinds)), rng_for(seed, "control kinds"), name=str)
    known_deck = Deck(
        _by_image(known) if makers.known_together else [[item] for item in known],
        rng_for(seed, "known items"),
        name=lambda items: items[0].image.name if shows_picture else str(items[0].number),
    )
    known_rng, again_rng = rng_for(seed, "known controls"), rng_for(seed, "repeated controls")

    def deal(number: int, page: Sequence[Group]) -> list[Group]:
        wanted = [kind_deck.deal(1)[0] for _ in range(per_hit)]
        there = {group.image for group in page} if shows_picture else set()
        known_ones = known_deck.deal(wanted.count(KNOWN_GOOD), besides=there, again=False)
        there |= {items[0].image.name for items in known_ones} if shows_picture else set()
        taken = deck.deal(sum(kind in FROM_IMAGES for kind in wanted), besides=there)
        repeats = (
            shuffled(page, again_rng) if REPEATED in wanted and len(page) >= LEAST_GROUPS_TO_REPEAT else []
        )
        groups = []
        for index, kind in enumerate(wanted):
            place = f"{number}.{index}"
            if kind == KNOWN_GOOD and known_ones and makers.known is not None:
                groups.append(makers.known(place, known_ones.pop(0), usable, known_rng))
            elif kind == REPEATED and repeats:
                groups.append(repeated(repeats.pop(), place=place, seed=seed, rng=again_rng))
            elif kind == REFERENCE:
                groups.append(makers.reference(place, taken.pop(0), usable, rng))
            elif kind == DEGRADED and makers.degraded is not None:
                groups.append(_damaged(makers.degraded, place, taken.pop(0), usable, rng))
        return groups

    return deal


def _check(
    usable: Sequence[Image],
    *,
    split: str,
    per_hit: int,
    kinds: Sequence[str],
    makers: Makers,
    known: Sequence[Known],
) -> None:
    missing = [
        kind
        for kind, maker in ((DEGRADED, makers.degraded), (KNOWN_GOOD, makers.known))
        if kind in kinds and maker is None
    ]
    if missing:
        raise DesignError(
            f"controls.kinds names {missing[0]!r}, but this protocol has no such control items.",
            field="controls.kinds",
        )
    if KNOWN_GOOD in kinds and not known:
        raise DesignError(
            "controls.kinds names 'known-good', but there is no item under controls.known.",
            field="controls.known",
        )
    if not set(kinds) & set(FROM_IMAGES):
        return
    if len(usable) < 2:
        raise DesignError(
            f"controls.per_hit asks for control items, but the control split {split!r} has {len(usable)} images with "
            f"{makers.least_references} or more references; at least two are needed (or set controls.per_hit = 0).",
            field="controls.split",
        )
    if per_hit > len(usable):
        raise DesignError(
            f"controls.per_hit is {per_hit}, but the control split {split!r} has {len(usable)} images for it, and a "
            "HIT shows none of them twice.",
            field="controls.per_hit",
        )


def _damaged(
    make: MakeOrNot, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
) -> Group:
    """A degraded item of ``image`` or, where none of its captions can be damaged, of another."""
    for candidate in [image, *shuffled([one for one in images if one.name != image.name], rng)]:
        group = make(place, candidate, images, rng)
        if group is not None:
            return group
    raise DesignError(
        "controls.kinds names 'degraded', but no caption of the control split could be damaged: they have no words "
        "that those of another image could stand for.",
        field="controls.kinds",
    )


def repeated(group: Group, *, place: str, seed: int, rng: np.random.Generator) -> Group:
    """The group once more, as control items: what is right is what the worker says of the other ones."""
    units = [
        replace(
            unit,
            key=content_key("control", REPEATED, seed, place, unit.key),
            kind="",
            pair="",
            filtered=False,
            control=True,
            control_kind=REPEATED,
            content={**unit.content, REPEATS: unit.key},
        )
        for unit in group.units
    ]
    return Group(group.image, tuple(shuffled(units, rng)))


def needs_split(controls: Any) -> bool:
    """Whether a design's controls (``Controls``) take images of the control split."""
    return bool(controls.per_hit) and bool(set(controls.kinds) & set(FROM_IMAGES))


def known_items(items: Sequence[Any], material: Material) -> list[Known]:
    """The designer's items (``KnownItem``) with their image and texts.

    Raises:
        DesignError: an item names no image of the dataset.
    """
    images = {image.name: image for image in material.images}
    everywhere = _texts_of(material.images) if items else {}
    found = []
    for number, item in enumerate(items, start=1):
        image = images.get(item.image)
        if image is None:
            raise DesignError(
                f"controls.known: item {number} is about image {item.image!r}, which dataset {material.name!r} does "
                "not have.",
                field="controls.known",
            )
        there = everywhere | _texts_of([image])
        reference, first, second = (
            there.get(text) or Text(candidate_key(text), text) if text else None
            for text in (item.reference, item.first, item.second)
        )
        found.append(Known(number, image, reference, first, second, item.expected, item.why))
    return found


def _texts_of(images: Sequence[Image]) -> dict[str, Text]:
    """Words -> caption; a reference where there is one of these words."""
    outputs = {text.text: text for image in images for _, text in image.outputs}
    return outputs | {text.text: text for image in images for text in image.references}


def known_problem(item: Known, expected: str) -> DesignError:
    """An item that its kind of HIT cannot show or judge."""
    return DesignError(f"controls.known: item {item.number} {expected}.", field="controls.known")


def _by_image(known: Sequence[Known]) -> list[list[Known]]:
    groups: dict[str, list[Known]] = {}
    for item in known:
        groups.setdefault(item.image.name, []).append(item)
    return list(groups.values())


def foreign_captions(
    image: Image, images: Sequence[Image], count: int, rng: np.random.Generator
) -> list[Text]:
    """``count`` captions of other images, of different texts, none of them a text of ``image``."""
    taken = {text.text for text in image.references}
    found: list[Text] = []
    for index in rng.permutation(len(images)):
        other = images[int(index)]
        if len(found) == count:
            break
        if other.name == image.name:
            continue
        for text in shuffled(other.references, rng):
            if text.text not in taken:
                taken.add(text.text)
                found.append(text)
                break
    if len(found) < count:  # fewer images than wanted captions: take more than one of each
        spare = [text for other in images if other.name != image.name for text in other.references]
        for text in shuffled(spare, rng):
            if len(found) == count:
                break
            if text.text not in taken:
                taken.add(text.text)
                found.append(text)
    return found


class Deck(Generic[T]):
    """Deals things in random order, each once before any comes again."""

    def __init__(self, things: Sequence[T], rng: np.random.Generator, *, name: Callable[[T], str]) -> None:
        self._things = list(things)
        self._rng = rng
        self._left: list[T] = []
        self._name = name

    def deal(self, count: int, *, besides: Collection[str] = (), again: bool = True) -> list[T]:
        """The next ``count``, none of them twice and none of ``besides`` while there are others.

        Where there are none, they come ``again``, or fewer are dealt.
        """
        dealt: list[T] = []
        for _ in range(count):
            names = {self._name(thing) for thing in dealt} | set(besides)
            if not again and all(self._name(thing) in names for thing in self._things):
                break
            if all(self._name(thing) in names for thing in self._left):
                self._left = shuffled(self._things, self._rng) + self._left  # dealt from the end
            fresh = [place for place, thing in enumerate(self._left) if self._name(thing) not in names]
            dealt.append(self._left.pop(fresh[-1] if fresh else -1))
        return dealt


def right_caption_count(image: Image, group_size: int, rng: np.random.Generator) -> int:
    """One to three right captions (H13), as far as the image has them and the group leaves a wrong one."""
    most = min(MOST_RIGHT, len({text.text for text in image.references}), group_size - 1)
    return int(rng.integers(1, most + 1))
