"""The variance of an estimate that is due to items and to raters, and how well a small sample shows it.

The raters' part counts only as far as it exceeds chance (`credible`). The t distribution of the sum has the degrees of
freedom of Satterthwaite 1946, but no fewer than the smaller of the two effective numbers of clusters, less one
(Cameron, Miller 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used

from quorum.numeric.arrays import Floats, Ints

# One cluster does not show how much clusters differ.
FEWEST = 2

RATERS_LIMIT = 0.95  # one-sided
FEW_RATERS = 5  # fewer may be alike by chance, whatever their answers allow


@dataclass(frozen=True, slots=True)
class Squares:
    """The sums of squares of an estimate's influences: by item, by rater, and by answer, an item with a rater.

    Each is a number, or (K, K) of K estimates. items: their number. sizes: (R,) answers of each rater.
    """

    by_item: Any
    by_rater: Any
    by_answer: Any
    items: int
    sizes: Floats | Ints

    @property
    def raters(self) -> float:
        return effective_number(self.sizes)

    @property
    def added(self) -> Any:
        """Return the variance that the raters add to that of the items; it may be negative by chance.

        An item that moves all raters' answers alike says nothing about the raters, so its mean over all raters is
        removed. Removing the variance of answers also removes each rater's own part in them. The scale restores it as
        far as the variance by items does not contain it: wholly where all raters answer every item, as in the analysis
        of variance.
        """
        return self.by_rater * self._scale - self.within

    @property
    def within(self) -> Any:
        """The variance by raters that their single answers explain."""
        return (self.by_answer - self.by_item / self.raters) * self._scale

    @property
    def error(self) -> Any:
        """The standard error of the raters' part if all answers are independent (see `credible`).

        It is the standard deviation of the sum over all pairs of answers by one rater.
        """
        sizes = np.asarray(self.sizes, dtype=np.float64)
        return self.by_answer / sizes.sum() * math.sqrt(2 * (sizes * (sizes - 1)).sum()) * self._scale

    @property
    def most_added(self) -> Any:
        """The upper limit of what raters add, of each estimate."""
        by_rater, within = (np.diagonal(np.atleast_2d(part)) for part in (self.by_rater, self.within))
        return most_by_raters(by_rater * self._scale, within, self.raters, len(self.sizes))

    @property
    def _scale(self) -> float:
        answers, squares = self.sizes.sum(), np.square(self.sizes, dtype=np.float64).sum()
        raters = len(self.sizes)
        missing = max(raters - answers / self.items, 0.0) / (raters - 1)
        scale = (squares - answers * missing) / (squares - answers) if squares > answers else 1.0
        return cluster_correction(self.raters) * float(scale)


def effective_number(sizes: Floats | Ints) -> float:
    """Return how many equal clusters weigh as much as (G,) ones of these sizes (Kish 1965)."""
    return float(sizes.sum()) ** 2 / float(np.square(sizes, dtype=np.float64).sum())


def cluster_correction(number: float) -> float:
    """Return n / (n - 1) for n effective clusters, the factor by which a variance estimated from them is too small."""
    return max(number, FEWEST) / (max(number, FEWEST) - 1)


def shrink_to_credible(added: Any, error: Any) -> Any:
    """Return the raters' part, at least 0, shrunk by the share of it that is not error of its estimate.

    The share is Buehlmann's (1967), a^2 / (a^2 + error^2) for an estimated part a (empirical Bayes). It is nearly 0
    where hardly anybody answers twice.
    """
    added = np.maximum(added, 0.0)
    total = np.square(added) + np.square(error)
    return np.divide(added**3, total, out=np.zeros_like(total), where=total > 0)


def most_by_raters(by_rater: Any, within: Any, raters: float, people: float) -> Any:
    """Return the upper limit of what raters add to a variance, by the chi-squared distribution of that by raters.

    It is infinite for few people; their number then gives the degrees of freedom of t.
    """
    if people < FEW_RATERS:
        return np.full_like(by_rater, math.inf, dtype=np.float64)
    df = max(raters, FEWEST) - 1
    return np.maximum(by_rater * (df / scipy.special.chdtri(df, RATERS_LIMIT)) - within, 0.0)


def satterthwaite(by_items: Any, items_df: Any, by_raters: Any, raters_df: float) -> Floats:
    """Return the degrees of freedom of the sum of two variances (Satterthwaite 1946), between those of both.

    Each is a number, or (K,) of K estimates.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (by_items + by_raters) ** 2 / (np.square(by_items) / items_df + np.square(by_raters) / raters_df)
    least = np.minimum(items_df, raters_df)
    return np.asarray(np.clip(np.where(np.isnan(df), least, df), least, items_df), dtype=np.float64)
