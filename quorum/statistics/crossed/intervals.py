"""Intervals of shares, of differences of shares, and of coefficients whose maximum is 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.crossed.clusters import Clusters
from quorum.statistics.crossed.spread import Spread, quantile_of
from quorum.statistics.crossed.variance import cluster_correction
from quorum.statistics.inputs import ROUNDING, BadOption, is_real

CONFIDENCE = 0.95

# exp of more than about 709 is infinite.
_MAX_EXPONENT = 700.0


@dataclass(frozen=True, slots=True)
class CrossedEstimate:
    """An estimated value with the limits of its interval."""

    value: float
    low: float
    high: float


def check_confidence(value: float, name: str = "confidence") -> float:
    if not (is_real(value) and 0 < value < 1):
        raise BadOption(f"{name} is {value!r}, expected a number between 0 and 1")
    return float(value)


@dataclass(frozen=True, slots=True)
class ClusteredInterval:
    """The interval of a share over rows with these clusters, and the `p` of the hypothesis that the share is a half."""

    low: float
    high: float
    p: float
    clusters: Clusters


def share_of_rows(
    outcomes: Floats,
    columns: Mapping[str, Iterable[Any]] | Clusters,
    confidence: float,
    *,
    keep: Flags | None = None,
    weights: Floats | None = None,
    widen: Callable[[Spread, Clusters], tuple[Spread, Clusters]] | None = None,
) -> ClusteredInterval:
    """Return the interval of the (weighted) mean of (N,) outcomes from 0 to 1, over the rows for which `keep` is true.

    `widen` adds further variance to the spread and the clusters, as `RaterDeletions.widen` does that of raters.
    """
    if isinstance(columns, Clusters):
        clusters = columns if keep is None else columns.subset(keep)
    else:
        clusters = Clusters.from_columns(columns, len(outcomes), keep)
    if keep is not None:
        outcomes, weights = outcomes[keep], None if weights is None else weights[keep]
    if not len(outcomes):
        return ClusteredInterval(math.nan, math.nan, math.nan, clusters)
    row_weights = np.ones(len(outcomes)) if weights is None else weights
    share = float(row_weights @ outcomes) / float(row_weights.sum())
    # A share of independent zeros and ones has a binomial variance, which needs no minimum number of clusters.
    if weights is None and clusters.has_single_rows(len(outcomes)) and not (outcomes % 1).any():
        spread = Spread.of_share(share, len(outcomes))
        cluster_count, clusters = len(outcomes), replace(clusters, reason="", note="")
    elif clusters.reason:
        return ClusteredInterval(math.nan, math.nan, math.nan, clusters)
    else:
        spread = clusters.spread(row_weights * (outcomes - share) / row_weights.sum())
        cluster_count = clusters.cluster_count
    if widen is not None:
        spread, clusters = widen(spread, clusters)
    low, high = share_interval(share, spread, cluster_count, confidence)
    return ClusteredInterval(low, high, spread_if_even(share, spread, cluster_count).p(share - 0.5), clusters)


def count_independent_rows(share: float, spread: Spread, cluster_count: float) -> float:
    """Return the number of independent rows that would give the share the same variance.

    If the share is 0 or 1, its variance is uninformative, and the number is `cluster_count`. Otherwise it is the
    variance of a row, share * (1 - share), divided by that of the share. The former has no correction for few items
    (`cluster_correction`), so the latter is used without it, too: N independent zeros and ones then count as N rows.
    """
    variance_of_row = share * (1 - share)
    if not (spread.has_variance and variance_of_row > 0):
        return cluster_count
    by_items = spread.variance - spread.by_raters
    if not math.isnan(spread.items):  # effective number; nan if the variance is that of `Spread.of_share`
        by_items /= cluster_correction(spread.items)
    return variance_of_row / (by_items + spread.by_raters)


def spread_if_even(share: float, spread: Spread, cluster_count: float) -> Spread:
    """Return the spread that the share would have if its true value were a half (for a score test)."""
    return spread.with_variance(0.25 / count_independent_rows(share, spread, cluster_count))


def share_interval(
    share: float, spread: Spread, cluster_count: float, confidence: float
) -> tuple[float, float]:
    """Return Wilson's interval of a share of `count_independent_rows` rows, with a quantile of t instead of z.

    For a share of 0 or 1, return the exact interval of Clopper and Pearson. Its number of rows is `cluster_count`,
    reduced by the ratio of squared quantiles of t (Korn, Graubard 1998).
    """
    if not (0 <= share <= 1) or math.isnan(spread.df):
        return math.nan, math.nan
    z = quantile_of(confidence, spread.df)
    if share in (0, 1):
        rows = cluster_count * min(quantile_of(confidence, max(cluster_count - 1, 1)) / z, 1) ** 2
        length = 1 - ((1 - confidence) / 2) ** (1 / rows)
        return (0.0, length) if share == 0 else (1 - length, 1.0)
    rows = count_independent_rows(share, spread, cluster_count)
    scale = 1 + z**2 / rows
    centre = (share + z**2 / (2 * rows)) / scale
    half_width = z / scale * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(centre - half_width, 0.0), min(centre + half_width, 1.0)


@dataclass(frozen=True, slots=True)
class DifferenceOfShares:
    """The share of rows on which the first of two metrics is right, minus the share on which the second is right.

    value, spread: of the difference. A row is discordant if exactly one metric is right. discordant_rows,
    discordant_share: their number, and their share of all rows. If no row is discordant, all rows are taken as
    discordant.
    """

    value: float
    spread: Spread
    discordant_rows: int
    discordant_share: float

    @classmethod
    def from_spread(cls, value: float, spread: Spread, is_discordant: Flags) -> DifferenceOfShares:
        rows = int(is_discordant.sum()) or len(is_discordant)
        return cls(value, spread, rows, rows / len(is_discordant))

    @property
    def if_equal(self) -> Spread:
        """The spread that the difference would have if both were right equally often (for a score test)."""
        by_raters = self._by_raters_of_row * self.discordant_share**2  # as 4 q (1 - q) is 1
        variance = self.spread.variance - self.spread.by_raters + by_raters
        return replace(self.spread, variance=variance, by_raters=by_raters)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of all true differences that a t test would not reject.

        The difference is s (2 q - 1), where s is the share of discordant rows, and q the share of discordant rows on
        which the first metric is right (McNemar 1947). The variance added by raters is proportional to q (1 - q), as
        in `share_interval`.
        """
        # A difference x is not rejected if (value - x)^2 <= by_items + by_raters (s^2 - x^2). Solve for x.
        square = quantile_of(confidence, self.spread.df) ** 2
        by_items = square * (self.spread.variance - self.spread.by_raters)
        by_raters = square * self._by_raters_of_row
        constant = self.value**2 - by_items - by_raters * self.discordant_share**2
        root = math.sqrt(max(self.value**2 - (1 + by_raters) * constant, 0.0))
        low, high = ((self.value + side * root) / (1 + by_raters) for side in (-1, 1))
        return max(low, -1.0), min(high, 1.0)

    @property
    def _by_raters_of_row(self) -> float:
        """The variance that raters add to 2 q - 1, divided by 4 q (1 - q). See `interval` for q.

        q is limited so that the worse metric is right on at least half a row.
        """
        excess = min(abs(self.value) / self.discordant_share, 1 - 1 / self.discordant_rows)  # |2 q - 1|
        # 4 q (1 - q) is 1 - (2 q - 1)^2.
        return self.spread.by_raters / (self.discordant_share**2 * (1 - excess**2))


def coefficient_interval(
    value: float,
    spread: Spread,
    cluster_count: float,
    confidence: float,
    *,
    judges: float = 2.0,
    chance_of_difference: float = 1.0,
) -> tuple[float, float]:
    """Return the interval of a coefficient v, the `value`, with maximum 1.

    It is symmetric on the scale log((1 + (m - 1) v) / (1 - v)), where m is `judges`, the mean number of judgments of a
    unit. On this scale the variance of an intraclass correlation of m judges hardly depends on its value (Fisher 1925).
    If the variance is zero, as for a coefficient of 1, half of the interval's width is u / chance_of_difference. Here u
    is the upper limit of the share of units on which judges differ if none of `cluster_count` units has such a
    difference (`share_interval`). `chance_of_difference` is the probability that two random judgments differ.
    """
    if math.isnan(value) or math.isnan(spread.df):
        return math.nan, math.nan
    half_width = spread.half_width(confidence)
    has_no_variance = not spread.has_variance or abs(abs(value) - 1) < ROUNDING
    if has_no_variance:
        half_width = share_interval(0.0, spread, cluster_count, confidence)[1] / chance_of_difference
    # Without variance, or where the scale has no value: from -1 to 1 at most, but with the value itself.
    if has_no_variance or not -1 / (judges - 1) < value < 1:
        return max(value - half_width, min(value, -1.0)), min(value + half_width, max(value, 1.0))
    # The scale's slope at v turns the width there into a width on the scale (the delta method).
    half_width *= judges / ((1 + (judges - 1) * value) * (1 - value))
    middle = math.log((1 + (judges - 1) * value) / (1 - value))
    exponentials = [math.exp(min(middle + side * half_width, _MAX_EXPONENT)) for side in (-1, 1)]
    low, high = ((exponential - 1) / (exponential + judges - 1) for exponential in exponentials)
    return low, high
