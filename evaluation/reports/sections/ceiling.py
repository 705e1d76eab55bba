"""Human ceilings for metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from evaluation.data.judgment_sets.records import Floats, Ints, UnitRow
from evaluation.data.provenance import json_float
from evaluation.presentation.content import Estimate
from evaluation.statistics.correlation import Patterns, correlation
from evaluation.statistics.inference import CONFIDENCE, bootstrap, percentile_interval
from evaluation.statistics.meta import wilson_interval

SPLITS = 100
FEWEST = 2  # judgments that have others
NEAR = 1e-9  # let a mean of thirds reach its nominal threshold


def _sign(values: NDArray[Any]) -> Ints:
    return np.sign(np.round(values, 9)).astype(np.int64)


def halves_of_votes(unit: Ints, value: Floats, units: Sequence[UnitRow], *, seed: int) -> dict[str, Estimate]:
    """Return pair kind ("all" for all) -> how often two random halves of people agree on a pair's winner.

    V15 §7.4 splits the references of a pair; so do we for pairs of several units, and the votes for pairs of
    one. A half's winner wins most of its units (or votes); a tied or empty half drops the pair. The value is
    the mean over ``SPLITS`` splits, with Wilson's interval over the mean number of pairs.
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
    if several:  # a unit is won or lost as a whole; tied ones decide nothing
        parts = _sign(np.bincount(rows, weights=vote)).astype(np.float64)
        group = pair_of_unit
    else:
        parts, group = vote, pair_of_unit[rows]
    kinds = np.array([kind_of[pk] for pk in pairs.tolist()], dtype=np.str_)
    rows_of_kind = {"all": np.ones(len(pairs), dtype=bool)} | {
        str(name): kinds == name for name in np.unique(kinds) if name
    }
    generator = np.random.default_rng(seed)
    same: dict[str, list[tuple[int, int]]] = {name: [] for name in rows_of_kind}
    for _ in range(SPLITS):
        # Equal halves of each pair: the lower half of a random order.
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
            same[name].append(
                (
                    int((decided & of_kind & (first_winner == second_winner)).sum()),
                    int((decided & of_kind).sum()),
                )
            )
    return {name: _mean(counts) for name, counts in same.items()}


def _mean(counts: Sequence[tuple[int, int]]) -> Estimate:
    known = [(right, n) for right, n in counts if n]
    if not known:
        return Estimate(None)
    share = sum(right / n for right, n in known) / len(known)
    n = round(sum(n for _, n in known) / len(known))
    low, high = wilson_interval(share * n, n)
    return Estimate(share, low, high, n)


def one_against_mean(
    unit: Ints,
    value: Floats,
    *,
    coefficient: str = "kendall-tau-b",
    seed: int,
    resamples: int,
) -> Estimate:
    """Correlate each judgment with the mean of the unit's other judgments.

    Percentile bootstrap intervals are over units, as judgments of one unit are dependent.
    """
    group, judgments, means = _means_of_others(unit, value)
    if len(judgments) < FEWEST:
        return Estimate(None)
    estimate = correlation(judgments, means, coefficient, resamples=0)
    if estimate.reason:
        return Estimate(None)
    if not resamples:
        return Estimate(estimate.value, n=estimate.n)
    patterns = Patterns(judgments, means, coefficient)
    counts, frequency = _merge_equal_units(group, patterns.pattern)

    def resampled(weights: Floats) -> Floats:
        return patterns(weights @ counts)

    draws = bootstrap(
        resampled, frequency, resamples=resamples, generator=np.random.default_rng(seed),
        width=len(patterns.frequency),
    )  # fmt: skip
    low, high, _ = percentile_interval(draws, CONFIDENCE)
    return Estimate(estimate.value, json_float(low), json_float(high), estimate.n)


def _merge_equal_units(unit: Ints, pattern: Ints) -> tuple[Any, Ints]:
    """Merge units with equal counts of patterns; return (U, P) sparse counts and (U,) number of units."""
    ones = np.ones(len(unit), dtype=np.int64)
    counts = scipy.sparse.csr_array((ones, (unit, pattern)))
    # Compare rows by random 64-bit sums: whole rows would need all their zeros.
    marks = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, size=counts.shape[1])
    sums = np.asarray(counts @ marks, dtype=np.int64)
    _, first, frequency = np.unique(sums, return_index=True, return_counts=True)
    return counts[first].astype(np.float64), frequency


def one_against_cut(
    unit: Ints, value: Floats, cuts: Sequence[float], *, seed: int, resamples: int
) -> dict[float, Estimate]:
    """Return cut -> Cohen's kappa of each judgment with the mean of the unit's others, both cut there.

    This is H13 tables 8 to 10 with a person as the metric. Percentile bootstrap intervals are over units.
    """
    group, judgments, means = _means_of_others(unit, value)
    if len(judgments) < FEWEST:
        return {}
    kappas = {}
    for cut in cuts:
        judge, people = judgments >= cut - NEAR, means >= cut - NEAR
        kinds = 2 * judge.astype(np.int64) + people
        counts = np.zeros((int(group.max()) + 1, 4))
        np.add.at(counts, (group, kinds), 1.0)
        patterns, frequency = np.unique(counts, axis=0, return_counts=True)
        kappa = float(_kappa(frequency[np.newaxis].astype(np.float64) @ patterns)[0])
        if np.isnan(kappa):
            kappas[cut] = Estimate(None)
            continue

        def resampled(weights: Floats, patterns: Floats = patterns) -> Floats:
            return _kappa(weights @ patterns)

        draws = bootstrap(
            resampled, frequency, resamples=resamples, generator=np.random.default_rng(seed), width=4
        )
        low, high, _ = percentile_interval(draws, CONFIDENCE)
        kappas[cut] = Estimate(kappa, json_float(low), json_float(high), len(judgments))
    return kappas


def _means_of_others(unit: Ints, value: Floats) -> tuple[Ints, Floats, Floats]:
    """Return, for judgments with others on their unit: unit number, judgment, mean of the others."""
    _, rows = np.unique(unit, return_inverse=True)
    counts, sums = np.bincount(rows), np.bincount(rows, weights=value)
    with_others = counts[rows] > 1
    judgments = value[with_others]
    means = (sums[rows][with_others] - judgments) / (counts[rows][with_others] - 1)
    _, group = np.unique(rows[with_others], return_inverse=True)
    return group, judgments, means


def _kappa(counts: Floats) -> Floats:
    """Return (R,) Cohen's kappa of (R, 4) counts: neither, people only, judge only, both."""
    n = counts.sum(axis=1)
    judge, people = counts[:, 2] + counts[:, 3], counts[:, 1] + counts[:, 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        same = (counts[:, 0] + counts[:, 3]) / n
        chance = (judge * people + (n - judge) * (n - people)) / n**2
        kappa: Floats = np.where(chance < 1.0, (same - chance) / (1.0 - chance), np.nan)
    return kappa
