"""The spread of an estimate over new items and new raters, and of a difference of two systems or metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats
from quorum.statistics.crossed.variance import (
    MIN_CLUSTERS,
    Squares,
    cluster_correction,
    credible_variance,
    max_rater_variance,
    satterthwaite,
)
from quorum.statistics.inputs import ROUNDING

# With more degrees of freedom, the noncentral t distribution is approximated as normal, accurate to 0.001.
MAX_DEGREES_OF_FREEDOM = 1000
# The true value of a share of 0 or 1 may be .07 or .93, whose variance is a quarter of that of a half.
MIN_VARIANCE = 0.25


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance of an estimate, and the degrees of freedom `df` of its t statistic.

    by_raters: the variance that raters add, which is included in `variance`. within: the variance by raters that the
    noise of single answers explains, which `by_raters` leaves out. items, raters: effective numbers of items and of
    raters; inf if the variance is not over them, and nan for items if only the degrees of freedom are known.
    rater_count: the number of raters, who may have given different numbers of answers. independent_rows: if the
    estimate is a share of independent zeros and ones, their number; else nan.
    """

    variance: float
    df: float
    by_raters: float = 0.0
    within: float = 0.0
    items: float = math.nan
    raters: float = math.inf
    rater_count: float = math.inf
    independent_rows: float = math.nan

    @classmethod
    def of_share(cls, share: float, number: int) -> Spread:
        """Return the spread of a share of independent zeros and ones, whose variance is computed from the share."""
        return cls(share * (1 - share) / number, math.inf, independent_rows=number)

    @classmethod
    def of_squares(cls, squares: float, number: float) -> Spread:
        """Return the spread from the sum of squares of the clusters' influences, and their effective number."""
        return cls(squares * cluster_correction(number), max(number, MIN_CLUSTERS) - 1, items=number)

    def with_variance(self, variance: float) -> Spread:
        """Return the spread with another variance, of which raters add the same share."""
        ratio = variance / self.variance if self.variance > 0 else 0.0
        return replace(self, variance=variance, by_raters=self.by_raters * ratio, within=self.within * ratio)

    def of_larger_study(self, item_factor: float, rater_factor: float) -> Spread:
        """Return the spread in a study with so many times the items, and so many times the raters (Brennan 2001).

        The number of answers to each item stays the same.
        """
        items, raters = self.effective_items * item_factor, self.raters * rater_factor
        by_items = (self.variance - self.by_raters) / item_factor
        by_raters = self.by_raters / rater_factor
        within, rater_count = self.within / item_factor, self.rater_count * rater_factor
        max_added = max_rater_variance(by_raters + within, within, raters, rater_count)
        items_df, raters_df = max(items, MIN_CLUSTERS) - 1, max(raters, MIN_CLUSTERS) - 1
        return Spread(
            variance=by_items + by_raters,
            df=float(satterthwaite(by_items, items_df, max_added, raters_df)),
            by_raters=by_raters,
            within=within,
            items=items,
            raters=raters,
            rater_count=rater_count,
            independent_rows=self.independent_rows * item_factor,
        )

    @property
    def effective_items(self) -> float:
        """The effective number of items from which the variance by items is estimated, also if `items` is nan."""
        # A share of independent rows has infinite degrees of freedom, but not if raters were added to its spread.
        if not math.isnan(self.independent_rows) and self.df < math.inf:
            return self.independent_rows
        return self.df + 1 if math.isnan(self.items) else self.items

    def power(self, difference: float, level: float) -> float:
        """Return the power of a two-sided t test at `level`: the chance that it finds the difference with its sign.

        If the estimate is a share of independent zeros and ones, the difference is that between the share and a half.
        """
        if math.isnan(difference) or math.isnan(self.variance):
            return math.nan
        if not self.variance > 0:
            return float(difference != 0)
        critical, shift = quantile_of(1 - level, self.df), abs(difference) / math.sqrt(self.variance)
        if not math.isnan(self.independent_rows):
            # The test uses the variance of a half. The variance of another share p is 4 p (1 - p) times as large.
            deviation = math.sqrt(max(1 - 4 * difference**2, MIN_VARIANCE))
            critical, shift = critical / deviation, shift / deviation
        if self.df <= MAX_DEGREES_OF_FREEDOM:
            misses = float(
                scipy.special.nctdtr(self.df, shift, critical)
            )  # the share of tests that find none
            return 1.0 if math.isnan(misses) else 1 - misses  # nan by underflow, from a shift of 36 on
        return float(scipy.special.ndtr(shift - critical))

    @property
    def has_variance(self) -> bool:
        """Whether the variance of a share or a coefficient is larger than a rounding error."""
        return self.variance > ROUNDING**2

    def p(self, value: float, *, only_below: bool = False) -> float:
        """Return the p of the hypothesis that the true value is zero, or nan if there is no variance.

        The test is two-sided; with `only_below`, it is one-sided against negative values.
        """
        if not self.variance > 0:
            return math.nan
        t = value / math.sqrt(self.variance)
        return float(
            scipy.special.stdtr(self.df, t) if only_below else 2 * scipy.special.stdtr(self.df, -abs(t))
        )

    def half_width(self, confidence: float) -> float:
        return quantile_of(confidence, self.df) * math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two systems or metrics, with its spread for a test; both are nan if there are no data."""

    difference: float
    spread: Spread

    @property
    def t(self) -> float:
        variance = self.spread.variance
        return self.difference / math.sqrt(variance) if variance > 0 else math.nan

    @property
    def p(self) -> float:
        return self.spread.p(self.difference)


NO_SPREAD = Spread(math.nan, math.nan)
NO_CONTRAST = Contrast(math.nan, NO_SPREAD)


def quantile_of(confidence: float, df: float = math.inf) -> float:
    """Return the two-sided quantile of t, or of the normal distribution for infinite `df`."""
    return float(
        scipy.special.stdtrit(df, 0.5 + confidence / 2)
        if df < math.inf
        else scipy.special.ndtri(0.5 + confidence / 2)
    )


def crossed_spread(items: Spread, squares: Squares) -> Spread:
    """Return the spread of an estimate over new items and new raters, with Satterthwaite's degrees of freedom.

    items: the spread over new items alone. squares: the estimate's sums of squares by item, by rater and by answer.

    The variance due to few raters is estimated with a large error, so its upper limit is used for the degrees of
    freedom. If that limit is large, they are close to those of the raters.
    """
    rater_variance = float(credible_variance(squares.rater_variance, squares.error))
    if rater_variance <= ROUNDING * float(squares.by_answer):  # zero, or a rounding error of zero
        rater_variance = 0.0
    # The spread of items has infinite df if it is that of a share of independent zeros and ones.
    independent_rows = math.nan if items.df < math.inf else float(squares.items)
    items_df = items.df if items.df < math.inf else max(squares.items, MIN_CLUSTERS) - 1
    raters_df = max(squares.raters, MIN_CLUSTERS) - 1
    (df,) = satterthwaite(
        items.variance, items_df, squares.max_rater_variance, raters_df
    )  # an array of one value
    return Spread(
        variance=items.variance + rater_variance,
        df=float(df),
        by_raters=rater_variance,
        within=float(squares.noise_variance),
        items=items.items,
        raters=squares.raters,
        rater_count=len(squares.answers_by_rater),
        independent_rows=independent_rows,
    )


def crossed_covariance(items: Floats, items_df: Floats, squares: Squares) -> tuple[Floats, Floats]:
    """Return the (K, K) covariance over new items and raters, and (K,) degrees of freedom, as in `crossed_spread`."""
    raters_df = max(squares.raters, MIN_CLUSTERS) - 1
    df = satterthwaite(np.diagonal(items), items_df, squares.max_rater_variance, raters_df)
    # Shrink the eigenvalues, so that no difference has a negative variance.
    eigenvalues, eigenvectors = np.linalg.eigh((squares.rater_variance + squares.rater_variance.T) / 2)
    errors = (eigenvectors * (squares.error @ eigenvectors)).sum(axis=0)  # errors of the eigenvalues
    return items + (eigenvectors * credible_variance(eigenvalues, errors)) @ eigenvectors.T, df
