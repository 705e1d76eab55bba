"""Distribute control items over pages of work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.controls.makers import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    REPEATED,
    SPLIT_CONTROLS,
    ControlMakers,
    ControlSlot,
    KnownItem,
    MakeOptionalControl,
)
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Group, Image

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign
    from judgments.design.tables.controls import Controls


ORIGINAL_UNIT = "repeats"  # the key in a repetition's content under which it has the original's key
MIN_GROUPS_TO_REPEAT = 2  # least number of groups on a page of which one is repeated
T = TypeVar("T")
# A function from a page's number and its groups to its groups of control items.
Dealer = Callable[[int, Sequence[Group]], list[Group]]


def control_dealer(
    design: StudyDesign,
    images: Sequence[Image],
    *,
    makers: ControlMakers,
    known: Sequence[KnownItem],
    shows_picture: bool,
) -> Dealer:
    """Return a function that deals the control items of a page, in groups, by the page's number and its other groups.

    The seed draws the kind of control item for each place, in equal shares. A page may get fewer items than requested:
    a page with a single group cannot repeat it at a distance, and a page with the image of a known item does not get
    this item.

    Args:
        images: the images of the control split.
        shows_picture: whether workers see the image, which then appears once per page.

    Raises:
        DesignError: the kind of HIT or the material cannot supply the controls.
    """
    per_hit, seed = design.controls.per_hit, design.seed
    if not per_hit:
        return lambda number, page: []
    usable_images = [image for image in images if len(image.references) >= makers.least_references]
    _check_controls(design.controls, usable_images, makers, known)
    rng = rng_for(seed, "controls")
    image_deck = Deck(usable_images, rng, name=lambda image: image.name)
    kinds: list[str] = list(dict.fromkeys(design.controls.kinds))
    kind_deck = Deck(kinds, rng_for(seed, "control kinds"), name=str)
    known_deck = Deck(
        _group_by_image(known) if makers.groups_known_items else [[item] for item in known],
        rng_for(seed, "known items"),
        name=lambda items: items[0].image.name if shows_picture else str(items[0].number),
    )
    known_rng, repetition_rng = rng_for(seed, "known controls"), rng_for(seed, "repeated controls")

    def deal_groups(number: int, page: Sequence[Group]) -> list[Group]:
        page_kinds = [kind_deck.deal_items(1)[0] for _ in range(per_hit)]
        page_images = {group.image for group in page} if shows_picture else set()
        known_groups = known_deck.deal_items(page_kinds.count(KNOWN_GOOD), besides=page_images, again=False)
        page_images |= {items[0].image.name for items in known_groups} if shows_picture else set()
        split_count = sum(kind in SPLIT_CONTROLS for kind in page_kinds)
        split_images = image_deck.deal_items(split_count, besides=page_images)
        can_repeat = REPEATED in page_kinds and len(page) >= MIN_GROUPS_TO_REPEAT
        originals = shuffle(page, repetition_rng) if can_repeat else []
        groups = []
        for index, kind in enumerate(page_kinds):
            slot_key = f"{number}.{index}"
            slot = ControlSlot(design, slot_key, usable_images, rng)
            if kind == KNOWN_GOOD and known_groups and makers.known is not None:
                groups.append(makers.known(replace(slot, rng=known_rng), known_groups.pop(0)))
            elif kind == REPEATED and originals:
                groups.append(repeat_group(originals.pop(), slot_key=slot_key, seed=seed, rng=repetition_rng))
            elif kind == REFERENCE and makers.reference is not None:
                groups.append(makers.reference(slot, split_images.pop(0)))
            elif kind == DEGRADED and makers.degraded is not None:
                groups.append(_make_degraded(makers.degraded, slot, split_images.pop(0)))
        return groups

    return deal_groups


def _check_controls(
    controls: Controls, usable_images: Sequence[Image], makers: ControlMakers, known: Sequence[KnownItem]
) -> None:
    """Raise DesignError if the kind of HIT or the material cannot supply the design's control items."""
    makers_by_kind = {REFERENCE: makers.reference, DEGRADED: makers.degraded, KNOWN_GOOD: makers.known}
    for kind, maker in makers_by_kind.items():
        if kind in controls.kinds and maker is None:
            raise DesignError(
                gettext(
                    "controls.kinds contains %(kind)r, but this protocol does not offer this kind of "
                    "check question."
                )
                % {"kind": kind},
                field="controls.kinds",
            )
    if KNOWN_GOOD in controls.kinds and not known:
        raise DesignError(
            gettext(
                "controls.kinds contains 'known-good', but controls.known is empty; expected at least "
                "one known item."
            ),
            field="controls.known",
        )
    if not set(controls.kinds) & set(SPLIT_CONTROLS):
        return
    if len(usable_images) < 2:
        raise DesignError(
            gettext(
                "Check questions need at least two items with %(least_references)s or more references, but the "
                "control split %(split)r has too few of these (%(n)s); expected more items, or controls.per_hit = 0."
            )
            % {"split": controls.split, "n": len(usable_images), "least_references": makers.least_references},
            field="controls.split",
        )
    if controls.per_hit > len(usable_images):
        raise DesignError(
            gettext(
                "controls.per_hit is %(per_hit)s, but a page of work shows each item at most once, and the control "
                "split %(split)r has too few items for check questions (%(n)s)."
            )
            % {"per_hit": controls.per_hit, "split": controls.split, "n": len(usable_images)},
            field="controls.per_hit",
        )


def _make_degraded(make: MakeOptionalControl, slot: ControlSlot, image: Image) -> Group:
    """Return a damaged item with the image or, if it cannot be damaged, with another image of the control split."""
    other_images = [other for other in slot.images if other.name != image.name]
    for candidate in [image, *shuffle(other_images, slot.rng)]:
        group = make(slot, candidate)
        if group is not None:
            return group
    raise DesignError(
        gettext(
            "controls.kinds contains 'degraded', but no text of the control split can be "
            "degraded, because other items have no words to substitute."
        ),
        field="controls.kinds",
    )


def repeat_group(group: Group, *, slot_key: str, seed: int, rng: np.random.Generator) -> Group:
    """Return a repetition of the group as control items. The answers to the original are the expected answers."""
    units = [
        replace(
            unit,
            key=content_key("control", REPEATED, seed, slot_key, unit.key),
            kind="",
            pair="",
            filtered=False,
            control=True,
            control_kind=REPEATED,
            content={**unit.content, ORIGINAL_UNIT: unit.key},
        )
        for unit in group.units
    ]
    return Group(group.image, tuple(shuffle(units, rng)))


def _group_by_image(items: Sequence[KnownItem]) -> list[list[KnownItem]]:
    """Return the known items of each image, in the order of their first item."""
    groups: defaultdict[str, list[KnownItem]] = defaultdict(list)
    for item in items:
        groups[item.image.name].append(item)
    return list(groups.values())


class Deck(Generic[T]):
    """Deals items in random order. Every item is dealt once before an item is repeated."""

    def __init__(self, items: Sequence[T], rng: np.random.Generator, *, name: Callable[[T], str]) -> None:
        """Shuffle the items when they are needed. ``name`` returns the name by which ``besides`` leaves an item out."""
        self._items = list(items)
        self._rng = rng
        self._remaining: list[T] = []  # dealt from the end
        self._name = name

    def deal_items(self, count: int, *, besides: Collection[str] = (), again: bool = True) -> list[T]:
        """Deal ``count`` distinct items, without those named in ``besides`` while others remain.

        When no others remain, deal fewer items or, if ``again``, items of ``besides`` and items that were dealt before.
        """
        dealt_items: list[T] = []
        for _ in range(count):
            names = {self._name(item) for item in dealt_items} | set(besides)
            if not again and all(self._name(item) in names for item in self._items):
                break
            if all(self._name(item) in names for item in self._remaining):
                self._remaining = shuffle(self._items, self._rng) + self._remaining
            indices = reversed(range(len(self._remaining)))
            # the last remaining item without such a name, or else the last one
            last = next((index for index in indices if self._name(self._remaining[index]) not in names), -1)
            dealt_items.append(self._remaining.pop(last))
        return dealt_items
