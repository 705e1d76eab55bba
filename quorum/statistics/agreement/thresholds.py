"""Cohen's kappa of two sources of scores, after a threshold turns each score into yes or no.

Hodosh et al. 2013 (H13), Tables 8 to 10, compare the crowd's shares of yes with experts' mean grades in this way. Both
sources score the same N pairs of an image and a caption. A pair is in one of four cells, which are numbered

    0  both sources say yes
    1  only the first says yes
    2  only the second says yes
    3  both say no
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
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
    list_of_values,
    one_of,
    same_length,
)
from quorum.statistics.resampling import bootstrap

# H13: at least two of three people of the crowd (section 4.3.2), and the mean grades of Table 1.
MIN_CROWD_SHARE = 0.66
MIN_EXPERT_GRADE = 3.33
SHARE_THRESHOLDS = (0.33, 0.66, 1.0)
ASCENDING_GRADES = GRADE_THRESHOLDS[::-1]
MISSING_CHOICES = ("refuse", "leave-out", "no")
NO_OTHER_RATER = 2  # in place of the answer 0 or 1 of a pair without one of its raters

# A rounded share of 2/3, or a mean grade of 10/3, may be below its threshold by this fraction of it (or of 1).
TOLERANCE = 1e-9
NO_COMPLETE_PAIR = "no pair has a score in both sources"
ALL_ANSWERS_EQUAL = "all answers of both sources are the same"
UNDEFINED_ESTIMATE = CrossedEstimate(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class ThresholdAgreement(Inference):
    """Kappa of both sources, and precision, recall and F1 of the first source, if the second is right.

    both, first_only, second_only, neither: number of pairs in each cell. n: number of pairs compared. filled: number of
    these in which a score is missing, which counts as no. left_out: number of pairs that are not compared because a
    score is missing. The interval and the `reason` are those of kappa.
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
    """Agreement at every pair of thresholds.

    cells: the agreements, ordered by the first threshold, then by the second. best: the agreement with the highest
    kappa, or None if no kappa is defined.
    """

    first_thresholds: tuple[float, ...]
    second_thresholds: tuple[float, ...]
    cells: tuple[ThresholdAgreement, ...]
    best: ThresholdAgreement | None

    def values(self) -> Floats:
        """Return the kappas as a (first thresholds, second thresholds) array."""
        shape = (len(self.first_thresholds), len(self.second_thresholds))
        return np.array([cell.kappa.value for cell in self.cells]).reshape(shape)


def at_least(scores: ArrayLike, threshold: float) -> Flags:
    """Return (N,) flags that say whether scores reach the threshold, up to rounding errors. nan does not reach it."""
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
    """Return the agreement of first >= `first_at_least` with second >= `second_at_least`, for two (N,) scores.

    `missing` says what becomes of pairs with nan: "refuse" raises BadValue, "leave-out" drops them, and with "no" nan
    counts as no, as in H13 for pairs that a filter kept from the crowd. The default thresholds are those of H13, with
    the crowd's share of yes as the first source, and the experts' mean grade as the second. `clusters` may have
    `RaterDeletions` (the second source's means without each of their raters) in addition to columns.
    """
    checked_options, deletions = Options.with_raters(**options)
    if checked_options.columns or deletions is not None:  # then nothing is resampled
        checked_options = replace(checked_options, resamples=0)
    first, second, filled, left_out = _prepare_scores(first_scores, second_scores, missing)
    yes_first, yes_second = at_least(first, first_at_least), at_least(second, second_at_least)
    table = np.bincount(_cells_of_pairs(yes_first, yes_second), minlength=4).astype(np.int64)
    both, first_only, second_only, neither = table.tolist()
    n = int(table.sum())
    value = _measures(table[np.newaxis].astype(np.float64))[0]
    inference = checked_options.undefined_inference()
    intervals = [(math.nan, math.nan)] * 4
    if n and (checked_options.columns or deletions is not None):
        keep = np.ones(n + left_out, dtype=np.bool_)
        if left_out:
            keep = ~(np.isnan(float_vector(first_scores, "")) | np.isnan(float_vector(second_scores, "")))
        clusters = checked_options.clusters_of("pair", keep)
        kept_deletions = (deletions or NO_DELETIONS).of_rows(keep, "pair")

        @cache  # for all four measures
        def decreases() -> Floats:
            yes_without_rater = at_least(kept_deletions.value, second_at_least)
            answers_without_rater = np.where(
                np.isnan(kept_deletions.value), NO_OTHER_RATER, yes_without_rater
            )
            row = kept_deletions.row
            return _decreases_without_raters(
                table, value, yes_first[row], yes_second[row], answers_without_rater
            )

        intervals, clusters = _clustered_intervals(
            yes_first, yes_second, value, clusters, checked_options.confidence, kept_deletions, decreases
        )
        inference = checked_options.interval_of_clusters(clusters, intervals[0])
    elif n:
        draws = bootstrap(
            _measures,
            table,
            resamples=checked_options.resamples,
            generator=checked_options.generator,
            width=4,
        )
        drawn_intervals = [checked_options.interval_of_draws(draws[:, column]) for column in range(4)]
        inference = drawn_intervals[0]
        intervals = [(interval.low, interval.high) for interval in drawn_intervals]
    # An undefined measure has no interval, even if it is defined in some resamples.
    kappa, precision, recall, f1 = (
        UNDEFINED_ESTIMATE if math.isnan(measure) else CrossedEstimate(float(measure), *limits)
        for measure, limits in zip(value, intervals, strict=True)
    )
    if math.isnan(kappa.value):
        reason = ALL_ANSWERS_EQUAL if n else NO_COMPLETE_PAIR
        inference = replace(inference, reason=reason, low=math.nan, high=math.nan)
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
        **inference.fields_by_name(),
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
        # Encode the columns once, not for each pair of thresholds.
        clusters = {
            name: column if isinstance(column, RaterDeletions) else encode(column, name)[1]
            for name, column in clusters.items()
        }
    options["clusters"] = clusters
    first_thresholds = list_of_values(first_thresholds, "first_thresholds")
    second_thresholds = list_of_values(second_thresholds, "second_thresholds")
    if not len(first_thresholds) or not len(second_thresholds):
        raise BadOption("the grid has no threshold, expected one or more for each source")
    first, second = float_vector(first_scores, "first_scores"), float_vector(second_scores, "second_scores")
    cells = tuple(
        threshold_kappa(first, second, first_at_least, second_at_least, missing=missing, **options)
        for first_at_least, second_at_least in product(first_thresholds, second_thresholds)
    )
    defined_cells = [cell for cell in cells if not math.isnan(cell.kappa.value)]
    best_cell = max(defined_cells, key=lambda cell: cell.kappa.value) if defined_cells else None
    return KappaGrid(tuple(first_thresholds), tuple(second_thresholds), cells, best_cell)


def weighted_kappa(
    first: Floats,
    second: Floats,
    first_at_least: float,
    second_at_least: float,
    row_weights: Floats,
    clusters: ClusterColumns = NAIVE,
) -> CrossedEstimate:
    """Return kappa as in `threshold_kappa`, but with (N,) `row_weights`, which may be fractions.

    The weights are those of chosen items (`quorum.statistics.choosing`). The interval is computed from the influences
    of the rows on kappa, which are their weights times the derivatives of kappa by the cells.
    """
    columns, deletions = columns_and_deletions(clusters)
    yes_first, yes_second = at_least(first, first_at_least), at_least(second, second_at_least)
    cell = _cells_of_pairs(yes_first, yes_second)
    table = np.bincount(cell, row_weights, minlength=4).astype(np.float64)
    value = float(_measures(table[np.newaxis])[0, 0])
    if math.isnan(value):
        return UNDEFINED_ESTIMATE
    slope_by_cell = _kappa_slopes(table, value)
    every_row = np.ones(len(cell), dtype=np.bool_)
    kept_deletions = (deletions or NO_DELETIONS).of_rows(every_row, "pair")

    def decreases() -> Floats:
        row, yes_without_rater = kept_deletions.row, at_least(kept_deletions.value, second_at_least)
        cells_without_rater = _cells_of_pairs(yes_first[row], yes_without_rater)
        # A pair without another rater disappears.
        slopes_without_rater = np.where(
            np.isnan(kept_deletions.value), 0.0, slope_by_cell[cells_without_rater]
        )
        slopes = slope_by_cell[cell[row]]
        return np.asarray(row_weights[row] * (slopes - slopes_without_rater), dtype=np.float64)

    row_clusters = (
        Options.from_sampling(clusters=columns).clusters_of("pair", every_row).with_weights(row_weights)
    )
    spread, row_clusters = kept_deletions.widen(
        row_clusters.spread(row_weights * slope_by_cell[cell]), row_clusters, decreases
    )
    limits = coefficient_interval(
        value,
        spread,
        row_clusters.cluster_count,
        CONFIDENCE,
        chance_of_difference=_expected_differences(table) / table.sum() ** 2,
    )
    return CrossedEstimate(value, *limits)


def _decreases_without_raters(
    table: Ints, value: Floats, yes_first: Flags, yes_second: Flags, answers_without_rater: Ints
) -> Floats:
    """Return (4, V) decreases of kappa, precision, recall and F1 if one rater is left out of a pair's mean.

    `table` (4,) has the number of pairs in each cell, and `value` (4,) the `_measures` of all pairs. For each of V
    deletions, `yes_first` and `yes_second` are the sources' answers to the pair, and `answers_without_rater` the second
    source's answer without the rater: 0 for no, 1 for yes, or NO_OTHER_RATER, so that the pair disappears.
    """
    # Compute the decreases once for each combination of these answers.
    decreases = np.zeros((2, 2, 3, 4))
    for first, second, answer in np.ndindex(2, 2, 3):
        changed_table = table.astype(np.float64)
        changed_table[_cell_of(first, second)] -= 1
        if answer != NO_OTHER_RATER:
            changed_table[_cell_of(first, answer)] += 1
        if changed_table.min() >= 0:  # else the combination does not occur
            decreases[first, second, answer] = value - _measures(changed_table[np.newaxis])[0]
    # A measure that becomes undefined does not decrease.
    by_deletion = np.nan_to_num(decreases)[
        yes_first.astype(np.int64), yes_second.astype(np.int64), answers_without_rater
    ]
    return by_deletion.T


def _clustered_intervals(
    yes_first: Flags,
    yes_second: Flags,
    value: Floats,
    clusters: Clusters,
    confidence: float,
    deletions: RaterDeletions,
    decreases: Callable[[], Floats],
) -> tuple[list[tuple[float, float]], Clusters]:
    """Return the intervals of kappa, precision, recall and F1, and the clusters with the raters added.

    `value` (4,) are the `_measures`, and `decreases` returns their (4, V) decreases without each rater of `deletions`.
    """

    def add_raters(measure: int, spread: Spread, item_clusters: Clusters) -> tuple[Spread, Clusters]:
        return deletions.widen(spread, item_clusters, lambda: decreases()[measure])

    if clusters.reason:
        return [(math.nan, math.nan)] * 4, clusters
    influences = CohenKappa().influences((yes_first, yes_second))
    kappa_interval = (math.nan, math.nan)
    clusters_with_raters = clusters
    if influences is not None:
        spread, clusters_with_raters = add_raters(0, clusters.spread(influences.values), clusters)
        kappa_interval = coefficient_interval(
            float(value[0]),
            spread,
            clusters.cluster_count,
            confidence,
            chance_of_difference=influences.chance_of_difference,
        )
    # The other measures are shares of the pairs to which both sources say yes, among the pairs to which the first, the
    # second, or either says yes. For F1, a pair counts twice if both say yes. The first two codes are those of columns,
    # a third one would be that of their cells.
    columns = {str(number): codes for number, codes in enumerate(clusters.codes[:2])}
    yes_counts = yes_first.astype(np.float64) + yes_second
    yes_both = yes_first & yes_second

    def share(measure: int, agrees: Flags, keep: Flags, weights: Floats | None = None) -> tuple[float, float]:
        interval = share_of_rows(
            agrees.astype(np.float64),
            columns,
            confidence,
            keep=keep,
            weights=weights,
            widen=partial(add_raters, measure),
        )
        return interval.low, interval.high

    intervals = [
        kappa_interval,
        share(1, yes_second, keep=yes_first),
        share(2, yes_first, keep=yes_second),
        share(3, yes_both, keep=yes_first | yes_second, weights=yes_counts),
    ]
    return intervals, clusters_with_raters


def _cell_of(first: int, second: int) -> int:
    """Return the number of the cell of a pair, from the answers of both sources: 1 for yes, 0 for no."""
    return 3 - 2 * first - second


def _cells_of_pairs(yes_first: Flags, yes_second: Flags) -> Ints:
    """Return the (N,) numbers of the cells of pairs, from (N,) answers of both sources."""
    return np.asarray(3 - 2 * yes_first.astype(np.int64) - yes_second, dtype=np.int64)


def _kappa_slopes(table: Floats, value: float) -> Floats:
    """Return the (4,) derivatives of kappa, which has this value, by the number of pairs in each cell.

    As in `_measures`, kappa is 2 (both neither - first_only second_only) / expected, where expected is a sum of
    products of the numbers of yes of each source.
    """
    both, first_only, second_only, neither = table
    is_first, is_second = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])
    n, first, second = table.sum(), both + first_only, both + second_only
    # expected = first (n - second) + second (n - first)
    expected_slopes = is_first * (n - second) + first * (1 - is_second) + is_second * (n - first)
    expected_slopes += second * (1 - is_first)
    numerator_slopes = 2 * np.array([neither, -second_only, -first_only, both])
    return np.asarray(
        (numerator_slopes - value * expected_slopes) / _expected_differences(table), dtype=np.float64
    )


def _expected_differences(table: Floats) -> float:
    """Return n^2 times the probability that both sources differ if they are independent."""
    n, first, second = table.sum(), table[:2].sum(), table[::2].sum()
    return float(first * (n - second) + second * (n - first))


def _prepare_scores(
    first_scores: ArrayLike, second_scores: ArrayLike, missing: str
) -> tuple[Floats, Floats, int, int]:
    """Return the scores of both sources, and the numbers `filled` and `left_out` of `ThresholdAgreement`.

    Raise BadValue if a score is missing and `missing` is "refuse".
    """
    one_of(missing, MISSING_CHOICES, "missing")
    first = float_vector(first_scores, "first_scores")
    second = float_vector(second_scores, "second_scores")
    same_length(first_scores=first, second_scores=second)
    is_incomplete = np.isnan(first) | np.isnan(second)
    incomplete_count = int(is_incomplete.sum())
    if not incomplete_count:
        return first, second, 0, 0
    if missing == "refuse":
        pair = int(np.flatnonzero(is_incomplete)[0])
        raise BadValue(f"pair {pair} lacks a score, expected both (or missing='leave-out' or missing='no')")
    if missing == "leave-out":
        return first[~is_incomplete], second[~is_incomplete], 0, incomplete_count
    # Minus infinity reaches no threshold, so it counts as no.
    return np.nan_to_num(first, nan=-np.inf), np.nan_to_num(second, nan=-np.inf), incomplete_count, 0


@declare  # other processes may call it for resamples
def _measures(weights: Floats) -> Floats:
    """Return (B, 4) values of kappa, precision, recall and F1 of B resamples, from (B, 4) numbers of pairs by cell."""
    both, first_only, second_only, neither = weights.T
    n = weights.sum(axis=1)
    first, second = both + first_only, both + second_only
    expected = first * (n - second) + second * (n - first)
    kappa = ratio(2 * (both * neither - first_only * second_only), expected)
    f1 = ratio(2 * both, first + second)
    return np.stack([kappa, ratio(both, first), ratio(both, second), f1], axis=1)
