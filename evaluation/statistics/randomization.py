"""Fisher's randomisation test of two systems' scores of the same items (Fisher 1935; H13 section 4.2.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.errors import BadShape
from evaluation.statistics.resampling import CELLS, Seed, generator_of
from evaluation.statistics.row_statistics import ROUNDING, RowStatistic, row_statistic
from evaluation.statistics.score_vectors import score_vector
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, one_of, positive, same_length

ALTERNATIVES = ("two-sided", "greater", "less")

# H13 assigns scores to the two systems anew this many times.
REASSIGNMENTS = 100_000
# Reassignments whose sums are kept at once: they fit into the fastest memory.
_SUMS = 8192


@dataclass(frozen=True, slots=True)
class RandomizationResult:
    """Fisher's randomisation test: p = (c + 1) / (n + 1), with c of n reassignments as extreme.

    `difference` is the statistic of the first less that of the second. `seed` is None where a running
    random stream was handed in.
    """

    statistic: str
    difference: float
    p: float
    as_extreme: int
    reassignments: int
    n: int
    seed: int | None
    alternative: str = "two-sided"
    signature: str = ""


@signed("randomization")
def randomization_test(
    first: ArrayLike,
    second: ArrayLike,
    statistic: str | RowStatistic = "mean",
    *,
    alternative: str = "two-sided",
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
) -> RandomizationResult:
    """Whether two systems' (N,) scores of the same items differ: paired.

    In each reassignment the two scores of every item are swapped or not by the toss of a coin, and the
    difference of the statistic ("mean", "median", or a function of (B, N) to (B,)) is compared with the
    observed one; equal counts as extreme, also where rounding hides it. `alternative` "greater" asks
    whether the first is higher, "less" whether it is lower. A mean of N scores costs N / 8 additions a
    reassignment, a median about N steps. Raises BadShape, BadValue, BadOption.
    """
    positive(reassignments, "reassignments")
    one_of(alternative, ALTERNATIVES, "alternative")
    generator, reported = generator_of(seed)
    one, two = score_vector(first, "first"), score_vector(second, "second")
    n = same_length(first=one, second=two)
    if not n:
        raise BadShape("first is empty, expected one score or more")
    name, function = row_statistic(statistic)
    difference = float(function(one[np.newaxis])[0] - function(two[np.newaxis])[0])
    # A tie must count as extreme: means of three grades differ by rounding where they are equal.
    scale = max(float(np.abs(one).max()), float(np.abs(two).max()), abs(difference))
    as_extreme = 0
    for drawn in _differences(one, two, name, function, reassignments, generator):
        as_extreme += count_extreme(drawn, difference, scale, alternative)
    p = (as_extreme + 1) / (reassignments + 1)
    return RandomizationResult(name, difference, p, as_extreme, reassignments, n, reported, alternative)


def count_extreme(drawn: Floats, difference: float, scale: float, alternative: str) -> int:
    """How many drawn differences are as extreme as the observed one, of scores of size `scale`."""
    slack = ROUNDING * scale
    if alternative == "two-sided":
        return int((np.abs(drawn) >= abs(difference) - slack).sum())
    if alternative == "greater":
        return int((drawn >= difference - slack).sum())
    return int((drawn <= difference + slack).sum())


_Draw = Callable[[np.random.Generator, int], Floats]


def _differences(
    one: Floats,
    two: Floats,
    name: str,
    function: RowStatistic,
    reassignments: int,
    generator: np.random.Generator,
) -> list[Floats]:
    """The differences of all reassignments, in blocks."""
    n = len(one)
    draw: _Draw
    if name == "mean":
        draw, block = _mean_draw(one - two), _SUMS
    elif name == "median":
        draw, block = _median_draw(one, two), max(1, 8 * CELLS // n)
    else:
        draw, block = _swap_draw(one, two, function), max(1, CELLS // n)
    return [draw(generator, min(block, reassignments - start)) for start in range(0, reassignments, block)]


def _mean_draw(differences: Floats) -> _Draw:
    """A swap turns the sign of an item's difference, so a reassignment is a sum of signed numbers."""
    from evaluation.statistics.significance_kernels import signed_sums  # numba loads when it is needed

    n = len(differences)
    turning = differences[differences != 0]
    # The last eight are filled up with zeros, which have no sign.
    turning = np.append(turning, np.zeros(-len(turning) % 8))
    groups = len(turning) // 8

    def draw(generator: np.random.Generator, size: int) -> Floats:
        sums = np.zeros(size)
        step = max(1, CELLS // size)
        for start in range(0, groups, step):
            some = turning[8 * start : 8 * (start + step)]
            sums += signed_sums(some, coins(generator, len(some) // 8, size))
        return sums / n

    return draw


def _median_draw(one: Floats, two: Floats) -> _Draw:
    from evaluation.statistics.significance_kernels import median_differences

    n = len(one)
    both = np.concatenate([one, two])
    order = np.argsort(both, kind="stable")
    values, items, sides = both[order], order % n, (order >= n).astype(np.uint8)

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return median_differences(values, items, sides, coins(generator, size, (n + 7) // 8))

    return draw


def _swap_draw(one: Floats, two: Floats, function: RowStatistic) -> _Draw:
    n = len(one)

    def draw(generator: np.random.Generator, size: int) -> Floats:
        swapped = np.unpackbits(
            coins(generator, size, (n + 7) // 8), axis=1, count=n, bitorder="little"
        ).astype(bool)
        return function(np.where(swapped, two, one)) - function(np.where(swapped, one, two))

    return draw


def coins(generator: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """(rows, columns) bytes of eight tosses each; whole words are drawn, which is fastest."""
    size = rows * columns
    words = generator.integers(0, 2**64, size=(size + 7) // 8, dtype=np.uint64)
    return words.view(np.uint8)[:size].reshape(rows, columns)
