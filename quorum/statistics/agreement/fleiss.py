"""Fleiss' kappa.

With n_uk of the m judgments of each of N units in category k, and p_k = sum_u n_uk / (N m) (Fleiss 1971):

    kappa = (P - sum_k p_k^2) / (1 - sum_k p_k^2),  P = 1/N sum_u (sum_k n_uk^2 - m) / (m (m - 1))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints, ratio
from quorum.statistics.agreement.coefficient import AgreementData, AgreementResult, agreement
from quorum.statistics.agreement.cohen import NO_ANSWERS
from quorum.statistics.agreement.influences import Influences, PatternInfluences, alpha_influences
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns, count_rows, patterned_ratings
from quorum.statistics.agreement.ratings import Data, Ratings
from quorum.statistics.crossed import NAIVE
from quorum.statistics.inference import Sampling, signed
from quorum.statistics.inputs import BadShape, BadValue

ONE_CATEGORY = "all judgments name the same category"


def fleiss_kappa(counts: ArrayLike | Ratings) -> float:
    """Return Fleiss' kappa of (units, categories) counts. Every unit must have the same number of judgments.

    If `counts` are `Ratings`, units judged once are left out.
    """
    return FleissKappa().read(counts).value()


@signed("fleiss-kappa")
def fleiss_interval(counts: ArrayLike | Ratings, **options: Unpack[Sampling]) -> AgreementResult:
    """Return `fleiss_kappa` with its interval."""
    options.setdefault("clusters", NAIVE)  # a table of counts names no raters
    return agreement(counts, FleissKappa(), **options)


@dataclass(frozen=True, slots=True)
class FleissKappa:
    """Fleiss' kappa of ratings, or of a (units, categories) table of counts."""

    level: ClassVar[str] = "nominal"
    name: ClassVar[str] = "fleiss-kappa"

    def read(self, data: Data | PatternedRatings | UnitPatterns) -> AgreementData:
        if isinstance(data, UnitPatterns):  # passed by `BothOrdersCoefficient`
            patterns = data.comparable_patterns()
            rows, frequency = patterns.counts.toarray(), patterns.frequency
            raters = _judgments_per_unit(patterns.sizes().astype(np.int64))
        else:
            ratings = data.ratings if isinstance(data, PatternedRatings) else data
            counts = _count_judgments(ratings) if isinstance(ratings, Ratings) else ratings
            rows, frequency, raters = _read_counts(counts)
        units = int(frequency.sum())
        return AgreementData(
            statistic=lambda weights: _kappa_of_weights(rows, raters, weights),
            frequency=frequency,
            width=rows.shape[1],
            units=units,
            pairable=units,
            raters=raters,
            judgments=units * raters,
            reason=ONE_CATEGORY if units else NO_ANSWERS,  # if kappa is undefined
        )

    def influences(self, data: ArrayLike | Ratings | PatternedRatings) -> Influences | None:
        """Return the influences. A table of counts does not identify raters, so their influences are None."""
        has_raters = isinstance(data, PatternedRatings | Ratings)
        ratings = patterned_ratings(
            data if has_raters else _ratings_of_counts(np.asarray(data, dtype=np.int64))
        )
        influences = self.pattern_influences(ratings.patterns)
        if influences is None:
            return None
        judgments = influences.of_judgments(ratings)
        return judgments if has_raters else replace(judgments, raters=None)

    def pattern_influences(self, patterns: UnitPatterns) -> PatternInfluences | None:
        """Return influences on alpha times n / (n - 1), as for n judgments 1 - alpha is (n - 1) / n times 1 - kappa."""
        influences = alpha_influences(patterns, "nominal")
        if influences is None:
            return None
        n = int(patterns.sizes()[influences.is_counted] @ patterns.frequency[influences.is_counted])
        return replace(influences, values=influences.values * n / (n - 1))


def _count_judgments(ratings: Ratings) -> Ints:
    """Return the (units, categories) counts of units with two judgments or more."""
    counts = np.zeros((len(ratings.units), len(ratings.labels)), dtype=np.int64)
    np.add.at(counts, (ratings.unit, ratings.code), 1)
    return counts[counts.sum(axis=1) >= 2]


def _ratings_of_counts(counts: Ints) -> Ratings:
    """Return ratings with these (units, categories) counts, each by a rater of its own."""
    unit, code = np.nonzero(counts)
    judgment_counts = counts[unit, code]
    unit, code = np.repeat(unit, judgment_counts), np.repeat(code, judgment_counts)
    rater = np.arange(len(unit))
    return Ratings(np.arange(len(counts)), rater, np.arange(counts.shape[1]), unit, rater, code)


def _read_counts(counts: ArrayLike) -> tuple[Floats, Ints, int]:
    """Return the distinct rows of (units, categories) counts, how often each occurs, and the size of all rows."""
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
    raters = _judgments_per_unit(table.sum(axis=1))
    rows, frequency = count_rows(table)
    return rows.astype(np.float64), frequency, raters


def _judgments_per_unit(sums: Ints) -> int:
    """Return the number of judgments of every unit. Raise BadValue if the (U,) numbers differ or are below two."""
    raters = int(sums[0]) if len(sums) else 0
    units = np.flatnonzero(sums != raters)
    if units.size:
        raise BadValue(
            f"unit {units[0]} has {sums[units[0]]} judgments and unit 0 has {raters}, expected equally many "
            "(Krippendorff's alpha takes unequal numbers)"
        )
    if len(sums) and raters < 2:
        raise BadValue(f"units have {raters} judgments each, expected two or more")
    return raters


def _kappa_of_weights(rows: Floats, raters: int, weights: Floats) -> Floats:
    """Return kappa of B resamples from (B, P) weights of patterns, whose counts are `rows` (P, categories)."""
    units = weights.sum(axis=1)
    unit_agreement = ((rows**2).sum(axis=1) - raters) / (raters * (raters - 1))
    observed_disagreement = 1 - weights @ unit_agreement / units
    totals = weights @ rows
    judgments = units * raters
    # Compute exactly in whole numbers, so that a table with one category gives zero.
    expected_disagreement = (judgments**2 - (totals**2).sum(axis=1)) / judgments**2
    return 1 - ratio(observed_disagreement, expected_disagreement)
