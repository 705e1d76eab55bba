"""Agreement of two sources of scores, each cut into yes and no at a threshold (H13 Tables 8 to 10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evaluation.arrays import Flags, Floats, ratio
from evaluation.statistics.agreement.kappa import CohenKappa
from evaluation.statistics.clustering import (
    NAIVE,
    ClusterColumns,
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
from evaluation.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    Seed,
    bootstrap,
    check_confidence,
    generator_of,
    percentile_interval,
)
from evaluation.statistics.results import signed

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
class ThresholdAgreement:
    """Kappa, and precision, recall and F1 of the first source against the second.

    both, first_only, second_only, neither: pairs by who says yes. `n` pairs were compared; `filled` ones lacked a
    score, taken as no. `reason` and `undefined_resamples` are those of kappa.
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
    confidence: float
    resamples: int
    undefined_resamples: int
    seed: int | None
    reason: str
    clusters: Mapping[str, int] = field(default_factory=dict)
    signature: str = ""


@dataclass(frozen=True, slots=True)
class KappaGrid:
    """Every pair of thresholds, row by row of the first's; `best` has the highest defined kappa."""

    first_thresholds: tuple[float, ...]
    second_thresholds: tuple[float, ...]
    cells: tuple[ThresholdAgreement, ...]
    best: ThresholdAgreement | None
    signature: str = ""

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
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
    clusters: ClusterColumns = NAIVE,
) -> ThresholdAgreement:
    """Compare first >= `first_at_least` with second >= `second_at_least`, (N,) scores each.

    `missing` also takes "no": a nan counts as no, as H13 do for pairs that the filter removed. The default thresholds
    are H13's, with the crowd's share of yes first.
    """
    check_confidence(confidence)
    generator, reported = generator_of(seed)
    first, second, filled, left_out = _prepare(first_scores, second_scores, missing)
    yes_first = at_least(first, first_at_least)
    yes_second = at_least(second, second_at_least)
    cells = np.bincount(2 * yes_first.astype(np.int64) + yes_second, minlength=4)
    table = cells[::-1].astype(np.int64)  # both, first only, second only, neither
    both, first_only, second_only, neither = table.tolist()
    n = int(table.sum())
    value = _figures(table[np.newaxis].astype(np.float64))[0]
    intervals = [(math.nan, math.nan, 0)] * 4
    columns, too_few = columns_of(clusters), ""
    counts: Mapping[str, int] = {}
    if columns:
        resamples = 0
    if n and columns:
        keep = np.ones(n + left_out, dtype=np.bool_)
        if left_out:
            keep = ~(np.isnan(float_vector(first_scores, "")) | np.isnan(float_vector(second_scores, "")))
        grouped = Clusters.of(columns, len(keep), keep)
        counts, too_few = grouped.counts, grouped.reason
        if not too_few:
            intervals = _clustered(yes_first, yes_second, value, grouped, confidence)
    elif n:
        draws = bootstrap(_figures, table, resamples=resamples, generator=generator, width=4)
        intervals = [percentile_interval(draws[:, column], confidence) for column in range(4)]
    # Where the figure itself is undefined, resamples that happen to define it say nothing.
    estimates = [
        Estimate(float(figure), low, high) if not math.isnan(figure) else Estimate(*(math.nan,) * 3)
        for figure, (low, high, _) in zip(value, intervals, strict=True)
    ]
    undefined = math.isnan(value[0])
    kappa, precision, recall, f1 = estimates
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
        confidence=float(confidence),
        resamples=resamples,
        undefined_resamples=intervals[0][2],
        seed=reported,
        reason=too_few if not undefined else ONE_SIDE if n else NOTHING,
        clusters=counts,
    )


def _clustered(
    first: Flags, second: Flags, value: Floats, clusters: Clusters, confidence: float
) -> list[tuple[float, float, int]]:
    found = CohenKappa().influences((first, second))
    low = high = math.nan
    if found is not None:
        spread = clusters.spread(found.values)
        low, high = coefficient_interval(float(value[0]), spread, confidence)
    intervals = [(low, high, 0)]
    columns = {str(place): codes for place, codes in enumerate(clusters.codes[:2])}
    yeses = first.astype(np.float64) + second
    for right, keep, weights in (
        (second, first, None),
        (first, second, None),
        (first & second, first | second, yeses),
    ):
        share = share_of_rows(right.astype(np.float64), columns, confidence, keep=keep, weights=weights)
        intervals.append((share.low, share.high, 0))
    return intervals


@signed("kappa-grid")
def kappa_grid(
    first_scores: ArrayLike,
    second_scores: ArrayLike,
    first_thresholds: Sequence[float] = SHARE_THRESHOLDS,
    second_thresholds: Sequence[float] = GRADE_THRESHOLDS,
    *,
    missing: str = "refuse",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int | np.integer[Any] = 0,
    clusters: ClusterColumns = NAIVE,
) -> KappaGrid:
    """Return `threshold_kappa` at every pair of thresholds, each with the same seed."""
    columns = {name: encode(column, name)[1] for name, column in columns_of(clusters).items()}
    first_thresholds = one_per_row(first_thresholds, "first_thresholds")
    second_thresholds = one_per_row(second_thresholds, "second_thresholds")
    if not len(first_thresholds) or not len(second_thresholds):
        raise BadOption("the grid has no threshold, expected one or more for each source")
    first, second = float_vector(first_scores, "first_scores"), float_vector(second_scores, "second_scores")
    cells = tuple(
        threshold_kappa(
            first,
            second,
            row,
            column,
            missing=missing,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            clusters=columns or NAIVE,
        )
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
