"""Whether a difference between two systems could be chance (H13 sections 4.2.1 and 4.2.2).

McNemar 1947 for binary outcomes, Fisher's randomisation test (Fisher 1935) for scores, Williams' test (Williams 1959,
T2 of Steiger 1980; for metrics Graham, Baldwin 2014) for two correlations with people on the same observations.
Several p-values are adjusted by Holm 1979 or Benjamini, Hochberg 1995. Systems form clusters with ranges of ranks, as
in WMT (Koehn 2012; Bojar et al. 2013). Intervals: bootstrap of one sample (Efron 1979; BCa: Efron 1987), share (Wilson
1927), and scores of captions, over captions and over their images (WG16 section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    ClusterColumns,
    Clusters,
    check_confidence,
    columns_of,
    moving_together,
)
from quorum.statistics.inference import Inference, Options, Result, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadShape,
    BadValue,
    finite_vector,
    float_vector,
    floats_of,
    is_real,
    one_of,
    one_per_row,
    positive,
    refuse_values,
    same_length,
    score_vector,
)
from quorum.statistics.resampling import (
    ALTERNATIVES,
    CELLS,
    Seed,
    bootstrap,
    coin_tosses,
    count_extreme,
    generator_of,
)

METHODS = ("percentile", "basic", "bca")

# A bootstrap of single values is cheap, and its tails need many resamples.
_RESAMPLES = 10_000

# Drawing a count for each distinct value pays if it occurs so often.
_FEW = 8
TOO_FEW = "there are fewer than two values"
ONE_SIDED = "all resamples lie on one side of the value, so that BCa cannot correct their bias"

# A statistic takes (B, N) values and returns (B,).
RowStatistic = Callable[[Floats], Floats]

_ROW_STATISTICS: dict[str, RowStatistic] = {
    "mean": lambda rows: rows.mean(axis=1),
    "median": lambda rows: np.asarray(np.median(rows, axis=1), dtype=np.float64),
}


@dataclass(frozen=True, slots=True)
class BootstrapResult(Inference):
    statistic: str
    value: float
    standard_error: float
    n: int
    method: str


@signed("bootstrap")
def bootstrap_interval(
    values: ArrayLike,
    statistic: str | RowStatistic = "mean",
    *,
    method: str = "percentile",
    confidence: float = CONFIDENCE,
    resamples: int = _RESAMPLES,
    seed: Seed = 0,
) -> BootstrapResult:
    """Return the interval of a statistic ("mean", "median", or a function of (B, N) to (B,)) of (N,) values.

    `method` is "percentile", "basic" (2 t - t*_high to 2 t - t*_low), or "bca": the percentiles Phi(z0 + (z0
    + z) / (1 - a (z0 + z))), with bias z0 and acceleration a (Efron, Tibshirani 1993, eq. 14.10 and 14.15).
    """
    one_of(method, METHODS, "method")
    options = Options.of(confidence=confidence, resamples=resamples, seed=seed)
    positive(resamples, "resamples")
    sample = score_vector(values, "values")
    name, function = row_statistic(statistic)
    n = len(sample)
    value = low = high = error = math.nan
    reason = "" if n > 1 else TOO_FEW
    if n:
        value = float(function(sample[np.newaxis])[0])
    if n > 1:
        draws = _draws(sample, name, function, resamples, options.generator)
        tail = (1 - confidence) / 2
        ends = np.array([tail, 1 - tail])
        if method == "bca":
            ends = _corrected_ends(draws, value, _left_out(sample, name, function), ends)
            reason = ONE_SIDED if np.isnan(ends).any() else ""
        if not reason:
            low, high = (float(end) for end in np.quantile(draws, ends))
        if method == "basic":
            low, high = 2 * value - high, 2 * value - low
        error = float(draws.std(ddof=1)) if resamples > 1 else math.nan
    inference = replace(options.undefined(reason), low=low, high=high)
    return BootstrapResult(name, value, error, n, method, **inference.shared())


def _draws(
    sample: Floats, name: str, function: RowStatistic, resamples: int, generator: np.random.Generator
) -> Floats:
    n = len(sample)
    if name == "mean":
        return _mean_draws(sample, resamples, generator)
    if name == "median":
        return _median_draws(np.sort(sample), resamples, generator)
    chunk = max(1, CELLS // n)
    parts = []
    for start in range(0, resamples, chunk):
        rows = generator.integers(0, n, size=(min(chunk, resamples - start), n))
        parts.append(np.asarray(function(sample[rows]), dtype=np.float64))
    return np.concatenate(parts)


def _mean_draws(sample: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    n = len(sample)
    levels, frequency = np.unique(sample, return_counts=True)
    if len(levels) * _FEW <= n:  # such as grades: draw how often each occurs
        return bootstrap(
            lambda weights: np.asarray(weights @ levels / n, dtype=np.float64),
            frequency.astype(np.int64),
            resamples=resamples,
            generator=generator,
        )
    from quorum.statistics.kernels.randomisation import drawn_sums

    chunk = max(1, CELLS // n)
    parts = []
    for start in range(0, resamples, chunk):
        size = (min(chunk, resamples - start), n)
        parts.append(drawn_sums(sample, generator.integers(0, n, size=size, dtype=np.uint32)) / n)
    return np.concatenate(parts)


def _median_draws(ordered: Floats, resamples: int, generator: np.random.Generator) -> Floats:
    """Return medians of resamples without drawing them: the k-th smallest of N uniform draws is Beta(k, N + 1 - k)."""
    n = len(ordered)
    middle = (n + 1) // 2
    lower = generator.beta(middle, n + 1 - middle, resamples)
    upper = lower
    if n % 2 == 0:
        upper = lower + (1 - lower) * generator.beta(1, n - middle, resamples)
    places = np.minimum((np.stack([lower, upper]) * n).astype(np.int64), n - 1)
    return np.asarray(ordered[places].mean(axis=0), dtype=np.float64)


def _left_out(sample: Floats, name: str, function: RowStatistic) -> Floats:
    n = len(sample)
    if name == "mean":
        return np.asarray((sample.sum() - sample) / (n - 1), dtype=np.float64)
    if name == "median":
        ordered, half = np.sort(sample), n // 2
        if n % 2 == 0:
            return np.repeat([ordered[half], ordered[half - 1]], half)
        below, middle, above = ordered[half - 1 : half + 2]
        return np.repeat([(middle + above) / 2, (below + above) / 2, (below + middle) / 2], [half, 1, half])
    left_out = np.empty(n)
    chunk = max(1, CELLS // n)
    for start in range(0, n, chunk):
        rows = np.arange(start, min(start + chunk, n))
        others = np.broadcast_to(sample, (len(rows), n))[np.arange(n) != rows[:, np.newaxis]]
        left_out[rows] = function(others.reshape(len(rows), n - 1))
    return left_out


def _corrected_ends(draws: Floats, value: float, left_out: Floats, ends: Floats) -> Floats:
    """Return the quantiles that BCa reads instead of `ends`; nan if undefined."""
    rounding = ROUNDING * max(abs(value), float(np.abs(draws).max()))
    below = ((draws < value - rounding).mean() + (draws <= value + rounding).mean()) / 2
    if not 0 < below < 1:
        return np.full(2, np.nan)
    bias = scipy.special.ndtri(below)
    spread = left_out.mean() - left_out
    # Scaled, so that no power overflows; without variation there is no acceleration.
    largest = float(np.abs(spread).max())
    spread = spread / largest if largest > rounding else np.zeros(1)
    squares = float((spread**2).sum())
    acceleration = float((spread**3).sum()) / (6 * squares**1.5) if squares else 0.0
    shifted = bias + scipy.special.ndtri(ends)
    room = 1 - acceleration * shifted
    # Where the correction has no room left, it has reached the end of the resamples.
    corrected = np.copysign(np.inf, shifted)
    np.divide(shifted, room, out=corrected, where=room > 0)
    return np.asarray(scipy.special.ndtr(bias + corrected), dtype=np.float64)


def row_statistic(statistic: str | RowStatistic) -> tuple[str, RowStatistic]:
    """Return the name and the function, which raises BadShape unless it returns one number a row."""
    if isinstance(statistic, str):
        return statistic, _ROW_STATISTICS[one_of(statistic, tuple(_ROW_STATISTICS), "statistic")]
    if not callable(statistic):
        raise BadOption(f"statistic is {statistic!r}, expected mean, median or a function of rows")
    name = getattr(statistic, "__name__", "a function")
    if name in ("mean", "median"):
        name = f"{name} as given"  # only our mean and median have shorter ways to resample

    def of_rows(rows: Floats) -> Floats:
        values = np.asarray(statistic(rows), dtype=np.float64)
        if values.shape != rows.shape[:1]:
            raise BadShape(
                f"statistic {name} gives the shape {values.shape} for {rows.shape[0]} rows of {rows.shape[1]}, "
                f"expected one number a row (numpy's functions take axis=1)"
            )
        return values

    return name, of_rows


def wilson_interval(successes: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return Wilson's score interval of p = `successes` / n, which may be a mean of counts (Wilson 1927).

    (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), z the quantile of `confidence`.
    """
    check_confidence(confidence)
    if not (is_real(successes) and is_real(n) and 0 <= successes <= n < math.inf):
        raise BadOption(f"{successes!r} successes of {n!r}, expected between 0 and all")
    if n == 0:
        return math.nan, math.nan
    z = float(scipy.special.ndtri(0.5 + confidence / 2))
    share = successes / n
    scale = 1 + z**2 / n
    centre = (share + z**2 / (2 * n)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At the ends the formula gives 0 and 1 but for rounding.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == n else centre + half
    return low, high


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """Scores of captions of some images.

    micro: mean over captions. macro: mean of the images' means, with `low` and `high` over images (nan for one image).
    deviation (with n - 1), median, least, most: over captions.
    """

    micro: float
    macro: float
    low: float
    high: float
    deviation: float
    median: float
    least: float
    most: float


def summary_of_scores(scores: Floats, means: Floats, *, resamples: int, seed: Seed) -> ScoreSummary:
    interval = bootstrap_interval(means, resamples=resamples, seed=seed)
    return ScoreSummary(
        micro=float(scores.mean()),
        macro=float(means.mean()),
        low=interval.low,
        high=interval.high,
        deviation=deviation_of(scores),
        median=float(np.median(scores)),
        least=float(scores.min()),
        most=float(scores.max()),
    )


def deviation_of(values: Floats) -> float:
    """Return the standard deviation of (N,) values, with n - 1; nan for fewer than two."""
    return float(values.std(ddof=1)) if values.size > 1 else math.nan


NO_DISCORDANT = "the two outcomes never differ"

# H13 assigns scores to the two systems anew this many times.
REASSIGNMENTS = 100_000

# Reassignments whose sums are kept at once: they fit into the fastest memory.
_SUMS = 8192
_Draw = Callable[[np.random.Generator, int], Floats]
CORRECTIONS = ("holm", "benjamini-hochberg", "benjamini-yekutieli", "none")

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class McNemarResult(Result):
    """McNemar's test; first_only and second_only are the discordant pairs.

    `statistic` and `p` are chi-square with continuity correction.
    `clustered_p` is of t on the share of the first only, or, without variance, of the signs of the clusters' sums; nan
    without clusters.
    """

    first_only: int
    second_only: int
    exact_p: float
    statistic: float
    p: float
    clustered_p: float = math.nan

    @property
    def best_p(self) -> float:
        return self.exact_p if math.isnan(self.clustered_p) else self.clustered_p


@signed("mcnemar", input="outcomes")
def mcnemar_test(first: ArrayLike, second: ArrayLike, *, clusters: ClusterColumns = NAIVE) -> McNemarResult:
    """Do McNemar's test (see `mcnemar_counts`) on two (N,) vectors of outcomes 0 or 1."""
    first_right, second_right = _outcomes(first, "first"), _outcomes(second, "second")
    same_length(first=first_right, second=second_right)
    columns = columns_of(clusters)
    result = mcnemar_counts(
        int(((first_right == 1) & (second_right == 0)).sum()),
        int(((first_right == 0) & (second_right == 1)).sum()),
    )
    if not columns:
        return result
    differ = first_right != second_right
    grouped = Clusters.of(columns, len(first_right), differ)
    p = _discordant_p(first_right[differ], grouped) if differ.any() else 1.0
    if grouped.alone(int(differ.sum())):
        p = result.exact_p
    return replace(result, clusters=grouped.counts, clustered_p=p, note=grouped.note)


def _discordant_p(first_only: Floats, clusters: Clusters) -> float:
    share = float(first_only.mean())
    spread = clusters.spread((first_only - share) / len(first_only))
    if spread.variance > 0:
        return spread.p(share - 0.5)
    codes = clusters.codes[0] if clusters.codes else np.zeros(len(first_only), dtype=np.int64)
    signs = np.sign(np.bincount(codes, weights=2 * first_only - 1))
    led = int((signs > 0).sum())
    return float(scipy.stats.binomtest(led, int((signs != 0).sum()) or 1, 0.5).pvalue)


@signed("mcnemar", input="counts")
def mcnemar_counts(first_only: int, second_only: int) -> McNemarResult:
    """Do McNemar's test from the counts b and c of discordant pairs.

    Exact: min(b, c) of b + c at 1/2. Chi-square: (|b - c| - 1)^2 / (b + c).
    """
    for name, count in (("first_only", first_only), ("second_only", second_only)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count < 2**53:
            raise BadValue(f"{name} is {count!r}, expected a whole number from zero on, 2^53 at most")
    b, c = int(first_only), int(second_only)
    n = b + c
    if not n:
        return McNemarResult(0, 0, 1.0, math.nan, math.nan, reason=NO_DISCORDANT)
    exact = float(scipy.stats.binomtest(min(b, c), n, 0.5).pvalue)
    # As in the tables' programs: the corrected difference is |b - c| - 1 even where b = c.
    corrected = (abs(b - c) - 1) ** 2 / n
    return McNemarResult(b, c, exact, corrected, float(scipy.special.chdtrc(1, corrected)))


def _outcomes(values: ArrayLike, name: str) -> Floats:
    vector = finite_vector(values, name)
    refuse_values(vector, (vector != 0) & (vector != 1), name, "0 or 1")
    return vector


@dataclass(frozen=True, slots=True)
class RandomizationResult(Result):
    """Fisher's randomisation test: p = (c + 1) / (n + 1), with c of n reassignments as extreme."""

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
    """Test whether a statistic ("mean", "median", or a function of (B, N) to (B,)) of two (N,) scores differs.

    Each reassignment swaps the two scores of every item, or of all rows of a cluster, by the toss of a coin; an equal
    difference counts as extreme. `alternative` "greater": the first is higher.
    """
    positive(reassignments, "reassignments")
    one_of(alternative, ALTERNATIVES, "alternative")
    generator, reported = generator_of(seed)
    first_scores, second_scores = score_vector(first, "first"), score_vector(second, "second")
    n = same_length(first=first_scores, second=second_scores)
    if not n:
        raise BadShape("first is empty, expected one score or more")
    name, function = row_statistic(statistic)
    difference = float(function(first_scores[np.newaxis])[0] - function(second_scores[np.newaxis])[0])
    # A tie must count as extreme: means of three grades differ by rounding where they are equal.
    scale = max(float(np.abs(first_scores).max()), float(np.abs(second_scores).max()), abs(difference))
    grouped = moving_together(columns_of(clusters), n)
    owner = None if grouped is None else grouped.codes[0]
    drawn = _differences(first_scores, second_scores, name, function, reassignments, generator, owner)
    as_extreme = count_extreme(drawn, difference, scale, alternative)
    return RandomizationResult(
        name,
        difference,
        (as_extreme + 1) / (reassignments + 1),
        as_extreme,
        reassignments,
        n,
        alternative,
        seed=reported,
        clusters={} if grouped is None else grouped.counts,
    )


def _differences(
    first: Floats,
    second: Floats,
    name: str,
    function: RowStatistic,
    reassignments: int,
    generator: np.random.Generator,
    owner: Ints | None,
) -> Floats:
    """Return (reassignments,) differences; the rows of one `owner` (N,) change sides together."""
    n = len(first)
    draw: _Draw
    if name == "mean":
        differences = first - second
        if owner is not None:
            differences = np.bincount(owner, weights=differences).astype(np.float64)
        draw, block = _mean_draw(differences, n), _SUMS
    elif name == "median":
        draw, block = _median_draw(first, second, owner), max(1, 8 * CELLS // n)
    else:
        draw, block = _swap_draw(first, second, function, owner), max(1, CELLS // n)
    blocks = [min(block, reassignments - start) for start in range(0, reassignments, block)]
    return np.concatenate([draw(generator, size) for size in blocks])


def _mean_draw(differences: Floats, n: int) -> _Draw:
    # A swap turns the sign of the difference of an item, or of a cluster's sum.
    from quorum.statistics.kernels.randomisation import signed_sums

    turning = differences[differences != 0]
    # The last eight are filled up with zeros, which have no sign.
    turning = np.append(turning, np.zeros(-len(turning) % 8))
    groups = len(turning) // 8

    def draw(generator: np.random.Generator, size: int) -> Floats:
        sums = np.zeros(size)
        step = max(1, CELLS // size)
        for start in range(0, groups, step):
            some = turning[8 * start : 8 * (start + step)]
            sums += signed_sums(some, coin_tosses(generator, len(some) // 8, size))
        return sums / n

    return draw


def _median_draw(first: Floats, second: Floats, owner: Ints | None) -> _Draw:
    from quorum.statistics.kernels.randomisation import median_differences

    n = len(first)
    both = np.concatenate([first, second])
    order = np.argsort(both, kind="stable")
    values, items, sides = both[order], order % n, (order >= n).astype(np.uint8)
    coins = n
    if owner is not None:
        items, coins = owner[items], int(owner.max()) + 1

    def draw(generator: np.random.Generator, size: int) -> Floats:
        return median_differences(values, items, sides, coin_tosses(generator, size, (coins + 7) // 8))

    return draw


def _swap_draw(first: Floats, second: Floats, function: RowStatistic, owner: Ints | None) -> _Draw:
    coins = len(first) if owner is None else int(owner.max()) + 1

    def draw(generator: np.random.Generator, size: int) -> Floats:
        swapped = np.unpackbits(
            coin_tosses(generator, size, (coins + 7) // 8), axis=1, count=coins, bitorder="little"
        ).astype(bool)
        if owner is not None:
            swapped = swapped[:, owner]
        return function(np.where(swapped, second, first)) - function(np.where(swapped, first, second))

    return draw


@dataclass(frozen=True, slots=True)
class AdjustedPValues(Result):
    values: Floats
    method: str
    tests: int
    undefined: int


@signed("adjusted-p")
def adjusted_p_values(p_values: ArrayLike, method: str = "holm") -> AdjustedPValues:
    """Return adjusted p-values of (N,) tests; nan stays nan and does not count in m.

    With p_(1) <= ... <= p_(m): "holm" gives max over j <= i of (m - j + 1) p_(j), "benjamini-hochberg" min over
    j >= i of m p_(j) / j, and "benjamini-yekutieli" the same times 1 + 1/2 + ... + 1/m.
    """
    one_of(method, CORRECTIONS, "method")
    p = float_vector(p_values, "p_values")
    refuse_values(p, (p < 0) | (p > 1), "p_values", "between 0 and 1")
    defined = np.flatnonzero(~np.isnan(p))
    m = len(defined)
    values = p.copy()
    if method == "holm":
        order = defined[np.argsort(p[defined], kind="stable")]
        values[order] = np.minimum(np.maximum.accumulate(np.arange(m, 0, -1) * p[order]), 1)
    elif method == "benjamini-hochberg":
        values[defined] = scipy.stats.false_discovery_control(p[defined])
    elif method == "benjamini-yekutieli" and m:
        values[defined] = scipy.stats.false_discovery_control(p[defined], method="by")
    return AdjustedPValues(values, method, m, len(p) - m)


def holm(p_values: ArrayLike) -> Floats:
    return adjusted_p_values(p_values, "holm").values


def stouffer_wilcoxon(
    differences: Sequence[ArrayLike], alternative: Literal["two-sided", "greater"] = "two-sided"
) -> float:
    """Return Stouffer's p over domains of the p of Wilcoxon's signed-rank test in each.

    As WMT24 joins them (Kocmi et al. 2024): z is that of 1 - p. A domain without a difference has p = 1, and none at
    all is nan.
    """
    p = [
        float(scipy.stats.wilcoxon(domain, alternative=alternative).pvalue) if np.any(domain) else 1.0
        for domain in (float_vector(values, "differences") for values in differences)
        if len(domain)
    ]
    z = np.asarray(scipy.stats.norm.isf(p))
    return float(scipy.stats.norm.sf(z.sum() / math.sqrt(len(p)))) if p else math.nan


def stars(p: float) -> str:
    """Return one star at p <= 0.1, two at 0.05, three at 0.01 (H13 Table 1)."""
    return "*" * sum(p <= bound for bound in (0.1, 0.05, 0.01))


@dataclass(frozen=True, slots=True)
class ClusterResult:
    """(S,) systems from the best down, and which of them differ at `level`.

    A system beats another with a higher value and an adjusted p of at most `level`. clusters: each member beats every
    member of the clusters below. rank_low, rank_high: 1 + the systems that beat it, and S - the systems it beats.
    p, adjusted_p: (S, S), nan on the diagonal and without a test.
    """

    names: tuple[str, ...]
    values: Floats
    clusters: tuple[tuple[str, ...], ...]
    rank_low: Ints
    rank_high: Ints
    p: Floats
    adjusted_p: Floats
    correction: str
    level: float
    signature: str = ""


@dataclass(frozen=True, slots=True)
class BestResult:
    """(S,) systems or metrics from the best down, and which of them the first beats at LEVEL.

    p: (S,) of its comparison with each, by Holm's correction; nan for itself and without a test.
    """

    names: tuple[str, ...]
    values: Floats
    p: Floats

    @property
    def leaders(self) -> list[str]:
        """The first, and those that it does not beat."""
        return [name for name, behind in zip(self.names, self._behind, strict=True) if not behind]

    @property
    def rest(self) -> list[str]:
        return [name for name, behind in zip(self.names, self._behind, strict=True) if behind]

    @property
    def compared(self) -> dict[str, float | None]:
        """The p of the first's comparison with each other one, None without a test."""
        p = zip(self.names[1:], self.p[1:].tolist(), strict=True)
        return {name: None if math.isnan(value) else value for name, value in p}

    @property
    def p_of_rest(self) -> float | None:
        """The largest p of those behind; None if there are none."""
        return float(self.p[self._behind].max()) if self._behind.any() else None

    @property
    def p_of_leaders(self) -> float | None:
        """The p of the leader most like the first; None without a test."""
        p = self.p[~self._behind]
        return None if np.isnan(p).all() else float(np.nanmax(p))

    @property
    def _behind(self) -> Flags:
        return np.asarray((self.p <= LEVEL) & (self.values < self.values[:1]))


def compare_with_best(
    values: ArrayLike, names: Sequence[str], test: Callable[[int, int], float]
) -> BestResult:
    """Compare the highest of (S,) values with each other one, with Holm's correction for S - 1 tests (Holm 1979).

    `test` maps the positions of two values to the two-sided p of their difference, nan where there is none.
    """
    figures = score_vector(values, "values")
    order = np.argsort(-figures, kind="stable").tolist()
    p = [math.nan if other == order[0] else test(order[0], other) for other in order]
    return BestResult(
        tuple(names[position] for position in order),
        figures[order],
        adjusted_p_values(p).values,
    )


@signed("clusters", data=("names",), input="p-values")
def clusters_of_p_values(
    values: ArrayLike,
    p_values: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    correction: str = "holm",
    level: float = LEVEL,
) -> ClusterResult:
    """Return clusters from (S,) values and (S, S) two-sided p of any paired test; nan is a test without p."""
    means = score_vector(values, "values")
    p = floats_of(p_values, "p_values").copy()
    size, level = len(means), check_confidence(level, "level")
    if p.shape != (size, size):
        raise BadShape(f"p_values has shape {p.shape}, expected {size} rows and columns")
    np.fill_diagonal(p, np.nan)
    if not np.array_equal(p, p.T, equal_nan=True):
        raise BadValue("p_values is not symmetric, expected the same p of both orders of a pair")
    one_of(correction, CORRECTIONS, "correction")
    labels = range(1, size + 1) if names is None else one_per_row(names, "names")
    systems = [str(label) for label in labels]
    if len(systems) != size or len(set(systems)) != size:
        raise BadShape(
            f"names holds {len(set(systems))} different names, expected one for each of {size} systems"
        )
    # Adjust each p once, above the diagonal.
    upper = np.triu_indices(size, 1)
    adjusted = np.full((size, size), np.nan)
    adjusted[upper] = adjusted_p_values(p[upper], correction).values
    adjusted[upper[::-1]] = adjusted[upper]
    # Rank the systems, and cut the ranking where all above beat all below.
    order = np.argsort(-means, kind="stable")
    means, p, adjusted = means[order], p[np.ix_(order, order)], adjusted[np.ix_(order, order)]
    ranked = tuple(systems[system] for system in order)
    beats = (adjusted <= level) & (means[:, np.newaxis] > means)
    bounds = [rank for rank in range(1, size) if beats[:rank, rank:].all()]
    clusters = tuple(ranked[start:stop] for start, stop in zip([0, *bounds], [*bounds, size], strict=True))
    return ClusterResult(
        names=ranked,
        values=means,
        clusters=clusters if size else (),
        rank_low=1 + beats.sum(axis=0),
        rank_high=size - beats.sum(axis=1),
        p=p,
        adjusted_p=adjusted,
        correction=correction,
        level=level,
    )
