"""Krippendorff's alpha.

Alpha = 1 - D_o / D_e, with observed and expected disagreement, as in Krippendorff, *Computing Krippendorff's
Alpha-Reliability* (2011), and in Hodosh et al. 2013, section 4.2.1. With n_uv the count of value v in unit u, n_v its
count in all units, m_u the number of judgments of u (units with m_u < 2 are dropped), and n that of all units,

    alpha = 1 - (n - 1) sum_u sum_vw n_uv n_uw d(v, w) / (m_u - 1)  /  sum_vw n_v n_w d(v, w)

where d is the squared distance at the level of measurement. The ordinal distance is the interval distance of mid-ranks.

Alpha of parts is for answers that consist of several values, such as links of words to boxes, or best and worst
options. It compares the answers part by part. Resamples draw whole units, because the parts of a unit depend on each
other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats, Ints, parts_of, ratio
from quorum.numeric.packing import declare
from quorum.statistics.agreement.coefficient import (
    ALPHA,
    NO_PAIRS,
    AgreementData,
    AgreementResult,
    agreement,
    influences_of,
)
from quorum.statistics.agreement.influences import Influences, PatternInfluences, alpha_influences
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns, patterns_of
from quorum.statistics.agreement.positions import exact_positions
from quorum.statistics.agreement.ratings import Data, Ratings, check_numeric, ratings_of_judgments
from quorum.statistics.inference import RaterSampling, signed
from quorum.statistics.inputs import ROUNDING, DuplicateJudgment, encode, first_repeated, one_of, same_length

# Four columns: units, parts, workers and values.
Parts = tuple[Iterable[Any], Iterable[Any], Iterable[Any], Iterable[Any]]
LEVELS = ("nominal", "ordinal", "interval", "ratio")

# Distances at the ratio level are computed for at most this many pairs of values at once.
_MAX_PAIRS = 1 << 22
NO_VARIATION = "every judgment that can be compared has the same value"
NEGATIVE_RATIO = "the ratio level has no meaning for negative numbers; two opposite numbers count as equal"


def krippendorff_alpha(reliability_data: Data, level: str = "nominal") -> float:
    """Return Krippendorff's alpha. `level` is one of LEVELS."""
    return Alpha(level).read(reliability_data).value()


@signed("krippendorff-alpha", input="table")
def alpha_interval(
    reliability_data: Data, level: str = "nominal", **options: Unpack[RaterSampling]
) -> AgreementResult:
    """Return `krippendorff_alpha` with its interval."""
    return agreement(reliability_data, Alpha(level), **options)


@signed("krippendorff-alpha", input="rows")
def alpha_of_judgments(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    level: str = "nominal",
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return alpha of (N,) columns with one judgment in each row. Nominal values need not be numbers.

    Raise DuplicateJudgment if a worker judged a unit twice.
    """
    one_of(level, LEVELS, "level")
    ratings = ratings_of_judgments(units, workers, values)
    return agreement(ratings, Alpha(level), **options)


@signed("krippendorff-alpha", input="parts")
def alpha_of_parts(
    units: Iterable[Any],
    parts: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    level: str = "nominal",
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return alpha of answers that consist of parts, from (N,) columns with one value of one part in each row.

    The units and judgments that the result counts are whole ones, not parts. Raise DuplicateJudgment if a worker gave a
    part two values.
    """
    return agreement((units, parts, workers, values), AlphaOfParts(level), **options)


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha. `level` is one of LEVELS."""

    level: str = "nominal"
    name: ClassVar[str] = ALPHA

    def read(self, data: Data | PatternedRatings) -> AgreementData:
        one_of(self.level, LEVELS, "level")
        patterns = patterns_of(data, numeric=self.level != "nominal").comparable_patterns()
        return AgreementData.of_patterns(
            patterns,
            AlphaOfWeights(patterns, self.level),
            reason=NO_VARIATION if len(patterns.frequency) else NO_PAIRS,  # if alpha is undefined
            note=NEGATIVE_RATIO if self.level == "ratio" and (patterns.labels < 0).any() else "",
        )

    def pattern_influences(self, patterns: UnitPatterns) -> PatternInfluences | None:
        return alpha_influences(patterns, self.level)


@dataclass(frozen=True, slots=True)
class AlphaOfParts:
    """Alpha of answers that consist of parts. The data are four (N,) columns: units, parts, workers and values."""

    level: str = "nominal"
    name: ClassVar[str] = ALPHA

    def read(self, data: Parts) -> AgreementData:
        one_of(self.level, LEVELS, "level")
        unit_count, unit, ratings = _read_parts(data)
        if self.level != "nominal":
            check_numeric(ratings)
        part, part_count, worker_count = ratings.unit, len(ratings.units), len(ratings.raters)
        unit_of_part = np.zeros(part_count, dtype=np.int64)
        unit_of_part[part] = unit
        if first_repeated(part, ratings.rater) is not None:
            raise DuplicateJudgment(
                "a worker gave a part of a unit two values, expected one value a part and worker"
            )
        counts = scipy.sparse.csr_array(
            (np.ones(len(part)), (part, ratings.code)), shape=(part_count, len(ratings.labels))
        )
        frequency = np.ones(part_count, dtype=np.int64)
        patterns = UnitPatterns(
            ratings.labels, counts, frequency, units=unit_count, raters=worker_count, judgments=len(part)
        )
        # The units of which a part has two judgments, and for each such part the position of its unit among them.
        compared_units, compared_unit = np.unique(unit_of_part[patterns.sizes() >= 2], return_inverse=True)
        compared_patterns = patterns.comparable_patterns()
        alpha = AlphaOfWeights(compared_patterns, self.level)
        return AgreementData(
            statistic=lambda weights: alpha(weights[:, compared_unit]),
            frequency=np.ones(len(compared_units), dtype=np.int64),
            width=max(counts.shape[1], len(compared_unit)),  # floats in memory for a resample
            units=unit_count,
            pairable=len(compared_units),
            raters=worker_count,
            judgments=len(np.unique(unit * max(worker_count, 1) + ratings.rater)),  # pairs of unit and worker
            reason=NO_VARIATION if len(compared_units) else NO_PAIRS,
        )

    def influences(self, data: Parts) -> Influences | None:
        _, unit, ratings = _read_parts(data)
        influences = influences_of(Alpha(self.level), ratings)
        # One judgment answers all parts of a unit, so cluster by unit.
        return None if influences is None else replace(influences, items=unit[influences.is_counted])


def _read_parts(data: Parts) -> tuple[int, Ints, Ratings]:
    """Return the number of units, the (N,) codes of units, and the ratings, whose "units" are the parts."""
    units, unit = encode(data[0], "units")
    _, part = encode(data[1], "parts")
    workers, worker = encode(data[2], "workers")
    labels, code = encode(data[3], "values")
    same_length(units=unit, parts=part, workers=worker, values=code)
    # The parts of different units are different, even if they have the same name.
    part_codes, unit_part = np.unique(unit * (int(part.max(initial=0)) + 1) + part, return_inverse=True)
    return len(units), unit, Ratings(part_codes, workers, labels, unit_part, worker, code)


@declare  # other processes may call it for resamples
class AlphaOfWeights:
    """The function that returns the (B,) values of alpha of B resamples from their (B, P) weights of patterns.

    A pattern is how many judgments of a unit have each label, and its weight how many units of a resample have it.
    Where the observed disagreement of a unit does not depend on other units, it is computed once: `_observed` has, for
    each pattern, the sum of the distances over the unit's ordered pairs of judgments, divided by its judgments minus 1.
    At the ordinal level it depends on the ranks, so it is computed for each resample.
    """

    def __init__(self, patterns: UnitPatterns, level: str) -> None:
        self._counts = patterns.counts
        self._size = np.asarray(patterns.counts.sum(axis=1), dtype=np.float64)
        self._level = level
        if level == "interval" or level == "ratio":
            self._values = exact_positions(patterns.labels)
        if level == "nominal":
            # All pairs of judgments less the pairs of equal ones.
            squares = np.asarray(patterns.counts.power(2).sum(axis=1))
            self._observed = (self._size**2 - squares) / (self._size - 1)
        elif level == "interval":
            # Centre the values, so that moments are small even if the values are far from zero. The squared differences
            # of all ordered pairs of m values sum to 2 m times the squared deviations from their mean.
            totals = patterns.frequency @ patterns.counts
            self._values = self._values - totals @ self._values / max(totals.sum(), 1)
            mean = self._counts @ self._values / self._size
            self._observed = 2 * self._size * self._deviations_within(mean) / (self._size - 1)
        elif level == "ratio":
            self._observed = _ratio_within(patterns, self._values) / (self._size - 1)

    def __call__(self, weights: Floats) -> Floats:
        if self._level == "ordinal":
            observed, expected, n = self._ordinal(weights)
        else:
            observed = weights @ self._observed
            n = weights @ self._size
            expected = self._expected(weights, n)
        return 1 - ratio((n - 1) * observed, expected)

    def _deviations_within(self, mean: Floats) -> Floats:
        """Return the (P,) sums of squared deviations of a unit's values from their mean."""
        counts = self._counts
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        deviations = counts.data * (self._values[counts.indices] - mean[rows]) ** 2
        return np.bincount(rows, weights=deviations, minlength=counts.shape[0]).astype(np.float64)

    def _expected(self, weights: Floats, n: Floats) -> Floats:
        """Return the (B,) sums of distances over all ordered pairs of judgments."""
        if self._level == "interval":
            sums = weights @ (self._counts @ self._values)
            squares = weights @ (self._counts @ self._values**2)
            spread = 2 * (n * squares - sums**2)
            # Set the variation to zero if it is only the rounding error of equal values.
            return np.where(spread > ROUNDING * n * squares, spread, 0.0)
        totals = weights @ self._counts
        if self._level == "nominal":
            return n**2 - (totals**2).sum(axis=1)
        return _ratio_between(totals, self._values)

    def _ordinal(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the (B,) observed and expected sums of distances of mid-ranks, and the numbers of judgments."""
        totals = weights @ self._counts
        n = totals.sum(axis=1)
        # (B, V) mid-ranks, minus their mean n / 2
        ranks = np.cumsum(totals, axis=1) - totals / 2 - n[:, np.newaxis] / 2
        sums = self._counts @ ranks.T
        squares = self._counts @ (ranks**2).T
        size = self._size[:, np.newaxis]
        disagreement = 2 * (size * squares - sums**2) / (size - 1)
        observed = np.einsum("bp,pb->b", weights, disagreement)
        # The mean of the ranks, weighted by the totals, is zero, so the second moment is enough.
        expected = 2 * n * (totals * ranks**2).sum(axis=1)
        return observed, expected, n


def _ratio_distance(first: Floats, second: Floats) -> Floats:
    """Return ((v - w) / (v + w))^2 elementwise, and 0, by convention, where v = -w."""
    total = first + second
    return ratio(first - second, total, where=total != 0, otherwise=0.0) ** 2


def _ratio_within(patterns: UnitPatterns, values: Floats) -> Floats:
    """Return the (P,) sums of distances at the ratio level over ordered pairs of a unit's judgments.

    Labels of a unit are adjacent in the sparse table. Each is compared with the next label, the second next, and so on.
    """
    counts = patterns.counts
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    sums = np.zeros(counts.shape[0])
    for step in range(1, int(np.diff(counts.indptr).max(initial=0))):
        first = np.flatnonzero(rows[:-step] == rows[step:])
        second = first + step
        distance = _ratio_distance(values[counts.indices[first]], values[counts.indices[second]])
        sums += np.bincount(
            rows[first], weights=2 * distance * counts.data[first] * counts.data[second], minlength=len(sums)
        )
    return sums


def _ratio_between(totals: Floats, values: Floats) -> Floats:
    """Return the (B,) sums of distances at the ratio level over ordered pairs of all judgments."""
    expected = np.zeros(len(totals))
    block_size = max(1, _MAX_PAIRS // max(len(values), 1))
    for block in parts_of(len(values), block_size):
        distance = _ratio_distance(values[block, np.newaxis], values[np.newaxis, :])
        expected += ((totals[:, block] @ distance) * totals).sum(axis=1)
    return expected
