"""Tests of systems' results on the same items.

McNemar 1947 (H13 section 4.2.1) for binary outcomes, Fisher's randomisation test (Fisher 1935; H13 section 4.2.2)
for scores. Several p-values are adjusted by Holm 1979 or Benjamini, Hochberg 1995. Systems form clusters with
ranges of ranks, as in WMT (Koehn 2012; Bojar et al. 2013).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy  # its parts load when they are first used; scipy.stats alone takes half a second
from numpy.typing import ArrayLike

from evaluation.numeric.arrays import Floats, Ints
from evaluation.statistics.clustering import (
    NAIVE,
    ClusterColumns,
    Clusters,
    Spread,
    columns_of,
    moving_together,
)
from evaluation.statistics.inputs import (
    ROUNDING,
    BadShape,
    BadValue,
    finite_vector,
    float_vector,
    floats_of,
    one_of,
    one_per_row,
    positive,
    refuse_values,
    same_length,
    score_table,
    score_vector,
)
from evaluation.statistics.resampling import (
    ALTERNATIVES,
    CELLS,
    Seed,
    check_confidence,
    coin_tosses,
    count_extreme,
    generator_of,
)
from evaluation.statistics.results import Result, signed
from evaluation.statistics.significance.intervals import RowStatistic, row_statistic

NO_DISCORDANT = "the two outcomes never differ"

# H13 assigns scores to the two systems anew this many times.
REASSIGNMENTS = 100_000
# Reassignments whose sums are kept at once: they fit into the fastest memory.
_SUMS = 8192
_Draw = Callable[[np.random.Generator, int], Floats]

CORRECTIONS = ("holm", "benjamini-hochberg", "benjamini-yekutieli", "none")
# One test a pair of systems: fewer reassignments than for a single test.
_REASSIGNMENTS = 10_000
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class McNemarResult(Result):
    """McNemar's test; first_only and second_only are the discordant pairs.

    `statistic` and `p` are chi-square with continuity correction, `plain_statistic` and `plain_p` without.
    `clustered_p` is of t on the share of the first only, or, without variance, of the signs of the clusters' sums; nan
    without clusters.
    """

    first_only: int
    second_only: int
    exact_p: float
    statistic: float
    p: float
    plain_statistic: float
    plain_p: float
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

    Exact: min(b, c) of b + c at 1/2. Chi-square: (|b - c| - 1)^2 / (b + c), plain (b - c)^2 / (b + c).
    """
    for name, count in (("first_only", first_only), ("second_only", second_only)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 0 <= count < 2**53:
            raise BadValue(f"{name} is {count!r}, expected a whole number from zero on, 2^53 at most")
    b, c = int(first_only), int(second_only)
    n = b + c
    if not n:
        return McNemarResult(0, 0, 1.0, math.nan, math.nan, math.nan, math.nan, reason=NO_DISCORDANT)
    exact = float(scipy.stats.binomtest(min(b, c), n, 0.5).pvalue)
    # As in the tables' programs: the corrected difference is |b - c| - 1 even where b = c.
    corrected = (abs(b - c) - 1) ** 2 / n
    plain = (b - c) ** 2 / n
    tails = [float(scipy.special.chdtrc(1, value)) for value in (corrected, plain)]  # of chi-square
    return McNemarResult(b, c, exact, corrected, tails[0], plain, tails[1])


def _outcomes(values: ArrayLike, name: str) -> Floats:
    vector = finite_vector(values, name)
    refuse_values(vector, (vector != 0) & (vector != 1), name, "0 or 1")
    return vector


@dataclass(frozen=True, slots=True)
class RandomizationResult(Result):
    """Fisher's randomisation test: p = (c + 1) / (n + 1), with c of n reassignments as extreme.

    `as_extreme` is None with two kinds of clusters, where p is that of t, and at least 1 / (n + 1).
    """

    statistic: str
    difference: float
    p: float
    as_extreme: int | None
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
    difference counts as extreme. `alternative` "greater": the first is higher. With two kinds of clusters p is that
    of t, with the joint variance of reassignments by item, by rater and by cell.
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
    owners = grouped.codes if grouped is not None else (None,)
    # With two kinds of clusters the differences are freed of what is tested, as they only serve a variance.
    other = second_scores if len(owners) == 1 else second_scores + difference
    draws = [
        _differences(first_scores, other, name, function, reassignments, generator, owner) for owner in owners
    ]
    as_extreme = None
    if grouped is not None and len(draws) > 1:
        spread = grouped.spread_of([float(np.square(drawn).mean()) for drawn in draws])
        if name != "mean":
            # Satterthwaite's degrees of freedom are those of sums; others have those of the rarer clusters at most.
            spread = replace(spread, df=min(spread.df, min(grouped.counts.values()) - 1))
        p = max(_p_of_spread(spread, difference, scale, alternative), 1 / (reassignments + 1))
    else:
        as_extreme = count_extreme(draws[0], difference, scale, alternative)
        p = (as_extreme + 1) / (reassignments + 1)
    note, counts = (grouped.note, grouped.counts) if grouped is not None else ("", {})
    return RandomizationResult(
        name,
        difference,
        p,
        as_extreme,
        reassignments,
        n,
        alternative,
        seed=reported,
        note=note,
        clusters=counts,
    )


def _p_of_spread(spread: Spread, difference: float, scale: float, alternative: str) -> float:
    if abs(difference) <= ROUNDING * scale:
        return 1.0
    if spread.variance > 0:
        return spread.p(difference, alternative)
    # The scores differ by the same on every row.
    return 1.0 if alternative == ("less" if difference > 0 else "greater") else 0.0


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
    from evaluation.statistics.significance.kernels import signed_sums

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
    from evaluation.statistics.significance.kernels import median_differences

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


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    return adjusted_p_values(p_values, "benjamini-hochberg").values


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
    p, adjusted_p: (S, S), nan on the diagonal and without a test. `n` and `reassignments` are 0 if p-values were given.
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
    n: int = 0
    left_out: int = 0
    reassignments: int = 0
    seed: int | None = None
    signature: str = ""


@signed("clusters", data=("names",), input="scores")
def system_clusters(
    scores: ArrayLike,
    names: Sequence[Any] | None = None,
    *,
    correction: str = "holm",
    level: float = LEVEL,
    missing: str = "refuse",
    reassignments: int = _REASSIGNMENTS,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> ClusterResult:
    """Return clusters of systems from their (S, N) scores of the same items; higher is better.

    Every two means are compared by `randomization_test`; p-values are adjusted by `correction`, one of CORRECTIONS.
    "leave-out" drops an item for all systems. The default `names` are 1 to S. Clusters have one entry an item.
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    table = score_table(scores, "scores")
    scored = ~np.isnan(table)
    if missing == "refuse" and not scored.all():
        system, item = np.argwhere(~scored)[0]
        raise BadValue(f"scores[{system}, {item}] is nan, expected a score (or leave such items out)")
    complete = scored.all(axis=0)
    compared = table[:, complete]
    together = {
        name: np.asarray(one_per_row(column, name), dtype=object)[complete]
        for name, column in columns_of(clusters).items()
    }
    size, n = compared.shape
    if not n:
        raise BadShape("no item has a score of every system, expected one or more")
    p = np.full((size, size), np.nan)
    for first in range(size):
        for second in range(first):
            test = randomization_test(
                compared[first],
                compared[second],
                reassignments=reassignments,
                seed=generator,
                clusters=together or NAIVE,
            )
            p[first, second] = p[second, first] = test.p
    result = _clustered(compared.mean(axis=1), p, names, correction, level)
    left_out = table.shape[1] - n
    return replace(result, n=n, left_out=left_out, reassignments=reassignments, seed=reported)


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
    if p.shape != (len(means), len(means)):
        raise BadShape(f"p_values has shape {p.shape}, expected {len(means)} rows and columns")
    np.fill_diagonal(p, np.nan)
    if not np.array_equal(p, p.T, equal_nan=True):
        raise BadValue("p_values is not symmetric, expected the same p of both orders of a pair")
    return _clustered(means, p, names, correction, level)


def _clustered(
    values: Floats, p: Floats, names: Sequence[Any] | None, correction: str, level: float
) -> ClusterResult:
    one_of(correction, CORRECTIONS, "correction")
    size, level = len(values), check_confidence(level, "level")
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
    order = np.argsort(-values, kind="stable")
    values, p, adjusted = values[order], p[np.ix_(order, order)], adjusted[np.ix_(order, order)]
    ranked = tuple(systems[system] for system in order)
    beats = (adjusted <= level) & (values[:, np.newaxis] > values)
    bounds = [rank for rank in range(1, size) if beats[:rank, rank:].all()]
    clusters = tuple(ranked[start:stop] for start, stop in zip([0, *bounds], [*bounds, size], strict=True))
    return ClusterResult(
        names=ranked,
        values=values,
        clusters=clusters if size else (),
        rank_low=1 + beats.sum(axis=0),
        rank_high=size - beats.sum(axis=1),
        p=p,
        adjusted_p=adjusted,
        correction=correction,
        level=level,
    )
