"""Human levels to compare metrics with: the agreement of half of the people, or of one judge, with the others.

V15 is Vedantam et al. 2015, H13 is Hodosh et al. 2013.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.amounts import json_float
from evaluation.data.judgment_sets.records import UnitRow
from evaluation.presentation.content import Estimate
from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.agreement import AgreementResult, CohenKappa, agreement
from quorum.statistics.correlation import CorrelationResult, correlation
from quorum.statistics.meta import wilson_interval

SPLITS = 100  # number of random splits into halves
MIN_JUDGMENTS = 2  # with fewer judgments, no judgment has others to compare with
MEAN_TOLERANCE = 1e-9  # so that a mean of 3.666... reaches the threshold 3 2/3 in spite of rounding


def agreement_of_halves(
    unit: Ints, value: Floats, units: Sequence[UnitRow], *, seed: int
) -> dict[str, Estimate]:
    """Return how often two random halves of people agree on a pair's winner, by pair kind, with "all".

    Only reports from before 0.6 have it. Later ones have ``evaluation.results.metrics.halves``.
    V15 §7.4 splits the references of a pair. This function splits the units of a pair, or its votes if all pairs
    have a single unit. The winner of a half wins most of its units (or votes). A pair with a tied or empty half is
    left out. The value is the mean over ``SPLITS`` splits, with Wilson's interval for the mean number of pairs.

    Args:
        unit, value: (N,) unit row ids, and answers: 1 for the first candidate, 2 for the second.
        units: the units, with their pairs.
    """
    pair_by_unit = {row.pk: row.pair for row in units if row.pair is not None}
    kind_by_pair = {row.pair: row.kind for row in units}
    has_pair = np.array([pk in pair_by_unit for pk in unit.tolist()], dtype=bool)
    if not has_pair.any():
        return {}
    unit, value = unit[has_pair], value[has_pair]
    unit_ids, rows = np.unique(unit, return_inverse=True)
    vote = (value == 1) * 1.0 - (value == 2)  # 1 for the first, -1 for the second, 0 for neither
    pairs, pair_of_unit = np.unique([pair_by_unit[pk] for pk in unit_ids.tolist()], return_inverse=True)
    has_several_units = bool((np.bincount(pair_of_unit) > 1).any())
    if has_several_units:  # each unit counts as one vote, for its winner
        votes = _sign(np.bincount(rows, weights=vote)).astype(np.float64)
        pair_of_vote = pair_of_unit
    else:
        votes, pair_of_vote = vote, pair_of_unit[rows]
    kinds = np.array([kind_by_pair[pk] for pk in pairs.tolist()], dtype=np.str_)
    flags_by_kind = {"all": np.ones(len(pairs), dtype=bool)}
    flags_by_kind |= {str(name): kinds == name for name in np.unique(kinds) if name}
    generator = np.random.default_rng(seed)
    # By kind, for each split, the number of pairs on which both halves agree, and of pairs with two winners.
    agreements: dict[str, list[tuple[int, int]]] = {name: [] for name in flags_by_kind}
    for _ in range(SPLITS):
        first_winner, second_winner = _split_votes(votes, pair_of_vote, len(pairs), generator)
        is_decided = (first_winner != 0) & (second_winner != 0)
        agrees = is_decided & (first_winner == second_winner)
        for name, is_of_kind in flags_by_kind.items():
            counts = int((agrees & is_of_kind).sum()), int((is_decided & is_of_kind).sum())
            agreements[name].append(counts)
    return {name: _mean_share(counts) for name, counts in agreements.items()}


def _split_votes(
    votes: Floats, pair_of_vote: Ints, pair_count: int, generator: np.random.Generator
) -> tuple[Ints, Ints]:
    """Split the votes on each pair at random, and return the (P,) winners of both halves: 1, -1, or 0 for a tie."""
    # Sort by pair, and at random within pairs. The first half of a pair's votes is one half, the rest the other.
    order = np.lexsort((generator.random(len(votes)), pair_of_vote))
    votes, pair = votes[order], pair_of_vote[order]
    starts = np.searchsorted(pair, np.arange(pair_count))  # position of each pair's first vote
    half_sizes = np.bincount(pair, minlength=pair_count) // 2
    is_in_first = np.arange(len(votes)) - starts[pair] < half_sizes[pair]
    first_sums = np.bincount(pair[is_in_first], weights=votes[is_in_first], minlength=pair_count)
    second_sums = np.bincount(pair[~is_in_first], weights=votes[~is_in_first], minlength=pair_count)
    return _sign(first_sums), _sign(second_sums)


def _sign(values: NDArray[Any]) -> Ints:
    """Return signs. Sums of votes that differ from 0 only by rounding have the sign 0."""
    return np.sign(np.round(values, 9)).astype(np.int64)


def _mean_share(counts: Sequence[tuple[int, int]]) -> Estimate:
    """Return the mean over splits of the share of agreeing pairs, from (agreeing pairs, n) of each split.

    Splits with n = 0 are left out.
    """
    defined_counts = [(agreeing_count, n) for agreeing_count, n in counts if n]
    if not defined_counts:
        return Estimate(None)
    share = sum(agreeing_count / n for agreeing_count, n in defined_counts) / len(defined_counts)
    n = round(sum(n for _, n in defined_counts) / len(defined_counts))
    low, high = wilson_interval(share * n, n)
    return Estimate(share, low, high, n)


def judge_vs_rest_correlation(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints], *, coefficient: str = "kendall-tau-b"
) -> Estimate:
    """Return the correlation of (N,) judgments with the means of their units' other judgments, with its interval."""
    columns, judgments, means = _means_of_others(unit, value, clusters)
    if len(judgments) < MIN_JUDGMENTS:
        return Estimate(None)
    estimate = correlation(judgments, means, coefficient, resamples=0, clusters=columns)
    return _estimate_of(estimate, estimate.n)


def judge_vs_rest_kappa(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints], cuts: Sequence[float]
) -> dict[float, Estimate]:
    """Return, for each threshold in ``cuts``, Cohen's kappa of each judgment with the mean of the unit's others.

    These are H13's tables 8 to 10 with a person in place of the metric. ``clusters`` are (N,) columns.
    """
    columns, judgments, means = _means_of_others(unit, value, clusters)
    if len(judgments) < MIN_JUDGMENTS:
        return {}
    kappas = {}
    for cut in cuts:
        ratings = judgments >= cut - MEAN_TOLERANCE, means >= cut - MEAN_TOLERANCE
        kappa = agreement(ratings, CohenKappa(), clusters=columns)
        kappas[cut] = _estimate_of(kappa, len(judgments))
    return kappas


def _estimate_of(result: AgreementResult | CorrelationResult, n: int) -> Estimate:
    if np.isnan(result.value):
        return Estimate(None)
    return Estimate(result.value, json_float(result.low), json_float(result.high), n)


def _means_of_others(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints]
) -> tuple[dict[str, Ints], Floats, Floats]:
    """Return clusters, values, and means of the unit's other judgments, for the judgments whose unit has others."""
    _, rows = np.unique(unit, return_inverse=True)
    counts, sums = np.bincount(rows), np.bincount(rows, weights=value)
    has_others = counts[rows] > 1
    judgments = value[has_others]
    means = (sums[rows][has_others] - judgments) / (counts[rows][has_others] - 1)
    return {name: column[has_others] for name, column in clusters.items()}, judgments, means
