"""Human levels to compare metrics with: the agreement of half of the people, or of one person, with the others."""

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

SPLITS = 100
MIN_JUDGMENTS = 2  # judgments of a unit that gives each judgment others
MEAN_TOLERANCE = 1e-9  # allowance with which a mean of thirds reaches its nominal threshold


def agreement_of_halves(
    unit: Ints, value: Floats, units: Sequence[UnitRow], *, seed: int
) -> dict[str, Estimate]:
    """Return how often two random halves of people agree on a pair's winner, by pair kind, with "all".

    V15 §7.4 splits the references of a pair. This function splits the units of a pair, or its votes if all pairs
    have a single unit. The winner of a half wins most of its units (or votes). A pair with a tied or empty half is
    left out. The value is the mean over ``SPLITS`` splits, with Wilson's interval for the mean number of pairs.
    """
    pair_of = {row.pk: row.pair for row in units if row.pair is not None}
    kind_of = {row.pair: row.kind for row in units}
    keep = np.array([pk in pair_of for pk in unit.tolist()], dtype=bool)
    if not keep.any():
        return {}
    unit, value = unit[keep], value[keep]
    names, rows = np.unique(unit, return_inverse=True)
    vote = (value == 1) * 1.0 - (value == 2)
    pairs, pair_of_unit = np.unique([pair_of[pk] for pk in names.tolist()], return_inverse=True)
    several = bool((np.bincount(pair_of_unit) > 1).any())
    if several:  # each unit counts as won, lost, or tied
        parts = _sign(np.bincount(rows, weights=vote)).astype(np.float64)
        group = pair_of_unit
    else:
        parts, group = vote, pair_of_unit[rows]
    kinds = np.array([kind_of[pk] for pk in pairs.tolist()], dtype=np.str_)
    rows_of_kind = {"all": np.ones(len(pairs), dtype=bool)} | {
        str(name): kinds == name for name in np.unique(kinds) if name
    }
    generator = np.random.default_rng(seed)
    agreements: dict[str, list[tuple[int, int]]] = {name: [] for name in rows_of_kind}
    for _ in range(SPLITS):
        # Split each pair: one half is the first half of a random order, the other half is the rest.
        order = np.lexsort((generator.random(len(parts)), group))
        starts = np.searchsorted(group[order], np.arange(len(pairs)))
        sizes = np.bincount(group, minlength=len(pairs))
        position = np.arange(len(parts)) - starts[group[order]]
        first = position < (sizes // 2)[group[order]]
        weights = parts[order]
        first_winner = _sign(np.bincount(group[order][first], weights=weights[first], minlength=len(pairs)))
        second_winner = _sign(
            np.bincount(group[order][~first], weights=weights[~first], minlength=len(pairs))
        )
        decided = (first_winner != 0) & (second_winner != 0)
        for name, of_kind in rows_of_kind.items():
            agreements[name].append(
                (
                    int((decided & of_kind & (first_winner == second_winner)).sum()),
                    int((decided & of_kind).sum()),
                )
            )
    return {name: _mean(counts) for name, counts in agreements.items()}


def _sign(values: NDArray[Any]) -> Ints:
    return np.sign(np.round(values, 9)).astype(np.int64)


def _mean(counts: Sequence[tuple[int, int]]) -> Estimate:
    known = [(right, n) for right, n in counts if n]
    if not known:
        return Estimate(None)
    share = sum(right / n for right, n in known) / len(known)
    n = round(sum(n for _, n in known) / len(known))
    low, high = wilson_interval(share * n, n)
    return Estimate(share, low, high, n)


def judge_vs_rest_correlation(
    unit: Ints, value: Floats, clusters: Mapping[str, Ints], *, coefficient: str = "kendall-tau-b"
) -> Estimate:
    """Return the correlation of each judgment with the mean of the unit's other judgments, with its interval.

    ``clusters`` are (N,) columns.
    """
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
        both = judgments >= cut - MEAN_TOLERANCE, means >= cut - MEAN_TOLERANCE
        kappa = agreement(both, CohenKappa(), clusters=columns)
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
    with_others = counts[rows] > 1
    judgments = value[with_others]
    means = (sums[rows][with_others] - judgments) / (counts[rows][with_others] - 1)
    return {name: column[with_others] for name, column in clusters.items()}, judgments, means
