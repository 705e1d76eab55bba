"""Keyboard keys for the boxes of a picture, and the positions of the tags that show them.

A box has ``id``, ``label``, and ``x``, ``y``, ``width`` and ``height`` as fractions of the picture's sides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Keys that link a word to a box. N, S, U and Z have other uses on the page.
BOX_KEYS = "123456789abcdefghijklmopqrtvwxy"
TAG_SIZE = 0.09  # largest size of a tag as a share of the picture's sides: 26 of 300 pixels on a phone
_STEPS = 12  # number of steps along each side of a box, and of rings around its corner, that are tried
_SYNSET = re.compile(r"\.[nvars]\.\d+$")


@dataclass(frozen=True, slots=True)
class Tag:
    """A box's key, and the position of the tag's upper left corner as fractions of the picture's sides."""

    key: str
    x: float
    y: float


def label_words(label: str) -> str:
    """Return a label as words: "male child" for WordNet's "male_child.n.01"."""
    return _SYNSET.sub("", label).replace("_", " ").strip() or label


def box_key(index: int) -> str:
    """Return the keyboard key for the box with this index, from 0; its number, from 1, if there are too few keys."""
    return BOX_KEYS[index] if index < len(BOX_KEYS) else str(index + 1)


def place_tags(boxes: Sequence[Mapping[str, Any]]) -> list[Tag]:
    """Place each box's tag inside its box and away from other tags, if possible. Place tags of small boxes first."""
    corners: dict[int, tuple[float, float]] = {}
    indices_by_size = sorted(
        range(len(boxes)), key=lambda index: (boxes[index]["width"] * boxes[index]["height"], index)
    )
    for index in indices_by_size:
        tags = list(corners.values())
        # min() returns the first of several corners without overlap; rounding makes equal sums equal
        corners[index] = min(
            _possible_corners(boxes[index]),
            key=lambda corner: round(sum(_overlap(corner, tag) for tag in tags), 9),
        )
    return [Tag(box_key(index), *corners[index]) for index in range(len(boxes))]


def _possible_corners(box: Mapping[str, Any]) -> Iterator[tuple[float, float]]:
    """Yield positions for a tag's corner, the best first: inside the box, then around the box's upper left corner."""
    left, top = box["x"], box["y"]
    free_width, free_height = max(0.0, box["width"] - TAG_SIZE), max(0.0, box["height"] - TAG_SIZE)
    for row in range(_STEPS + 1):
        for column in range(_STEPS + 1):
            yield _clamp_position(left + free_width * column / _STEPS, top + free_height * row / _STEPS)
    for ring in range(1, _STEPS + 1):
        for dx, dy in ((0, -1), (1, 0), (-1, 0), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1)):
            yield _clamp_position(left + dx * ring * TAG_SIZE, top + dy * ring * TAG_SIZE)


def _clamp_position(x: float, y: float) -> tuple[float, float]:
    """Return the nearest corner of a tag that is completely inside the picture."""
    return round(min(max(x, 0.0), 1 - TAG_SIZE), 4), round(min(max(y, 0.0), 1 - TAG_SIZE), 4)


def _overlap(corner: tuple[float, float], other_corner: tuple[float, float]) -> float:
    """Return the area that two tags at these corners share."""
    width = TAG_SIZE - abs(corner[0] - other_corner[0])
    height = TAG_SIZE - abs(corner[1] - other_corner[1])
    return width * height if width > 0 and height > 0 else 0.0
