"""Words, keys and tag positions of labelled boxes on a picture.

A box is a mapping with ``id``, ``label``, ``x``, ``y``, ``width`` and ``height`` as shares of the
picture's sides. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Keys that link a word to a box; the form's own keys (N, S, U, Z) are left out.
KEYS = "123456789abcdefghijklmopqrtvwxy"
# The maximal size of a tag as shares of the picture's sides: 26 pixels of a phone's 300.
TAG = 0.09
_SYNSET = re.compile(r"\.[nvars]\.\d+$")
_STEPS = 12


@dataclass(frozen=True, slots=True)
class Tag:
    """A box's key on the picture and its upper left corner in shares."""

    key: str
    x: float
    y: float


def label_words(label: str) -> str:
    """Return a label as words: WordNet's "male_child.n.01" is "male child"."""
    return _SYNSET.sub("", label).replace("_", " ").strip() or label


def key_of(place: int) -> str:
    """Return the key of box ``place`` (0-based), or its number beyond the last key."""
    return KEYS[place] if place < len(KEYS) else str(place + 1)


def tags_of(boxes: Sequence[Mapping[str, Any]]) -> list[Tag]:
    """Place each box's tag inside its box and off other tags, if there is room.

    Small boxes choose first, since they have fewer places. A box covered by others' tags gets the nearest
    free place.
    """
    found: dict[int, tuple[float, float]] = {}
    order = sorted(
        range(len(boxes)), key=lambda place: (boxes[place]["width"] * boxes[place]["height"], place)
    )
    for place in order:
        taken = list(found.values())
        found[place] = min(
            _places(boxes[place]),
            key=lambda spot: (round(sum(_overlap(spot, other) for other in taken), 9), spot[2]),
        )[:2]
    return [Tag(key_of(place), *found[place]) for place in range(len(boxes))]


def _places(box: Mapping[str, Any]) -> Iterator[tuple[float, float, int]]:
    """Yield candidate places, best first: upper edge, sides, then outside."""
    left, top = box["x"], box["y"]
    wide, high = max(0.0, box["width"] - TAG), max(0.0, box["height"] - TAG)
    rank = 0
    for down in range(_STEPS + 1):
        for along in range(_STEPS + 1):
            yield *_clamped(left + wide * along / _STEPS, top + high * down / _STEPS), rank
            rank += 1
    for ring in range(1, _STEPS + 1):
        for dx, dy in ((0, -1), (1, 0), (-1, 0), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
            yield *_clamped(left + dx * ring * TAG, top + dy * ring * TAG), rank
            rank += 1


def _clamped(x: float, y: float) -> tuple[float, float]:
    return round(min(max(x, 0.0), 1 - TAG), 4), round(min(max(y, 0.0), 1 - TAG), 4)


def _overlap(spot: tuple[float, float, int], other: tuple[float, float]) -> float:
    wide = TAG - abs(spot[0] - other[0])
    high = TAG - abs(spot[1] - other[1])
    return wide * high if wide > 0 and high > 0 else 0.0
