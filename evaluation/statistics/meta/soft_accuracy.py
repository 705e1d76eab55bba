"""Soft pairwise accuracy of a metric: does it order systems as surely as people do?

Thompson, Mathur, Deutsch, Khayrallah 2024, *Improving Statistical Significance in Human Evaluation of Automatic Metrics
via Soft Pairwise Accuracy*; the system-level figure of WMT's metrics task since 2024.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Flags, Floats
from evaluation.statistics.inputs import (
    ROUNDING,
    BadShape,
    encode_both,
    finite_vector,
    one_of,
    positive,
    same_length,
    score_table,
)
from evaluation.statistics.resampling import Seed, coin_tosses, generator_of
from evaluation.statistics.results import Result, signed

REASSIGNMENTS = 1000
CELLS = 2_000_000  # coins tossed at once

TOO_FEW_SYSTEMS = "there are fewer than two systems"
NO_ITEM = "no item has a score of every system"
NOT_COMPARED = "no two systems were compared"


@dataclass(frozen=True, slots=True)
class SoftAccuracyResult(Result):
    """Soft pairwise accuracy `value`, and `pairwise`, the share of pairs of systems in the same order by their means.

    p_scores, p_people: (S, S), one-sided p that the row's system is better than the column's; nan on the diagonal. `n`
    items have all scores.
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

    p_ij = (c + 1) / (n + 1), for c of n reassignments that put system i ahead of j by as much as it is. Each swaps
    the scores of two systems on every item by the toss of a coin, the same for the metric, people, and all pairs.
    "leave-out" drops an item where a score is nan.
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    given, human = _table(scores, "scores", missing), _table(people, "people", missing)
    if given.shape != human.shape:
        raise BadShape(f"scores has shape {given.shape} and people {human.shape}, expected the same")
    kept: Flags = ~np.isnan(np.concatenate([given, human])).any(axis=0)
    given, human = given[:, kept], human[:, kept]
    systems, n = given.shape
    upper = np.triu_indices(systems, 1)
    value = pairwise = math.nan
    p_scores, p_people = np.full((2, systems, systems), np.nan)
    reason = TOO_FEW_SYSTEMS if systems < 2 else "" if n else NO_ITEM
    if not reason:
        both = np.concatenate([given, human])
        p_scores, p_people = _one_sided(both, systems, reassignments, generator)
        value = float(1 - np.abs(p_people - p_scores)[upper].mean())
        orders = [np.sign(_gaps(table))[upper] for table in (given, human)]
        pairwise = float((orders[0] == orders[1]).mean())
    return SoftAccuracyResult(
        value=value,
        pairwise=pairwise,
        p_scores=p_scores,
        p_people=p_people,
        systems=systems,
        pairs=len(upper[0]),
        n=n,
        left_out=int((~kept).sum()),
        reassignments=reassignments,
        seed=reported,
        reason=reason,
    )


def _table(scores: ArrayLike, name: str, missing: str) -> Floats:
    table = score_table(scores, name)
    if missing == "refuse" and np.isnan(table).any():
        system, item = np.argwhere(np.isnan(table))[0].tolist()
        raise BadShape(f"{name}[{system}] has no score at position {item}, expected one of every system")
    return table


def _gaps(table: Floats) -> Floats:
    sums = table.sum(axis=1)
    gaps = sums[:, np.newaxis] - sums
    gaps[np.abs(gaps) <= _slack(table)] = 0.0
    return np.asarray(gaps, dtype=np.float64)


def _slack(table: Floats) -> float:
    return ROUNDING * float(np.abs(table).max(initial=0.0)) * table.shape[1]


def _one_sided(
    both: Floats, systems: int, reassignments: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    n = both.shape[1]
    extreme = np.zeros((2, systems, systems), dtype=np.int64)
    observed = np.stack([_gaps(both[:systems]), _gaps(both[systems:])])
    slack = np.array([_slack(both[:systems]), _slack(both[systems:])])[:, np.newaxis, np.newaxis]
    step = max(1, CELLS // n)
    for start in range(0, reassignments, step):
        size = min(step, reassignments - start)
        coins = np.unpackbits(coin_tosses(generator, size, (n + 7) // 8), axis=1, count=n)
        # A swap on an item turns the sign of a difference there: signed sums of the scores give those of all pairs.
        sums = (1.0 - 2.0 * coins) @ both.T
        for row in sums.reshape(size, 2, systems):
            extreme += row[:, :, np.newaxis] - row[:, np.newaxis, :] >= observed - slack
    p = (extreme + 1) / (reassignments + 1)
    p[:, np.arange(systems), np.arange(systems)] = np.nan
    return p[0], p[1]


@dataclass(frozen=True, slots=True)
class SoftComparisonsResult(Result):
    """value: soft pairwise accuracy. pairwise: share of pairs of systems whose better one is the same for both.

    p_scores, p_people: (pairs,) one-sided p that the first of two systems, by name, is better.
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
    """Return soft pairwise accuracy from (N,) comparisons of systems on an item.

    `metric` and `people` are differences of scores, the first system less the second. p is the share of random signs
    with a mean as large, the same for both; an equal one counts half, so that both directions add up to one.
    """
    positive(reassignments, "reassignments")
    generator, reported = generator_of(seed)
    names, one, two = encode_both(first, second, "first", "second")
    by_metric, by_people = finite_vector(metric, "metric"), finite_vector(people, "people")
    same_length(first=one, metric=by_metric, people=by_people)
    apart = one != two
    sign = np.where(one < two, 1.0, -1.0)[apart]
    differences = np.stack([by_metric[apart], by_people[apart]], axis=1) * sign[:, np.newaxis]
    low, high = np.minimum(one, two)[apart], np.maximum(one, two)[apart]
    pairs, pair = np.unique(low * len(names) + high, return_inverse=True)
    p = np.empty((len(pairs), 2))
    agree = np.empty(len(pairs))
    for place in range(len(pairs)):
        own = differences[pair == place]
        total = own.sum(axis=0)
        p[place] = _p_values(own, total, reassignments, generator)
        agree[place] = np.sign(total[0]) == np.sign(total[1])
    return SoftComparisonsResult(
        value=float(1 - np.abs(p[:, 0] - p[:, 1]).mean()) if len(pairs) else math.nan,
        pairwise=float(agree.mean()) if len(pairs) else math.nan,
        pairs=len(pairs),
        comparisons=int(apart.sum()),
        p_scores=p[:, 0],
        p_people=p[:, 1],
        reassignments=reassignments,
        seed=reported,
        reason="" if len(pairs) else NOT_COMPARED,
    )


def _p_values(own: Floats, total: Floats, reassignments: int, generator: np.random.Generator) -> Floats:
    slack = ROUNDING * np.abs(own).sum(axis=0)
    reached = np.zeros(2)
    at_once = max(1, CELLS // len(own))
    for start in range(0, reassignments, at_once):
        size = min(at_once, reassignments - start)
        signs = 2.0 * generator.integers(0, 2, size=(size, len(own))) - 1
        drawn = signs @ own
        reached += (drawn > total + slack).sum(axis=0) + 0.5 * (np.abs(drawn - total) <= slack).sum(axis=0)
    return reached / reassignments
