"""Control items: units whose right answer is known. Pure functions; each draws from the stream it is handed.

They come from the control split, so that no judged image is among them (H13 §4.3.2: the development split).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from judgments.draws import shuffled
from judgments.errors import DesignError
from judgments.material import Group, Image, Text

MOST_RIGHT = 3  # H13: one to three right captions among ten


Dealer = Callable[[int, Sequence[Group]], list[Group]]


def control_dealer(
    images: Sequence[Image],
    *,
    split: str,
    per_hit: int,
    least_references: int,
    rng: np.random.Generator,
    make: Callable[[str, Image, Sequence[Image]], Group],
) -> Dealer:
    """A function (page number, page) -> the control groups of that page.

    Args:
        images: those of the control split.
        least_references: how many references an image needs to be one.
        make: (place, image, all control images) -> group; the place tells equal items of different HITs apart.

    Raises:
        DesignError: control items are asked for and fewer than two images can give one (a wrong caption needs
            another image).
    """
    if not per_hit:
        return lambda number, page: []
    usable = [image for image in images if len(image.references) >= least_references]
    if len(usable) < 2:
        raise DesignError(
            f"controls.per_hit asks for control items, but the control split {split!r} has {len(usable)} images with "
            f"{least_references} or more references; at least two are needed (or set controls.per_hit = 0).",
            field="controls.split",
        )
    if per_hit > len(usable):
        raise DesignError(
            f"controls.per_hit is {per_hit}, but the control split {split!r} has {len(usable)} images for it, and a "
            "HIT shows none of them twice.",
            field="controls.per_hit",
        )
    deck = ControlDeck(usable, rng)

    def deal(number: int, page: Sequence[Group]) -> list[Group]:
        dealt = deck.deal(per_hit)
        return [make(f"{number}.{index}", image, usable) for index, image in enumerate(dealt)]

    return deal


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


class ControlDeck:
    """Deals control images in random order, each once before any comes again."""

    def __init__(self, images: Sequence[Image], rng: np.random.Generator) -> None:
        self._images = list(images)
        self._rng = rng
        self._left: list[Image] = []

    def deal(self, count: int) -> list[Image]:
        """The control images of a page: the next ``count``, none of them twice while there are others."""
        page: list[Image] = []
        for _ in range(count):
            names = {image.name for image in page}
            if all(image.name in names for image in self._left):
                self._left = shuffled(self._images, self._rng) + self._left  # dealt from the end
            fresh = [place for place, image in enumerate(self._left) if image.name not in names]
            page.append(self._left.pop(fresh[-1] if fresh else -1))
        return page


def right_caption_count(image: Image, group_size: int, rng: np.random.Generator) -> int:
    """One to three right captions (H13), as far as the image has them and the group leaves a wrong one."""
    most = min(MOST_RIGHT, len({text.text for text in image.references}), group_size - 1)
    return int(rng.integers(1, most + 1))
