"""Agreement of two sources of scores, each cut into yes and no at a threshold (H13 Tables 8 to 10)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Flags, Floats, ratio
from evaluation.statistics.agreement.kappa import CohenKappa
from evaluation.statistics.clustering import (
    NAIVE,
    Clusters,
    coefficient_interval,
    columns_of,
    share_of_rows,
)
from evaluation.statistics.inputs import (
    BadOption,
    BadValue,
    encode,
    float_vector,
    is_real,
    one_of,
    one_per_row,
    same_length,
)
from evaluation.statistics.resampling import Estimate, bootstrap
from evaluation.statistics.results import Inference, Options, Result, Sampling, signed

# H13: at least two of three of the crowd (4.3.2), and the mean grades of their Table 1.
CROWD_AT_LEAST = 0.66
EXPERTS_AT_LEAST = 3.33
SHARE_THRESHOLDS = (0.33, 0.66, 1.0)
GRADE_THRESHOLDS = (2.0, 2.33, 2.66, 3.0, 3.33, 3.66, 4.0)

MISSING = ("refuse", "leave-out", "no")

# A share of 2/3 or a mean grade of 10/3 that was rounded on the way still reaches its threshold.
TOLERANCE = 1e-9

NOTHING = "there is no pair with both scores"
ONE_SIDE = "both sources say the same about every pair"


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
    chosen = Options.of(**options)
    if chosen.columns:
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
    if n and chosen.columns:
        keep = np.ones(n + left_out, dtype=np.bool_)
        if left_out:
            keep = ~(np.isnan(float_vector(first_scores, "")) | np.isnan(float_vector(second_scores, "")))
        grouped = Clusters.of(chosen.columns, len(keep), keep)
        if not grouped.reason:
            intervals = _clustered(yes_first, yes_second, value, grouped, chosen.confidence)
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
        inference = replace(inference, reason=ONE_SIDE if n else NOTHING, low=math.nan, high=math.nan)
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


def _clustered(
    first: Flags, second: Flags, value: Floats, clusters: Clusters, confidence: float
) -> list[tuple[float, float]]:
    found = CohenKappa().influences((first, second))
    low = high = math.nan
    if found is not None:
        spread = clusters.spread(found.values)
        low, high = coefficient_interval(float(value[0]), spread, confidence)
    intervals = [(low, high)]
    columns = {str(place): codes for place, codes in enumerate(clusters.codes[:2])}
    yeses = first.astype(np.float64) + second
    for right, keep, weights in (
        (second, first, None),
        (first, second, None),
        (first & second, first | second, yeses),
    ):
        share = share_of_rows(right.astype(np.float64), columns, confidence, keep=keep, weights=weights)
        intervals.append((share.low, share.high))
    return intervals


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
    clusters = columns_of(options.get("clusters", NAIVE))
    options["clusters"] = {name: encode(column, name)[1] for name, column in clusters.items()} or NAIVE
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


def _figures(weights: Floats) -> Floats:
    both, first_only, second_only, neither = weights.T
    n = weights.sum(axis=1)
    first, second = both + first_only, both + second_only
    expected = first * (n - second) + second * (n - first)
    kappa = ratio(2 * (both * neither - first_only * second_only), expected)
    f1 = ratio(2 * both, first + second)
    return np.stack([kappa, ratio(both, first), ratio(both, second), f1], axis=1)
