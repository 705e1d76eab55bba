"""The variance of an estimate due to items and due to raters, corrected for small samples.

The raters' variance counts only to the extent that it exceeds chance (`credible_variance`). The t distribution of the
sum has the degrees of freedom of Satterthwaite 1946, but no fewer than the smaller of the two effective numbers of
clusters minus one (Cameron, Miller 2015). They are computed with the upper limit of the raters' variance
(`max_rater_variance`), as few raters tell it badly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats, Ints

# Fewest clusters from which a variance can be estimated.
MIN_CLUSTERS = 2

RATERS_LIMIT = 0.95  # one-sided confidence of the upper limit
MIN_RATERS = 5  # fewer raters may be alike by chance, so their variance has no upper limit


@dataclass(frozen=True, slots=True)
class Squares:
    """Sums of squares of an estimate's influences by item, by rater, and by answer (an item with a rater).

    Each is a number, or (K, K) for K estimates. items: number of items. answers_by_rater: (R,) number of answers of
    each of `MIN_CLUSTERS` or more raters.
    """

    by_item: Any
    by_rater: Any
    by_answer: Any
    items: int
    answers_by_rater: Floats | Ints

    @classmethod
    def mean(cls, squares: Sequence[Squares]) -> Squares:
        """Return the mean sums of squares of estimates from the same answers."""
        count = len(squares)
        return replace(
            squares[0],
            by_item=sum(sums.by_item for sums in squares) / count,
            by_rater=sum(sums.by_rater for sums in squares) / count,
            by_answer=sum(sums.by_answer for sums in squares) / count,
        )

    @property
    def raters(self) -> float:
        """The effective number of raters."""
        return effective_number(self.answers_by_rater)

    @property
    def rater_variance(self) -> Any:
        """The variance that raters add to the variance of items. It may be negative by chance.

        The variance by raters includes the noise of single answers, which is subtracted. The noise is estimated from
        the answers without each item's mean over raters. It includes some of the raters' variance, so too much is
        subtracted. `_scale` makes up for it: fully if every rater answers every item, as in the analysis of variance,
        and not at all if each item has one rater, since the variance by items then includes the raters' variance.
        """
        return self.by_rater * self._scale - self.noise_variance

    @property
    def noise_variance(self) -> Any:
        """The variance by raters that the noise of single answers explains."""
        return (self.by_answer - self.by_item / self.raters) * self._scale

    @property
    def error(self) -> Any:
        """The standard error of `rater_variance` if all answers are independent (see `credible_variance`).

        It is the standard deviation of the sum, over all ordered pairs of answers by one rater, of the product of their
        influences.
        """
        answers = np.asarray(self.answers_by_rater, dtype=np.float64)
        return self.by_answer / answers.sum() * math.sqrt(2 * (answers * (answers - 1)).sum()) * self._scale

    @property
    def max_rater_variance(self) -> Any:
        """The upper limit of the variance that raters add, for each estimate."""
        tables = self.by_rater, self.noise_variance
        by_rater, within = (np.diagonal(np.atleast_2d(table)) for table in tables)
        return max_rater_variance(by_rater * self._scale, within, self.raters, len(self.answers_by_rater))

    @property
    def _scale(self) -> float:
        """The factor of sums of squares by rater: the correction for few raters, and that of `rater_variance`."""
        answers, squares = (
            self.answers_by_rater.sum(),
            np.square(self.answers_by_rater, dtype=np.float64).sum(),
        )
        rater_count = len(self.answers_by_rater)
        # How many raters an item lacks on average, as a share of the other raters: 0 if all answer every item.
        missing_raters = max(rater_count - answers / self.items, 0.0) / (rater_count - 1)
        # 1 if items lack all other raters; I / (I - 1) if they lack none, and each rater has I answers.
        scale = (squares - answers * missing_raters) / (squares - answers) if squares > answers else 1.0
        return cluster_correction(self.raters) * float(scale)


def effective_number(sizes: Floats | Ints) -> float:
    """Return the number of equally large clusters with as much information as (G,) clusters of these sizes.

    Source: Kish 1965.
    """
    return float(sizes.sum()) ** 2 / float(np.square(sizes, dtype=np.float64).sum())


def cluster_correction(number: float) -> float:
    """Return n / (n - 1) for n effective clusters, the correction of a variance estimated from them."""
    return max(number, MIN_CLUSTERS) / (max(number, MIN_CLUSTERS) - 1)


def credible_variance(estimate: Any, error: Any) -> Any:
    """Return the variance that raters add, at least 0, shrunk towards 0 by the error of its estimate.

    The factor is Buehlmann's (1967) credibility a^2 / (a^2 + error^2) of an estimate a (empirical Bayes). It is close
    to 0 if hardly any rater gave more than one answer.
    """
    estimate = np.maximum(estimate, 0.0)
    total = np.square(estimate) + np.square(error)
    return np.divide(estimate**3, total, out=np.zeros_like(total), where=total > 0)


def max_rater_variance(by_rater: Any, within: Any, raters: float, rater_count: float) -> Any:
    """Return the upper limit of the variance that raters add, from the chi-squared distribution of `by_rater`.

    `within` is the part of `by_rater` that the noise of single answers explains, and `raters` the effective number of
    raters. The limit is infinite for few raters, so that the degrees of freedom of t are those of the raters.
    """
    if rater_count < MIN_RATERS:
        return np.full_like(by_rater, math.inf, dtype=np.float64)
    df = max(raters, MIN_CLUSTERS) - 1
    return np.maximum(by_rater * (df / scipy.special.chdtri(df, RATERS_LIMIT)) - within, 0.0)


def satterthwaite(by_items: Any, items_df: Any, by_raters: Any, raters_df: float) -> Floats:
    """Return the degrees of freedom of the sum of two variances (Satterthwaite 1946).

    They are at least the smaller of the two numbers of degrees of freedom, and at most `items_df`. Each variance is a
    number, or (K,) for K estimates. `by_raters` is the upper limit; if it is infinite, they are the smaller number.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (by_items + by_raters) ** 2 / (np.square(by_items) / items_df + np.square(by_raters) / raters_df)
    min_df = np.minimum(items_df, raters_df)
    return np.asarray(np.clip(np.where(np.isnan(df), min_df, df), min_df, items_df), dtype=np.float64)
