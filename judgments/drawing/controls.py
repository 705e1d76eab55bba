"""Control items: units with a known answer, damaged captions included, and how far they reach. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from common.errors import DesignError
from judgments.drawing.draws import candidate_key, content_key, rng_for, shuffled
from judgments.drawing.material import Group, HITSpec, Image, Material, Text

LEAST_EXCHANGED = 2
SHARE_EXCHANGED = 0.5  # of a text's content words, where it is compared with the intact one
SHORT = 2  # words of so few letters say little
MOST_DONORS = 40  # other images whose captions are looked at for words
_WORD = re.compile(r"[^\W\d_]+")


def degraded_text(
    text: Text, image: Image, images: Sequence[Image], rng: np.random.Generator, *, whole: bool
) -> Text | None:
    """A caption of ``image`` damaged with words of captions of other ``images``, as a candidate; None where that cannot
    be done (see ``degraded``)."""
    others = [other for other in images if other.name != image.name and other.references]
    some = shuffled(others, rng)[:MOST_DONORS]
    found = degraded(
        text.text,
        own=[one.text for one in image.references],
        donors=[one.references[int(rng.integers(len(one.references)))].text for one in some],
        rng=rng,
        whole=whole,
    )
    return Text(candidate_key(found), found) if found is not None else None


def degraded(
    text: str, *, own: Collection[str], donors: Sequence[str], rng: np.random.Generator, whole: bool
) -> str | None:
    """``text`` with content words exchanged for those of ``donors``; None where that cannot be done.

    Args:
        own: every caption of the image; a word with the stem of one of theirs is never put in.
        donors: captions of other images; they give their words in an order drawn with ``rng``.
        whole: every content word goes, so that what is left describes another scene; else half of them (two at the
            least), so that the text is the worse one of two. A text without enough of them, to be compared, has its
            words shuffled instead.
    """
    pieces = text.split()
    places = [place for place, piece in enumerate(pieces) if _is_content(_core(piece))]
    wanted = len(places) if whole else max(LEAST_EXCHANGED, round(len(places) * SHARE_EXCHANGED))
    spare = _spare_words(wanted, own=own, donors=donors, rng=rng)
    if not places or len(spare) < min(wanted, len(places)):
        return None if whole else _shuffled_words(pieces, rng)
    chosen = sorted(rng.permutation(len(places))[:wanted].tolist())
    for word, index in zip(spare, chosen, strict=False):
        pieces[places[index]] = _put_in(pieces[places[index]], word)
    return " ".join(pieces)


def _core(piece: str) -> str:
    found = _WORD.search(piece)
    return found.group() if found else ""


def _is_content(word: str) -> bool:
    # Here and not above: the metrics bring a compiler along, which pages of workers never need.
    from evaluation.metrics.stemming import smart_stop_words

    return len(word) > SHORT and word.lower() not in smart_stop_words()


def _stems(words: Sequence[str]) -> list[str]:
    from evaluation.metrics.stemming import rouge_stems

    return rouge_stems([word.lower() for word in words])


def _spare_words(
    wanted: int, *, own: Collection[str], donors: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Up to ``wanted`` content words of the donors, of different stems, in the order in which a donor has them."""
    taken = set(_stems([word for text in own for word in _WORD.findall(text)]))
    found: list[str] = []
    for donor in shuffled(donors, rng):
        words = [word for word in _WORD.findall(donor) if _is_content(word)]
        for word, stem in zip(words, _stems(words), strict=True):
            if len(found) == wanted:
                return found
            if stem not in taken:
                taken.add(stem)
                found.append(word)
    return found


def _put_in(piece: str, word: str) -> str:
    """``word`` in the place of the piece's own: its punctuation stays, and so does its capital letter."""
    old = _core(piece)
    new = word.lower()
    return piece.replace(old, new[:1].upper() + new[1:] if old[:1].isupper() else new, 1)


def _shuffled_words(pieces: Sequence[str], rng: np.random.Generator) -> str | None:
    """The words in another order; None where there is none that reads differently."""
    if len(set(pieces)) < 3:  # two words may be as good the other way round
        return None
    while True:
        mixed = shuffled(pieces, rng)
        if mixed != list(pieces):
            return " ".join(mixed)


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


Mark = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class ControlPool:
    """The control items of a study, as a worker meets them.

    Attributes:
        items: how many different ones there are.
        lasts: how many HITs a worker can do before one of them comes again, as HITs are handed out: those of which
            the control items are new first.
        comes_again: whether any stands in two HITs at all.
    """

    items: int
    lasts: int
    comes_again: bool


def mark_of(image: Hashable, *texts: Hashable, grouped: bool) -> Mark:
    """By what a worker would know a control item again: the image and the captions in question, in whatever order;
    where many captions stand under one image, the image alone.

    Args:
        image, texts: names, or row ids; None for a caption that the kind does not have.
    """
    if grouped:
        return (image,)
    return (image, *sorted((text for text in texts if text is not None), key=str))


def pool_of(hits: Sequence[HITSpec], *, grouped: bool) -> ControlPool:
    """The figures of HITs that were drawn. A repeated unit is met in one HIT alone, as the judged one is."""
    known: set[Mark] = set()
    met: set[Mark] = set()
    lasts, comes_again = 0, False
    for hit in hits:
        items = {
            mark_of(
                unit.image,
                unit.first.key if unit.first else None,
                unit.second.key if unit.second else None,
                grouped=grouped,
            )
            for unit in hit.units
            if unit.control and unit.control_kind != REPEATED
        }
        comes_again = comes_again or not items.isdisjoint(known)
        known |= items
        if items.isdisjoint(met):
            lasts += 1
            met |= items
    return ControlPool(items=len(known), lasts=lasts, comes_again=comes_again)
