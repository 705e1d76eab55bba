"""Rank a dataset's captions for its images, or vice versa, by the systems of H13 (sections 3.1, 3.2 and 4.1.3).

Image i of a pool belongs to caption i. The nearest-neighbour system finds the training item nearest to the
query, and ranks by its other side. A KCCA system projects images and captions into one space, and ranks by
cosine. Its regularisation and dimensions are chosen on development items: five settings with the best R@1,
five more with the best R@5, and five more with the best R@10. Borda's count joins their rankings.

Regularised kernel canonical correlation analysis (Hardoon, Szedmak, Shawe-Taylor 2004; H13 section 3.2).

For the kernel matrices X and Y of N training pairs it finds the weights a and b that maximise

    a'XYb / sqrt((a'X^2a + k a'Xa) (b'Y^2b + k b'Yb))

which is the eigenproblem (X + kI)^-1 Y (Y + kI)^-1 X a = r^2 a. With X = U D U' and Y = V E V', the weights
are U (D^2 + k D)^-1/2 times the singular vectors of (D / (D + k))^1/2 U'V (E / (E + k))^1/2. H13 used
Hardoon's program, which approximates by partial Gram-Schmidt orthogonalisation; this is the exact solution.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from evaluation.errors import EvaluationError
from evaluation.results.operations import IMAGE_KERNELS, JOINED, NEIGHBOUR, SYSTEMS
from evaluation.results.ranking_systems.kernels import (
    PICTURES,
    BagOfWords,
    Document,
    Histograms,
    TagRank,
    TextKernel,
    Trigrams,
    find_codebooks,
    histogram_kernel,
    histograms_of,
    idf_of,
    idf_overlaps,
    pyramid_kernel,
    read_points,
    words_of,
)
from evaluation.results.ranking_systems.similarities import (
    SimilarTrigrams,
    alignment_similarity,
    distributional_similarity,
)
from judgments.models import Caption, Dataset, Item
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation import borda_count

# Eigenvalues below this share of the largest are rounding, or belong to items that are alike.
TINY = 1e-10
Task = Literal["annotation", "search"]
SIMILARITIES = {
    "tri5-dist": (distributional_similarity,),
    "tri5-align": (alignment_similarity,),
    "tri5sem": (distributional_similarity, alignment_similarity),
}
REGULARISATIONS = (0.1, 0.5, 1.0, 5.0)
DIMENSIONS, FEWEST = 46, 10  # H13: as many values, from this one on
CUTS, PER_CUT = (1, 5, 10), 5
COMPARISONS = dict(zip(IMAGE_KERNELS, (pyramid_kernel, histogram_kernel), strict=True))
PARTS = ("train", "dev", "test")
SHARES = (0.6, 0.8)  # where a dataset has no splits: where the parts of a random order end
Progress = Callable[[float, str], object]


@dataclass(frozen=True, slots=True, eq=False)
class Projections:
    """Learned weights (N, C) of both sides, and (C,) correlations, largest first.

    means: the training kernels' column means, which centring subtracts; None without centring.
    """

    first: Floats
    second: Floats
    correlations: Floats
    means: tuple[Floats, Floats] | None

    def project_first(self, kernel: Floats) -> Floats:
        """Return (items, C) projections from kernel values with the N training items."""
        return self._centred(kernel, 0) @ self.first

    def project_second(self, kernel: Floats) -> Floats:
        return self._centred(kernel, 1) @ self.second

    def _centred(self, kernel: Floats, side: int) -> Floats:
        if self.means is None:
            return kernel
        means = self.means[side]
        return np.asarray(kernel - kernel.mean(axis=1, keepdims=True) - means + means.mean())


def fit_kcca(first: Floats, second: Floats, regularisation: float, *, centred: bool = True) -> Projections:
    """Learn projections of two symmetric (N, N) kernel matrices of the same N pairs.

    `centred` moves each space's training items to a mean of 0, as canonical correlation requires.
    """
    if first.ndim != 2 or first.shape != second.shape or first.shape[0] != first.shape[1]:
        raise EvaluationError(
            f"The kernel matrices are {first.shape} and {second.shape}; expected two of N by N training pairs."
        )
    if not regularisation >= 0:
        raise EvaluationError(f"The regularisation is {regularisation}; expected 0 or more.")
    means = (first.mean(axis=0), second.mean(axis=0)) if centred else None
    sides = []
    for kernel in (first, second):
        if centred:
            mean = kernel.mean(axis=0)
            kernel = kernel - mean - mean[:, None] + mean.mean()
        values, vectors = np.linalg.eigh(kernel)
        positive = values > TINY * max(values[-1], 0.0)
        sides.append((values[positive], vectors[:, positive]))
    (d, u), (e, v) = sides
    if not (d.size and e.size):
        raise EvaluationError("All training items are alike to a kernel; expected some that differ.")
    shrunk = np.sqrt(d / (d + regularisation))[:, None] * (u.T @ v) * np.sqrt(e / (e + regularisation))
    left, correlations, right = np.linalg.svd(shrunk, full_matrices=False)
    return Projections(
        u @ (left / np.sqrt(d**2 + regularisation * d)[:, None]),
        v @ (right.T / np.sqrt(e**2 + regularisation * e)[:, None]),
        correlations,
        means,
    )


class Kernels(NamedTuple):
    """Kernel values with the N training items: (N, N) training, (D, N) development, (T, N) test."""

    training: Floats
    development: Floats
    test: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """A KCCA model's settings and results on development items."""

    regularisation: float
    dimensions: int
    recalls: tuple[float, ...]
    median_rank: float


def rank_by_neighbours(images: Floats, captions: Floats, task: Task) -> Ints:
    """Return (queries, pool) positions, best first, from (T, N) similarities of test with training items."""
    queries, pool = (images, captions) if task == "annotation" else (captions, images)
    return ranked(pool.T[queries.argmax(axis=1)])


def rank_by_kcca(images: Kernels, captions: Kernels, task: Task) -> tuple[Ints, list[Setting]]:
    """Return (queries, pool) positions, best first, and the joined models' settings."""
    tried: list[tuple[Setting, Projections]] = []
    for regularisation in REGULARISATIONS:
        fitted = fit_kcca(images.training, captions.training, regularisation)
        sides = fitted.project_first(images.development), fitted.project_second(captions.development)
        for size, affinity in affinities(*sides, _sizes(fitted.correlations.size)):
            places = original_places(affinity if task == "annotation" else affinity.T)
            recalls = tuple(float((places < cut).mean()) for cut in CUTS)
            tried.append((Setting(regularisation, size, recalls, float(np.median(places)) + 1), fitted))
    chosen = _chosen([setting for setting, _ in tried])
    rankings = []
    for index in chosen:
        setting, fitted = tried[index]
        sides = fitted.project_first(images.test), fitted.project_second(captions.test)
        ((_, affinity),) = affinities(*sides, [setting.dimensions])
        rankings.append(ranked(affinity if task == "annotation" else affinity.T))
    return joined(rankings), [tried[index][0] for index in chosen]


def joined(rankings: Sequence[Ints]) -> Ints:
    """Join (queries, pool) rankings per query by Borda's count; ties go to the better median rank."""
    return np.array([borda_count(orders.tolist()).ranking() for orders in np.stack(rankings, axis=1)])


def ranked(affinity: Floats) -> Ints:
    """Return (queries, pool) positions by falling affinity; ties keep the pool's order."""
    return np.argsort(-affinity, axis=1, kind="stable")


def original_places(affinity: Floats) -> Ints:
    """Return (queries,) ranks, from 0, of each query's own item."""
    return np.argmax(ranked(affinity) == np.arange(len(affinity))[:, None], axis=1)


def affinities(first: Floats, second: Floats, sizes: Iterable[int]) -> Iterable[tuple[int, Floats]]:
    """Yield (size, (images, captions) cosines of the first ``size`` dimensions), for ascending sizes."""
    products = np.zeros((len(first), len(second)))
    squares = np.zeros(len(first)), np.zeros(len(second))
    done = 0
    for size in sizes:
        left, right = first[:, done:size], second[:, done:size]
        products = products + left @ right.T
        squares = squares[0] + (left**2).sum(axis=1), squares[1] + (right**2).sum(axis=1)
        lengths = np.sqrt(np.outer(*squares))
        yield size, np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        done = size


def _sizes(most: int) -> list[int]:
    spread = np.geomspace(min(FEWEST, most), most, DIMENSIONS)
    return sorted(set(np.rint(spread).astype(int).tolist()))


def _chosen(settings: Sequence[Setting]) -> list[int]:
    """Return the positions of five settings per cut, each once; ties go to the better median rank."""
    chosen: list[int] = []
    for cut in range(len(CUTS)):
        left = [index for index in range(len(settings)) if index not in chosen]
        left.sort(key=lambda index: (-settings[index].recalls[cut], settings[index].median_rank))
        chosen += left[:PER_CUT]
    return chosen


@dataclass(frozen=True, slots=True)
class _Part:
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
    image_power: int = 2,
    text_diagonal: float = 1.0,
    caption: int = 0,
    seed: int = 0,
    progress: Progress = lambda share, message: None,
) -> RankedPool:
    """Learn from the split `train`, choose models on `dev`, and rank the pool of `test`. Raise
    EvaluationError.

    The pool has caption number `caption` of each image. `image_power` squares or cubes the kernel of pictures;
    `text_diagonal` multiplies the diagonals of text kernels in training (H13 4.1.3: 1 to 15). Without splits, the
    dataset is divided at random, three fifths for training.
    """
    parts = _parts(dataset, caption, seed)
    training, development, test = parts
    generator = np.random.default_rng(seed)
    images = _image_kernels(parts, image_kernel, image_power, generator, progress)
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
            np.fill_diagonal(captions.training, text_diagonal * captions.training.diagonal())
            rankings[name], settings[name] = rank_by_kcca(images, captions, task)
    if JOINED in systems:
        rankings[JOINED] = joined(list(rankings.values()))
    queries, items = (test.images, test.pool) if task == "annotation" else (test.pool, test.images)
    sizes = len(training.images), len(development.images), len(test.images)
    return RankedPool(queries, items, rankings, settings, sizes)


def _text_kernel(name: str, documents: Sequence[Document]) -> TextKernel:
    idf = idf_of(documents) if name.endswith(("-idf", "sem")) else None
    if name in SIMILARITIES:
        return SimilarTrigrams.of(documents, SIMILARITIES[name], idf)
    if name.startswith("bow"):
        return BagOfWords(idf)
    return TagRank.of(documents) if name == "tagrank" else Trigrams(idf)


def _image_kernels(
    parts: Sequence[_Part], kernel: str, power: int, generator: np.random.Generator, progress: Progress
) -> Kernels:
    training = parts[0].pictures
    few = training
    if len(training) > PICTURES:
        few = [training[index] for index in generator.choice(len(training), PICTURES, replace=False).tolist()]
    progress(0.0, "finding the words of pictures")
    codebooks = find_codebooks([read_points(path) for path in few], generator)
    histograms: list[Histograms] = []
    for part, purpose in zip(parts, PARTS, strict=True):
        progress(0.1 + 0.1 * len(histograms), f"reading the pictures for {purpose}")
        histograms.append(histograms_of(map(read_points, part.pictures), codebooks))
    progress(0.4, "comparing pictures")
    compare = COMPARISONS[kernel]
    return Kernels(*(compare(rows, histograms[0], power) for rows in histograms))


def _parts(dataset: Dataset, caption: int, seed: int) -> list[_Part]:
    items = list(dataset.items.order_by("position"))
    captions: dict[int, list[tuple[str, str]]] = {}
    rows = Caption.objects.filter(dataset=dataset, role=Caption.Role.REFERENCE).order_by("position")
    for owner, key, text in rows.values_list("item", "key", "text"):
        captions.setdefault(owner, []).append((key, text))
    splits = _splits(items, seed)
    parts = []
    for name in PARTS:
        images = [item for item in items if splits[item.pk] == name]
        if len(images) < 2:
            raise EvaluationError(
                f"Dataset {dataset.name!r} has {len(images)} images for {name!r}, expected two or more (splits "
                f"{', '.join(PARTS)}, or none, to have them drawn)."
            )
        for item in images:
            _check_image(item, captions.get(item.pk, ()), caption, name)
        parts.append(_part(images, captions, caption))
    return parts


def _splits(items: Sequence[Item], seed: int) -> dict[int, str]:
    """Return row id -> split of the items; drawn at random if none has one."""
    splits = {item.pk: item.split for item in items}
    if not any(splits.values()):
        order = np.random.default_rng(seed).permutation(len(items)).tolist()
        ends = [round(share * len(items)) for share in SHARES]
        for position, number in enumerate(order):
            splits[items[number].pk] = PARTS[sum(position >= end for end in ends)]
    return splits


def _check_image(item: Item, captions: Sequence[tuple[str, str]], caption: int, split: str) -> None:
    """Raise EvaluationError for an image without a picture or enough captions, or with a blank in a name of the run."""
    image = f"Image {item.name!r} of dataset {item.dataset.name!r}"
    if not item.picture:
        raise EvaluationError(
            f"{image} has no picture file here; expected pictures imported with --images and a folder."
        )
    if len(captions) <= (0 if split == "train" else caption):
        raise EvaluationError(f"{image} has {len(captions)} captions, expected caption number {caption}.")
    # The run names the images and captions of the test split alone.
    caption_key = captions[caption][0] if split == "test" else None
    if caption_key is not None and any(map(str.isspace, item.name + caption_key)):
        raise EvaluationError(
            f"{image}, or its caption {caption_key!r}, has a blank in its name, which a TREC run cannot hold; rename "
            "it and import the dataset again."
        )


def _part(images: Sequence[Item], captions: Mapping[int, Sequence[tuple[str, str]]], caption: int) -> _Part:
    tokens = words_of([text for item in images for _, text in captions[item.pk]])
    counts = np.cumsum([len(captions[item.pk]) for item in images])[:-1].tolist()
    documents: list[Document] = [
        tokens[start:end] for start, end in zip([0, *counts], [*counts, len(tokens)], strict=True)
    ]
    chosen = [min(caption, len(document) - 1) for document in documents]
    return _Part(
        [item.name for item in images],
        [Path(item.picture.path) for item in images],
        documents,
        [captions[item.pk][number][0] for item, number in zip(images, chosen, strict=True)],
        [[document[number]] for document, number in zip(documents, chosen, strict=True)],
    )
