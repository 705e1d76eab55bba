"""Who agrees with whom: percent agreement, Cohen's kappa and Krippendorff's alpha of every two raters.

Each pair is judged on the units that both judged, and on nothing else: kappa and alpha take their chance
agreement from these answers alone (formulas in `kappa` and `alpha`). Cost grows with the pairs of answers
to a unit, so that thousands of workers with a few common units each are no matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.alpha import LEVELS
from evaluation.statistics.kappa import WEIGHTS, check_weights
from evaluation.statistics.ratings import Data, positions_at, ratings_of
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, one_of

FIGURES = ("units", "percent", "kappa", "alpha")

NO_PAIR = "no two raters judged a common unit"
SAME_ANSWER = "kappa and alpha are undefined for raters who gave one and the same answer to all common units"


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Every two raters with a common unit, (P,) each, in the order of the raters.

    raters: (R,) names (of a table, positions). first, second: positions among them, first < second.
    units: how many both judged. percent, kappa, alpha: on these units; nan where undefined, and then
    `reason` says why. kappa's weights go by the position of a label among all that occur in the data.
    """

    raters: NDArray[Any]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    units: NDArray[np.int64]
    percent: Floats
    kappa: Floats
    alpha: Floats
    level: str
    weights: str | None
    reason: str
    signature: str = ""

    def matrix(self, figure: str) -> Floats:
        """(R, R) of units, percent, kappa or alpha: symmetric, nan on the diagonal and without common units.

        For thousands of raters this is large; the columns hold the same.
        """
        one_of(figure, FIGURES, "figure")
        table = np.full((len(self.raters), len(self.raters)), np.nan)
        table[self.first, self.second] = getattr(self, figure)
        table[self.second, self.first] = getattr(self, figure)
        return table


@signed("agreement-by-pair")
def agreement_by_pair(
    reliability_data: Data, level: str = "nominal", weights: str | None = None
) -> PairAgreement:
    """Agreement of every two raters of a (raters, units) table with nan or None for missing, or of `Ratings`.

    `level` is alpha's, `weights` (None, linear, quadratic) kappa's. Raises BadShape, BadValue, BadOption.
    """
    from evaluation.statistics.agreement_kernels import count_pairs, pair_figures

    one_of(level, LEVELS, "level")
    check_weights(weights)
    ratings = ratings_of(reliability_data, numeric=level != "nominal")
    by_unit, by_rater = ratings.by_unit(), ratings.by_rater()
    count, longest = count_pairs(by_unit[0], by_unit[1], by_rater[0], by_rater[1])
    pairs = np.empty((count, 3), dtype=np.int64)
    figures = np.empty((count, 3))
    positions = positions_at(level, ratings.labels)
    pair_figures(
        *by_unit, *by_rater, longest, positions, WEIGHTS.index(weights), LEVELS.index(level), pairs, figures
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
