"""Gwet's AC1, and AC2 where near misses count in part: agreement beyond chance that lopsided answers
do not push towards zero as they do alpha and kappa.

    AC = (p_a - p_e) / (1 - p_e),  p_e = T_w / (q (q - 1)) sum_k pi_k (1 - pi_k),  pi_k = 1/n sum_i r_ik / r_i

with p_a the percent agreement over units judged twice or more (`percent`), q the categories, T_w the sum
of all weights (q for identity), r_ik the judges who put unit i into category k, r_i all its judges, and n
all units, those judged once too (Gwet 2008, *British Journal of Mathematical and Statistical Psychology*
61; 2014, *Handbook of Inter-Rater Reliability*).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from evaluation.statistics.agreement_result import NO_PAIRS, AgreementResult, point_of, result_of
from evaluation.statistics.agreement_weights import Scale, scale_of
from evaluation.statistics.patterns import Patterns, patterns_of
from evaluation.statistics.percent import Observed, RaterObserved
from evaluation.statistics.rater_resampling import OfRaters
from evaluation.statistics.ratings import Data, Ratings
from evaluation.statistics.resampling import CONFIDENCE, RESAMPLES, Seed
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats

ONE_CATEGORY = "every judgment names the same category; name the others in categories"


def gwet_ac(
    reliability_data: Data, weights: str = "identity", *, categories: Sequence[Any] | None = None
) -> float:
    """AC1 (identity weights) or AC2 of a (raters, units) table with nan or None for missing, or `Ratings`.

    Without `categories`, those that occur are the scale. nan where it is undefined; `gwet_interval` says
    why. Raises BadShape, BadValue, BadOption.
    """
    patterns = patterns_of(reliability_data, numeric=False)
    return point_of(_Gwet(patterns, scale_of(patterns.labels, weights, categories)), patterns)


@signed("gwet-ac")
def gwet_interval(
    reliability_data: Data,
    weights: str = "identity",
    *,
    categories: Sequence[Any] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
    over: str = "units",
) -> AgreementResult:
    """`gwet_ac` with a bootstrap interval over units, raters or both, and the reason where it is nan.

    The percentile interval of `resamples` resamples. Takes the same (raters, units) table or `Ratings`. `over`
    says what is drawn anew: "units", "raters" or "both". Raises BadShape, BadValue, BadOption.
    """
    patterns = patterns_of(reliability_data, numeric=False)
    scale = scale_of(patterns.labels, weights, categories)
    comparable = bool((patterns.sizes() >= 2).any())

    def of_raters(ratings: Ratings) -> OfRaters:
        return _RaterGwet(ratings, scale)

    return result_of(
        "gwet-ac1" if weights == "identity" else "gwet-ac2",
        reliability_data,
        patterns,
        _Gwet(patterns, scale),
        of_raters,
        judged_at_least=1,
        level=weights,
        reason=ONE_CATEGORY if comparable else NO_PAIRS,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        over=over,
    )


class _Chance:
    """p_e of the sum over categories of pi (1 - pi), and AC of both."""

    def __init__(self, scale: Scale) -> None:
        size = len(scale.positions)
        # nan for a single category, whatever was observed.
        self._factor = scale.total_weight() / (size * (size - 1)) if size > 1 else math.nan

    def corrected(self, observed: Floats, shares: Floats) -> Floats:
        """(B,) AC of (B,) observed agreement and (B, V) shares of the categories that occur."""
        expected = self._factor * (shares * (1 - shares)).sum(axis=1)
        return np.asarray((observed - expected) / (1 - expected))


class _Gwet:
    """AC of many weightings of the same patterns: (B, P) weights to (B,) values."""

    def __init__(self, patterns: Patterns, scale: Scale) -> None:
        self._observed = Observed(patterns, scale)
        self._chance = _Chance(scale)
        sizes = patterns.sizes()
        self._shares = csr_array(patterns.counts.multiply(1 / sizes[:, np.newaxis]))

    def __call__(self, weights: Floats) -> Floats:
        shares = np.asarray(weights @ self._shares) / np.maximum(weights.sum(axis=1), 1)[:, np.newaxis]
        return self._chance.corrected(self._observed(weights), shares)


class _RaterGwet:
    """AC where raters and units count so many times, without pairs of a rater's copies."""

    def __init__(self, ratings: Ratings, scale: Scale) -> None:
        self._observed = RaterObserved(ratings, scale)
        self._chance = _Chance(scale)

    def __call__(self, weights: Floats, unit_weights: Floats) -> float:
        observed = self._observed(weights, unit_weights)
        sizes, _ = self._observed.units.pairs(weights)
        judged = sizes > 0
        units = unit_weights[judged].sum()
        if math.isnan(observed):
            return math.nan
        once = np.zeros(len(sizes))
        np.divide(unit_weights, sizes, out=once, where=judged)
        shares = self._observed.units.totals(weights, once) / units
        return float(self._chance.corrected(np.array([observed]), shares[np.newaxis])[0])
