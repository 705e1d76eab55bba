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


@dataclass(frozen=True, slots=True)
class CrossedEstimate:
    value: float
    low: float
    high: float


def check_confidence(value: float, name: str = "confidence") -> float:
    if not (is_real(value) and 0 < value < 1):
        raise BadOption(f"{name} is {value!r}, expected a number between 0 and 1")
    return float(value)


@dataclass(frozen=True, slots=True)
class ClusteredInterval:
    """The interval of a share, and the `p` of the hypothesis that the share is a half."""

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
    """Return the interval of the (weighted) mean of (N,) outcomes from 0 to 1, over the rows marked by `keep`.

    `widen` adds further variance, such as that of raters.
    """
    if isinstance(columns, Clusters):
        clusters = columns if keep is None else columns.subset(keep)
    else:
        clusters = Clusters.from_columns(columns, len(outcomes), keep)
    if keep is not None:
        outcomes, weights = outcomes[keep], None if weights is None else weights[keep]
    if not len(outcomes):
        return ClusteredInterval(math.nan, math.nan, math.nan, clusters)
    amounts = np.ones(len(outcomes)) if weights is None else weights
    share = float(amounts @ outcomes) / float(amounts.sum())
    if weights is None and clusters.has_single_rows(len(outcomes)) and not (outcomes % 1).any():
        spread = Spread.of_share(share, len(outcomes))
        cells, clusters = len(outcomes), replace(clusters, reason="", note="")
    elif clusters.reason:
        return ClusteredInterval(math.nan, math.nan, math.nan, clusters)
    else:
        spread = clusters.spread(amounts * (outcomes - share) / amounts.sum())
        cells = clusters.number
    if widen is not None:
        spread, clusters = widen(spread, clusters)
    low, high = share_interval(share, spread, cells, confidence)
    return ClusteredInterval(low, high, spread_if_even(share, spread, cells).p(share - 0.5), clusters)


def independent_rows(share: float, spread: Spread, cells: float) -> float:
    """Return the number of independent rows that would give the share the same variance.

    If the share is 0 or 1, its variance is uninformative, and the number is `cells`. The variance of independent rows
    would also be estimated from these few items, so the correction for few items (`cluster_correction`) is left out.
    """
    spread_of_row = share * (1 - share)
    if not (spread.has_variance and spread_of_row > 0):
        return cells
    by_items = spread.variance - spread.by_raters
    if not math.isnan(spread.items):
        by_items /= cluster_correction(spread.items)
    return spread_of_row / (by_items + spread.by_raters)


def spread_if_even(share: float, spread: Spread, cells: float) -> Spread:
    """Return the spread that the share would have if its true value were a half (for a score test).

    The variance is that of a share of a half in the number of rows that `independent_rows` returns, as in
    `share_interval`.
    """
    return spread.with_variance(0.25 / independent_rows(share, spread, cells))


def share_interval(share: float, spread: Spread, cells: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of a share of `independent_rows`, with a quantile of t instead of z.

    For a share of 0 or 1, return the exact interval of Clopper and Pearson. Its number of rows is `cells`, reduced
    by the ratio of squared quantiles of t (Korn, Graubard 1998).
    """
    if not (0 <= share <= 1) or math.isnan(spread.df):
        return math.nan, math.nan
    z = quantile_of(confidence, spread.df)
    if share in (0, 1):
        rows = cells * min(quantile_of(confidence, max(cells - 1, 1)) / z, 1) ** 2
        length = 1 - ((1 - confidence) / 2) ** (1 / rows)
        return (0.0, length) if share == 0 else (1 - length, 1.0)
    rows = independent_rows(share, spread, cells)
    scale = 1 + z**2 / rows
    centre = (share + z**2 / (2 * rows)) / scale
    half = z / scale * math.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


@dataclass(frozen=True, slots=True)
class DifferenceOfShares:
    """The share of rows on which the first of two metrics is right, minus the share on which the second is right.

    apart: share and number of the rows on which exactly one metric is right; if there is no such row, 1 and the
    number of all rows.
    """

    value: float
    spread: Spread
    apart: tuple[float, int]

    @classmethod
    def from_spread(cls, value: float, spread: Spread, is_apart: Flags) -> DifferenceOfShares:
        """Return the difference, where `is_apart` (N,) marks the rows on which exactly one metric is right."""
        rows = int(is_apart.sum()) or len(is_apart)
        return cls(value, spread, (rows / len(is_apart), rows))

    @property
    def if_equal(self) -> Spread:
        """The spread that the difference would have if both were right equally often (for a score test)."""
        by_raters = self._by_raters_of_row * self.apart[0] ** 2
        variance = self.spread.variance - self.spread.by_raters + by_raters
        return replace(self.spread, variance=variance, by_raters=by_raters)

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the interval of all true differences that a t test would not reject.

        The difference is s (2 q - 1): on a share s of the rows exactly one metric is right (`apart`), and on a share q
        of these rows it is the first (McNemar 1947). The variance added by raters is proportional to q (1 - q), as in
        `share_interval`.
        """
        square = quantile_of(confidence, self.spread.df) ** 2
        items, raters = (
            square * (self.spread.variance - self.spread.by_raters),
            square * self._by_raters_of_row,
        )
        room = self.value**2 - items - raters * self.apart[0] ** 2
        half = math.sqrt(max(self.value**2 - (1 + raters) * room, 0.0))
        low, high = ((self.value + side * half) / (1 + raters) for side in (-1, 1))
        return max(low, -1.0), min(high, 1.0)

    @property
    def _by_raters_of_row(self) -> float:
        """The raters' part of the variance of 2 q - 1, divided by 4 q (1 - q). See `interval` for q.

        q is limited so that the worse metric is right on at least half a row.
        """
        share, rows = self.apart
        most = 1 - 1 / rows
        return self.spread.by_raters / (share**2 * (1 - min(abs(self.value) / share, most) ** 2))


def coefficient_interval(
    value: float,
    spread: Spread,
    cells: float,
    confidence: float,
    *,
    judges: float = 2.0,
    chance_of_difference: float = 1.0,
) -> tuple[float, float]:
    """Return the interval of a coefficient with maximum 1, symmetric on the scale log((1 + (m - 1) v) / (1 - v)).

    On this scale the variance of an intraclass correlation of m judges hardly depends on its value (Fisher 1925).
    If the variance is zero, as for a coefficient of 1, half of the interval's width is u / chance_of_difference.
    Here u is the upper limit of the share of differing units if none of `cells` units differs (`share_interval`).
    """
    if math.isnan(value) or math.isnan(spread.df):
        return math.nan, math.nan
    half = spread.half_width(confidence)
    unvaried = not spread.has_variance or abs(abs(value) - 1) < ROUNDING
    if unvaried:
        half = share_interval(0.0, spread, cells, confidence)[1] / chance_of_difference
    if unvaried or not -1 / (judges - 1) < value < 1:
        return max(value - half, min(value, -1.0)), min(value + half, max(value, 1.0))
    half *= judges / ((1 + (judges - 1) * value) * (1 - value))
    middle = math.log((1 + (judges - 1) * value) / (1 - value))
    ends = [math.exp(min(middle + side * half, 700.0)) for side in (-1, 1)]
    low, high = ((end - 1) / (end + judges - 1) for end in ends)
    return low, high
