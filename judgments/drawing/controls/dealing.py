"""Make the control items of each page of work. Each kind of them, image and known item occurs about equally often."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
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


class ControlDealer:
    """Makes the control items of one page after another.

    The seed draws the kind of each control item, so that all kinds of ``controls.kinds`` occur about equally often. A
    page may get fewer items than ``controls.per_hit``: a page with a single group cannot repeat it at a distance, and
    a page with the image of a known item does not get this item.
    """

    def __init__(
        self,
        design: StudyDesign,
        images: Sequence[Image],
        *,
        makers: ControlMakers,
        known_items: Sequence[KnownItem],
        avoids_images: bool,
    ) -> None:
        """Check that the control items can be made, and prepare the draws.

        Args:
            images: the images of the control split.
            avoids_images: whether to avoid images that the page shows already, because workers see them.

        Raises:
            DesignError: the protocol or the material cannot supply the controls.
        """
        seed = design.seed
        self._design, self._makers, self._avoids_images = design, makers, avoids_images
        self._images = [image for image in images if len(image.references) >= makers.min_references]
        if design.controls.per_hit:
            _check_controls(design.controls, self._images, makers, known_items)
        self._rng = rng_for(seed, "controls")
        self._known_rng = rng_for(seed, "known controls")
        self._repetition_rng = rng_for(seed, "repeated controls")
        kinds: list[str] = list(dict.fromkeys(design.controls.kinds))
        self._kind_deck = Deck(kinds, rng_for(seed, "control kinds"), name=str)
        self._image_deck = Deck(self._images, self._rng, name=lambda image: image.name)
        # Lists of known items that are shown together. If images are avoided, their name is the image, so that
        # ``deal_items`` can avoid those on the page.
        self._known_deck = Deck(
            _group_by_image(known_items) if makers.groups_known_items else [[item] for item in known_items],
            rng_for(seed, "known items"),
            name=lambda items: items[0].image.name if avoids_images else str(items[0].number),
        )

    def deal_controls(self, page_number: int, page: Sequence[Group]) -> list[Group]:
        """Return the groups of control items for a page with these other groups."""
        # one kind at a time, since a page may repeat a kind; items dealt at once are distinct
        kinds = [self._kind_deck.deal_items(1)[0] for _ in range(self._design.controls.per_hit)]
        sources = self._draw_sources(kinds, page)
        groups = []
        for index, kind in enumerate(kinds):
            slot = ControlSlot(self._design, f"{page_number}.{index}", self._images, self._rng)
            group = self._make_group(kind, slot, sources)
            if group is not None:
                groups.append(group)
        return groups

    def _draw_sources(self, kinds: Sequence[str], page: Sequence[Group]) -> _ControlSources:
        """Draw what control items of these kinds are made from, without images that the page shows already."""
        page_images = {group.image for group in page} if self._avoids_images else set()
        known_groups = self._known_deck.deal_items(
            kinds.count(KNOWN_GOOD), avoided_names=page_images, deal_avoided=False
        )
        if self._avoids_images:
            page_images |= {items[0].image.name for items in known_groups}
        split_count = sum(kind in SPLIT_CONTROLS for kind in kinds)
        can_repeat = REPEATED in kinds and len(page) >= MIN_GROUPS_TO_REPEAT
        return _ControlSources(
            known_groups=known_groups,
            images=self._image_deck.deal_items(split_count, avoided_names=page_images),
            originals=shuffle(page, self._repetition_rng) if can_repeat else [],
        )

    def _make_group(self, kind: str, slot: ControlSlot, sources: _ControlSources) -> Group | None:
        """Make the control items of a place (``slot``) on the page from the next source of their kind; None if none."""
        makers = self._makers
        if kind == KNOWN_GOOD and sources.known_groups and makers.known_good is not None:
            return makers.known_good(replace(slot, rng=self._known_rng), sources.known_groups.pop(0))
        if kind == REPEATED and sources.originals:
            return repeat_group(
                sources.originals.pop(), slot.position, self._design.seed, self._repetition_rng
            )
        if kind == REFERENCE and makers.reference is not None:
            return makers.reference(slot, sources.images.pop(0))
        if kind == DEGRADED and makers.degraded is not None:
            return _make_degraded(makers.degraded, slot, sources.images.pop(0))
        return None


@dataclass(frozen=True, slots=True)
class _ControlSources:
    """What the control items of a page are made from. Each control item takes a source away.

    ``images`` are of the control split, and ``originals`` are groups of the page, of which one or more are repeated.
    """

    known_groups: list[list[KnownItem]]
    images: list[Image]
    originals: list[Group]


def _check_controls(
    controls: Controls,
    usable_images: Sequence[Image],
    makers: ControlMakers,
    known_items: Sequence[KnownItem],
) -> None:
    """Raise DesignError if the protocol or the material cannot supply the design's control items."""
    makers_by_kind = {REFERENCE: makers.reference, DEGRADED: makers.degraded, KNOWN_GOOD: makers.known_good}
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
    if KNOWN_GOOD in controls.kinds and not known_items:
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
            % {"split": controls.split, "n": len(usable_images), "least_references": makers.min_references},
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
    other_images = [donor for donor in slot.images if donor.name != image.name]
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


def repeat_group(group: Group, slot_position: str, seed: int, rng: np.random.Generator) -> Group:
    """Return a repetition of the group as control items. The answers to the original are the expected answers."""
    units = [
        replace(
            unit,
            key=content_key("control", REPEATED, seed, slot_position, unit.key),
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
        """Prepare a deck of the items. ``name`` returns an item's name; items with the same name count as equal."""
        self._items = list(items)
        self._rng = rng
        self._remaining: list[T] = []  # shuffled items, dealt from the end
        self._name = name

    def deal_items(
        self, count: int, *, avoided_names: Collection[str] = (), deal_avoided: bool = True
    ) -> list[T]:
        """Deal ``count`` items, distinct and without those named in ``avoided_names`` if possible.

        Args:
            deal_avoided: whether to deal avoided or equal items if there are no others; otherwise deal fewer items.
        """
        dealt_items: list[T] = []
        for _ in range(count):
            excluded_names = {self._name(item) for item in dealt_items} | set(avoided_names)
            if not deal_avoided and all(self._name(item) in excluded_names for item in self._items):
                break
            if all(self._name(item) in excluded_names for item in self._remaining):
                self._remaining = shuffle(self._items, self._rng) + self._remaining
            indices_from_end = reversed(range(len(self._remaining)))
            index = next(
                (
                    index
                    for index in indices_from_end
                    if self._name(self._remaining[index]) not in excluded_names
                ),
                -1,  # all remaining items are excluded
            )
            dealt_items.append(self._remaining.pop(index))
        return dealt_items
