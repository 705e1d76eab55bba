"""Read the parts of a dataset: images for training, images for choosing settings, and the images of the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from contrib.ranking_systems.kernels.texts import Document, stems_of
from evaluation.errors import EvaluationError
from judgments.models import Caption, Dataset, Item

SPLIT_NAMES = ("train", "dev", "test")
# For a dataset without splits, the first two parts of a random order end at these shares of it.
SPLIT_ENDS = (0.6, 0.8)


class _Reference(NamedTuple):
    """A reference caption: its id and its text."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class DatasetPart:
    """The images of a split, with pictures and captions.

    The pool, whose captions or images are ranked, has one caption of each image.

    Attributes:
        images: names of the images.
        pictures: paths of the picture files.
        documents: the captions of each image as words.
        pool, pool_words: the captions in the pool, as ids and as words.
    """

    images: list[str]
    pictures: list[Path]
    documents: list[Document]
    pool: list[str]
    pool_words: list[Document]


def read_parts(dataset: Dataset, caption_number: int, seed: int) -> list[DatasetPart]:
    """Return the parts for training, for choosing settings, and for the pool.

    Args:
        caption_number: number, from 0, of the caption of each image that is in the pool.
        seed: seed of random splits, which a dataset without splits gets.

    Raises:
        EvaluationError: a part is missing in the dataset, or unusable.
    """
    items = list(dataset.items.order_by("position"))
    captions: dict[int, list[_Reference]] = {}  # by row id of the image
    rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).order_by("position")
    for image, key, text in rows.values_list("item", "key", "text"):
        captions.setdefault(image, []).append(_Reference(key, text))
    splits = _splits(items, seed)
    parts = []
    for name in SPLIT_NAMES:
        images = [item for item in items if splits[item.pk] == name]
        if len(images) < 2:
            raise EvaluationError(
                f"Dataset {dataset.name!r} has {len(images)} images for {name!r}, expected two or more (splits "
                f"{', '.join(SPLIT_NAMES)}, or none, to have them drawn)."
            )
        for item in images:
            _check_image(item, captions.get(item.pk, ()), caption_number, name)
        parts.append(_make_part(images, captions, caption_number))
    return parts


def _splits(items: Sequence[Item], seed: int) -> dict[int, str]:
    """Return the split of each item, by item row id. The splits are drawn at random if no item has one."""
    splits = {item.pk: item.split for item in items}
    if not any(splits.values()):
        order = np.random.default_rng(seed).permutation(len(items)).tolist()
        ends = [round(share * len(items)) for share in SPLIT_ENDS]
        for position, item_index in enumerate(order):
            ended_split_count = sum(position >= end for end in ends)
            splits[items[item_index].pk] = SPLIT_NAMES[ended_split_count]
    return splits


def _check_image(item: Item, captions: Sequence[_Reference], caption_number: int, split: str) -> None:
    """Raise EvaluationError if an image lacks a picture or captions, or if a name in the TREC run would have blanks."""
    image = f"Image {item.name!r} of dataset {item.dataset.name!r}"
    if not item.picture:
        raise EvaluationError(
            f"{image} has no picture file here; expected pictures imported with --images and a folder."
        )
    # A training image may have fewer captions, because only development and test images are in a pool.
    if len(captions) <= (0 if split == "train" else caption_number):
        raise EvaluationError(
            f"{image} has {len(captions)} captions, expected caption number {caption_number}."
        )
    # The run names only the images and captions of the test split.
    caption_key = captions[caption_number].key if split == "test" else None
    if caption_key is not None and any(map(str.isspace, item.name + caption_key)):
        raise EvaluationError(
            f"{image}, or its caption {caption_key!r}, has a blank in its name, which a TREC run cannot hold; rename "
            "it and import the dataset again."
        )


def _make_part(
    images: Sequence[Item], captions: Mapping[int, Sequence[_Reference]], caption_number: int
) -> DatasetPart:
    # Stem the captions of all images at once, which is faster, and then divide them by image.
    stems = stems_of([reference.text for item in images for reference in captions[item.pk]])
    ends = np.cumsum([len(captions[item.pk]) for item in images])[:-1].tolist()
    documents: list[Document] = [
        stems[start:end] for start, end in zip([0, *ends], [*ends, len(stems)], strict=True)
    ]
    # a training image, which is in no pool, may lack the caption with this number
    pool_numbers = [min(caption_number, len(document) - 1) for document in documents]
    return DatasetPart(
        images=[item.name for item in images],
        pictures=[Path(item.picture.path) for item in images],
        documents=documents,
        pool=[captions[item.pk][number].key for item, number in zip(images, pool_numbers, strict=True)],
        pool_words=[[document[number]] for document, number in zip(documents, pool_numbers, strict=True)],
    )
