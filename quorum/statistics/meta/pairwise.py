"""Pairwise accuracy: how well a metric orders texts, or systems, as people do.

Pairwise accuracy of texts, with ties, and calibration of the gap up to which scores tie: Deutsch, Foster, Freitag 2023,
*Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and Tie Calibration*. Choose epsilon on one set of
items and use it on another. Soft pairwise accuracy of systems: Thompson, Mathur, Deutsch, Khayrallah 2024, *Improving
Statistical Significance in Human Evaluation of Automatic Metrics via Soft Pairwise Accuracy*, the system-level figure
of WMT's metrics task since 2024.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints, ratio, starts_of
from quorum.statistics.correlation import read_observations
from quorum.statistics.correlation.coefficients import group_levels, groups_of_rows
from quorum.statistics.crossed import CONFIDENCE, NAIVE, ClusterColumns, share_of_rows
from quorum.statistics.inference import Inference, Options, Result, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadOption,
    BadShape,
    BadValue,
    check_positive_int,
    encode,
    encode_both,
    finite_vector,
    is_real,
    one_of,
    same_length,
    score_table,
)
from quorum.statistics.resampling import RESAMPLES, Seed, coin_tosses, generator_of

CALIBRATED_EPSILON = "calibrate"

# Largest number of pairs whose gaps are sorted to find epsilon. If there are more, this many are sampled.
_MAX_PAIRS = 10_000_000
NO_PAIR = "no group has two observations"
_COIN_CELLS = 2_000_000  # number of coins in memory at once
REASSIGNMENTS = 1000
TOO_FEW_SYSTEMS = "there are fewer than two systems"
NO_ITEM = "no item has a score for every system"
NOT_COMPARED = "no two systems were compared"


@dataclass(frozen=True, slots=True)
class PairwiseAccuracyResult(Inference):
    """Share of pairs that a metric orders as people do, ties included, averaged over groups.

    value: the mean over groups. The interval resamples groups. concordant, discordant: number of pairs that both order,
    in the same way or not. tied_both, tied_metric, tied_people: number of pairs tied by both, by the metric only, by
    people only. pairs: their sum. epsilon: largest difference of scores that is a tie. calibrated: whether epsilon was
    chosen on these data, from `pairs_searched` pairs. n: number of observations with both scores. left_out: number of
    those without. groups: number of all groups, including the `undefined_groups`, which have no pair.
    """

    value: float
    epsilon: float
    calibrated: bool
    concordant: int
    discordant: int
    tied_both: int
    tied_metric: int
    tied_people: int
    pairs: int
    pairs_searched: int
    n: int
    left_out: int
    groups: int
    undefined_groups: int


@signed("pairwise-accuracy", data=("groups",))
def pairwise_accuracy(
    scores: ArrayLike,
    people: ArrayLike,
    groups: Iterable[Any] | None = None,
    *,
    epsilon: float | str = 0.0,
    missing: str = "refuse",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    max_pairs: int = _MAX_PAIRS,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> PairwiseAccuracyResult:
    """Return acc_eq = (C + T_both) / (C + D + T_metric + T_people + T_both) of (N,) scores of a metric and of people.

    Pairs are formed within `groups` (N,), such as items. `epsilon` is the largest difference of scores that is a tie,
    or "calibrate": the smallest value with the highest accuracy among the differences of all pairs, or of `max_pairs`
    random ones. The interval resamples groups; columns of `clusters` must be constant within a group.
    """
    options = Options.from_sampling(confidence=confidence, resamples=resamples, seed=seed, clusters=clusters)
    check_positive_int(max_pairs, "max_pairs")
    is_calibrated = isinstance(epsilon, str) and epsilon == CALIBRATED_EPSILON
    if not is_calibrated and not (is_real(epsilon) and 0 <= epsilon < math.inf):
        raise BadOption(f"epsilon is {epsilon!r}, expected a number from zero on, or {CALIBRATED_EPSILON}")
    (metric, people_scores), complete = read_observations(missing, first=scores, second=people)
    codes = np.zeros(len(complete), dtype=np.int64)
    if groups is not None:
        codes = encode(groups, "groups")[1]
        same_length(scores=metric, groups=codes)
    # Number only the groups of complete observations.
    _, first_rows, codes = np.unique(codes[complete], return_index=True, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    data = _ScoreGroups(metric[complete], people_scores[complete], codes)
    pairs_searched = 0
    tie_gap = 0.0 if is_calibrated else float(epsilon)
    if is_calibrated and data.pairs.sum():
        tie_gap, pairs_searched = _best_epsilon(data, max_pairs, options.generator)
    counts = data.counts(tie_gap)
    right_counts = counts[:, 0] + counts[:, 2]  # concordant, and tied by both
    has_pairs = data.pairs > 0
    accuracies = right_counts[has_pairs] / data.pairs[has_pairs]
    inference = options.undefined_inference("" if len(accuracies) else NO_PAIR)
    if options.columns and len(accuracies):
        columns = {
            name: _clusters_of_groups(values, name, complete, codes, first_rows)[has_pairs]
            for name, values in options.columns.items()
        }
        mean = share_of_rows(accuracies, columns, confidence)
        inference = options.interval_of_clusters(mean.clusters, (mean.low, mean.high))
    elif len(accuracies) > 1 and resamples:
        inference = options.bootstrap(
            lambda weights: np.asarray(weights @ accuracies / len(accuracies), dtype=np.float64),
            np.ones(len(accuracies), dtype=np.int64),
        )
    concordant, discordant, tied_both, tied_metric, tied_people = (int(count) for count in counts.sum(axis=0))
    return PairwiseAccuracyResult(
        value=float(accuracies.mean()) if len(accuracies) else math.nan,
        epsilon=tie_gap,
        calibrated=is_calibrated,
        concordant=concordant,
        discordant=discordant,
        tied_both=tied_both,
        tied_metric=tied_metric,
        tied_people=tied_people,
        pairs=int(data.pairs.sum()),
        pairs_searched=pairs_searched,
        n=int(complete.sum()),
        left_out=int((~complete).sum()),
        groups=len(has_pairs),
        undefined_groups=int((~has_pairs).sum()),
        **inference.fields_by_name(),
    )


def _clusters_of_groups(values: Iterable[Any], name: str, complete: Flags, codes: Ints, firsts: Ints) -> Ints:
    """Return the (G,) clusters of groups, whose first complete rows are `firsts` (G,).

    Raise BadValue if a group has rows of two clusters.
    """
    column = f"clusters[{name!r}]"
    _, clusters = encode(values, column)
    same_length(scores=complete, **{column: clusters})
    clusters = clusters[complete]
    if (clusters != clusters[firsts][codes]).any():
        raise BadValue(f"{column} differs within a group, expected one {name} for each of groups")
    return clusters[firsts]


class _ScoreGroups:
    """Scores of a metric and of people, sorted by group (0 to G - 1) and by the metric's score."""

    def __init__(self, scores: Floats, people: Floats, codes: Ints) -> None:
        order = np.lexsort((scores, codes))
        self.scores, self.people = scores[order], people[order]
        self.starts = starts_of(np.bincount(codes))
        self.sizes = np.diff(self.starts)
        self.pairs = self.sizes * (self.sizes - 1) // 2
        # Differences of scores that differ by less are equal up to rounding.
        self.tolerance = ROUNDING * float(np.abs(scores).max(initial=0.0))

    def counts(self, epsilon: float) -> Floats:
        """Return (G, 5) numbers of pairs: concordant, discordant, tied by both, by the metric only, by people only."""
        from quorum.statistics.kernels.concordance import gap_sums

        if not len(self.scores):
            return np.zeros((len(self.sizes), 5))
        groups = groups_of_rows(self.starts)
        codes, bounds = group_levels(self.people, groups)
        sums = gap_sums(
            self.scores, codes - bounds[groups], self.starts, np.diff(bounds), epsilon + self.tolerance
        )
        concordant, discordant, people_only = sums.T
        sizes = np.bincount(codes)
        # Number of pairs of each group that people tie.
        tied_pairs = np.add.reduceat(sizes * (sizes - 1) // 2, bounds[:-1])
        tied_both = tied_pairs - people_only
        metric_only = self.pairs - concordant - discordant - tied_pairs
        return np.stack([concordant, discordant, tied_both, metric_only, people_only], axis=1)


def _best_epsilon(data: _ScoreGroups, max_pairs: int, generator: np.random.Generator) -> tuple[float, int]:
    """Return the smallest epsilon with the highest accuracy, and the number of pairs that were searched.

    If epsilon reaches a pair's gap, the pair becomes right if people tie it, and wrong if it was concordant.
    """
    lower, upper, weights = _pairs(data, max_pairs, generator)
    gaps = data.scores[upper] - data.scores[lower]
    people_gaps = data.people[upper] - data.people[lower]
    changes = np.where(people_gaps == 0, weights, np.where(people_gaps > 0, -weights, 0.0))
    changes[(people_gaps != 0) & (gaps <= data.tolerance)] = 0.0  # tied for every epsilon, and wrong
    order_of_gaps = np.argsort(gaps)
    gaps = gaps[order_of_gaps]
    gains = np.cumsum(changes[order_of_gaps])
    # Pairs with equal gaps change together.
    is_last = np.append(np.diff(gaps) > data.tolerance, True)
    # Epsilon 0 is a choice of its own only if no gap is 0.
    gaps, gains = np.append(0.0, gaps[is_last]), np.append(-np.inf, gains[is_last])
    if gaps[1] > data.tolerance:
        gains[0] = 0.0
    gain_tolerance = ROUNDING * float(weights.sum())
    best = int(np.flatnonzero(gains >= gains.max() - gain_tolerance)[0])
    return (float(gaps[best]) if gaps[best] > data.tolerance else 0.0), len(lower)


def _pairs(data: _ScoreGroups, max_pairs: int, generator: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """Return the positions of pairs' lower and higher scores, and the pairs' weights in the average over groups."""
    total = int(data.pairs.sum())
    pair_weights = ratio(1.0, data.pairs, otherwise=0.0)
    if total > max_pairs:
        pair_bounds = np.cumsum(data.pairs)
        group = np.searchsorted(pair_bounds, generator.integers(0, total, size=max_pairs), side="right")
        member = generator.integers(0, data.sizes[group])
        other_member = generator.integers(0, data.sizes[group] - 1)
        other_member += other_member >= member
        first = data.starts[group]
        lower, upper = first + np.minimum(member, other_member), first + np.maximum(member, other_member)
        return lower, upper, pair_weights[group]
    lower_positions, upper_positions, weights = [], [], []
    for size in np.unique(data.sizes[data.pairs > 0]):
        groups = np.flatnonzero(data.sizes == size)
        member, other_member = np.triu_indices(size, 1)
        first = data.starts[groups][:, np.newaxis]
        lower_positions.append((first + member).ravel())
        upper_positions.append((first + other_member).ravel())
        weights.append(np.repeat(pair_weights[groups], len(member)))
    return np.concatenate(lower_positions), np.concatenate(upper_positions), np.concatenate(weights)


@dataclass(frozen=True, slots=True)
class SoftAccuracyResult(Result):
    """Soft pairwise accuracy of a metric on systems.

    value: soft pairwise accuracy. pairwise: share of pairs of systems whose means have the same order for metric and
    people. p_scores, p_people: (S, S) one-sided p that the row's system is better than the column's, by the metric and
    by people; nan on the diagonal. n: number of items with all scores. left_out: number of the other items.
    reassignments: number of random assignments behind each p.
    """

    value: float
    pairwise: float
    p_scores: Floats
    p_people: Floats
    systems: int
    pairs: int
    n: int
    left_out: int
    reassignments: int


@signed("soft-pairwise-accuracy")
def soft_pairwise_accuracy(
    scores: ArrayLike,
    people: ArrayLike,
    *,
    missing: str = "refuse",
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
) -> SoftAccuracyResult:
    """Return SPA = mean over i < j of 1 - |p_ij(people) - p_ij(scores)| of (S, N) scores of systems on items.

    p_ij = (c + 1) / (n + 1), where system i is ahead of j by at least the observed difference in c of n
    reassignments. A reassignment swaps the scores of two systems on each item by a coin. The coins are the same for
    the metric, people, and all pairs. With `missing` "leave-out", items with a nan score are dropped.
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    check_positive_int(reassignments, "reassignments")
    generator, reported_seed = generator_of(seed)
    metric = _read_table(scores, "scores", missing)
    people_scores = _read_table(people, "people", missing)
    if metric.shape != people_scores.shape:
        raise BadShape(f"scores has shape {metric.shape} and people {people_scores.shape}, expected the same")
    complete: Flags = ~np.isnan(np.concatenate([metric, people_scores])).any(axis=0)
    metric, people_scores = metric[:, complete], people_scores[:, complete]
    systems, n = metric.shape
    upper = np.triu_indices(systems, 1)
    value = pairwise = math.nan
    p_scores, p_people = np.full((2, systems, systems), np.nan)
    reason = TOO_FEW_SYSTEMS if systems < 2 else "" if n else NO_ITEM
    if not reason:
        all_scores = np.concatenate([metric, people_scores])
        p_scores, p_people = _one_sided_ps(all_scores, systems, reassignments, generator)
        value = float(1 - np.abs(p_people - p_scores)[upper].mean())
        orders = [np.sign(_score_gaps(table))[upper] for table in (metric, people_scores)]
        pairwise = float((orders[0] == orders[1]).mean())
    return SoftAccuracyResult(
        value=value,
        pairwise=pairwise,
        p_scores=p_scores,
        p_people=p_people,
        systems=systems,
        pairs=len(upper[0]),
        n=n,
        left_out=int((~complete).sum()),
        reassignments=reassignments,
        seed=reported_seed,
        reason=reason,
    )


def _read_table(scores: ArrayLike, name: str, missing: str) -> Floats:
    """Return (S, N) scores. Raise BadShape if one is nan and `missing` is "refuse"."""
    table = score_table(scores, name)
    if missing == "refuse" and np.isnan(table).any():
        system, item = np.argwhere(np.isnan(table))[0].tolist()
        raise BadShape(f"{name}[{system}] has no score at position {item}, expected one of every system")
    return table


def _score_gaps(table: Floats) -> Floats:
    """Return the (S, S) sums of scores of the row's system minus those of the column's; rounding errors become 0."""
    sums = table.sum(axis=1)
    gaps = sums[:, np.newaxis] - sums
    gaps[np.abs(gaps) <= _rounding_tolerance(table)] = 0.0
    return np.asarray(gaps, dtype=np.float64)


def _rounding_tolerance(table: Floats) -> float:
    return ROUNDING * float(np.abs(table).max(initial=0.0)) * table.shape[1]


def _one_sided_ps(
    all_scores: Floats, systems: int, reassignments: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the (S, S) one-sided p of the metric and of people, whose scores follow each other in `all_scores`."""
    # Count the reassignments in which a system is ahead of another by at least the observed difference.
    n = all_scores.shape[1]
    extreme_counts = np.zeros((2, systems, systems), dtype=np.int64)
    tables = all_scores[:systems], all_scores[systems:]
    observed = np.stack([_score_gaps(table) for table in tables])
    tolerances = np.array([_rounding_tolerance(table) for table in tables])[:, np.newaxis, np.newaxis]
    batch_size = max(1, _COIN_CELLS // n)
    for start in range(0, reassignments, batch_size):
        size = min(batch_size, reassignments - start)
        coins = np.unpackbits(coin_tosses(generator, size, (n + 7) // 8), axis=1, count=n)
        # A swap on an item changes the sign of its difference, so signed sums of scores give the differences of all
        # pairs.
        sums = (1.0 - 2.0 * coins) @ all_scores.T
        for row in sums.reshape(size, 2, systems):
            extreme_counts += row[:, :, np.newaxis] - row[:, np.newaxis, :] >= observed - tolerances
    p = (extreme_counts + 1) / (reassignments + 1)
    p[:, np.arange(systems), np.arange(systems)] = np.nan
    return p[0], p[1]


@dataclass(frozen=True, slots=True)
class SoftComparisonsResult(Result):
    """Soft pairwise accuracy of a metric on systems, from comparisons.

    value: soft pairwise accuracy. pairwise: share of pairs of systems of which metric and people find the same system
    better. pairs, comparisons: how many there are. p_scores, p_people: (pairs,) one-sided p that the system whose name
    comes first is better, by the metric and by people. reassignments: number of random assignments behind each p.
    """

    value: float
    pairwise: float
    pairs: int
    comparisons: int
    p_scores: Floats
    p_people: Floats
    reassignments: int


@signed("soft-accuracy-of-comparisons")
def soft_accuracy_of_comparisons(
    first: Iterable[Any],
    second: Iterable[Any],
    metric: ArrayLike,
    people: ArrayLike,
    *,
    reassignments: int = REASSIGNMENTS,
    seed: Seed = 0,
) -> SoftComparisonsResult:
    """Return soft pairwise accuracy from (N,) comparisons of two systems on an item.

    `metric` and `people` (N,) are the first system's score minus the second's. p is the share of random assignments of
    signs that have a larger mean, where an equal mean counts half, so that the p of both directions add up to 1. The
    assignments are the same for `metric` and `people`.
    """
    check_positive_int(reassignments, "reassignments")
    generator, reported_seed = generator_of(seed)
    names, first_system, second_system = encode_both(first, second, "first", "second")
    metric_differences, people_differences = finite_vector(metric, "metric"), finite_vector(people, "people")
    same_length(first=first_system, metric=metric_differences, people=people_differences)
    # Exchange systems and sign where needed, so that the system whose name comes first is first.
    is_between_systems = first_system != second_system
    sign = np.where(first_system < second_system, 1.0, -1.0)[is_between_systems]
    differences = np.stack([metric_differences, people_differences], axis=1)[is_between_systems]
    differences *= sign[:, np.newaxis]
    codes = np.minimum(first_system, second_system) * len(names) + np.maximum(first_system, second_system)
    pairs, pair = np.unique(codes[is_between_systems], return_inverse=True)
    p = np.empty((len(pairs), 2))
    is_same_order = np.empty(len(pairs))
    for number in range(len(pairs)):
        pair_differences = differences[pair == number]
        total = pair_differences.sum(axis=0)
        p[number] = _p_values(pair_differences, total, reassignments, generator)
        is_same_order[number] = np.sign(total[0]) == np.sign(total[1])
    return SoftComparisonsResult(
        value=float(1 - np.abs(p[:, 0] - p[:, 1]).mean()) if len(pairs) else math.nan,
        pairwise=float(is_same_order.mean()) if len(pairs) else math.nan,
        pairs=len(pairs),
        comparisons=int(is_between_systems.sum()),
        p_scores=p[:, 0],
        p_people=p[:, 1],
        reassignments=reassignments,
        seed=reported_seed,
        reason="" if len(pairs) else NOT_COMPARED,
    )


def _p_values(
    differences: Floats, total: Floats, reassignments: int, generator: np.random.Generator
) -> Floats:
    """Return the p of both columns of (C, 2) differences, whose sums are `total` (2,)."""
    tolerance = ROUNDING * np.abs(differences).sum(axis=0)
    reached_counts = np.zeros(2)
    batch_size = max(1, _COIN_CELLS // len(differences))
    for start in range(0, reassignments, batch_size):
        size = min(batch_size, reassignments - start)
        signs = 2.0 * generator.integers(0, 2, size=(size, len(differences))) - 1
        drawn_sums = signs @ differences
        equal_counts = (np.abs(drawn_sums - total) <= tolerance).sum(axis=0)
        reached_counts += (drawn_sums > total + tolerance).sum(axis=0) + 0.5 * equal_counts
    return reached_counts / reassignments
