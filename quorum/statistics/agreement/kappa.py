"""Cohen's kappa for two raters, also weighted, Fleiss' kappa, and agreement by pair of raters.

With n_ij of n units labelled i by the first and j by the second rater, and d(i, j) = [i != j], |i - j| ("linear")
or (i - j)^2 ("quadratic") of the labels' positions (Cohen 1960, 1968; H13 Tables 8 to 10):

    kappa = 1 - n sum_ij d(i, j) n_ij  /  sum_ij d(i, j) n_i. n_.j

With n_uk of the m judgments of each of N units in category k, and p_k = sum_u n_uk / (N m) (Fleiss 1971):

    kappa = (P - sum_k p_k^2) / (1 - sum_k p_k^2),  P = 1/N sum_u (sum_k n_uk^2 - m) / (m (m - 1))

Thresholds cut two sources of scores into yes and no (H13 Tables 8 to 10).

By pair: every two raters on their common units alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, ratio
from quorum.numeric.packing import declare
from quorum.statistics.agreement.alpha_and_gwet import LEVELS
from quorum.statistics.agreement.coefficient import (
    AgreementResult,
    Data,
    Influences,
    Patterns,
    Ratings,
    ReadData,
    agreement,
    alpha_influences,
    count_rows,
    positions_at,
    ratings_of,
)
from quorum.statistics.crossed import (
    CONFIDENCE,
    NAIVE,
    NO_DELETIONS,
    ClusterColumns,
    Clusters,
    Estimate,
    RaterDeletions,
    Spread,
    coefficient_interval,
    columns_and_deletions,
    share_of_rows,
)
from quorum.statistics.inference import Inference, Options, Result, Sampling, signed
from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    encode,
    encode_both,
    encode_with,
    float_vector,
    is_real,
    one_of,
    one_per_row,
    same_length,
)
from quorum.statistics.resampling import bootstrap

WEIGHTS = (None, "linear", "quadratic")
NOTHING = "there is nothing to compare"
ONE_LABEL = "both raters used one and the same label only"
ONE_CATEGORY = "every judgment names the same category"

# H13: at least two of three of the crowd (4.3.2), and the mean grades of their Table 1.
CROWD_AT_LEAST = 0.66
EXPERTS_AT_LEAST = 3.33
SHARE_THRESHOLDS = (0.33, 0.66, 1.0)
GRADE_THRESHOLDS = (2.0, 2.33, 2.66, 3.0, 3.33, 3.66, 4.0)
MISSING = ("refuse", "leave-out", "no")

# A share of 2/3 or a mean grade of 10/3 that was rounded on the way still reaches its threshold.
TOLERANCE = 1e-9
NO_PAIR = "there is no pair with both scores"
ONE_SIDE = "both sources say the same about every pair"


def cohen_kappa(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
) -> float:
    """Return Cohen's kappa of two raters' (N,) labels without missing answers.

    `weights` is None, "linear" or "quadratic". The default `labels` are those that occur, ascending: an unused point of
    the scale does not count. Weights of texts need `labels`, in their order.
    """
    return CohenKappa(weights, labels).sample((first, second)).value()


@signed("cohen-kappa")
def kappa_interval(
    first: Iterable[Any],
    second: Iterable[Any],
    weights: str | None = None,
    *,
    labels: Sequence[Any] | NDArray[Any] | None = None,
    **options: Unpack[Sampling],
) -> AgreementResult:
    """Return `cohen_kappa` with its interval; columns of `clusters` have one entry a unit."""
    coefficient = CohenKappa(weights, labels)
    options.setdefault("clusters", NAIVE)
    return agreement((first, second), coefficient, **options)


def fleiss_kappa(counts: ArrayLike | Ratings) -> float:
    """Return Fleiss' kappa of (units, categories) counts; every unit has the same number of judgments.

    Of `Ratings`, units judged once are left out.
    """
    return FleissKappa().sample(counts).value()


@signed("fleiss-kappa")
def fleiss_interval(
    counts: ArrayLike | Ratings,
    **options: Unpack[Sampling],
) -> AgreementResult:
    """Return `fleiss_kappa` with its interval."""
    options.setdefault("clusters", NAIVE)
    return agreement(counts, FleissKappa(), **options)


@dataclass(frozen=True, slots=True)
class CohenKappa:
    weights: str | None = None
    labels: Sequence[Any] | NDArray[Any] | None = None
    name: ClassVar[str] = "cohen-kappa"

    @property
    def level(self) -> str:
        return self.weights or "nominal"

    def _codes(self, data: tuple[Iterable[Any], Iterable[Any]]) -> tuple[Ints, Ints, int]:
        if self.labels is None:
            labels, first, second = encode_both(*data, "first", "second")
            check_order(self.weights, labels, "numbers, or their order in labels")
            return first, second, len(labels)
        first = encode_with(one_per_row(data[0], "first"), self.labels, "first")
        second = encode_with(one_per_row(data[1], "second"), self.labels, "second")
        same_length(first=first, second=second)
        return first, second, len(self.labels)

    def sample(self, data: tuple[Iterable[Any], Iterable[Any]]) -> ReadData:
        check_weights(self.weights)
        first, second, size = self._codes(data)
        cells = _Cells(first, second, size, self.weights)
        return ReadData(
            of_units=cells,
            frequency=cells.frequency,
            width=2 * cells.labels,
            units=cells.n,
            pairable=cells.n,
            raters=2,
            judgments=2 * cells.n,
            reason=ONE_LABEL if cells.n else NOTHING,
        )

    def influences(self, data: tuple[Iterable[Any], Iterable[Any]]) -> Influences | None:
        from quorum.statistics.kernels import distances

        first, second, size = self._codes(data)
        if not len(first):
            return None
        kind = {"linear": distances.ABSOLUTE, "quadratic": distances.SQUARED}.get(
            self.level, distances.DIFFERENT
        )
        positions = np.arange(float(size))
        apart = np.abs(first - second).astype(np.float64)
        if self.weights is None:
            apart = np.minimum(apart, 1)
        elif kind == distances.SQUARED:
            apart = apart**2
        of_first, of_second = np.empty((2, size))
        amounts = [np.bincount(codes, minlength=size).astype(np.float64) for codes in (first, second)]
        distances.value_distances(kind, positions, amounts[1], of_first)
        distances.value_distances(kind, positions, amounts[0], of_second)
        n, observed, expected = len(first), float(apart.sum()), float(amounts[0] @ of_first)
        if not expected > 0:
            return None
        rows = (-observed - n * apart) / expected
        rows += n * observed / expected**2 * (of_first[first] + of_second[second])
        every = np.ones(n, dtype=np.bool_)
        chance = 1 - float(amounts[0] @ amounts[1]) / n**2
        return Influences(rows - rows.mean(), every, np.arange(n), None, 2.0, chance)


@dataclass(frozen=True, slots=True)
class FleissKappa:
    level: ClassVar[str] = "nominal"
    name: ClassVar[str] = "fleiss-kappa"

    def sample(self, data: Data | Patterns) -> ReadData:
        if isinstance(data, Patterns):
            patterns = data.comparable()
            rows, frequency = patterns.counts.toarray(), patterns.frequency
            raters = _equal_sizes(patterns.sizes().astype(np.int64))
        else:
            rows, frequency, raters = _fleiss_table(_counts(data) if isinstance(data, Ratings) else data)
        units = int(frequency.sum())
        return ReadData(
            of_units=lambda weights: _fleiss(rows, raters, weights),
            frequency=frequency,
            width=rows.shape[1],
            units=units,
            pairable=units,
            raters=raters,
            judgments=units * raters,
            reason=ONE_CATEGORY if units else NOTHING,
        )

    def influences(self, data: ArrayLike | Ratings) -> Influences | None:
        """Return those on nominal alpha, without its correction (n - 1) / n; a table names no raters."""
        ratings = data if isinstance(data, Ratings) else _ratings(np.asarray(data).astype(np.int64))
        influences = alpha_influences(ratings, "nominal")
        if influences is None:
            return None
        n = len(influences.values)
        raters = influences.raters if isinstance(data, Ratings) else None
        return replace(influences, values=influences.values * n / (n - 1), raters=raters)


def _counts(ratings: Ratings) -> Ints:
    counts = np.zeros((len(ratings.units), len(ratings.labels)), dtype=np.int64)
    np.add.at(counts, (ratings.unit, ratings.code), 1)
    return counts[counts.sum(axis=1) >= 2]


def _ratings(counts: Ints) -> Ratings:
    unit, code = np.nonzero(counts)
    times = counts[unit, code]
    unit, code = np.repeat(unit, times), np.repeat(code, times)
    rater = np.arange(len(unit))
    return Ratings(np.arange(len(counts)), rater, np.arange(counts.shape[1]), unit, rater, code)


def check_weights(weights: str | None) -> None:
    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected None, linear or quadratic")


def check_order(weights: str | None, labels: NDArray[Any], expected: str) -> None:
    """Refuse texts, whose order is that of an alphabet, where distances count."""
    if weights is not None and len(labels) and labels.dtype.kind not in "biuf":
        raise BadOption(f"weights is {weights!r} and answers are text, expected {expected}")


@declare
class _Cells:
    def __init__(self, first: Ints, second: Ints, labels: int, weights: str | None) -> None:
        self._weights = weights
        self.labels = labels
        self.n = len(first)
        keys = first  # made by `sample`, so it may be written over
        keys *= labels
        keys += second
        if self.labels**2 <= max(1 << 16, 4 * self.n):
            table = np.bincount(keys, minlength=self.labels**2)
            occurring = np.flatnonzero(table)
            self.frequency = table[occurring]
        else:
            occurring, self.frequency = np.unique(keys, return_counts=True)
        rows, columns = np.divmod(occurring, max(self.labels, 1))
        distance = np.abs(rows - columns).astype(np.float64)
        if weights is None:
            distance = (distance > 0).astype(np.float64)
        elif weights == "quadratic":
            distance = distance**2
        self._distance = distance
        ones = np.ones(len(occurring))
        shape = (len(occurring), self.labels)
        self._first = scipy.sparse.csr_array((ones, (np.arange(len(occurring)), rows)), shape=shape)
        self._second = scipy.sparse.csr_array((ones, (np.arange(len(occurring)), columns)), shape=shape)

    def __call__(self, weights: Floats) -> Floats:
        first = np.asarray(weights @ self._first)
        second = np.asarray(weights @ self._second)
        observed = weights @ self._distance * weights.sum(axis=1)
        return 1 - ratio(observed, self._expected(first, second))

    def _expected(self, first: Floats, second: Floats) -> Floats:
        n = first.sum(axis=1)
        if self._weights is None:
            return n**2 - (first * second).sum(axis=1)
        if self._weights == "linear":
            # |i - j| counts the steps between the two positions; sum over the steps instead of the cells.
            below_first = np.cumsum(first, axis=1)[:, :-1]
            below_second = np.cumsum(second, axis=1)[:, :-1]
            total = n[:, np.newaxis]
            return (below_first * (total - below_second) + below_second * (total - below_first)).sum(axis=1)
        position = np.arange(self.labels, dtype=np.float64)
        return (
            n * (first @ position**2)
            + n * (second @ position**2)
            - 2 * (first @ position) * (second @ position)
        )


def _fleiss_table(counts: ArrayLike) -> tuple[Floats, Ints, int]:
    try:
        table = np.asarray(counts)
    except ValueError as error:
        raise BadShape("counts has rows of unequal length, expected units by categories") from error
    if table.ndim != 2:
        raise BadShape(f"counts has {table.ndim} dimensions, expected two: units by categories")
    if table.dtype.kind not in "biuf":
        raise BadValue("counts holds something that is no number, expected whole numbers from zero on")
    if table.size and not (
        np.isfinite(table).all() and np.array_equal(table, np.floor(table)) and table.min() >= 0
    ):
        raise BadValue("counts holds a negative or broken number, expected whole numbers from zero on")
    table = table.astype(np.int64)
    raters = _equal_sizes(table.sum(axis=1))
    rows, frequency = count_rows(table)
    return rows.astype(np.float64), frequency, raters


def _equal_sizes(sums: Ints) -> int:
    raters = int(sums[0]) if len(sums) else 0
    odd = np.flatnonzero(sums != raters)
    if odd.size:
        raise BadValue(
            f"unit {odd[0]} has {sums[odd[0]]} judgments and unit 0 has {raters}, expected equally many "
            "(Krippendorff's alpha takes unequal numbers)"
        )
    if len(sums) and raters < 2:
        raise BadValue(f"units have {raters} judgments each, expected two or more")
    return raters


def _fleiss(rows: Floats, raters: int, weights: Floats) -> Floats:
    units = weights.sum(axis=1)
    agreeing = ((rows**2).sum(axis=1) - raters) / (raters * (raters - 1))
    observed = 1 - weights @ agreeing / units
    totals = weights @ rows
    judgments = units * raters
    # Whole numbers up to here, so that a table of one category gives exactly zero.
    expected = (judgments**2 - (totals**2).sum(axis=1)) / judgments**2
    return 1 - ratio(observed, expected)


@dataclass(frozen=True, slots=True)
class ThresholdAgreement(Inference):
    """Kappa, and precision, recall and F1 of the first source against the second.

    both, first_only, second_only, neither: pairs by who says yes. `n` pairs were compared; `filled` ones lacked a
    score, taken as no. The interval and `reason` are those of kappa.
    """

    first_at_least: float
    second_at_least: float
    kappa: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    both: int
    first_only: int
    second_only: int
    neither: int
    n: int
    filled: int
    left_out: int


@dataclass(frozen=True, slots=True)
class KappaGrid(Result):
    """Every pair of thresholds, row by row of the first's; `best` has the highest defined kappa."""

    first_thresholds: tuple[float, ...]
    second_thresholds: tuple[float, ...]
    cells: tuple[ThresholdAgreement, ...]
    best: ThresholdAgreement | None

    def values(self) -> Floats:
        """Return (first thresholds, second thresholds) kappas."""
        shape = (len(self.first_thresholds), len(self.second_thresholds))
        return np.array([cell.kappa.value for cell in self.cells]).reshape(shape)


def at_least(scores: ArrayLike, threshold: float) -> Flags:
    """Return which of (N,) scores reach the threshold, up to rounding; nan reaches none."""
    if not (is_real(threshold) and math.isfinite(threshold)):
        raise BadOption(f"the threshold is {threshold!r}, expected a finite number")
    return float_vector(scores, "scores") >= float(threshold) - TOLERANCE * max(1.0, abs(threshold))


@signed("threshold-kappa")
def threshold_kappa(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    first_at_least: float = CROWD_AT_LEAST,
    second_at_least: float = EXPERTS_AT_LEAST,
    *,
    missing: str = "refuse",
    **options: Unpack[Sampling],
) -> ThresholdAgreement:
    """Compare first >= `first_at_least` with second >= `second_at_least`, (N,) scores each.

    `missing` also takes "no": a nan counts as no, as H13 do for pairs that the filter removed. The default thresholds
    are H13's, with the crowd's share of yes first.
    """
    chosen, deletions = Options.with_raters(**options)
    clustered = bool(chosen.columns) or deletions is not None
    if clustered:
        chosen = replace(chosen, resamples=0)
    first, second, filled, left_out = _prepare(first_scores, second_scores, missing)
    yes_first = at_least(first, first_at_least)
    yes_second = at_least(second, second_at_least)
    cells = np.bincount(2 * yes_first.astype(np.int64) + yes_second, minlength=4)
    table = cells[::-1].astype(np.int64)  # both, first only, second only, neither
    both, first_only, second_only, neither = table.tolist()
    n = int(table.sum())
    value = _figures(table[np.newaxis].astype(np.float64))[0]
    inference = chosen.undefined()
    intervals = [(math.nan, math.nan)] * 4
    if n and clustered:
        keep = np.ones(n + left_out, dtype=np.bool_)
        if left_out:
            keep = ~(np.isnan(float_vector(first_scores, "")) | np.isnan(float_vector(second_scores, "")))
        grouped = chosen.clusters_of("pair", keep)
        left = (deletions or NO_DELETIONS).of_rows(keep, "pair")
        yes_without = np.where(np.isnan(left.value), 2, at_least(left.value, second_at_least))
        changes = cache(
            partial(
                _changes_without_raters, table, value, yes_first[left.row], yes_second[left.row], yes_without
            )
        )
        intervals, grouped = _clustered(
            yes_first, yes_second, value, grouped, chosen.confidence, left, changes
        )
        inference = chosen.clustered(grouped, intervals[0])
    elif n:
        draws = bootstrap(_figures, table, resamples=chosen.resamples, generator=chosen.generator, width=4)
        drawn = [chosen.drawn(draws[:, column]) for column in range(4)]
        inference, intervals = drawn[0], [(interval.low, interval.high) for interval in drawn]
    # Where the figure itself is undefined, resamples that happen to define it say nothing.
    estimates = [
        Estimate(float(figure), low, high) if not math.isnan(figure) else Estimate(*(math.nan,) * 3)
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


def _changes_without_raters(
    table: Ints, value: Floats, yes_first: Flags, yes_second: Flags, yes_without: Ints
) -> Floats:
    """Return (4, V) how much of the figures is lost where a rater leaves a mean: then it is 0 no, 1 yes, or 2 gone.

    `table` (4,) has the pairs by who says yes, `value` (4,) the figures.
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


def _clustered(
    first: Flags,
    second: Flags,
    value: Floats,
    clusters: Clusters,
    confidence: float,
    left: RaterDeletions,
    changes: Callable[[], Floats],
) -> tuple[list[tuple[float, float]], Clusters]:
    """Return the intervals of kappa, precision, recall and F1, and what they are clustered by."""

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
            clusters.number,
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


@signed("kappa-grid")
def kappa_grid(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    first_thresholds: Sequence[float] = SHARE_THRESHOLDS,
    second_thresholds: Sequence[float] = GRADE_THRESHOLDS,
    *,
    missing: str = "refuse",
    **options: Unpack[Sampling],
) -> KappaGrid:
    """Return `threshold_kappa` at every pair of thresholds, each with the same seed."""
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
) -> Estimate:
    """Return kappa of `threshold_kappa` where each of (N,) rows counts `weights` times, by the influences of rows."""
    columns, deletions = columns_and_deletions(clusters)
    yes_first, yes_second = at_least(first, first_at_least), at_least(second, second_at_least)
    cell = _cells_of_pairs(yes_first, yes_second)
    table = np.bincount(cell, weights, minlength=4).astype(np.float64)
    value = float(_figures(table[np.newaxis])[0, 0])
    if math.isnan(value):
        return Estimate(*(math.nan,) * 3)
    slope = _slope_of_kappa(table, value)
    left = (deletions or NO_DELETIONS).of_rows(np.ones(len(cell), dtype=np.bool_), "pair")

    def changes() -> Floats:
        others = _cells_of_pairs(yes_first[left.row], at_least(left.value, second_at_least))
        then = np.where(np.isnan(left.value), 0.0, slope[others])
        return np.asarray(weights[left.row] * (slope[cell[left.row]] - then), dtype=np.float64)

    grouped = Options.of(clusters=columns).clusters_of("pair", np.ones(len(cell), dtype=np.bool_))
    grouped = grouped.weighted(weights)
    spread, grouped = left.widen(grouped.spread(weights * slope[cell]), grouped, changes)
    ends = coefficient_interval(
        value,
        spread,
        grouped.number,
        CONFIDENCE,
        chance_of_difference=_expected_differences(table) / table.sum() ** 2,
    )
    return Estimate(value, *ends)


def _cells_of_pairs(first: Flags, second: Flags) -> Ints:
    """Return (N,) who says yes: 0 both, 1 the first only, 2 the second only, 3 neither."""
    return np.asarray(3 - 2 * first.astype(np.int64) - second, dtype=np.int64)


def _slope_of_kappa(table: Floats, value: float) -> Floats:
    """Return (4,) how fast kappa rises with the weight of each cell of a table."""
    both, first_only, second_only, neither = table
    of_first, of_second = np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 1, 0])
    n, first, second = table.sum(), both + first_only, both + second_only
    grown = of_first * (n - second) + first * (1 - of_second) + of_second * (n - first)
    grown += second * (1 - of_first)
    balance = 2 * np.array([neither, -second_only, -first_only, both])
    return np.asarray((balance - value * grown) / _expected_differences(table), dtype=np.float64)


def _expected_differences(table: Floats) -> float:
    """Return n^2 times the chance that two who answer at random differ."""
    n, first, second = table.sum(), table[:2].sum(), table[::2].sum()
    return float(first * (n - second) + second * (n - first))


def _prepare(
    first_scores: ArrayLike, second_scores: ArrayLike, missing: str
) -> tuple[Floats, Floats, int, int]:
    one_of(missing, MISSING, "missing")
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


FIGURES = ("units", "percent", "kappa", "alpha")
NO_COMMON_UNIT = "no two raters judged a common unit"
SAME_ANSWER = "kappa and alpha are undefined for raters who gave one and the same answer to all common units"


@dataclass(frozen=True, slots=True)
class PairAgreement(Result):
    """Every two raters with a common unit, (P,) each, in the order of the raters.

    raters: (R,) names. first, second: positions among them, first < second. units: common ones. Weights of kappa take
    positions among all labels of the data.
    """

    raters: NDArray[Any]
    first: Ints
    second: Ints
    units: Ints
    percent: Floats
    kappa: Floats
    alpha: Floats
    level: str
    weights: str | None

    def matrix(self, figure: str) -> Floats:
        """Return (R, R) of one of FIGURES: symmetric, nan on the diagonal and without common units."""
        one_of(figure, FIGURES, "figure")
        table = np.full((len(self.raters), len(self.raters)), np.nan)
        table[self.first, self.second] = getattr(self, figure)
        table[self.second, self.first] = getattr(self, figure)
        return table


@signed("agreement-by-pair")
def agreement_by_pair(
    reliability_data: Data, level: str = "nominal", weights: str | None = None
) -> PairAgreement:
    """Return percent agreement, kappa and alpha of every two raters; `level` is alpha's, `weights` kappa's."""
    from quorum.statistics.kernels.rater_pairs import count_rater_pairs, pair_figures

    one_of(level, LEVELS, "level")
    check_weights(weights)
    ratings = ratings_of(reliability_data, numeric=level != "nominal")
    check_order(weights, ratings.labels, "numbers in their order")
    by_unit, by_rater = ratings.by_unit(), ratings.by_rater()
    count, longest = count_rater_pairs(by_unit, by_rater)
    pairs = np.empty((count, 3), dtype=np.int64)
    figures = np.empty((count, 3))
    positions = positions_at(level, ratings.labels)
    pair_figures(
        by_unit, by_rater, longest, positions, WEIGHTS.index(weights), LEVELS.index(level), pairs, figures
    )
    first, second, units = pairs.T
    percent, kappa, alpha = figures.T
    reason = NO_COMMON_UNIT if not count else SAME_ANSWER if np.isnan(alpha).any() else ""
    return PairAgreement(
        raters=ratings.raters,
        first=first,
        second=second,
        units=units,
        percent=percent,
        kappa=kappa,
        alpha=alpha,
        level=level,
        weights=weights,
        reason=reason,
    )
