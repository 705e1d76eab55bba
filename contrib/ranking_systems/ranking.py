"""Rank a pool's captions for its images, or its images for its captions, by the systems of Hodosh et al. 2013 (H13).

H13 describe them in sections 3.1 and 4.1.3.

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

Task = Literal["annotation", "search"]  # rank captions for each image, or images for each caption
REGULARISATIONS = (0.1, 0.5, 1.0, 5.0)
# H13 try 46 numbers of dimensions, from 10 on.
DIMENSION_COUNT, MIN_DIMENSION = 46, 10
CUTOFFS = (1, 5, 10)  # ranks k of R@k
SETTINGS_PER_CUTOFF = 5  # number of settings with the best R@k that are joined


class KernelValues(NamedTuple):
    """The kernel values of N training, D development and T test items with the training items.

    Attributes:
        training: (N, N).
        development: (D, N).
        test: (T, N).
    """

    training: Floats
    development: Floats
    test: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TriedSetting:
    """Settings of a KCCA model that were tried, with their results on development items.

    The results are ``recalls``, which are R@k for the CUTOFFS, and ``median_rank``.
    """

    regularisation: float
    dimensions: int
    recalls: tuple[float, ...]
    median_rank: float


def rank_by_neighbours(images: Floats, captions: Floats, task: Task) -> Ints:
    """Return the (queries, pool) positions in the pool for each query, best first.

    Args:
        images, captions: (T, N) similarities of T test items with N training items.
    """
    queries, pool = (images, captions) if task == "annotation" else (captions, images)
    nearest_training_items = queries.argmax(axis=1)  # of each query
    # a row of pool.T has the similarities of the pool to a training item
    return rank_by_affinity(pool.T[nearest_training_items])


def rank_by_kcca(images: KernelValues, captions: KernelValues, task: Task) -> tuple[Ints, list[TriedSetting]]:
    """Return the (queries, pool) positions in the pool for each query, best first.

    Also return the settings, with their results, of the models whose rankings are joined.
    """
    trials: list[tuple[TriedSetting, Projections]] = []
    for regularisation in REGULARISATIONS:
        model = fit_kcca(images.training, captions.training, regularisation)
        image_points = model.project_first(images.development)
        caption_points = model.project_second(captions.development)
        sizes = _dimensions_to_try(model.correlations.size)
        for size, affinity in affinities(image_points, caption_points, sizes):
            ranks = ranks_of_originals(affinity if task == "annotation" else affinity.T)
            recalls = tuple(float((ranks <= k).mean()) for k in CUTOFFS)
            trials.append((TriedSetting(regularisation, size, recalls, float(np.median(ranks))), model))
    best_indices = _best_settings([setting for setting, _ in trials])
    rankings = []
    for index in best_indices:
        setting, model = trials[index]
        image_points, caption_points = model.project_first(images.test), model.project_second(captions.test)
        ((_, affinity),) = affinities(image_points, caption_points, [setting.dimensions])
        rankings.append(rank_by_affinity(affinity if task == "annotation" else affinity.T))
    return join_rankings(rankings), [trials[index][0] for index in best_indices]


def join_rankings(rankings: Sequence[Ints]) -> Ints:
    """Join several (queries, pool) rankings by Borda's count for each query. Ties go to the better median rank."""
    # for each query, the orders in which the rankings put the pool
    return np.array([borda_count(orders.tolist()).ranking() for orders in np.stack(rankings, axis=1)])


def rank_by_affinity(affinity: Floats) -> Ints:
    """Return the (queries, pool) positions in the pool by decreasing affinity. Ties keep the pool's order."""
    return np.argsort(-affinity, axis=1, kind="stable")


def ranks_of_originals(affinity: Floats) -> Ints:
    """Return the rank, from 1, of each query's original item, which has the index of the query."""
    return np.argmax(rank_by_affinity(affinity) == np.arange(len(affinity))[:, None], axis=1) + 1


def affinities(images: Floats, captions: Floats, sizes: Iterable[int]) -> Iterable[tuple[int, Floats]]:
    """Yield each of ``sizes`` with the cosines of images and captions in the first ``size`` dimensions.

    The sizes must be in ascending order. The cosines are a matrix (images, captions).

    Args:
        images, captions: the projections, (images, dimensions) and (captions, dimensions).
    """
    # Sums over the dimensions so far, to which each size adds its further dimensions.
    products = np.zeros((len(images), len(captions)))
    image_squares, caption_squares = np.zeros(len(images)), np.zeros(len(captions))
    previous_size = 0
    for size in sizes:
        new_images, new_captions = images[:, previous_size:size], captions[:, previous_size:size]
        products = products + new_images @ new_captions.T
        image_squares = image_squares + (new_images**2).sum(axis=1)
        caption_squares = caption_squares + (new_captions**2).sum(axis=1)
        lengths = np.sqrt(np.outer(image_squares, caption_squares))
        yield size, np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        previous_size = size


def _dimensions_to_try(max_dimension: int) -> list[int]:
    """Return numbers of dimensions in geometric progression, up to the largest."""
    sizes = np.geomspace(min(MIN_DIMENSION, max_dimension), max_dimension, DIMENSION_COUNT)
    return sorted(set(np.rint(sizes).astype(int).tolist()))


def _best_settings(settings: Sequence[TriedSetting]) -> list[int]:
    """Return the indices of the SETTINGS_PER_CUTOFF best settings by each R@k, without repetition.

    Ties go to the better median rank.
    """
    best_indices: list[int] = []
    for cutoff_index in range(len(CUTOFFS)):
        indices = [index for index in range(len(settings)) if index not in best_indices]
        indices.sort(key=lambda index: (-settings[index].recalls[cutoff_index], settings[index].median_rank))
        best_indices += indices[:SETTINGS_PER_CUTOFF]
    return best_indices
