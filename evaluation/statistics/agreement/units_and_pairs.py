"""Agreement by unit and by pair of raters.

By unit: with the terms of `alpha`, a unit contributes

    contribution_u = (n - 1) sum_vw n_uv n_uw d(v, w) / (m_u - 1)  /  sum_vw n_v n_w d(v, w),

and all contributions sum to 1 - alpha. By pair: every two raters on their common units alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.numeric.arrays import Floats, Ints, ratio
from evaluation.statistics.agreement.alpha import LEVELS, NO_VARIATION
from evaluation.statistics.agreement.coefficient import NO_PAIRS
from evaluation.statistics.agreement.kappa import WEIGHTS, check_weights
from evaluation.statistics.agreement.ratings import Data, distance_at, positions_at, ratings_of
from evaluation.statistics.inference import Result, signed
from evaluation.statistics.inputs import one_of

FIGURES = ("units", "percent", "kappa", "alpha")
NO_PAIR = "no two raters judged a common unit"
SAME_ANSWER = "kappa and alpha are undefined for raters who gave one and the same answer to all common units"


@dataclass(frozen=True, slots=True)
class UnitAgreement(Result):
    """Agreement on each unit, (U,) each; nan where a unit has too few judgments.

    share: of the most frequent answer. agreement: share of agreeing pairs of judges.
    """

    units: NDArray[Any]
    judgments: Ints
    share: Floats
    agreement: Floats
    contribution: Floats
    level: str

    def most_disputed(self, count: int) -> Ints:
        """Return positions of the units with the largest contributions, largest first."""
        order = np.argsort(-self.contribution, kind="stable")  # nan comes last
        return order[: min(count, int((~np.isnan(self.contribution)).sum()))]


@signed("agreement-by-unit")
def agreement_by_unit(reliability_data: Data, level: str = "nominal") -> UnitAgreement:
    """Return the agreement on each unit; `level` is alpha's."""
    from evaluation.statistics import kernels

    one_of(level, LEVELS, "level")
    ratings = ratings_of(reliability_data, numeric=level != "nominal")
    starts, _, codes = ratings.by_unit()
    units = len(ratings.units)
    ones = np.ones(len(codes))
    different, sizes, most = np.empty((3, units))
    labels = np.arange(float(len(ratings.labels)))
    kernels.unit_disagreement(starts, codes, ones, kernels.DIFFERENT, labels, different, sizes, most)
    pairable = sizes >= 2
    totals = np.zeros(len(labels))
    kernels.value_sums(starts, codes, ones, pairable.astype(np.float64), totals)
    contribution = np.full(units, np.nan)
    reason = NO_VARIATION if pairable.any() else NO_PAIRS
    if np.count_nonzero(totals) > 1:
        kind = distance_at(level)
        positions = positions_at(level, ratings.labels)
        if level == "ordinal":
            positions = np.cumsum(totals) - totals / 2
        apart = np.empty(units)
        kernels.unit_disagreement(starts, codes, ones, kind, positions, apart, sizes, most)
        expected = kernels.all_distances(kind, positions, totals)
        if expected > 0:
            reason = ""
            factor = (totals.sum() - 1) / expected
            contribution = ratio(factor * apart, sizes - 1, where=pairable)
    return UnitAgreement(
        units=ratings.units,
        judgments=sizes.astype(np.int64),
        share=ratio(most, sizes),
        agreement=1 - ratio(different, sizes * (sizes - 1), where=pairable),
        contribution=contribution,
        level=level,
        reason=reason,
    )


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
    from evaluation.statistics.kernels import count_pairs, pair_figures

    one_of(level, LEVELS, "level")
    check_weights(weights)
    ratings = ratings_of(reliability_data, numeric=level != "nominal")
    by_unit, by_rater = ratings.by_unit(), ratings.by_rater()
    count, longest = count_pairs(by_unit, by_rater)
    pairs = np.empty((count, 3), dtype=np.int64)
    figures = np.empty((count, 3))
    positions = positions_at(level, ratings.labels)
    pair_figures(
        by_unit, by_rater, longest, positions, WEIGHTS.index(weights), LEVELS.index(level), pairs, figures
    )
    first, second, units = pairs.T
    percent, kappa, alpha = figures.T
    reason = NO_PAIR if not count else SAME_ANSWER if np.isnan(alpha).any() else ""
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
