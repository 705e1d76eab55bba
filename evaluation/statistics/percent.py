"""Percent agreement: how often two judges of a unit say the same, over all units judged twice or more.

    p_a = 1/n' sum_i sum_k r_ik (r*_ik - 1) / (r_i (r_i - 1)),  r*_ik = sum_l w_kl r_il

with r_ik the judges who put unit i into category k, r_i all its judges, and n' the units with r_i >= 2
(Gwet 2014, *Handbook of Inter-Rater Reliability*; `agreement_weights` lists the weights w). No chance is taken off: see
`gwet` for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluation.statistics.agreement_result import NO_PAIRS, AgreementResult, point_of, result_of
from evaluation.statistics.agreement_weights import Scale, scale_of
from evaluation.statistics.patterns import Patterns, patterns_of
from evaluation.statistics.rater_resampling import OfRaters, WeightedUnits
from evaluation.statistics.ratings import Data, Ratings
from evaluation.statistics.resampling import CONFIDENCE, RESAMPLES, Seed
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats


def percent_agreement(
    reliability_data: Data, weights: str = "identity", *, categories: Sequence[Any] | None = None
) -> float:
    """Share of agreeing pairs of judges, 0 to 1, of a (raters, units) table with nan or None for missing.

    `weights` other than identity give near misses their part; `categories` names the whole scale where
    its ends may not occur. Takes `Ratings` too. nan where no unit has two judgments. Raises BadShape,
    BadValue, BadOption.
    """
    patterns = patterns_of(reliability_data, numeric=False).comparable()
    return point_of(Observed(patterns, scale_of(patterns.labels, weights, categories)), patterns)


@signed("percent-agreement")
def percent_interval(
    reliability_data: Data,
    weights: str = "identity",
    *,
    categories: Sequence[Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
    over: str = "units",
) -> AgreementResult:
    """`percent_agreement` with a bootstrap interval over units, raters or both, and the reason for nan.

    The percentile interval of `resamples` resamples. Takes the same (raters, units) table or `Ratings`. `over`
    says what is drawn anew: "units", "raters" or "both". Raises BadShape, BadValue, BadOption.
    """
    patterns = patterns_of(reliability_data, numeric=False).comparable()
    scale = scale_of(patterns.labels, weights, categories)

    def of_raters(ratings: Ratings) -> OfRaters:
        return RaterObserved(ratings, scale)

    return result_of(
        "percent-agreement",
        reliability_data,
        patterns,
        Observed(patterns, scale),
        of_raters,
        judged_at_least=2,
        level=weights,
        reason=NO_PAIRS,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        over=over,
    )


class Observed:
    """Percent agreement of many weightings of the same patterns: (B, P) weights to (B,) values."""

    def __init__(self, patterns: Patterns, scale: Scale) -> None:
        from evaluation.statistics.agreement_kernels import unit_disagreement

        counts = patterns.counts
        apart, sizes, most = np.empty((3, counts.shape[0]))
        starts, codes = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
        unit_disagreement(starts, codes, counts.data, scale.kind, scale.occurring, apart, sizes, most)
        self._comparable = (sizes >= 2).astype(np.float64)
        # A unit judged once has no pair; any divisor but zero leaves it at nothing.
        pairs = np.where(sizes >= 2, sizes * (sizes - 1), 1.0)
        self._agreeing = self._comparable * (1 - apart / pairs / scale.longest)

    def __call__(self, weights: Floats) -> Floats:
        units = weights @ self._comparable
        share = np.full(len(weights), np.nan)
        np.divide(weights @ self._agreeing, units, out=share, where=units > 0)
        return share


class RaterObserved:
    """Percent agreement where raters and units count so many times, without pairs of a rater's copies."""

    def __init__(self, ratings: Ratings, scale: Scale) -> None:
        self.units = WeightedUnits(ratings)
        self._scale = scale

    def __call__(self, weights: Floats, unit_weights: Floats) -> float:
        _, pairs = self.units.pairs(weights)
        counting = np.where(pairs > 0, unit_weights, 0.0)
        units = counting.sum()
        if units == 0:
            return math.nan
        apart = self.units.disagreement(weights, self._scale.kind, self._scale.occurring)
        share = np.zeros(len(pairs))
        np.divide(apart, pairs, out=share, where=pairs > 0)
        return float(1 - counting @ share / units / self._scale.longest)
