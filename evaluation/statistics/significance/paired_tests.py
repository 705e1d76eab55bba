"""Tests of two systems' results on the same items: McNemar 1947 (H13 section 4.2.1) for binary outcomes,
Fisher's randomisation test (Fisher 1935; H13 section 4.2.2) for scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from evaluation.arrays import Floats
from evaluation.statistics.errors import BadShape, BadValue
from evaluation.statistics.inputs import (
    finite_vector,
    one_of,
    positive,
    refuse_values,
    same_length,
    score_vector,
)
from evaluation.statistics.resampling import ALTERNATIVES, CELLS, Seed, coins, count_extreme, generator_of
from evaluation.statistics.results import signed
from evaluation.statistics.significance.intervals import RowStatistic, row_statistic

NO_DISCORDANT = "the two outcomes never differ"

# H13 assigns scores to the two systems anew this many times.
REASSIGNMENTS = 100_000
# Reassignments whose sums are kept at once: they fit into the fastest memory.
_SUMS = 8192
_Draw = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True, slots=True)
class McNemarResult:
    """McNemar's test; first_only and second_only are the discordant pairs.

    `exact_p` is the two-sided binomial p (1 without discordant pairs); `statistic` and `p` are chi-square
    with continuity correction, `plain_statistic` and `plain_p` without.
    """

    first_only: int
    second_only: int
    exact_p: float
    statistic: float
    p: float
    plain_statistic: float
    plain_p: float
    reason: str
    signature: str = ""


@signed("mcnemar", input="outcomes")
def mcnemar_test(first: ArrayLike, second: ArrayLike) -> McNemarResult:
    """Do McNemar's test (see `mcnemar_counts`) on two (N,) vectors of outcomes 0 or 1."""
    one, two = _outcomes(first, "first"), _outcomes(second, "second")
    same_length(first=one, second=two)
    return mcnemar_counts(int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum()))


@signed("mcnemar", input="counts")
def mcnemar_counts(first_only: int, second_only: int) -> McNemarResult:
    """Do McNemar's test from the counts b and c of discordant pairs.

    Exact: the binomial test of min(b, c) of b + c at 1/2. Chi-square with one degree of freedom: (|b - c| -
    1)^2 / (b + c), and without the correction (b - c)^2 / (b + c).
    """
    for name, count in (("first_only", first_only), ("second_only", second_only)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count < 2**53:
            raise BadValue(f"{name} is {count!r}, expected a whole number from zero on, 2^53 at most")
    b, c = int(first_only), int(second_only)
    n = b + c
    if not n:
        return McNemarResult(0, 0, 1.0, math.nan, math.nan, math.nan, math.nan, NO_DISCORDANT)
    exact = float(scipy.stats.binomtest(min(b, c), n, 0.5).pvalue)
    # As in the tables' programs: the corrected difference is |b - c| - 1 even where b = c.
    corrected = (abs(b - c) - 1) ** 2 / n
    plain = (b - c) ** 2 / n
    tail = scipy.stats.chi2(1).sf
    return McNemarResult(b, c, exact, corrected, float(tail(corrected)), plain, float(tail(plain)), "")


def _outcomes(values: ArrayLike, name: str) -> Floats:
    vector = finite_vector(values, name)
    refuse_values(vector, (vector != 0) & (vector != 1), name, "0 or 1")
    return vector


@dataclass(frozen=True, slots=True)
class RandomizationResult:
    """Fisher's randomisation test: p = (c + 1) / (n + 1), with c of n reassignments as extreme.

    `difference` is the statistic of the first less that of the second.
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
    """Test whether two systems' (N,) scores of the same items differ.

    Each reassignment swaps the two scores of every item by the toss of a coin and compares the difference of
    the statistic ("mean", "median", or a function of (B, N) to (B,)) with the observed one; equal counts as
    extreme, up to rounding. `alternative` "greater": the first is higher.
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


def _differences(
    one: Floats,
    two: Floats,
    name: str,
    function: RowStatistic,
    reassignments: int,
    generator: np.random.Generator,
) -> list[Floats]:
    """Return the differences of all reassignments, in blocks."""
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
    """Return the draw of means: a swap turns the sign of an item's difference, so each is a sum of signed numbers."""
    from evaluation.statistics.significance.kernels import signed_sums

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
    from evaluation.statistics.significance.kernels import median_differences

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
