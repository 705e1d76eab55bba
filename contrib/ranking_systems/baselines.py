"""Rank the test pool of a dataset by the baseline systems of Hodosh et al. 2013 (H13), learned from its other parts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from contrib.ranking_systems.kernels.picture_points import read_points
from contrib.ranking_systems.kernels.pictures import (
    Histograms,
    find_codebooks,
    histogram_kernel,
    histograms_of,
    pyramid_kernel,
)
from contrib.ranking_systems.kernels.similar_trigrams import SimilarTrigrams
from contrib.ranking_systems.kernels.tag_rank import TagRank
from contrib.ranking_systems.kernels.texts import (
    BagOfWords,
    Document,
    TextKernel,
    Trigrams,
    idf_of,
    idf_overlaps,
)
from contrib.ranking_systems.kernels.word_similarity import alignment_similarity, distributional_similarity
from contrib.ranking_systems.pools import SPLIT_NAMES, DatasetPart, read_parts
from contrib.ranking_systems.ranking import (
    KernelValues,
    Task,
    TriedSetting,
    join_rankings,
    rank_by_kcca,
    rank_by_neighbours,
)
from contrib.ranking_systems.systems import JOINED, NEIGHBOUR, SYSTEMS
from judgments.models import Dataset
from quorum.numeric.arrays import Ints

# The similarities of words by system, for systems in whose text kernel similar words match.
SIMILARITIES = {
    "tri5-dist": (distributional_similarity,),
    "tri5-align": (alignment_similarity,),
    "tri5sem": (distributional_similarity, alignment_similarity),
}
PICTURE_KERNELS = {"pyramid": pyramid_kernel, "histogram": histogram_kernel}
SINGLE_CAPTIONS = "bow1"  # the system that learns from one caption of each image
CODEBOOK_PICTURES = 200  # H13: training images whose points make the codebooks
Progress = Callable[[float, str], object]


@dataclass(frozen=True, slots=True)
class RankedPool:
    """The rankings of a test pool, and the settings of systems by kernel canonical correlation analysis (KCCA).

    Attributes:
        queries: names of the Q queries: images, or captions.
        items: names of the ranked items of the pool.
        rankings: by system, the (Q, pool) indices of the ranked items for each query, best first.
        settings: by KCCA system, the settings of its models, whose rankings it joins (``rank_by_kcca``).
        sizes: the numbers of images for training, for development and in the pool.
    """

    queries: list[str]
    items: list[str]
    rankings: dict[str, Ints]
    settings: dict[str, list[TriedSetting]]
    sizes: tuple[int, int, int]

    def run_lines(self) -> Iterator[str]:
        """Yield the lines of a TREC run: query, "Q0", item, rank, score, system. Scores decrease with the rank."""
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
    image_power: int = 2,
    text_diagonal: float = 1.0,
    caption: int = 0,
    seed: int = 0,
    progress: Progress = lambda share, message: None,
) -> RankedPool:
    """Train on the split `train`, choose models on `dev`, and rank the pool of `test`.

    If the dataset has no splits, it is divided at random, with three fifths for training.

    Args:
        task: "annotation" to rank captions for each image, "search" to rank images for each caption.
        image_power: the power to which the similarity of two pictures is raised.
        text_diagonal: factor of the diagonals of text kernels in training (H13 4.1.3: 1 to 15).
        caption: number, from 0, of the caption of each image that is in the pool.

    Raises:
        EvaluationError: a part is missing in the dataset, or unusable.
    """
    parts = read_parts(dataset, caption, seed)
    training, development, test = parts
    generator = np.random.default_rng(seed)
    image_kernels = _image_kernels(parts, image_kernel, image_power, generator, progress)
    rankings: dict[str, Ints] = {}
    settings: dict[str, list[TriedSetting]] = {}
    single_captions = [[captions[int(generator.integers(len(captions)))]] for captions in training.documents]
    names = [name for name in SYSTEMS if name in systems and name != JOINED]
    for index, name in enumerate(names):
        progress(0.6 + 0.4 * index / len(names), f"ranking by {name}")
        if name == NEIGHBOUR:
            overlaps = idf_overlaps(test.pool_words, training.documents, idf_of(training.documents))
            rankings[name] = rank_by_neighbours(image_kernels.test, overlaps, task)
        else:
            documents = single_captions if name == SINGLE_CAPTIONS else training.documents
            kernel = _text_kernel(name, documents)
            text_kernels = KernelValues(
                training=kernel(documents, documents),
                development=kernel(development.pool_words, documents),
                test=kernel(test.pool_words, documents),
            )
            np.fill_diagonal(text_kernels.training, text_diagonal * text_kernels.training.diagonal())
            rankings[name], settings[name] = rank_by_kcca(image_kernels, text_kernels, task)
    if JOINED in systems:
        rankings[JOINED] = join_rankings(list(rankings.values()))
    queries, items = (test.images, test.pool) if task == "annotation" else (test.pool, test.images)
    return RankedPool(
        queries=queries,
        items=items,
        rankings=rankings,
        settings=settings,
        sizes=(len(training.images), len(development.images), len(test.images)),
    )


def _text_kernel(name: str, documents: Sequence[Document]) -> TextKernel:
    """Return the text kernel of a KCCA system, learned from training documents."""
    idf = idf_of(documents) if name.endswith(("-idf", "sem")) else None
    if name in SIMILARITIES:
        return SimilarTrigrams.from_training(documents, SIMILARITIES[name], idf)
    if name.startswith("bow"):
        return BagOfWords(idf)
    return TagRank.from_training(documents) if name == "tagrank" else Trigrams(idf)


def _image_kernels(
    parts: Sequence[DatasetPart], kernel: str, power: int, generator: np.random.Generator, progress: Progress
) -> KernelValues:
    """Return the kernel values of the pictures. ``parts`` are for training, for development and for the pool."""
    training_pictures = parts[0].pictures
    sample = training_pictures
    if len(training_pictures) > CODEBOOK_PICTURES:
        indices = generator.choice(len(training_pictures), CODEBOOK_PICTURES, replace=False)
        sample = [training_pictures[index] for index in indices.tolist()]
    progress(0.0, "finding the words of pictures")
    codebooks = find_codebooks([read_points(path) for path in sample], generator)
    histograms: list[Histograms] = []
    for part, purpose in zip(parts, SPLIT_NAMES, strict=True):
        progress(0.1 + 0.1 * len(histograms), f"reading the pictures for {purpose}")
        histograms.append(histograms_of(map(read_points, part.pictures), codebooks))
    progress(0.4, "comparing pictures")
    picture_kernel = PICTURE_KERNELS[kernel]
    training, development, test = histograms
    return KernelValues(
        training=picture_kernel(training, training, power),
        development=picture_kernel(development, training, power),
        test=picture_kernel(test, training, power),
    )
