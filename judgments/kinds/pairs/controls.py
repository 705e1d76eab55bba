"""Control items that are pairs: the right candidate is a reference, or the one that the study's owner says.

Each is on either side with equal probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from judgments.drawing.controls.captions import degraded_text, foreign_captions
from judgments.drawing.controls.makers import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    ControlSlot,
    Known,
    Makers,
    known_problem,
)
from judgments.drawing.draws import shuffle
from judgments.drawing.material import Group, Image, Text
from quorum.statistics.aggregation.pair_answers import FIRST, NEITHER, NO_DIFFERENCE, SECOND

if TYPE_CHECKING:
    from judgments.kinds.pairs import PairChoiceKind


def makers_of(kind: PairChoiceKind) -> Makers:
    return Makers(
        reference=partial(_reference_control, kind),
        degraded=partial(_degraded_control, kind),
        known=partial(_known_control, kind),
        least_references=kind.control_references,
    )


def _reference_control(kind: PairChoiceKind, slot: ControlSlot, image: Image) -> Group:
    """Compare a reference with a caption of another image."""
    caption = image.references[int(slot.rng.integers(len(image.references)))]
    reference = kind.control_reference(image, caption, slot.rng)
    (foreign,) = foreign_captions(image, slot.images, 1, slot.rng)
    return _control_of(kind, slot, image, reference, right=caption, wrong=foreign, control_kind=REFERENCE)


def _degraded_control(kind: PairChoiceKind, slot: ControlSlot, image: Image) -> Group | None:
    """Compare a reference with the same text after some words were replaced. Return None if no text can be damaged."""
    for caption in shuffle(image.references, slot.rng):
        damaged = degraded_text(caption, image, slot.images, slot.rng, whole=False)
        if damaged is not None:
            reference = kind.control_reference(image, caption, slot.rng)
            return _control_of(
                kind, slot, image, reference, right=caption, wrong=damaged, control_kind=DEGRADED
            )
    return None


def _known_control(kind: PairChoiceKind, slot: ControlSlot, items: Sequence[Known]) -> Group:
    """Compare the two texts of a known item. If neither of them is right, they are in random order, too."""
    (item,) = items
    shows_reference = kind.control_references > 1
    if item.first is None or item.second is None or item.first.text == item.second.text:
        raise known_problem(item, "needs two different texts, first and second")
    if shows_reference and item.reference is None:
        raise known_problem(item, "needs sentence A under reference")
    if item.expected not in kind.outcomes:
        names = {FIRST: "first", SECOND: "second", NO_DIFFERENCE: "no difference", NEITHER: "neither"}
        listed = " and ".join(f"{outcome} is {names[outcome]}" for outcome in kind.outcomes)
        raise known_problem(item, f"expects {item.expected!r}; {listed}")
    reference = item.reference if shows_reference else None
    right, wrong = item.first, item.second
    if item.expected == SECOND:
        right, wrong = wrong, right
    outcome = int(item.expected) if item.expected in (NO_DIFFERENCE, NEITHER) else None
    return _control_of(
        kind, slot, item.image, reference, right=right, wrong=wrong, outcome=outcome, control_kind=KNOWN_GOOD
    )


def _control_of(
    kind: PairChoiceKind,
    slot: ControlSlot,
    image: Image,
    reference: Text | None,
    *,
    right: Text,
    wrong: Text,
    control_kind: str,
    outcome: int | None = None,
) -> Group:
    """Return a control item with its texts on random sides.

    Args:
        outcome: the expected answer if it names no side.
    """
    side = int(slot.rng.integers(FIRST, SECOND + 1))  # of the right text
    first, second = (right, wrong) if side == FIRST else (wrong, right)
    keys = (reference.key if reference else None, first.key, second.key)
    shown = {"reference": reference, "first": first, "second": second}
    expected = side if outcome is None else outcome
    return Group(image.name, (kind.control_unit(slot, image, keys, expected, control_kind, **shown),))
