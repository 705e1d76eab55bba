"""Fisher's randomisation test (Fisher 1935) of two systems' scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.crossed import NAIVE, ClusterColumns, cluster_columns, joint_clusters
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import BadShape, check_positive_int, one_of, same_length, score_vector
from quorum.statistics.resampling import ALTERNATIVES, CELLS, Seed, coin_tosses, count_extreme, generator_of
from quorum.statistics.significance.bootstrap import RowStatistic, row_statistic

# The number of reassignments in Hodosh et al. 2013.
REASSIGNMENTS = 100_000

# Number of sums computed at once, few enough for the processor's first cache.
_MEAN_BLOCK = 8192
_Draw = Callable[[np.random.Generator, int], Floats]  # draws so many differences by random reassignments


@dataclass(frozen=True, slots=True)
class RandomizationResult(Result):
    """The result of Fisher's randomisation test.

    p = (c + 1) / (r + 1), where c (`as_extreme`) of r `reassignments` are at least as extreme as the observed
    `difference` of the `statistic`. n: number of items. alternative: one of ALTERNATIVES.
    """

    statistic: str
    difference: float
    p: float
    as_extreme: int
    reassignments: int
    n: int
    alternative: str = "two-sided"


@signed("randomization")
def randomization_test(
    first: ArrayLike,
    second: ArrayLike,
    statistic: str | RowStatistic = "mean",
    *,
    alternative: str = "two-sided",
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> RandomizationResult:
    """Test whether a statistic of two systems' (N,) scores differs.

    `statistic` is "mean", "median", or a function of (B, N) scores that returns (B,). For each reassignment, a coin
    decides for every item whether its two scores are swapped; rows of a cluster are swapped together. An equal
    difference counts as extreme. With `alternative` "greater", the alternative hypothesis is that the first is
    higher.
    """
    check_positive_int(reassignments, "reassignments")
    one_of(alternative, ALTERNATIVES, "alternative")
    generator, reported_seed = generator_of(seed)
    first_scores, second_scores = score_vector(first, "first"), score_vector(second, "second")
    n = same_length(first=first_scores, second=second_scores)
    if not n:
        raise BadShape("first is empty, expected one score or more")
    name, function = row_statistic(statistic)
    difference = float(function(first_scores[np.newaxis])[0] - function(second_scores[np.newaxis])[0])
    # Equal differences must count as extreme, although equal means may differ by rounding errors.
    scale = max(float(np.abs(first_scores).max()), float(np.abs(second_scores).max()), abs(difference))
    row_clusters = joint_clusters(cluster_columns(clusters), n)  # at most one column
    cluster = None if row_clusters is None else row_clusters.codes[0]
    drawn_differences = _reassigned_differences(
        first_scores, second_scores, name, function, reassignments, generator, cluster
    )
    as_extreme = count_extreme(drawn_differences, difference, scale, alternative)
    return RandomizationResult(
        name,
        difference,
        (as_extreme + 1) / (reassignments + 1),
        as_extreme,
        reassignments,
        n,
        alternative,
        seed=reported_seed,
        clusters={} if row_clusters is None else row_clusters.counts,
    )


def _reassigned_differences(
    first: Floats,
    second: Floats,
    name: str,
    function: RowStatistic,
    reassignments: int,
    generator: np.random.Generator,
    cluster: Ints | None,
) -> Floats:
    """Return the differences of all reassignments. Rows of the same `cluster` (N,) are swapped together."""
    n = len(first)
    draw: _Draw
    if name == "mean":
        differences = first - second
        if cluster is not None:
            differences = np.bincount(cluster, weights=differences).astype(np.float64)
        draw, block_size = _mean_draw(differences, n), _MEAN_BLOCK
    elif name == "median":
        block_size = max(1, 8 * CELLS // n)  # eight coins are a byte
        draw = _median_draw(first, second, cluster)
    else:
        draw, block_size = _swap_draw(first, second, function, cluster), max(1, CELLS // n)
    blocks = [min(block_size, reassignments - start) for start in range(0, reassignments, block_size)]
    return np.concatenate([draw(generator, size) for size in blocks])


def _mean_draw(differences: Floats, n: int) -> _Draw:
    """Return a function that draws differences of means.

    A swap changes the sign of an item's difference, or of the sum of a cluster's differences.
    """
    from quorum.statistics.kernels.randomisation import signed_sums

    terms = differences[differences != 0]
    # A byte has eight coins, so append zeros to a multiple of eight; their sign does not matter.
    terms = np.append(terms, np.zeros(-len(terms) % 8))
    byte_count = len(terms) // 8

    def draw(generator: np.random.Generator, size: int) -> Floats:
        sums = np.zeros(size)
        step = max(1, CELLS // size)
        for start in range(0, byte_count, step):
            step_terms = terms[8 * start : 8 * (start + step)]
            sums += signed_sums(step_terms, coin_tosses(generator, len(step_terms) // 8, size))
        return sums / n

    return draw


def _median_draw(first: Floats, second: Floats, cluster: Ints | None) -> _Draw:
    """Return a function that draws differences of medians, from both systems' scores in ascending order."""
    from quorum.statistics.kernels.randomisation import median_differences

    n = len(first)
    pooled_scores = np.concatenate([first, second])
    order = np.argsort(pooled_scores, kind="stable")
    values, items, sides = pooled_scores[order], order % n, (order >= n).astype(np.uint8)
    coin_count = n
    if cluster is not None:
        items, coin_count = cluster[items], int(cluster.max()) + 1

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return median_differences(values, items, sides, coin_tosses(generator, size, (coin_count + 7) // 8))

    return draw


def _swap_draw(first: Floats, second: Floats, function: RowStatistic, cluster: Ints | None) -> _Draw:
    """Return a function that draws differences of any statistic."""
    coin_count = len(first) if cluster is None else int(cluster.max()) + 1

    def draw(generator: np.random.Generator, size: int) -> Floats:
        is_swapped = np.unpackbits(
            coin_tosses(generator, size, (coin_count + 7) // 8), axis=1, count=coin_count, bitorder="little"
        ).astype(bool)
        if cluster is not None:
            is_swapped = is_swapped[:, cluster]
        return function(np.where(is_swapped, second, first)) - function(np.where(is_swapped, first, second))

    return draw
