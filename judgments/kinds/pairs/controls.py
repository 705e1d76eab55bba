"""Make control items that are pairs.

The right candidate is a reference of the image or, in a known item, the candidate that the study file names. It is the
first or the second candidate with equal probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgments.drawing.controls.captions import degraded_text, foreign_captions
from judgments.drawing.controls.makers import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    ControlMakers,
    ControlSlot,
    KnownItem,
    known_item_error,
)
from judgments.drawing.draws import shuffle
from judgments.drawing.material import Group, Image, Text
from judgments.kinds.base import Kind
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE, SECOND, SIDE_NAMES


@dataclass(frozen=True, slots=True)
class PairControls:
    """Makes control items that are pairs of texts, each from the images and the random stream of its ``ControlSlot``.

    Attributes:
        min_references: the number of references that an image needs: one as the right candidate and, if the kind shows
            a reference with the pair, another one.
        other_reference: returns the reference to show with a control item, or None if the kind shows none. Its
            arguments are the image, the caption of the image that is the right candidate, and the random stream.
    """

    kind: Kind
    min_references: int
    other_reference: Callable[[Image, Text, np.random.Generator], Text | None]

    def makers(self) -> ControlMakers:
        return ControlMakers(
            reference=self._foreign_pair,
            degraded=self._damaged_pair,
            known_good=self._known_pair,
            min_references=self.min_references,
        )

    def _foreign_pair(self, slot: ControlSlot, image: Image) -> Group:
        """Return a control item that compares a reference with a caption of another image."""
        caption = image.references[int(slot.rng.integers(len(image.references)))]
        reference = self.other_reference(image, caption, slot.rng)
        (text,) = foreign_captions(image, slot.images, 1, slot.rng)
        return self._compare(slot, image, reference, right=caption, wrong=text, control_kind=REFERENCE)

    def _damaged_pair(self, slot: ControlSlot, image: Image) -> Group | None:
        """Return a control item of a reference and a copy with some words replaced; None if no reference allows it."""
        for caption in shuffle(image.references, slot.rng):
            text = degraded_text(caption, image, slot.images, slot.rng, replace_all=False)
            if text is None:
                continue
            reference = self.other_reference(image, caption, slot.rng)
            return self._compare(slot, image, reference, right=caption, wrong=text, control_kind=DEGRADED)
        return None

    def _known_pair(self, slot: ControlSlot, items: Sequence[KnownItem]) -> Group:
        """Return a control item with the two texts of a known item, in random order."""
        (item,) = items  # one, since ``makers`` does not set ``groups_known_items``
        outcomes = self.kind.outcomes
        if item.first is None or item.second is None or item.first.text == item.second.text:
            raise known_item_error(item, "needs two different texts, first and second")
        if self.min_references > 1 and item.reference is None:
            raise known_item_error(item, "needs sentence A under reference")
        if item.expected not in outcomes:
            outcome_list = " and ".join(f"{outcome} is {SIDE_NAMES[outcome]}" for outcome in outcomes)
            raise known_item_error(item, f"expects {item.expected!r}; {outcome_list}")
        reference = item.reference if self.min_references > 1 else None
        # if the right answer names neither text (``outcome``), it does not matter which is called right
        first_is_right = item.expected != SECOND
        right, wrong = (item.first, item.second) if first_is_right else (item.second, item.first)
        outcome = int(item.expected) if item.expected in (NO_DIFFERENCE, NEITHER) else None
        return self._compare(
            slot, item.image, reference, right=right, wrong=wrong, outcome=outcome, control_kind=KNOWN_GOOD
        )

    def _compare(
        self,
        slot: ControlSlot,
        image: Image,
        reference: Text | None,
        *,
        right: Text,
        wrong: Text,
        control_kind: str,
        outcome: int | None = None,
    ) -> Group:
        """Return a control item with the two texts in random order, and the reference that is shown with them, if any.

        It expects ``right`` or, if given, ``outcome``, an answer that names neither text, such as "no difference".
        """
        right_side = int(slot.rng.integers(FIRST, SECOND + 1))
        first, second = (right, wrong) if right_side == FIRST else (wrong, right)
        keys = (reference.key if reference else None, first.key, second.key)
        texts_shown = {"reference": reference, "first": first, "second": second}
        expected = right_side if outcome is None else outcome
        return Group(
            image.name, (self.kind.control_unit(slot, image, keys, expected, control_kind, **texts_shown),)
        )
