"""Whether a difference between two systems could be chance (PROTOCOLS 5; H13 sections 4.2.1 and 4.2.2).

McNemar's test for binary outcomes, Fisher's randomisation test for means and medians, and bootstrap
intervals of any statistic. Results hold p, never a verdict; `stars` is for tables.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from evaluation.statistics.errors import BadOption, BadShape, BadValue
from evaluation.statistics.resampling import CONFIDENCE, Seed, check_confidence, generator_of
from evaluation.statistics.tables import Floats, finite_vector, one_of, positive, same_length

METHODS = ("percentile", "basic", "bca")

# H13 assigns scores to the two systems anew this many times.
REASSIGNMENTS = 100_000
# A bootstrap of single values is cheap, and its tails need many resamples.
_BOOTSTRAP_RESAMPLES = 10_000
# Numbers held at once: 4 million doubles are 32 MB.
_CELLS = 4_000_000

NO_DISCORDANT = "the two outcomes never differ"

# A statistic takes (B, N) values and returns (B,).
RowStatistic = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class McNemarResult:
    """McNemar's test of two paired binary outcomes.

    first_only and second_only: the discordant pairs. `exact_p` is the two-sided binomial p (1 without
    discordant pairs); `statistic` and `p` are chi-square with continuity correction, `plain_statistic`
    and `plain_p` without (nan without discordant pairs, with the `reason`).
    """

    first_only: int
    second_only: int
    exact_p: float
    statistic: float
    p: float
    plain_statistic: float
    plain_p: float
    reason: str


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


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    """A statistic of N values with its bootstrap interval and standard error (nan for N < 2: `reason`)."""

    statistic: str
    value: float
    low: float
    high: float
    standard_error: float
    n: int
    method: str
    confidence: float
    resamples: int
    seed: int | None
    reason: str


def mcnemar_test(first: ArrayLike, second: ArrayLike) -> McNemarResult:
    """McNemar's test on two (N,) vectors of outcomes, 0 or 1 (or booleans), of the same N items."""
    one, two = _outcomes(first, "first"), _outcomes(second, "second")
    same_length(first=one, second=two)
    return mcnemar_counts(int(((one == 1) & (two == 0)).sum()), int(((one == 0) & (two == 1)).sum()))


def mcnemar_counts(first_only: int, second_only: int) -> McNemarResult:
    """McNemar's test from the two counts of discordant pairs. Raises BadValue."""
    for name, count in (("first_only", first_only), ("second_only", second_only)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
            raise BadValue(f"{name} is {count!r}, expected a whole number from zero on")
    n = first_only + second_only
    if not n:
        return McNemarResult(0, 0, 1.0, math.nan, math.nan, math.nan, math.nan, NO_DISCORDANT)
    exact = float(scipy.stats.binomtest(min(first_only, second_only), n, 0.5).pvalue)
    # As in the tables' programs: the corrected difference is |b - c| - 1 even where b = c.
    corrected = (abs(first_only - second_only) - 1) ** 2 / n
    plain = (first_only - second_only) ** 2 / n
    tail = scipy.stats.chi2(1).sf
    return McNemarResult(
        int(first_only),
        int(second_only),
        exact,
        corrected,
        float(tail(corrected)),
        plain,
        float(tail(plain)),
        "",
    )


def randomization_test(
    first: ArrayLike,
    second: ArrayLike,
    statistic: str | RowStatistic = "mean",
    *,
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
) -> RandomizationResult:
    """Whether two systems' (N,) scores of the same items differ: two-sided, paired.

    In each reassignment the two scores of every item are swapped or not by the toss of a coin, and the
    difference of the statistic ("mean", "median", or a function of (B, N) to (B,)) is compared with the
    observed one; equal counts as extreme. Raises BadShape, BadValue, BadOption.
    """
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    one, two = finite_vector(first, "first"), finite_vector(second, "second")
    n = same_length(first=one, second=two)
    if not n:
        raise BadShape("first is empty, expected one score or more")
    name, function = _statistic(statistic)
    difference = float(function(one[np.newaxis])[0] - function(two[np.newaxis])[0])
    # Sums in another order differ by rounding; a tie must still count as extreme.
    scale = max(float(np.abs(one).max()), float(np.abs(two).max()), abs(difference))
    bound = abs(difference) - 1e-12 * scale
    draw = _mean_draw(one - two) if name == "mean" else _swap_draw(one, two, function)
    as_extreme = 0
    chunk = max(1, _CELLS // n)
    for start in range(0, reassignments, chunk):
        size = min(chunk, reassignments - start)
        as_extreme += int((np.abs(draw(generator, size)) >= bound).sum())
    p = (as_extreme + 1) / (reassignments + 1)
    return RandomizationResult(name, difference, p, as_extreme, reassignments, n, reported)


def bootstrap_interval(
    values: ArrayLike,
    statistic: str | RowStatistic = "mean",
    *,
    method: str = "percentile",
    confidence: float = CONFIDENCE,
    resamples: int = _BOOTSTRAP_RESAMPLES,
    seed: Seed = 0,
) -> BootstrapResult:
    """Interval of a statistic ("mean", "median", or a function of (B, N) to (B,)) of (N,) values.

    `method` is percentile, basic, or bca (bias-corrected and accelerated, Efron 1987). Raises BadShape,
    BadValue, BadOption.
    """
    one_of(method, METHODS, "method")
    check_confidence(confidence)
    positive(resamples, "resamples")
    generator, reported = generator_of(seed)
    sample = finite_vector(values, "values")
    name, function = _statistic(statistic)
    n = len(sample)
    value = low = high = error = math.nan
    reason = "" if n > 1 else "there are fewer than two values"
    if n:
        value = float(function(sample[np.newaxis])[0])
    if n > 1:
        draws = _bootstrap_draws(sample, function, resamples, generator)
        tail = (1 - confidence) / 2
        ends = np.array([tail, 1 - tail])
        if method == "bca":
            ends = _corrected_ends(sample, function, draws, value, ends)
        low, high = (float(end) for end in np.quantile(draws, ends))
        if method == "basic":
            low, high = 2 * value - high, 2 * value - low
        error = float(draws.std(ddof=1)) if resamples > 1 else math.nan
    return BootstrapResult(
        name, value, low, high, error, n, method, float(confidence), resamples, reported, reason
    )


def stars(p: float) -> str:
    """One star at p <= 0.1, two at 0.05, three at 0.01 (H13 Table 1); none for nan."""
    return "*" * sum(p <= bound for bound in (0.1, 0.05, 0.01))


def _outcomes(values: ArrayLike, name: str) -> Floats:
    vector = finite_vector(values, name)
    wrong = np.flatnonzero((vector != 0) & (vector != 1))
    if wrong.size:
        raise BadValue(f"{name}[{wrong[0]}] is {vector[wrong[0]]:g}, expected 0 or 1")
    return vector


def _row_mean(rows: Floats) -> Floats:
    return rows.mean(axis=1)


def _row_median(rows: Floats) -> Floats:
    return np.asarray(np.median(rows, axis=1), dtype=np.float64)


def _statistic(statistic: str | RowStatistic) -> tuple[str, RowStatistic]:
    if isinstance(statistic, str):
        one_of(statistic, ("mean", "median"), "statistic")
        return statistic, _row_mean if statistic == "mean" else _row_median
    if not callable(statistic):
        raise BadOption(f"statistic is {statistic!r}, expected mean, median or a function of rows")
    return getattr(statistic, "__name__", "a function"), statistic


_Draw = Callable[[np.random.Generator, int], Floats]


def _mean_draw(differences: Floats) -> _Draw:
    """A swap turns the sign of an item's difference, so means need no copies of the scores."""
    n = len(differences)
    sizes, counts = np.unique(np.abs(differences[differences != 0]), return_counts=True)
    if len(sizes) * 8 <= n:

        def by_size(generator: np.random.Generator, size: int) -> Floats:
            # Of the items whose difference has one size, a binomial number keep a plus.
            plus = generator.binomial(counts, 0.5, size=(size, len(sizes)))
            return np.asarray((2 * plus - counts) @ sizes / n, dtype=np.float64)

        return by_size

    def by_item(generator: np.random.Generator, size: int) -> Floats:
        swapped = _coins(generator, size, n)
        return np.asarray((differences.sum() - 2 * (swapped @ differences)) / n, dtype=np.float64)

    return by_item


def _swap_draw(one: Floats, two: Floats, function: RowStatistic) -> _Draw:
    def draw(generator: np.random.Generator, size: int) -> Floats:
        swapped = _coins(generator, size, len(one)).astype(bool)
        return function(np.where(swapped, two, one)) - function(np.where(swapped, one, two))

    return draw


def _coins(generator: np.random.Generator, rows: int, n: int) -> Floats:
    packed = generator.integers(0, 256, size=(rows, (n + 7) // 8), dtype=np.uint8)
    return np.unpackbits(packed, axis=1, count=n).astype(np.float64)


def _bootstrap_draws(
    sample: Floats, function: RowStatistic, resamples: int, generator: np.random.Generator
) -> Floats:
    n = len(sample)
    chunk = max(1, _CELLS // n)
    parts = []
    for start in range(0, resamples, chunk):
        rows = generator.integers(0, n, size=(min(chunk, resamples - start), n))
        parts.append(np.asarray(function(sample[rows]), dtype=np.float64))
    return np.concatenate(parts)


def _corrected_ends(
    sample: Floats, function: RowStatistic, draws: Floats, value: float, ends: Floats
) -> Floats:
    """The quantiles that BCa reads instead of the plain ones; those again where the draws are all equal."""
    below = ((draws < value).mean() + (draws <= value).mean()) / 2
    if not 0 < below < 1:
        return ends
    bias = ndtri(below)
    n = len(sample)
    left_out = np.empty(n)
    chunk = max(1, _CELLS // n)
    for start in range(0, n, chunk):
        rows = np.arange(start, min(start + chunk, n))
        kept = np.broadcast_to(sample, (len(rows), n))[np.arange(n) != rows[:, np.newaxis]]
        left_out[rows] = function(kept.reshape(len(rows), n - 1))
    spread = left_out.mean() - left_out
    squares = float((spread**2).sum())
    acceleration = float((spread**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    shifted = bias + ndtri(ends)
    return np.asarray(ndtr(bias + shifted / (1 - acceleration * shifted)), dtype=np.float64)
