"""Make and deal control items, pack groups of units into HITs, and items into balanced lists.

Louviere, Flynn, Marley 2015, *Best-Worst Scaling*, ask for lists where every item, and every pair of items, comes
equally often. Few sizes have such a design, so random lists are improved as in Kiritchenko, Mohammad 2016 (*Capturing
reliable fine-grained sentiment associations by crowdsourcing and best-worst scaling*, NAACL): no repeated list, no
repeated item within one, items as even as possible; a seeded exchange search evens out pairs.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from common.texts import one_text
from judgments.drawing.material import (
    Division,
    Group,
    HITSpec,
    Image,
    Material,
    Text,
    UnitSpec,
    candidate_key,
    content_key,
    rng_for,
    shuffled,
    text_key,
)

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign
    from judgments.design.tables import Controls

REFERENCE, DEGRADED, REPEATED, KNOWN_GOOD = "reference", "degraded", "repeated", "known-good"

FROM_IMAGES = (REFERENCE, DEGRADED)  # the kinds that need a control split

REPEATS = "repeats"  # content key of a repeated unit: the key of the original

MOST_RIGHT = 3  # H13: one to three right captions among ten

LEAST_GROUPS_TO_REPEAT = 2  # units between an original and its repetition

LEAST_EXCHANGED = 2

SHARE_EXCHANGED = 0.5  # share of a text's content words to exchange for comparison with the intact text

SHORT = 2  # words of so few letters say little

MOST_DONORS = 40  # number of other images searched for words

_WORD = re.compile(r"[^\W\d_]+")

T = TypeVar("T")

Mark = tuple[Hashable, ...]


def degraded_text(
    text: Text, image: Image, images: Sequence[Image], rng: np.random.Generator, *, whole: bool
) -> Text | None:
    """Return a caption damaged with words of other ``images``, or None."""
    others = [other for other in images if other.name != image.name and other.references]
    some = shuffled(others, rng)[:MOST_DONORS]
    damaged = degrade(
        text.text,
        references=[reference.text for reference in image.references],
        donors=[donor.references[int(rng.integers(len(donor.references)))].text for donor in some],
        rng=rng,
        whole=whole,
    )
    return Text(candidate_key(damaged), damaged) if damaged is not None else None


def degrade(
    text: str, *, references: Collection[str], donors: Sequence[str], rng: np.random.Generator, whole: bool
) -> str | None:
    """Exchange content words of ``text`` for those of ``donors``; return None if impossible.

    Args:
        references: every caption of the image; words with one of their stems are never inserted.
        donors: captions of other images.
        whole: exchange every content word, to describe another scene; otherwise half (at least two), to make a
            worse text, or shuffle a text with too few.
    """
    pieces = text.split()
    positions = [position for position, piece in enumerate(pieces) if _is_content(_core(piece))]
    wanted = len(positions) if whole else max(LEAST_EXCHANGED, round(len(positions) * SHARE_EXCHANGED))
    spare = _spare_words(wanted, references=references, donors=donors, rng=rng)
    if not positions or len(spare) < min(wanted, len(positions)):
        return None if whole else _shuffled_words(pieces, rng)
    chosen = sorted(rng.permutation(len(positions))[:wanted].tolist())
    for word, index in zip(spare, chosen, strict=False):
        pieces[positions[index]] = _put_in(pieces[positions[index]], word)
    return " ".join(pieces)


def _core(piece: str) -> str:
    match = _WORD.search(piece)
    return match.group() if match else ""


def _is_content(word: str) -> bool:
    # Imported lazily: the metrics load a compiler that workers' pages never need.
    from quorum.metrics.text.word_lists import smart_stop_words

    return len(word) > SHORT and word.lower() not in smart_stop_words()


def _stems(tokens: Sequence[str]) -> list[str]:
    from quorum.metrics.text.porter import rouge_stems

    return rouge_stems([word.lower() for word in tokens])


def _spare_words(
    wanted: int, *, references: Collection[str], donors: Sequence[str], rng: np.random.Generator
) -> list[str]:
    """Return content words of different stems."""
    taken = set(_stems([word for text in references for word in _WORD.findall(text)]))
    spare: list[str] = []
    for donor in shuffled(donors, rng):
        candidates = [word for word in _WORD.findall(donor) if _is_content(word)]
        for word, stem in zip(candidates, _stems(candidates), strict=True):
            if len(spare) == wanted:
                return spare
            if stem not in taken:
                taken.add(stem)
                spare.append(word)
    return spare


def _put_in(piece: str, word: str) -> str:
    old = _core(piece)
    new = word.lower()
    return piece.replace(old, new[:1].upper() + new[1:] if old[:1].isupper() else new, 1)


def _shuffled_words(pieces: Sequence[str], rng: np.random.Generator) -> str | None:
    """Return None if no order reads differently."""
    if len(set(pieces)) < 3:  # exchanging just two words may give an equally good text
        return None
    while True:
        mixed = shuffled(pieces, rng)
        if mixed != list(pieces):
            return " ".join(mixed)


Dealer = Callable[[int, Sequence[Group]], list[Group]]


@dataclass(frozen=True, slots=True)
class ControlSlot:
    """Where a control item goes, and what it is drawn from.

    Attributes:
        position: distinguishes equal items of different HITs.
        images: of the control split.
    """

    design: StudyDesign
    position: str
    images: Sequence[Image]
    rng: np.random.Generator


Make = Callable[[ControlSlot, Image], Group]

MakeOrNot = Callable[[ControlSlot, Image], Group | None]


@dataclass(frozen=True, slots=True)
class Known:
    """A designer's item with its texts, and its number from 1 in the study file."""

    number: int
    image: Image
    reference: Text | None
    first: Text | None
    second: Text | None
    expected: Any
    why: str


MakeKnown = Callable[[ControlSlot, Sequence[Known]], Group]


@dataclass(frozen=True, slots=True)
class Makers:
    """A kind's factories of control items; None for those that it lacks.

    Attributes:
        reference: also used for quizzes.
        degraded: returns None if no caption can be damaged.
        known_together: whether the known items of an image form one group.
        least_references: references that an image needs for one item.
        quiz_usable: whether an image can be in a quiz.
    """

    reference: Make | None = None
    degraded: MakeOrNot | None = None
    known: MakeKnown | None = None
    known_together: bool = False
    least_references: int = 1
    quiz_usable: Callable[[Image], bool] = lambda image: len(image.references) > 1


def control_dealer(
    design: StudyDesign,
    images: Sequence[Image],
    *,
    makers: Makers,
    known: Sequence[Known],
    shows_picture: bool,
) -> Dealer:
    """Return a function (page number, page) -> control groups.

    The seed draws each place's control kind, in equal shares. A page may get fewer: a single group cannot be
    repeated at a distance, and known items stay off pages with their image.

    Args:
        images: those of the control split.
        shows_picture: whether workers see the image, which then appears once per page.

    Raises:
        DesignError: the kind of HIT or the material cannot supply the controls.
    """
    per_hit, seed = design.controls.per_hit, design.seed
    if not per_hit:
        return lambda number, page: []
    usable = [image for image in images if len(image.references) >= makers.least_references]
    _check(design.controls, usable, makers, known)
    rng = rng_for(seed, "controls")
    deck = Deck(usable, rng, name=lambda image: image.name)
    kinds: list[str] = list(dict.fromkeys(design.controls.kinds))
    kind_deck = Deck(kinds, rng_for(seed, "control kinds"), name=str)
    known_deck = Deck(
        _by_image(known) if makers.known_together else [[item] for item in known],
        rng_for(seed, "known items"),
        name=lambda items: items[0].image.name if shows_picture else str(items[0].number),
    )
    known_rng, again_rng = rng_for(seed, "known controls"), rng_for(seed, "repeated controls")

    def deal(number: int, page: Sequence[Group]) -> list[Group]:
        wanted = [kind_deck.deal(1)[0] for _ in range(per_hit)]
        there = {group.image for group in page} if shows_picture else set()
        known_groups = known_deck.deal(wanted.count(KNOWN_GOOD), besides=there, again=False)
        there |= {items[0].image.name for items in known_groups} if shows_picture else set()
        taken = deck.deal(sum(kind in FROM_IMAGES for kind in wanted), besides=there)
        repeats = (
            shuffled(page, again_rng) if REPEATED in wanted and len(page) >= LEAST_GROUPS_TO_REPEAT else []
        )
        groups = []
        for index, kind in enumerate(wanted):
            slot_key = f"{number}.{index}"
            slot = ControlSlot(design, slot_key, usable, rng)
            if kind == KNOWN_GOOD and known_groups and makers.known is not None:
                groups.append(makers.known(replace(slot, rng=known_rng), known_groups.pop(0)))
            elif kind == REPEATED and repeats:
                groups.append(repeat_group(repeats.pop(), slot_key=slot_key, seed=seed, rng=again_rng))
            elif kind == REFERENCE and makers.reference is not None:
                groups.append(makers.reference(slot, taken.pop(0)))
            elif kind == DEGRADED and makers.degraded is not None:
                groups.append(_make_damaged(makers.degraded, slot, taken.pop(0)))
        return groups

    return deal


def _check(controls: Controls, usable: Sequence[Image], makers: Makers, known: Sequence[Known]) -> None:
    makers_by_kind = {REFERENCE: makers.reference, DEGRADED: makers.degraded, KNOWN_GOOD: makers.known}
    for kind, maker in makers_by_kind.items():
        if kind in controls.kinds and maker is None:
            raise DesignError(
                gettext("controls.kinds names %(kind)r, but this protocol has no such control items.")
                % {"kind": kind},
                field="controls.kinds",
            )
    if KNOWN_GOOD in controls.kinds and not known:
        raise DesignError(
            gettext("controls.kinds names 'known-good', but there is no item under controls.known."),
            field="controls.known",
        )
    if not set(controls.kinds) & set(FROM_IMAGES):
        return
    if len(usable) < 2:
        raise DesignError(
            gettext(
                "controls.per_hit asks for control items, but the control split %(split)r has %(n)s "
                "images with %(least_references)s or more references; at least two are needed (or "
                "set controls.per_hit = 0)."
            )
            % {"split": controls.split, "n": len(usable), "least_references": makers.least_references},
            field="controls.split",
        )
    if controls.per_hit > len(usable):
        raise DesignError(
            gettext(
                "controls.per_hit is %(per_hit)s, but the control split %(split)r has %(n)s images "
                "for it, and a HIT shows none of them twice."
            )
            % {"per_hit": controls.per_hit, "split": controls.split, "n": len(usable)},
            field="controls.per_hit",
        )


def _make_damaged(make: MakeOrNot, slot: ControlSlot, image: Image) -> Group:
    others = [other for other in slot.images if other.name != image.name]
    for candidate in [image, *shuffled(others, slot.rng)]:
        group = make(slot, candidate)
        if group is not None:
            return group
    raise DesignError(
        gettext(
            "controls.kinds names 'degraded', but no caption of the control split could be "
            "damaged: they have no words that those of another image could stand for."
        ),
        field="controls.kinds",
    )


def repeat_group(group: Group, *, slot_key: str, seed: int, rng: np.random.Generator) -> Group:
    """Return the group again as control items that expect the first answers."""
    units = [
        replace(
            unit,
            key=content_key("control", REPEATED, seed, slot_key, unit.key),
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


def needs_split(design: StudyDesign) -> bool:
    return bool(design.controls.per_hit) and bool(set(design.controls.kinds) & set(FROM_IMAGES))


def divide_images(design: StudyDesign, material: Material) -> Division:
    """Return the images of the judged split and of the control split.

    Without two splits, a tenth of the images (at least two) is drawn for control items, if there are any.
    """
    judged, controls, images = design.sampling.split, design.controls.split, material.images
    if material.has_splits and judged != controls:
        return Division(
            judged=tuple(image for image in images if image.split == judged),
            controls=tuple(image for image in images if image.split == controls),
        )
    if material.has_splits:
        images = tuple(image for image in images if image.split == judged)
    if not needs_split(design):
        return Division(judged=images, controls=())
    count = max(2, len(images) // 10)
    drawn = {image.name for image in shuffled(images, rng_for(design.seed, "control split"))[:count]}
    return Division(
        judged=tuple(image for image in images if image.name not in drawn),
        controls=tuple(image for image in images if image.name in drawn),
    )


def check_split(design: StudyDesign, material: Material) -> None:
    """Refuse a judged split that the dataset does not have."""
    splits = {image.split for image in material.images}
    named = sorted(splits - {""})
    if named and design.sampling.split not in splits:
        raise DesignError(
            gettext("Dataset %(name)r has no split %(split)r; expected %(listed)s.")
            % {"name": material.name, "split": design.sampling.split, "listed": " or ".join(named)},
            field="sampling.split",
        )


def known_items(items: Sequence[Any], material: Material) -> list[Known]:
    """Resolve the texts and images of the designer's ``KnownItem``s."""
    images = {image.name: image for image in material.images}
    everywhere = texts_by_wording(material.images) if items else {}
    known = []
    for number, item in enumerate(items, start=1):
        image = images.get(item.image)
        if image is None:
            raise DesignError(
                gettext(
                    "controls.known: item %(number)s is about image %(image)r, which dataset %(name)r "
                    "does not have."
                )
                % {"number": number, "image": item.image, "name": material.name},
                field="controls.known",
            )
        there = everywhere | texts_by_wording([image])
        reference, first, second = (
            there.get(one_text(text)) or Text(text_key(text), text) if text else None
            for text in (item.reference, item.first, item.second)
        )
        known.append(Known(number, image, reference, first, second, item.expected, item.why))
    return known


def texts_by_wording(images: Sequence[Image]) -> dict[str, Text]:
    """Return texts by their one form; prefer references."""
    outputs = {one_text(text.text): text for image in images for _, text in image.outputs}
    return outputs | {one_text(text.text): text for image in images for text in image.references}


def known_problem(item: Known, expected: str) -> DesignError:
    return DesignError(
        gettext("controls.known: item %(number)s %(expected)s.")
        % {"number": item.number, "expected": expected},
        field="controls.known",
    )


def _by_image(known: Sequence[Known]) -> list[list[Known]]:
    groups: defaultdict[str, list[Known]] = defaultdict(list)
    for item in known:
        groups[item.image.name].append(item)
    return list(groups.values())


def foreign_captions(
    image: Image, images: Sequence[Image], count: int, rng: np.random.Generator
) -> list[Text]:
    """Draw ``count`` captions of other images, with distinct texts that ``image`` lacks."""
    taken = {text.text for text in image.references}
    foreign: list[Text] = []
    for index in rng.permutation(len(images)):
        other = images[int(index)]
        if len(foreign) == count:
            break
        if other.name == image.name:
            continue
        for text in shuffled(other.references, rng):
            if text.text not in taken:
                taken.add(text.text)
                foreign.append(text)
                break
    if len(foreign) < count:  # too few images: take more than one caption of each
        spare = [text for other in images if other.name != image.name for text in other.references]
        for text in shuffled(spare, rng):
            if len(foreign) == count:
                break
            if text.text not in taken:
                taken.add(text.text)
                foreign.append(text)
    return foreign


class Deck(Generic[T]):
    """Deal items in random order, each once before any repeats."""

    def __init__(self, things: Sequence[T], rng: np.random.Generator, *, name: Callable[[T], str]) -> None:
        self._things = list(things)
        self._rng = rng
        self._left: list[T] = []
        self._name = name

    def deal(self, count: int, *, besides: Collection[str] = (), again: bool = True) -> list[T]:
        """Deal ``count`` distinct items, avoiding ``besides`` while others remain.

        Then deal those too if ``again``, otherwise deal fewer.
        """
        dealt: list[T] = []
        for _ in range(count):
            names = {self._name(thing) for thing in dealt} | set(besides)
            if not again and all(self._name(thing) in names for thing in self._things):
                break
            if all(self._name(thing) in names for thing in self._left):
                self._left = shuffled(self._things, self._rng) + self._left  # dealt from the end
            indices = reversed(range(len(self._left)))
            fresh = next((index for index in indices if self._name(self._left[index]) not in names), -1)
            dealt.append(self._left.pop(fresh))
        return dealt


def right_caption_count(image: Image, group_size: int, rng: np.random.Generator) -> int:
    """Draw one to three right captions (H13), leaving a wrong one in the group."""
    most = min(MOST_RIGHT, len({text.text for text in image.references}), group_size - 1)
    return int(rng.integers(1, most + 1))


@dataclass(frozen=True, slots=True)
class ControlPool:
    """The distinct control items of a study.

    Attributes:
        lasts: HITs a worker can do before an item repeats, if HITs with new controls come first.
        comes_again: whether any item is in two HITs.
    """

    items: int
    lasts: int
    comes_again: bool


def mark_of(image: Hashable, *texts: Hashable, grouped: bool) -> Mark:
    """Return what a worker recognises a control item by: the image, and its captions unless ``grouped``.

    Names or row ids identify them; None stands for a missing caption.
    """
    if grouped:
        return (image,)
    return (image, *sorted((text for text in texts if text is not None), key=str))


def pool_of(hits: Sequence[HITSpec], *, grouped: bool) -> ControlPool:
    known: set[Mark] = set()
    met: set[Mark] = set()
    lasts, comes_again = 0, False
    for hit in hits:
        items = {
            mark_of(unit.image, *(text and text.key for text in (unit.first, unit.second)), grouped=grouped)
            for unit in hit.units
            if unit.control and unit.control_kind != REPEATED
        }
        comes_again = comes_again or not items.isdisjoint(known)
        known |= items
        if items.isdisjoint(met):
            lasts += 1
            met |= items
    return ControlPool(items=len(known), lasts=lasts, comes_again=comes_again)


TRIES = 50  # random orders for each distance

OPEN_PAGES = 50  # unfilled pages that are looked at for room


def pack_groups(
    groups: Sequence[Group],
    *,
    per_hit: int,
    rng: np.random.Generator,
    repeat_images: bool,
    evenly: bool = False,
) -> list[list[Group]]:
    """Fill pages of ``per_hit`` groups, images with the most groups left first.

    That order minimises repeated images on a page. When too few images are left, ``repeat_images`` allows repeats;
    otherwise the page stays short. Pages and the groups within are shuffled. ``evenly`` makes as many pages, alike in
    length up to one group: 21 groups, 10 a page, fill pages of 7.
    """
    queues: dict[str, list[Group]] = defaultdict(list)
    for group in shuffled(groups, rng):
        queues[group.image].append(group)
    names = shuffled(sorted(queues), rng)
    heap = [(-len(queues[name]), order, name) for order, name in enumerate(names)]
    heapq.heapify(heap)
    pages: list[list[Group]] = []
    while heap:
        page: list[Group] = []
        size, waiting = per_hit, -sum(left for left, _, _ in heap)
        if evenly:
            size = -(-waiting // max(-(-waiting // per_hit), 0 if repeat_images else -heap[0][0]))
        while len(page) < size and heap:
            used: list[tuple[int, int, str]] = []
            while len(page) < size and heap:
                left, order, name = heapq.heappop(heap)
                page.append(queues[name].pop())
                if left < -1:
                    used.append((left + 1, order, name))
            for entry in used:
                heapq.heappush(heap, entry)
            if not repeat_images:
                break
        pages.append(shuffled(page, rng))
    size = max(map(len, pages), default=0) if evenly else per_hit
    full = [page for page in pages if len(page) == size]
    short = [page for page in pages if len(page) != size]
    return shuffled(full, rng) + short


def pack_runs(groups: Sequence[Group], *, size: int, rng: np.random.Generator) -> list[list[Group]]:
    """Fill pages of up to ``size`` units with whole groups; a longer group gets its own page.

    The order is random. No page has two groups of an image.
    """
    pages: list[list[Group]] = []
    open_pages: list[tuple[list[Group], set[str], int]] = []
    for group in shuffled(groups, rng):
        count = len(group.units)
        for index, (page, images, left) in enumerate(open_pages):
            if count <= left and group.image not in images:
                page.append(group)
                open_pages[index] = page, images | {group.image}, left - count
                break
        else:
            pages.append([group])
            open_pages.append((pages[-1], {group.image}, size - count))
        open_pages = [entry for entry in open_pages if entry[2] > 0][-OPEN_PAGES:]
    return pages


def order_with_twins_apart(count: int, twins: Mapping[int, int], rng: np.random.Generator) -> list[int]:
    """Order 0 to ``count`` - 1 with each of ``twins`` a third of the page apart.

    A suitable first draw is returned unchanged. If impossible, twins are nearer, but never adjacent: such a twin is
    left out.
    """
    order = np.arange(count)
    for least in range(max(2, count // 3), 1, -1):
        for _ in range(TRIES):
            positions = np.argsort(order)
            if all(
                abs(int(positions[first]) - int(positions[second])) >= least
                for first, second in twins.items()
            ):
                return [int(number) for number in order]
            order = rng.permutation(count)
    return [number for number in range(count) if number not in twins]


def hits_with_an_image_twice(hits: Sequence[HITSpec]) -> int:
    images = ([unit.image for unit in hit.units if not unit.control] for hit in hits)
    return sum(len(set(names)) < len(names) for names in images)


def make_hits(
    pages: Sequence[Sequence[Group]],
    *,
    seed: int,
    protocol: str,
    controls: Callable[[int, Sequence[Group]], Sequence[Group]],
    rng: np.random.Generator,
) -> list[HITSpec]:
    """Build HITs from pages, inserting ``controls(page number, page)`` at random places."""
    hits = []
    for number, page in enumerate(pages):
        groups = list(page)
        for control in controls(number, page):
            groups.insert(int(rng.integers(len(groups) + 1)), control)
        units: list[UnitSpec] = [unit for group in groups for unit in group.units]
        numbered = () if page else (number,)  # pages of an arena are all alike before they are drawn
        key = content_key("hit", seed, protocol, [unit.key for unit in units], *numbered)
        hits.append(HITSpec(key=key, units=tuple(units)))
    return hits


def hits_of(
    groups: Sequence[Group],
    *,
    design: StudyDesign,
    size: int,
    repeat_images: bool,
    evenly: bool,
    control_images: Sequence[Image],
    makers: Makers,
    known: Sequence[Known],
) -> tuple[HITSpec, ...]:
    """Build HITs of ``size`` groups, including the design's control groups.

    ``repeat_images`` allows a page to repeat an image that workers do not see, if too few are left. Pages of an
    arena get control groups only; their pairs are drawn later.
    """
    deal = control_dealer(design, control_images, makers=makers, known=known, shows_picture=not repeat_images)
    pages: Sequence[Sequence[Group]] = [()] * design.arena.pages or pack_groups(
        groups,
        per_hit=size - design.controls.per_hit,
        rng=rng_for(design.seed, "packing"),
        repeat_images=repeat_images,
        evenly=evenly,
    )
    return tuple(
        make_hits(
            pages,
            seed=design.seed,
            protocol=design.protocol,
            controls=deal,
            rng=rng_for(design.seed, "control places"),
        )
    )


TRIES_A_PLACE = 60  # exchanges tried per place of each list

List = frozenset[int]


def list_count(items: int, *, size: int, appearances: int) -> int:
    """Return how many distinct lists of ``size`` give each item its ``appearances``."""
    return min(-(-items * appearances // size), comb(items, size))


def balanced_lists(
    items: int, *, size: int, appearances: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """Draw distinct ascending lists of ``size`` from 0 to ``items`` - 1.

    Every item is in ``appearances`` lists, some in one more to fill the last list, or in all distinct ones.
    """
    if items < size:
        return []
    count = list_count(items, size=size, appearances=appearances)
    if count == comb(items, size):
        return list(combinations(range(items), size))
    design = _Design(items, _deal_lists(items, size, count, rng))
    design.improve(rng, TRIES_A_PLACE * size * count)
    return [tuple(sorted(members)) for members in design.lists]


def _deal_lists(items: int, size: int, count: int, rng: np.random.Generator) -> list[List]:
    """Use the least used items, of these the ones that met the list's items least."""
    came = [0] * items
    met = np.zeros((items, items), dtype=np.int64)
    lists = []
    for _ in range(count):
        order = rng.permutation(items).tolist()
        chosen: list[int] = []
        while len(chosen) < size:
            free = [item for item in order if item not in chosen]
            chosen.append(min(free, key=lambda item: (came[item], met[item, chosen].sum())))
        for item in chosen:
            came[item] += 1
        for first, second in combinations(chosen, 2):
            met[first, second] += 1
            met[second, first] += 1
        lists.append(frozenset(chosen))
    return lists


class _Design:
    def __init__(self, items: int, lists: list[List]) -> None:
        self.lists = lists
        self._same = Counter(lists)
        self._met = [[0] * items for _ in range(items)]
        for members in lists:
            for first, second in combinations(members, 2):
                self._meet(first, second, 1)

    def improve(self, rng: np.random.Generator, tries: int) -> None:
        """Exchange items between lists if no list repeats and pairs stay as even."""
        if len(self.lists) < 2:
            return
        lots = rng.random((tries, 4))
        for first_lot, second_lot, here, there in lots.tolist():
            first = int(first_lot * len(self.lists))
            second = int(second_lot * len(self.lists))
            mine = sorted(self.lists[first] - self.lists[second])
            theirs = sorted(self.lists[second] - self.lists[first])
            if mine:  # else they are the same list
                self._exchange(first, second, mine[int(here * len(mine))], theirs[int(there * len(theirs))])
            elif first != second:
                self._part(first, rng)

    def _exchange(self, first: int, second: int, gone: int, come: int) -> None:
        old = self.lists[first], self.lists[second]
        new = old[0] - {gone} | {come}, old[1] - {come} | {gone}
        if new[0] == old[1]:
            return
        more_copies = sum(self._same[members] for members in new) - sum(
            self._same[members] - 1 for members in old
        )
        if more_copies > 0 or (more_copies == 0 and self._cost(old, gone, come) > 0):
            return
        for mine, theirs, lost, got in ((old[0], old[1], gone, come), (old[1], old[0], come, gone)):
            for item in mine - theirs - {lost}:
                self._meet(lost, item, -1)
                self._meet(got, item, 1)
        self._same.subtract(old)
        self._same.update(new)
        self.lists[first], self.lists[second] = new

    def _part(self, first: int, rng: np.random.Generator) -> None:
        """Exchange an item of a repeated list for one of another list."""
        second = int(rng.integers(len(self.lists)))
        mine = sorted(self.lists[first] - self.lists[second])
        theirs = sorted(self.lists[second] - self.lists[first])
        if mine:
            gone, come = (items[int(rng.integers(len(items)))] for items in (mine, theirs))
            self._exchange(first, second, gone, come)

    def _cost(self, old: tuple[List, List], gone: int, come: int) -> int:
        """Return half of the change in the sum of squared co-occurrences."""
        met = self._met
        return sum(met[come][item] - met[gone][item] + 1 for item in old[0] - old[1] - {gone}) + sum(
            met[gone][item] - met[come][item] + 1 for item in old[1] - old[0] - {come}
        )

    def _meet(self, first: int, second: int, times: int) -> None:
        self._met[first][second] += times
        self._met[second][first] += times
