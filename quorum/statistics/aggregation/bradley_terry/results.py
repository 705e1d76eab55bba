"""The results of a fit: strengths of items, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.bradley_terry.maximum import Fit
from quorum.statistics.crossed import Clusters, quantile_of
from quorum.statistics.inference import Result
from quorum.statistics.inputs import BadValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStrengths(Result):
    """Strengths of K items; nan if the fit failed, with the `reason`.

    log_strength: (K,) with mean 0. standard_error, low, high (K,) and covariance (K, K) are on the same scale. freedom:
    (K,) degrees of freedom of t, infinite without clusters. order: (K,) positions, strongest first. gradient: the
    largest absolute derivative where the fit ended.
    """

    items: NDArray[Any]
    log_strength: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    covariance: Floats
    freedom: Floats
    order: Ints
    log_likelihood: float
    confidence: float
    iterations: int
    converged: bool
    gradient: float

    @classmethod
    def from_fit(
        cls,
        items: NDArray[Any],
        fit: Fit | None,
        confidence: float,
        freedom: Floats,
        reason: str,
        clusters: Clusters | None,
    ) -> ItemStrengths:
        """Return the strengths of a fit, with intervals by t with degrees of `freedom`; nan if `fit` is None."""
        item_count = len(items)
        order = np.empty(0, dtype=np.int64)
        if fit is None:
            undefined_values = np.full(item_count, math.nan)
            undefined_table = np.full((item_count, item_count), math.nan)
            fit = Fit(
                theta=undefined_values,
                parameters=undefined_values,
                covariance=undefined_table,
                information=undefined_table,
                log_likelihood=math.nan,
                iterations=0,
                converged=False,
                gradient=math.nan,
            )
        else:
            order = np.argsort(-fit.theta, kind="stable")
        covariance = fit.covariance[:item_count, :item_count]
        standard_error = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        half_width = standard_error * [quantile_of(confidence, df) for df in freedom[:item_count]]
        strengths = ItemStrengths(
            items=items,
            log_strength=fit.theta,
            standard_error=standard_error,
            low=fit.theta - half_width,
            high=fit.theta + half_width,
            covariance=covariance,
            freedom=freedom[:item_count],  # without those of nu and of the order effect, if any
            order=order,
            log_likelihood=fit.log_likelihood,
            confidence=float(confidence),
            iterations=fit.iterations,
            converged=fit.converged,
            gradient=fit.gradient,
            reason=reason,
        )
        if clusters is None:
            return strengths
        return replace(
            strengths, reason=reason or clusters.reason, note=clusters.note, clusters=clusters.counts
        )


def shares_of(log_strength: Floats) -> Floats:
    """Return the (K,) strengths, scaled to the sum 1."""
    strength = np.exp(log_strength - log_strength.max(initial=-math.inf))
    return np.asarray(strength / strength.sum(), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class BradleyTerryResult(ItemStrengths):
    """Strengths from comparisons. Without clusters, `freedom` is an empty array instead of infinities.

    strength: (K,) with sum 1. prior, tie_model: the options. comparisons: number of comparisons. groups: (K,) number of
    the item's group; within a group, chains of wins or ties lead from each item to every other one, and strengths are
    defined only if there is a single group. nu: Davidson's parameter of ties, 0 without ties, nan for "half"
    (a tie is half a win of each item). order_effect: log of the factor for being shown first.
    """

    strength: Floats
    prior: float
    groups: Ints
    comparisons: float
    tie_model: str
    nu: float
    nu_low: float
    nu_high: float
    order_effect: float
    order_effect_low: float
    order_effect_high: float

    def probability(self, first: int, second: int) -> tuple[float, float, float]:
        """Return the chance that item `first` beats item `second` unless they tie, and the limits of its interval.

        `first` and `second` are positions in `items`.
        """
        self._check_positions(first, second)
        difference = self.log_strength[first] - self.log_strength[second]
        variance = (
            self.covariance[first, first]
            + self.covariance[second, second]
            - 2 * self.covariance[first, second]
        )
        # The smaller degrees of freedom give the wider interval. Without clusters, the interval is normal.
        df = float(self.freedom[[first, second]].min()) if len(self.freedom) else math.inf
        half_width = quantile_of(self.confidence, df) * math.sqrt(max(variance, 0.0))
        shifts = (-half_width, 0.0, half_width)
        low, chance, high = (float(scipy.special.expit(difference + shift)) for shift in shifts)
        return chance, low, high

    def _check_positions(self, *positions: int) -> None:
        last = len(self.items) - 1
        for position in positions:
            if not isinstance(position, int | np.integer) or not 0 <= position <= last:
                raise BadValue(f"the item is {position!r}, expected its position in items, 0 to {last}")
