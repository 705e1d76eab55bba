"""Count a study's distinct control items, and the HITs that a worker can do before a control item repeats."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.material import HITSpec, UnitSpec

# The parts of a control item by which a worker can recognise it: its image, or its image and captions.
RecognitionKey = tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class ControlPool:
    """How many distinct control items a study has.

    Attributes:
        items: number of distinct control items.
        lasts: number of HITs that a worker can do before an item repeats, if HITs with new items come first.
        comes_again: whether an item is in two HITs or more.
    """

    items: int
    lasts: int
    comes_again: bool


def recognition_key(image: Hashable, *texts: Hashable, grouped: bool) -> RecognitionKey:
    """Return the parts by which a worker can recognise a control item: its image and, unless ``grouped``, its captions.

    Args:
        image, texts: names or row ids; None for a missing caption.
        grouped: whether the page shows several captions with each image (``Kind.grouped``).
    """
    if grouped:
        return (image,)
    return (image, *sorted((text for text in texts if text is not None), key=str))


def count_control_pool(hits: Sequence[HITSpec], *, grouped: bool) -> ControlPool:
    """Return the counts of a study's control items. ``grouped`` is as for ``recognition_key``."""
    all_items: set[RecognitionKey] = set()
    used_items: set[RecognitionKey] = set()
    lasts, comes_again = 0, False
    for hit in hits:
        # a repetition is as new as its original
        items = {
            recognition_key(unit.image, *_caption_keys(unit), grouped=grouped)
            for unit in hit.units
            if unit.control and unit.control_kind != REPEATED
        }
        comes_again = comes_again or not items.isdisjoint(all_items)
        all_items |= items
        if items.isdisjoint(used_items):  # a worker can do this HIT before an item repeats
            lasts += 1
            used_items |= items
    return ControlPool(items=len(all_items), lasts=lasts, comes_again=comes_again)


def _caption_keys(unit: UnitSpec) -> list[str | None]:
    return [text.key if text is not None else None for text in (unit.first, unit.second)]
