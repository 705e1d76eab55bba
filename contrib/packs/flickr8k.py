"""Flickr8k for packs, read without a database in formats of the feature `published_sets`, and references of any set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judgments.importers import JudgmentSource, open_dataset, open_judgments
from judgments.importers.records.rows import ReferenceRow
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import ITEM

# The pool of candidates is caption number 2 of every test image.
POOL_CAPTION = 2
TEST, TRAIN = "test", "train"


@dataclass(frozen=True, slots=True)
class Pairs:
    """P judged pairs of images and captions, given by (P,) positions in the pool, and the answers to each pair."""

    image: Ints
    caption: Ints
    answers: tuple[tuple[int, ...], ...]

    @property
    def means(self) -> Floats:
        return np.array([sum(answers) / len(answers) for answers in self.answers])

    @property
    def count(self) -> int:
        return len(self.answers)

    @property
    def clusters(self) -> dict[str, Ints]:
        return {ITEM: self.image}


@dataclass(frozen=True, slots=True)
class Flickr8kSet:
    """The test images with five captions each, judgments of the pool, and training captions.

    The pool has the caption with number 2 of each test image.
    """

    images: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    training_captions: tuple[tuple[str, ...], ...]
    experts: Pairs
    crowd: Pairs

    @property
    def pool(self) -> list[str]:
        return [captions[POOL_CAPTION] for captions in self.captions]

    def references(self, positions: Sequence[int]) -> list[list[str]]:
        return [[captions[position] for position in positions] for captions in self.captions]


def references_by_image(
    rows: Iterable[object], keep: Callable[[ReferenceRow], bool] = lambda row: True
) -> dict[str, list[str]]:
    """Return the texts of the references of each image, in the order of the rows."""
    texts: dict[str, list[str]] = {}
    for row in rows:
        if isinstance(row, ReferenceRow) and keep(row):
            texts.setdefault(row.image, []).append(row.text)
    return texts


def read_flickr8k(folder: Path) -> Flickr8kSet:
    rows = list(open_dataset("flickr8k", folder).rows())
    captions = references_by_image(rows, lambda row: row.split == TEST)
    training = references_by_image(rows, lambda row: row.split == TRAIN)
    images = sorted(captions)
    position_by_image = {image: position for position, image in enumerate(images)}
    return Flickr8kSet(
        tuple(images),
        tuple(tuple(captions[image]) for image in images),
        tuple(map(tuple, training.values())),
        _read_pairs(open_judgments("flickr8k-expert", folder), position_by_image),
        _read_pairs(open_judgments("flickr8k-crowd", folder), position_by_image),
    )


def _read_pairs(source: JudgmentSource, position_by_image: dict[str, int]) -> Pairs:
    answers: dict[tuple[int, int], list[int]] = {}
    for row in source.judgments():
        # The id of a caption is IMAGE#NUMBER, and the pool has one caption of each image.
        caption_image = str(row.first).rsplit("#", 1)[0]
        answers.setdefault((position_by_image[str(row.image)], position_by_image[caption_image]), []).append(
            int(row.value or 0)
        )
    return Pairs(
        np.array([image for image, _ in answers], dtype=np.int64),
        np.array([caption for _, caption in answers], dtype=np.int64),
        tuple(map(tuple, answers.values())),
    )
