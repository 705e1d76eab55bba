"""Rank a dataset's captions for its images, or vice versa, by the systems of H13."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.numeric.arrays import Ints
from evaluation.results.ranking_systems.pictures import (
    PICTURES,
    Codebooks,
    Histograms,
    histogram_kernel,
    pyramid_kernel,
    read_points,
)
from evaluation.results.ranking_systems.systems import (
    Kernels,
    Setting,
    Task,
    joined,
    rank_by_kcca,
    rank_by_neighbours,
)
from evaluation.results.ranking_systems.texts import (
    BagOfWords,
    Document,
    TagRank,
    TextKernel,
    Trigrams,
    idf_of,
    idf_overlaps,
    words_of,
)
from judgments.models import Caption, Dataset

IMAGE_KERNELS = {"pyramid": pyramid_kernel, "histogram": histogram_kernel}
NEIGHBOUR, JOINED = "nn", "borda"
# With an arbitrary caption of each training image (1) or all of them (5); idf: words weigh by their rarity.
TEXT_KERNELS = ("bow1", "bow5", "bow5-idf", "tagrank", "tri5", "tri5-idf")
SYSTEMS = (NEIGHBOUR, *TEXT_KERNELS, JOINED)
PARTS = ("train", "dev", "test")
SHARES = (0.6, 0.8)  # where a dataset has no splits: where the parts of a random order end

Progress = Callable[[float, str], object]


@dataclass(frozen=True, slots=True)
class Part:
    """A split's images with pictures and captions, as ids and as words; the pool has one caption per image."""

    images: list[str]
    pictures: list[Path]
    documents: list[Document]
    pool: list[str]
    pool_words: list[Document]


@dataclass(frozen=True, slots=True)
class RankedPool:
    """Rankings of a test pool: (queries, pool) positions by system, and settings of KCCA systems."""

    queries: list[str]
    items: list[str]
    rankings: dict[str, Ints]
    settings: dict[str, list[Setting]]
    sizes: tuple[int, int, int]

    def run_lines(self) -> Iterator[str]:
        """Yield the lines of a TREC run; the score falls with the rank."""
        for system, rankings in self.rankings.items():
            for query, ranking in zip(self.queries, rankings.tolist(), strict=True):
                for position, item in enumerate(ranking):
                    yield f"{query} Q0 {self.items[item]} {position + 1} {len(ranking) - position} {system}"


def rank_pool(
    dataset: Dataset,
    *,
    task: Task,
    systems: Collection[str] = SYSTEMS,
    image_kernel: str = "pyramid",
    caption: int = 0,
    seed: int = 0,
    progress: Progress = lambda share, message: None,
) -> RankedPool:
    """Learn from the split `train`, choose models on `dev`, and rank the pool of `test`. Raise
    EvaluationError.

    The pool has caption number `caption` of each image. Without splits, the dataset is divided at random,
    three fifths for training.
    """
    parts = _parts(dataset, caption, seed)
    training, development, test = parts
    generator = np.random.default_rng(seed)
    images = _image_kernels(parts, image_kernel, generator, progress)
    rankings: dict[str, Ints] = {}
    settings: dict[str, list[Setting]] = {}
    single = [[document[int(generator.integers(len(document)))]] for document in training.documents]
    wanted = [name for name in SYSTEMS if name in systems and name != JOINED]
    for number, name in enumerate(wanted):
        progress(0.6 + 0.4 * number / len(wanted), f"ranking by {name}")
        if name == NEIGHBOUR:
            texts = idf_overlaps(test.pool_words, training.documents, idf_of(training.documents))
            rankings[name] = rank_by_neighbours(images.test, texts, task)
        else:
            documents = single if name == "bow1" else training.documents
            kernel = _text_kernel(name, documents)
            captions = Kernels(
                *(kernel(rows, documents) for rows in (documents, development.pool_words, test.pool_words))
            )
            rankings[name], settings[name] = rank_by_kcca(images, captions, task)
    if JOINED in systems:
        rankings[JOINED] = joined(list(rankings.values()))
    queries, items = (test.images, test.pool) if task == "annotation" else (test.pool, test.images)
    sizes = len(training.images), len(development.images), len(test.images)
    return RankedPool(queries, items, rankings, settings, sizes)


def _text_kernel(name: str, documents: Sequence[Document]) -> TextKernel:
    idf = idf_of(documents) if name.endswith("-idf") else None
    if name.startswith("bow"):
        return BagOfWords(idf)
    return TagRank.of(documents) if name == "tagrank" else Trigrams(idf)


def _image_kernels(
    parts: Sequence[Part], kernel: str, generator: np.random.Generator, progress: Progress
) -> Kernels:
    training = parts[0].pictures
    few = training
    if len(training) > PICTURES:
        few = [training[index] for index in generator.choice(len(training), PICTURES, replace=False).tolist()]
    progress(0.0, "finding the words of pictures")
    codebooks = Codebooks.of([read_points(path) for path in few], generator)
    histograms: list[Histograms] = []
    for part, purpose in zip(parts, PARTS, strict=True):
        progress(0.1 + 0.1 * len(histograms), f"reading the pictures for {purpose}")
        histograms.append(codebooks.histograms(map(read_points, part.pictures)))
    progress(0.4, "comparing pictures")
    compare = IMAGE_KERNELS[kernel]
    return Kernels(*(compare(rows, histograms[0]) for rows in histograms))


def _parts(dataset: Dataset, caption: int, seed: int) -> list[Part]:
    items = list(dataset.items.order_by("position"))
    captions: dict[int, list[tuple[str, str]]] = {}
    rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).order_by("position")
    for owner, key, text in rows.values_list("item", "key", "text"):
        captions.setdefault(owner, []).append((key, text))
    splits = {item.pk: item.split for item in items}
    if not any(splits.values()):
        order = np.random.default_rng(seed).permutation(len(items)).tolist()
        ends = [round(share * len(items)) for share in SHARES]
        for position, number in enumerate(order):
            splits[items[number].pk] = PARTS[sum(position >= end for end in ends)]
    parts = []
    for name in PARTS:
        images = [item for item in items if splits[item.pk] == name]
        if len(images) < 2:
            raise EvaluationError(
                f"Dataset {dataset.name!r} has {len(images)} images for {name!r}, expected two or more (splits "
                f"{', '.join(PARTS)}, or none, to have them drawn)."
            )
        for item in images:
            if not item.picture:
                raise EvaluationError(
                    f"Image {item.name!r} of dataset {dataset.name!r} has no picture file here; expected pictures "
                    "imported with --images and a folder."
                )
            if len(captions.get(item.pk, ())) <= (0 if name == "train" else caption):
                raise EvaluationError(
                    f"Image {item.name!r} of dataset {dataset.name!r} has {len(captions.get(item.pk, ()))} "
                    f"captions, expected caption number {caption}."
                )
            # The run names the images and captions of the test split alone.
            caption_key = captions[item.pk][caption][0] if name == "test" else None
            if caption_key is not None and any(map(str.isspace, item.name + caption_key)):
                raise EvaluationError(
                    f"Image {item.name!r} of dataset {dataset.name!r}, or its caption {caption_key!r}, has a "
                    "blank in its name, which a TREC run cannot hold; rename it and import the dataset again."
                )
        tokens = words_of([text for item in images for _, text in captions[item.pk]])
        counts = np.cumsum([len(captions[item.pk]) for item in images])[:-1].tolist()
        documents: list[Document] = [
            tokens[start:end] for start, end in zip([0, *counts], [*counts, len(tokens)], strict=True)
        ]
        chosen = [min(caption, len(document) - 1) for document in documents]
        parts.append(
            Part(
                [item.name for item in images],
                [Path(item.picture.path) for item in images],
                documents,
                [captions[item.pk][number][0] for item, number in zip(images, chosen, strict=True)],
                [[document[number]] for document, number in zip(documents, chosen, strict=True)],
            )
        )
    return parts
