"""Flickr8k for packs: the test images with their captions and judgments.

The files are read without a database, in formats of the feature `published_sets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from contrib.packs.references import references_by_image
from judgments.importers import JudgmentSource, open_dataset, open_judgments
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import ITEM

# The candidates are one caption of every test image, the pool: the third, whose index is 2 and whose id is IMAGE#2.
POOL_CAPTION = 2
TEST, TRAIN = "test", "train"  # names of splits


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """P judged pairs of an image and a caption of the pool.

    Attributes:
        image, caption: (P,) indices of the image, and of the image whose caption is judged.
        answers: the answers to each pair.
    """

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
    """The test images with five captions each, judgments of the pool by experts and a crowd, and training captions."""

    images: tuple[str, ...]
    captions: tuple[tuple[str, ...], ...]
    training_captions: tuple[tuple[str, ...], ...]
    experts: JudgedPairs
    crowd: JudgedPairs

    @property
    def pool(self) -> list[str]:
        """The caption of each test image that is a candidate."""
        return [captions[POOL_CAPTION] for captions in self.captions]

    def references(self, caption_indices: Sequence[int]) -> list[list[str]]:
        """Return the captions of each test image that have these indices, from 0 to 4."""
        return [[captions[index] for index in caption_indices] for captions in self.captions]


def read_flickr8k(folder: Path) -> Flickr8kSet:
    """Read the captions and the judgments from the folder of the data set."""
    rows = list(open_dataset("flickr8k", folder).rows())
    captions = references_by_image(rows, lambda row: row.split == TEST)
    training_captions = references_by_image(rows, lambda row: row.split == TRAIN)
    images = sorted(captions)
    index_by_image = {image: index for index, image in enumerate(images)}
    return Flickr8kSet(
        tuple(images),
        tuple(tuple(captions[image]) for image in images),
        tuple(map(tuple, training_captions.values())),
        _read_pairs(open_judgments("flickr8k-expert", folder), index_by_image),
        _read_pairs(open_judgments("flickr8k-crowd", folder), index_by_image),
    )


def _read_pairs(source: JudgmentSource, index_by_image: dict[str, int]) -> JudgedPairs:
    """Read the judged pairs. The answers to a pair are in the order of the file."""
    answers: dict[tuple[int, int], list[int]] = {}  # by indices of the image and of the image of the caption
    for row in source.judgments():
        # The id of a caption is IMAGE#INDEX, and the pool has one caption of each image.
        caption_image = str(row.first).rsplit("#", 1)[0]
        pair = index_by_image[str(row.image)], index_by_image[caption_image]
        answers.setdefault(pair, []).append(int(row.value or 0))  # None stands for open answers only
    return JudgedPairs(
        np.array([image for image, _ in answers], dtype=np.int64),
        np.array([caption for _, caption in answers], dtype=np.int64),
        tuple(map(tuple, answers.values())),
    )
