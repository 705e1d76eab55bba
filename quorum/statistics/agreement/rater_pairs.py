"""Agreement of every two raters on the units that both judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.agreement.alpha import LEVELS
from quorum.statistics.agreement.cohen import WEIGHTS, check_order, check_weights
from quorum.statistics.agreement.positions import positions_at
from quorum.statistics.agreement.ratings import Data, ratings_of
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import one_of

FIGURES = ("units", "percent", "kappa", "alpha")
NO_COMMON_UNIT = "no item was judged by two participants"
SAME_ANSWER = "kappa and alpha are undefined if two participants gave all shared items the same single answer"


@dataclass(frozen=True, slots=True)
class PairAgreement(Result):
    """Agreement of the P pairs of raters with a common unit, in the order of the raters.

    raters: (R,) names, ascending. first, second: (P,) positions in `raters`, first < second. units: (P,) number of
    common units. percent, kappa, alpha: (P,) percent agreement, kappa by `weights`, and alpha at `level`. Weighted
    kappa uses the positions among all labels of the data, not only of the pair.
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
        """Return one of FIGURES as a symmetric (R, R) matrix, with nan on the diagonal and without common units."""
        one_of(figure, FIGURES, "figure")
        table = np.full((len(self.raters), len(self.raters)), np.nan)
        table[self.first, self.second] = getattr(self, figure)
        table[self.second, self.first] = getattr(self, figure)
        return table


@signed("agreement-by-pair")
def agreement_by_pair(
    reliability_data: Data, level: str = "nominal", weights: str | None = None
) -> PairAgreement:
    """Return percent agreement, kappa (by `weights`) and alpha (at `level`) of every two raters."""
    from quorum.statistics.kernels.rater_pairs import count_rater_pairs, pair_figures

    one_of(level, LEVELS, "level")
    check_weights(weights)
    ratings = ratings_of(reliability_data, numeric=level != "nominal")
    check_order(weights, ratings.labels, "numbers in their order")
    by_unit, by_rater = ratings.by_unit(), ratings.by_rater()
    pair_count, max_rows = count_rater_pairs(by_unit, by_rater)  # sizes of arrays that the kernel fills
    pairs = np.empty((pair_count, 3), dtype=np.int64)
    figures = np.empty((pair_count, 3))
    positions = positions_at(level, ratings.labels)
    pair_figures(
        by_unit, by_rater, max_rows, positions, WEIGHTS.index(weights), LEVELS.index(level), pairs, figures
    )
    first, second, units = pairs.T
    percent, kappa, alpha = figures.T
    reason = NO_COMMON_UNIT if not pair_count else SAME_ANSWER if np.isnan(alpha).any() else ""
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
