"""Rank a pool's captions for its images, or its images for its captions, by the systems of H13 (3.1 and 4.1.3).

Image i of a pool belongs to caption i. The nearest-neighbour system finds the training item that is nearest to the
query, and ranks by similarity to the other side of that item. A KCCA system projects images and captions into one
space, and ranks by cosine. Its regularisation and dimensions are chosen on development items: five settings with
the best R@1, five more with the best R@5, and five more with the best R@10. The rankings of these settings are
joined by Borda's count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from contrib.ranking_systems.kcca import Projections, fit_kcca
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation import borda_count

Task = Literal["annotation", "search"]
REGULARISATIONS = (0.1, 0.5, 1.0, 5.0)
DIMENSIONS, MIN_DIMENSION = 46, 10  # H13: numbers of dimensions to try, and the least of them
CUTOFFS, PER_CUTOFF = (1, 5, 10), 5  # ranks k of R@k, and the number of settings with the best R@k


class Kernels(NamedTuple):
    """The kernel values of D development and T test items with the N training items, and of the training items.

    training: (N, N). development: (D, N). test: (T, N).
    """

    training: Floats
    development: Floats
    test: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The settings of a KCCA model, and its results on development items."""

    regularisation: float
    dimensions: int
    recalls: tuple[float, ...]
    median_rank: float


def rank_by_neighbours(images: Floats, captions: Floats, task: Task) -> Ints:
    """Return the positions in the pool for each query, best first, as a matrix (queries, pool).

    Args:
        images, captions: (T, N) similarities of T test items with N training items.
    """
    queries, pool = (images, captions) if task == "annotation" else (captions, images)
    return rank_by_affinity(pool.T[queries.argmax(axis=1)])


def rank_by_kcca(images: Kernels, captions: Kernels, task: Task) -> tuple[Ints, list[Setting]]:
    """Return the positions in the pool for each query, best first, as a matrix (queries, pool).

    Also return the settings of the joined models.
    """
    trials: list[tuple[Setting, Projections]] = []
    for regularisation in REGULARISATIONS:
        model = fit_kcca(images.training, captions.training, regularisation)
        sides = (model.project_first(images.development), model.project_second(captions.development))
        for size, affinity in affinities(*sides, _dimensions_to_try(model.correlations.size)):
            places = original_places(affinity if task == "annotation" else affinity.T)
            recalls = tuple(float((places < k).mean()) for k in CUTOFFS)
            trials.append((Setting(regularisation, size, recalls, float(np.median(places)) + 1), model))
    best_indices = _best_settings([setting for setting, _ in trials])
    rankings = []
    for index in best_indices:
        setting, model = trials[index]
        sides = model.project_first(images.test), model.project_second(captions.test)
        ((_, affinity),) = affinities(*sides, [setting.dimensions])
        rankings.append(rank_by_affinity(affinity if task == "annotation" else affinity.T))
    return join_rankings(rankings), [trials[index][0] for index in best_indices]


def join_rankings(rankings: Sequence[Ints]) -> Ints:
    """Join several (queries, pool) rankings by Borda's count for each query. Ties go to the better median rank."""
    return np.array([borda_count(orders.tolist()).ranking() for orders in np.stack(rankings, axis=1)])


def rank_by_affinity(affinity: Floats) -> Ints:
    """Return positions in the pool by decreasing affinity, as a matrix (queries, pool). Ties keep the pool's order."""
    return np.argsort(-affinity, axis=1, kind="stable")


def original_places(affinity: Floats) -> Ints:
    """Return the 0-based rank of each query's own item, as a vector."""
    return np.argmax(rank_by_affinity(affinity) == np.arange(len(affinity))[:, None], axis=1)


def affinities(first: Floats, second: Floats, sizes: Iterable[int]) -> Iterable[tuple[int, Floats]]:
    """Yield each of ``sizes`` with the cosines of images and captions in the first ``size`` dimensions.

    The sizes must be in ascending order. The cosines are a matrix (images, captions).
    """
    products = np.zeros((len(first), len(second)))
    squares = np.zeros(len(first)), np.zeros(len(second))
    used_size = 0
    for size in sizes:
        left, right = first[:, used_size:size], second[:, used_size:size]
        products = products + left @ right.T
        squares = squares[0] + (left**2).sum(axis=1), squares[1] + (right**2).sum(axis=1)
        lengths = np.sqrt(np.outer(*squares))
        yield size, np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        used_size = size


def _dimensions_to_try(max_dimension: int) -> list[int]:
    sizes = np.geomspace(min(MIN_DIMENSION, max_dimension), max_dimension, DIMENSIONS)
    return sorted(set(np.rint(sizes).astype(int).tolist()))


def _best_settings(settings: Sequence[Setting]) -> list[int]:
    """Return the indices of five settings for each R@k.

    None is chosen twice, and ties go to the better median rank.
    """
    best_indices: list[int] = []
    for index_of_k in range(len(CUTOFFS)):
        indices = [index for index in range(len(settings)) if index not in best_indices]
        indices.sort(key=lambda index: (-settings[index].recalls[index_of_k], settings[index].median_rank))
        best_indices += indices[:PER_CUTOFF]
    return best_indices
