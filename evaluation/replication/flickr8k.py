"""Flickr8k for packs: captions, expert grades and crowd answers, read by the importers, without a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.arrays import Floats, Ints
from judgments.importers.flickr8k import Flickr8kCrowd, Flickr8kDataset, Flickr8kExpert
from judgments.importers.records import ReferenceRow

# The pool of candidates is caption number 2 of every test image.
POOL = 2
TEST = "test"


@dataclass(frozen=True, slots=True)
class Pairs:
    """Judged pairs: (P,) images and captions as pool positions, and each pair's answers."""

    image: Ints
    caption: Ints
    answers: tuple[tuple[int, ...], ...]

    @property
    def means(self) -> Floats:
        return np.array([sum(own) / len(own) for own in self.answers])

    @property
    def count(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, slots=True)
class Flickr8k:
    """The test images with five captions each, number 2 in the pool, and judgments of the pool."""

    images: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    experts: Pairs
    crowd: Pairs

    @property
    def pool(self) -> list[str]:
        return [own[POOL] for own in self.captions]

    def references(self, places: Sequence[int]) -> list[list[str]]:
        return [[own[place] for place in places] for own in self.captions]


def read_flickr8k(folder: Path) -> Flickr8k:
    captions: dict[str, list[str]] = {}
    for row in Flickr8kDataset(folder).rows():
        if isinstance(row, ReferenceRow) and row.split == TEST:
            captions.setdefault(row.image, []).append(row.text)
    images = sorted(captions)
    place = {image: number for number, image in enumerate(images)}
    return Flickr8k(
        tuple(images),
        tuple(tuple(captions[image]) for image in images),
        _pairs(Flickr8kExpert(folder), place),
        _pairs(Flickr8kCrowd(folder), place),
    )


def _pairs(source: Flickr8kExpert | Flickr8kCrowd, place: dict[str, int]) -> Pairs:
    found: dict[tuple[int, int], list[int]] = {}
    for row in source.judgments():
        own = str(row.first).rsplit("#", 1)[0]
        found.setdefault((place[str(row.image)], place[own]), []).append(int(row.value or 0))
    return Pairs(
        np.array([image for image, _ in found], dtype=np.int64),
        np.array([caption for _, caption in found], dtype=np.int64),
        tuple(map(tuple, found.values())),
    )
