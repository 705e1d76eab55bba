"""Krippendorff's alpha = 1 - D_o / D_e (H13 section 4.2.1 reports it), with an interval.

Krippendorff, *Computing Krippendorff's Alpha-Reliability* (2011). With n_uv the count of value v in
unit u and m_u its judgments, units with m_u < 2 are dropped together with their values, and

    alpha = 1 - (n - 1) sum_u sum_vw n_uv n_uw d(v, w) / (m_u - 1)  /  sum_vw n_v n_w d(v, w)

where d is the squared distance of the level. The ordinal distance is the interval distance of the
values' mid-ranks, and sums of squared differences follow from moments, so that no table of values by
values is needed but for the ratio level.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from evaluation.statistics.agreement_result import NO_PAIRS, AgreementResult, point_of, result_of
from evaluation.statistics.patterns import Patterns, patterns_of
from evaluation.statistics.rater_resampling import OfRaters, RaterAlpha
from evaluation.statistics.ratings import Data, Ratings, exact_positions, ratings_of_judgments
from evaluation.statistics.resampling import CONFIDENCE, RESAMPLES, Seed
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, one_of

LEVELS = ("nominal", "ordinal", "interval", "ratio")

# Distances of the ratio level are made for this many pairs of values at once.
_PAIRS = 1 << 22

NO_VARIATION = "every judgment that can be compared has the same value"
NEGATIVE_RATIO = "the ratio level has no meaning for negative numbers; two opposite numbers count as equal"


def krippendorff_alpha(reliability_data: Data, level: str = "nominal") -> float:
    """Krippendorff's alpha of a (raters, units) array in which nan (or None) is a missing judgment.

    `level` is nominal, ordinal, interval or ratio. nan where alpha is undefined; `alpha_interval` says
    why. `Ratings`, one judgment a row, are taken too. Raises BadShape, BadValue, BadOption.
    """
    one_of(level, LEVELS, "level")
    patterns = patterns_of(reliability_data, numeric=level != "nominal").comparable()
    return point_of(AlphaOfWeights(patterns, level), patterns)


@signed("krippendorff-alpha", input="table")
def alpha_interval(
    reliability_data: Data,
    level: str = "nominal",
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
    over: str = "units",
) -> AgreementResult:
    """`krippendorff_alpha` with a bootstrap interval and the reason where it is undefined.

    Takes the same (raters, units) table or `Ratings`. The percentile interval of `resamples` resamples;
    `over` says what they draw anew: units (the raters are these), raters (the units are these), or both.
    Raises BadShape, BadValue, BadOption.
    """
    one_of(level, LEVELS, "level")
    return _result(reliability_data, level, confidence, resamples, seed, over)


@signed("krippendorff-alpha", input="rows")
def alpha_of_judgments(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    level: str = "nominal",
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
    over: str = "units",
) -> AgreementResult:
    """Alpha of one judgment a row: three (N,) columns, no table of workers by units in between.

    Units and workers are any hashable names; values are numbers, or anything for the nominal level.
    Raises DuplicateJudgment where a worker judged a unit twice, BadShape, BadValue, BadOption.
    """
    one_of(level, LEVELS, "level")
    return _result(ratings_of_judgments(units, workers, values), level, confidence, resamples, seed, over)


def _result(
    data: Data, level: str, confidence: float, resamples: int, seed: Seed, over: str
) -> AgreementResult:
    patterns = patterns_of(data, numeric=level != "nominal").comparable()

    def of_raters(ratings: Ratings) -> OfRaters:
        return RaterAlpha(ratings, level)

    return result_of(
        "krippendorff-alpha",
        data,
        patterns,
        AlphaOfWeights(patterns, level),
        of_raters,
        judged_at_least=2,
        level=level,
        reason=NO_VARIATION if len(patterns.frequency) else NO_PAIRS,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        over=over,
        note=NEGATIVE_RATIO if level == "ratio" and (patterns.labels < 0).any() else "",
    )


class AlphaOfWeights:
    """Alpha of many weightings of the same patterns: (B, P) weights to (B,) values."""

    def __init__(self, patterns: Patterns, level: str) -> None:
        self._counts = patterns.counts
        self._size = np.asarray(patterns.counts.sum(axis=1), dtype=np.float64)
        self._level = level
        if level == "interval" or level == "ratio":
            self._values = exact_positions(patterns.labels)
        if level == "nominal":
            squares = np.asarray(patterns.counts.power(2).sum(axis=1))
            self._observed = (self._size**2 - squares) / (self._size - 1)
        elif level == "interval":
            # Centred values keep the moments small where the values lie far from zero.
            totals = patterns.frequency @ patterns.counts
            self._values = self._values - totals @ self._values / max(totals.sum(), 1)
            mean = self._counts @ self._values / self._size
            self._observed = 2 * self._size * self._within(mean) / (self._size - 1)
        elif level == "ratio":
            self._observed = _ratio_within(patterns, self._values) / (self._size - 1)

    def __call__(self, weights: Floats) -> Floats:
        if self._level == "ordinal":
            observed, expected, n = self._ordinal(weights)
        else:
            observed = weights @ self._observed
            n = weights @ self._size
            expected = self._expected(weights, n)
        alpha = np.full(len(weights), np.nan)
        np.divide((n - 1) * observed, expected, out=alpha, where=expected > 0)
        return 1 - alpha

    def _within(self, mean: Floats) -> Floats:
        """Sum of squared deviations from the unit's mean, per pattern."""
        counts = self._counts
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        deviations = counts.data * (self._values[counts.indices] - mean[rows]) ** 2
        return np.bincount(rows, weights=deviations, minlength=counts.shape[0]).astype(np.float64)

    def _expected(self, weights: Floats, n: Floats) -> Floats:
        if self._level == "interval":
            first = weights @ (self._counts @ self._values)
            second = weights @ (self._counts @ self._values**2)
            spread = 2 * (n * second - first**2)
            # What is left of equal values after rounding is no variation.
            return np.where(spread > 1e-12 * n * second, spread, 0.0)
        totals = weights @ self._counts
        if self._level == "nominal":
            return n**2 - (totals**2).sum(axis=1)
        return _ratio_between(totals, self._values)

    def _ordinal(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        totals = weights @ self._counts
        n = totals.sum(axis=1)
        ranks = np.cumsum(totals, axis=1) - totals / 2 - n[:, np.newaxis] / 2
        first = self._counts @ ranks.T
        second = self._counts @ (ranks**2).T
        size = self._size[:, np.newaxis]
        within = 2 * (size * second - first**2) / (size - 1)
        observed = np.einsum("bp,pb->b", weights, within)
        # Mid-ranks weighted by their totals sum to zero around n / 2, so the second moment is enough.
        expected = 2 * n * (totals * ranks**2).sum(axis=1)
        return observed, expected, n


def _ratio_distance(first: Floats, second: Floats) -> Floats:
    """((v - w) / (v + w))^2, and 0 where v + w = 0: right for two zeros, a convention for -1 and 1."""
    total = first + second
    ratio = np.zeros(np.broadcast(first, second).shape)
    np.divide(first - second, total, out=ratio, where=total != 0)
    return ratio**2


def _ratio_within(patterns: Patterns, values: Floats) -> Floats:
    """Sum of n_v n_w d(v, w) over the ordered pairs of values inside each pattern."""
    counts = patterns.counts
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    total = np.zeros(counts.shape[0])
    for step in range(1, int(np.diff(counts.indptr).max(initial=0))):
        left = np.flatnonzero(rows[:-step] == rows[step:])
        right = left + step
        distance = _ratio_distance(values[counts.indices[left]], values[counts.indices[right]])
        total += np.bincount(
            rows[left], weights=2 * distance * counts.data[left] * counts.data[right], minlength=len(total)
        )
    return total


def _ratio_between(totals: Floats, values: Floats) -> Floats:
    """Sum of n_v n_w d(v, w) over all ordered pairs of values, for each row of totals."""
    expected = np.zeros(len(totals))
    step = max(1, _PAIRS // max(len(values), 1))
    for start in range(0, len(values), step):
        block = slice(start, start + step)
        distance = _ratio_distance(values[block, np.newaxis], values[np.newaxis, :])
        expected += ((totals[:, block] @ distance) * totals).sum(axis=1)
    return expected
