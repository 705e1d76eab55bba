"""Soft pairwise accuracy: how well a metric orders systems as people do, given how certain both orders are.

The soft pairwise accuracy of two systems is 1 - |p - q|, where p and q are the one-sided p values that the first system
is better, by people and by the metric. Source: Thompson, Mathur, Deutsch, Khayrallah 2024, *Improving Statistical
Significance in Human Evaluation of Automatic Metrics via Soft Pairwise Accuracy*. It is the system-level figure of
WMT's metrics task since 2024.

The two functions test differently. `soft_pairwise_accuracy` counts the observed difference itself, so that no p is 0.
`soft_accuracy_of_comparisons` counts equal sums half, so that the p of both directions add up to 1. Its result then
does not depend on which of two systems comes first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    ROUNDING,
    BadShape,
    check_positive_int,
    encode_both,
    finite_vector,
    one_of,
    same_length,
    score_table,
)
from quorum.statistics.resampling import Seed, coin_tosses, generator_of

REASSIGNMENTS = 1000
TOO_FEW_SYSTEMS = "there are fewer than two systems"
NO_ITEM = "no item has a score for every system"
NOT_COMPARED = "no two systems were compared"
_COIN_CELLS = 2_000_000  # number of coins in memory at once


@dataclass(frozen=True, slots=True)
class SoftAccuracyResult(Result):
    """Soft pairwise accuracy of a metric on S systems, from scores of each system on each item.

    value: soft pairwise accuracy. pairwise: share of pairs of systems that metric and people order in the same way by
    mean scores. p_scores, p_people: (S, S) one-sided p that the row's system is better than the column's, by the metric
    and by people; nan on the diagonal. systems, pairs: numbers of systems and of pairs of systems. n: number of items
    with all scores. left_out: number of the other items. reassignments: number of reassignments for each p.
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

    p_ij is from a permutation test: (c + 1) / (R + 1), where system i is ahead of system j by at least the observed
    difference in c of R `reassignments`. A reassignment tosses a coin for each item, which says whether the two systems
    exchange their scores. The coins are the same for the metric, for people, and for all pairs of systems.

    Args:
        scores, people: (S, N) scores by the metric, and by people.
        missing: "refuse" nan, or "leave-out" items with a nan score.
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    check_positive_int(reassignments, "reassignments")
    generator, reported_seed = generator_of(seed)
    metric = _read_table(scores, "scores", missing)
    people_scores = _read_table(people, "people", missing)
    if metric.shape != people_scores.shape:
        raise BadShape(f"scores has shape {metric.shape} and people {people_scores.shape}, expected the same")
    is_complete: Flags = ~np.isnan(np.concatenate([metric, people_scores])).any(axis=0)
    metric, people_scores = metric[:, is_complete], people_scores[:, is_complete]
    systems, n = metric.shape
    upper_indices = np.triu_indices(systems, 1)
    value = pairwise = math.nan
    p_scores, p_people = np.full((2, systems, systems), np.nan)
    reason = TOO_FEW_SYSTEMS if systems < 2 else "" if n else NO_ITEM
    if not reason:
        all_scores = np.concatenate([metric, people_scores])
        p_scores, p_people = _ps_with_observed(all_scores, systems, reassignments, generator)
        value = float(1 - np.abs(p_people - p_scores)[upper_indices].mean())
        metric_order, people_order = np.sign(_score_gaps(metric)), np.sign(_score_gaps(people_scores))
        pairwise = float((metric_order[upper_indices] == people_order[upper_indices]).mean())
    return SoftAccuracyResult(
        value=value,
        pairwise=pairwise,
        p_scores=p_scores,
        p_people=p_people,
        systems=systems,
        pairs=len(upper_indices[0]),
        n=n,
        left_out=int((~is_complete).sum()),
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
    """Return the (S, S) sums of scores of the row's system minus those of the column's, from (S, N) scores.

    Differences that are rounding errors become 0.
    """
    sums = table.sum(axis=1)
    gaps = sums[:, np.newaxis] - sums
    gaps[np.abs(gaps) <= _rounding_tolerance(table)] = 0.0
    return np.asarray(gaps, dtype=np.float64)


def _rounding_tolerance(table: Floats) -> float:
    """Return the largest rounding error of a sum of N of the (S, N) scores."""
    return ROUNDING * float(np.abs(table).max(initial=0.0)) * table.shape[1]


def _ps_with_observed(
    all_scores: Floats, systems: int, reassignments: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the (S, S) one-sided p of the metric, and of people. They count the observed difference itself.

    `all_scores` (2 S, N) are the metric's scores, followed by people's.
    """
    # Count the reassignments in which a system is ahead of another by at least the observed difference.
    n = all_scores.shape[1]
    extreme_counts = np.zeros((2, systems, systems), dtype=np.int64)
    tables = all_scores[:systems], all_scores[systems:]
    observed_gaps = np.stack([_score_gaps(table) for table in tables])
    tolerances = np.array([_rounding_tolerance(table) for table in tables])[:, np.newaxis, np.newaxis]
    batch_size = max(1, _COIN_CELLS // n)
    for start in range(0, reassignments, batch_size):
        size = min(batch_size, reassignments - start)
        coins = np.unpackbits(coin_tosses(generator, size, (n + 7) // 8), axis=1, count=n)
        # Exchanging the scores of two systems on an item changes the sign of their difference. So each item gets a
        # random sign, and the signed sums of each system are subtracted from each other.
        sums = (1.0 - 2.0 * coins) @ all_scores.T
        for row in sums.reshape(size, 2, systems):
            extreme_counts += row[:, :, np.newaxis] - row[:, np.newaxis, :] >= observed_gaps - tolerances
    p = (extreme_counts + 1) / (reassignments + 1)
    p[:, np.arange(systems), np.arange(systems)] = np.nan
    return p[0], p[1]


@dataclass(frozen=True, slots=True)
class SoftComparisonsResult(Result):
    """Soft pairwise accuracy of a metric on systems, from comparisons of two systems on an item.

    value: soft pairwise accuracy. pairwise: share of pairs of systems of which metric and people find the same system
    better, or neither. pairs: number of compared pairs of systems. comparisons: number of comparisons of two systems.
    p_scores, p_people: (pairs,) one-sided p that the system whose name comes first is better, by the metric and by
    people. reassignments: number of reassignments for each p.
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
    """Return the soft pairwise accuracy from N comparisons of two systems on an item.

    p is from a permutation test: the share of random assignments of signs to the differences that have a larger mean
    than the observed one, where an equal mean counts half, so that the p of both directions add up to 1. The signs are
    the same for `metric` and `people`.

    Args:
        first, second: (N,) names of the systems. Comparisons of a system with itself are ignored.
        metric, people: (N,) the first system's score minus the second's, by the metric and by people.
    """
    check_positive_int(reassignments, "reassignments")
    generator, reported_seed = generator_of(seed)
    names, first_system, second_system = encode_both(first, second, "first", "second")
    metric_differences, people_differences = finite_vector(metric, "metric"), finite_vector(people, "people")
    same_length(first=first_system, metric=metric_differences, people=people_differences)
    # Exchange the systems, and change the sign, where needed so that the system whose name comes first is the first.
    is_between_systems = first_system != second_system
    sign = np.where(first_system < second_system, 1.0, -1.0)[is_between_systems]
    differences = np.stack([metric_differences, people_differences], axis=1)[is_between_systems]
    differences *= sign[:, np.newaxis]
    lower, higher = np.minimum(first_system, second_system), np.maximum(first_system, second_system)
    pair_codes = lower * len(names) + higher
    pairs, pair_of_row = np.unique(pair_codes[is_between_systems], return_inverse=True)
    p = np.empty((len(pairs), 2))
    is_same_order = np.empty(len(pairs))
    for pair in range(len(pairs)):
        pair_differences = differences[pair_of_row == pair]
        metric_sum, people_sum = sums = pair_differences.sum(axis=0)
        p[pair] = _ps_with_half_ties(pair_differences, sums, reassignments, generator)
        is_same_order[pair] = np.sign(metric_sum) == np.sign(people_sum)
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


def _ps_with_half_ties(
    differences: Floats, sums: Floats, reassignments: int, generator: np.random.Generator
) -> Floats:
    """Return the (2,) one-sided p of both columns of (C, 2) differences, whose observed sums are `sums` (2,).

    Sums equal to the observed one count half.
    """
    tolerance = ROUNDING * np.abs(differences).sum(axis=0)
    larger_counts = np.zeros(2)
    batch_size = max(1, _COIN_CELLS // len(differences))
    for start in range(0, reassignments, batch_size):
        size = min(batch_size, reassignments - start)
        signs = 2.0 * generator.integers(0, 2, size=(size, len(differences))) - 1
        drawn_sums = signs @ differences
        equal_counts = (np.abs(drawn_sums - sums) <= tolerance).sum(axis=0)
        larger_counts += (drawn_sums > sums + tolerance).sum(axis=0) + 0.5 * equal_counts
    return larger_counts / reassignments
