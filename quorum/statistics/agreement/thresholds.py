"""Kappa of two sources of scores, after a threshold turns each score into yes or no (H13 Tables 8 to 10)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints, ratio
from quorum.numeric.packing import declare
from quorum.statistics.aggregation.means import GRADE_THRESHOLDS
from quorum.statistics.agreement.cohen import CohenKappa
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    NO_DELETIONS,
    ClusterColumns,
    Clusters,
    CrossedEstimate,
    RaterDeletions,
    Spread,
    coefficient_interval,
    columns_and_deletions,
    share_of_rows,
)
from quorum.statistics.inference import Inference, Options, Result, Sampling, signed
from quorum.statistics.inputs import (
    BadOption,
    BadValue,
    encode,
    float_vector,
    is_real,
    one_of,
    one_per_row,
    same_length,
)
from quorum.statistics.resampling import bootstrap

# H13: at least two of three people of the crowd (section 4.3.2), and the mean grades of Table 1.
MIN_CROWD_SHARE = 0.66
MIN_EXPERT_GRADE = 3.33
SHARE_THRESHOLDS = (0.33, 0.66, 1.0)
ASCENDING_GRADES = GRADE_THRESHOLDS[::-1]
MISSING_CHOICES = ("refuse", "leave-out", "no")

# Allowance with which a rounded share of 2/3, or a mean grade of 10/3, still reaches its threshold.
TOLERANCE = 1e-9
NO_PAIR = "no pair has a score in both sources"
ONE_SIDE = "all answers of both sources are the same"


@dataclass(frozen=True, slots=True)
class ThresholdAgreement(Inference):
    """Kappa, and precision, recall and F1 of the first source against the second.

    both, first_only, second_only, neither: number of pairs to which both sources, only the first, only the second,
    or none say yes. n: number of pairs compared. filled: number of pairs without a score, which counts as no. The
    interval and `reason` are those of kappa.
    """

    first_at_least: float
    second_at_least: float
    kappa: CrossedEstimate
    precision: CrossedEstimate
    recall: CrossedEstimate
    f1: CrossedEstimate
    both: int
    first_only: int
    second_only: int
    neither: int
    n: int
    filled: int
    left_out: int


@dataclass(frozen=True, slots=True)
class KappaGrid(Result):
    """Kappas at every pair of thresholds, ordered by the first threshold. `best` has the highest defined kappa."""

    first_thresholds: tuple[float, ...]
    second_thresholds: tuple[float, ...]
    cells: tuple[ThresholdAgreement, ...]
    best: ThresholdAgreement | None

    def values(self) -> Floats:
        """Return the kappas as a (first thresholds, second thresholds) array."""
        shape = (len(self.first_thresholds), len(self.second_thresholds))
        return np.array([cell.kappa.value for cell in self.cells]).reshape(shape)


def at_least(scores: ArrayLike, threshold: float) -> Flags:
    """Return (N,) flags of scores that reach the threshold, up to rounding errors. nan does not reach it."""
    if not (is_real(threshold) and math.isfinite(threshold)):
        raise BadOption(f"the threshold is {threshold!r}, expected a finite number")
    return float_vector(scores, "scores") >= float(threshold) - TOLERANCE * max(1.0, abs(threshold))


@signed("threshold-kappa")
def threshold_kappa(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    first_at_least: float = MIN_CROWD_SHARE,
    second_at_least: float = MIN_EXPERT_GRADE,
    *,
    missing: str = "refuse",
    **options: Unpack[Sampling],
) -> ThresholdAgreement:
    """Compare first >= `first_at_least` with second >= `second_at_least`, for two columns of (N,) scores.

    `missing` may also be "no": nan then counts as no, as H13 count pairs that the filter removed. The default
    thresholds are those of H13, with the crowd's share of yes as the first source, and the experts' mean grade as
    the second.
    """
    chosen_options, deletions = Options.with_raters(**options)
    clustered = bool(chosen_options.columns) or deletions is not None
    if clustered:
        chosen_options = replace(chosen_options, resamples=0)
    first, second, filled, left_out = _prepare_scores(first_scores, second_scores, missing)
    yes_first = at_least(first, first_at_least)
    yes_second = at_least(second, second_at_least)
    cells = np.bincount(2 * yes_first.astype(np.int64) + yes_second, minlength=4)
    table = cells[::-1].astype(np.int64)  # yes by both, by the first only, by the second only, by neither
    both, first_only, second_only, neither = table.tolist()
    n = int(table.sum())
    value = _figures(table[np.newaxis].astype(np.float64))[0]
    inference = chosen_options.undefined_inference()
    intervals = [(math.nan, math.nan)] * 4
    if n and clustered:
        keep = np.ones(n + left_out, dtype=np.bool_)
        if left_out:
            keep = ~(np.isnan(float_vector(first_scores, "")) | np.isnan(float_vector(second_scores, "")))
        grouped = chosen_options.clusters_of("pair", keep)
        kept_deletions = (deletions or NO_DELETIONS).of_rows(keep, "pair")
        yes_without = np.where(
            np.isnan(kept_deletions.value), 2, at_least(kept_deletions.value, second_at_least)
        )
        changes = cache(
            partial(
                _changes_without_raters,
                table,
                value,
                yes_first[kept_deletions.row],
                yes_second[kept_deletions.row],
                yes_without,
            )
        )
        intervals, grouped = _clustered_kappa(
            yes_first, yes_second, value, grouped, chosen_options.confidence, kept_deletions, changes
        )
        inference = chosen_options.interval_of_clusters(grouped, intervals[0])
    elif n:
        draws = bootstrap(
            _figures, table, resamples=chosen_options.resamples, generator=chosen_options.generator, width=4
        )
        drawn_intervals = [chosen_options.interval_of_draws(draws[:, column]) for column in range(4)]
        inference, intervals = (
            drawn_intervals[0],
            [(interval.low, interval.high) for interval in drawn_intervals],
        )
    # If a figure is undefined, ignore resamples in which it is defined.
    estimates = [
        CrossedEstimate(float(figure), low, high)
        if not math.isnan(figure)
        else CrossedEstimate(*(math.nan,) * 3)
        for figure, (low, high) in zip(value, intervals, strict=True)
    ]
    kappa, precision, recall, f1 = estimates
    if math.isnan(kappa.value):
        inference = replace(inference, reason=ONE_SIDE if n else NO_PAIR, low=math.nan, high=math.nan)
    return ThresholdAgreement(
        first_at_least=float(first_at_least),
        second_at_least=float(second_at_least),
        kappa=kappa,
        precision=precision,
        recall=recall,
        f1=f1,
        both=both,
        first_only=first_only,
        second_only=second_only,
        neither=neither,
        n=n,
        filled=filled,
        left_out=left_out,
        **inference.shared(),
    )


@signed("kappa-grid")
def kappa_grid(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    first_thresholds: Sequence[float] = SHARE_THRESHOLDS,
    second_thresholds: Sequence[float] = ASCENDING_GRADES,
    *,
    missing: str = "refuse",
    **options: Unpack[Sampling],
) -> KappaGrid:
    """Return `threshold_kappa` at every pair of thresholds, always with the same seed."""
    clusters = options.get("clusters", NAIVE)
    if isinstance(clusters, Mapping):
        clusters = {
            name: column if isinstance(column, RaterDeletions) else encode(column, name)[1]
            for name, column in clusters.items()
        }
    options["clusters"] = clusters
    first_thresholds = one_per_row(first_thresholds, "first_thresholds")
    second_thresholds = one_per_row(second_thresholds, "second_thresholds")
    if not len(first_thresholds) or not len(second_thresholds):
        raise BadOption("the grid has no threshold, expected one or more for each source")
    first, second = float_vector(first_scores, "first_scores"), float_vector(second_scores, "second_scores")
    cells = tuple(
        threshold_kappa(first, second, row, column, missing=missing, **options)
        for row in first_thresholds
        for column in second_thresholds
    )
    defined = [cell for cell in cells if not math.isnan(cell.kappa.value)]
    best = max(defined, key=lambda cell: cell.kappa.value) if defined else None
    return KappaGrid(tuple(first_thresholds), tuple(second_thresholds), cells, best)


def weighted_kappa(
    first: Floats,
    second: Floats,
    first_at_least: float,
    second_at_least: float,
    weights: Floats,
    clusters: ClusterColumns = NAIVE,
) -> CrossedEstimate:
    """Return kappa as in `threshold_kappa`, but with (N,) `weights` of rows.

    The interval is computed from the rows' influences.
    """
    columns, deletions = columns_and_deletions(clusters)
    yes_first, yes_second = at_least(first, first_at_least), at_least(second, second_at_least)
    cell = _cells_of_pairs(yes_first, yes_second)
    table = np.bincount(cell, weights, minlength=4).astype(np.float64)
    value = float(_figures(table[np.newaxis])[0, 0])
    if math.isnan(value):
        return CrossedEstimate(*(math.nan,) * 3)
    slope = _slope_of_kappa(table, value)
    kept_deletions = (deletions or NO_DELETIONS).of_rows(np.ones(len(cell), dtype=np.bool_), "pair")

    def changes() -> Floats:
        others = _cells_of_pairs(
            yes_first[kept_deletions.row], at_least(kept_deletions.value, second_at_least)
        )
        then = np.where(np.isnan(kept_deletions.value), 0.0, slope[others])
        return np.asarray(
            weights[kept_deletions.row] * (slope[cell[kept_deletions.row]] - then), dtype=np.float64
        )

    grouped = Options.from_sampling(clusters=columns).clusters_of("pair", np.ones(len(cell), dtype=np.bool_))
    grouped = grouped.with_weights(weights)
    spread, grouped = kept_deletions.widen(grouped.spread(weights * slope[cell]), grouped, changes)
    ends = coefficient_interval(
        value,
        spread,
        grouped.cluster_count,
        CONFIDENCE,
        chance_of_difference=_expected_differences(table) / table.sum() ** 2,
    )
    return CrossedEstimate(value, *ends)


def _changes_without_raters(
    table: Ints, value: Floats, yes_first: Flags, yes_second: Flags, yes_without: Ints
) -> Floats:
    """Return (4, V) decreases of kappa, precision, recall and F1 if one rater is left out of a pair's mean.

    `table` (4,) has the number of pairs by cell (`_cells_of_pairs`), and `value` (4,) the figures. `yes_without`
    (V,) is the second source's answer without the rater: 0 no, 1 yes, 2 if there is no other rater.
    """
    lost = np.zeros((2, 2, 3, 4))
    for first, second, without in np.ndindex(2, 2, 3):
        changed = table[::-1].astype(np.float64)
        changed[2 * first + second] -= 1
        if without < 2:
            changed[2 * first + without] += 1
        if changed.min() >= 0:
            lost[first, second, without] = value - _figures(changed[np.newaxis, ::-1])[0]
    return np.nan_to_num(lost)[yes_first.astype(np.int64), yes_second.astype(np.int64), yes_without].T


def _clustered_kappa(
    first: Flags,
    second: Flags,
    value: Floats,
    clusters: Clusters,
    confidence: float,
    left: RaterDeletions,
    changes: Callable[[], Floats],
) -> tuple[list[tuple[float, float]], Clusters]:
    """Return the intervals of kappa, precision, recall and F1, and the clusters, with the raters included."""

    def widen(figure: int, spread: Spread, items: Clusters) -> tuple[Spread, Clusters]:
        return left.widen(spread, items, lambda: changes()[figure])

    if clusters.reason:
        return [(math.nan, math.nan)] * 4, clusters
    influences = CohenKappa().influences((first, second))
    low = high = math.nan
    grouped = clusters
    if influences is not None:
        spread, grouped = widen(0, clusters.spread(influences.values), clusters)
        low, high = coefficient_interval(
            float(value[0]),
            spread,
            clusters.cluster_count,
            confidence,
            chance_of_difference=influences.chance_of_difference,
        )
    intervals = [(low, high)]
    columns = {str(number): codes for number, codes in enumerate(clusters.codes[:2])}
    yeses = first.astype(np.float64) + second
    for figure, (right, keep, weights) in enumerate(
        ((second, first, None), (first, second, None), (first & second, first | second, yeses)), start=1
    ):
        share = share_of_rows(
            right.astype(np.float64),
            columns,
            confidence,
            keep=keep,
            weights=weights,
            widen=partial(widen, figure),
        )
        intervals.append((share.low, share.high))
    return intervals, grouped


def _cells_of_pairs(first: Flags, second: Flags) -> Ints:
    """Return (N,) cells by which source says yes: 0 both, 1 only the first, 2 only the second, 3 neither."""
    return np.asarray(3 - 2 * first.astype(np.int64) - second, dtype=np.int64)


def _slope_of_kappa(table: Floats, value: float) -> Floats:
    """Return the (4,) derivatives of kappa by the weights of a table's cells."""
    both, first_only, second_only, neither = table
    of_first, of_second = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])
    n, first, second = table.sum(), both + first_only, both + second_only
    grown = of_first * (n - second) + first * (1 - of_second) + of_second * (n - first)
    grown += second * (1 - of_first)
    balance = 2 * np.array([neither, -second_only, -first_only, both])
    return np.asarray((balance - value * grown) / _expected_differences(table), dtype=np.float64)


def _expected_differences(table: Floats) -> float:
    """Return n^2 times the probability that both sources differ if they are independent."""
    n, first, second = table.sum(), table[:2].sum(), table[::2].sum()
    return float(first * (n - second) + second * (n - first))


def _prepare_scores(
    first_scores: ArrayLike, second_scores: ArrayLike, missing: str
) -> tuple[Floats, Floats, int, int]:
    one_of(missing, MISSING_CHOICES, "missing")
    first = float_vector(first_scores, "first_scores")
    second = float_vector(second_scores, "second_scores")
    same_length(first_scores=first, second_scores=second)
    lacking = np.isnan(first) | np.isnan(second)
    count = int(lacking.sum())
    if not count:
        return first, second, 0, 0
    if missing == "refuse":
        where = int(np.flatnonzero(lacking)[0])
        raise BadValue(f"pair {where} lacks a score, expected both (or missing='leave-out' or missing='no')")
    if missing == "leave-out":
        return first[~lacking], second[~lacking], 0, count
    return np.nan_to_num(first, nan=-np.inf), np.nan_to_num(second, nan=-np.inf), count, 0


@declare
def _figures(weights: Floats) -> Floats:
    both, first_only, second_only, neither = weights.T
    n = weights.sum(axis=1)
    first, second = both + first_only, both + second_only
    expected = first * (n - second) + second * (n - first)
    kappa = ratio(2 * (both * neither - first_only * second_only), expected)
    f1 = ratio(2 * both, first + second)
    return np.stack([kappa, ratio(both, first), ratio(both, second), f1], axis=1)
