"""The two models of preferences: the chances of the levels of preference, and their derivatives.

The docstring of the package defines both models. A level c is a preference that occurs in the data, or the opposite of
one, such as -2, -1, 0, 1, 2. d is the log-strength of the first item minus that of the second, plus the effects of
covariates. As the models are symmetric, they have parameters only for half of the levels. These parameters are the
cuts: a_|c| in the adjacent model, and the positive thresholds t in the cumulative model.

Arrays have these sizes: R comparisons, C levels, and M parameters that a comparison depends on: d, then the cuts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats, Ints

ADJACENT, CUMULATIVE = "adjacent", "cumulative"
MODELS = (ADJACENT, CUMULATIVE)
# A smaller chance is replaced by this one, which has a finite logarithm.
_MIN_PROBABILITY = 1e-300


@dataclass(frozen=True, slots=True)
class PreferenceModel(ABC):
    """A model of preferences with (C,) ascending levels."""

    levels: Ints

    @property
    def magnitudes(self) -> Ints:
        """The levels from 0 on."""
        return self.levels[self.levels >= 0]

    @property
    def has_ties(self) -> bool:
        """Whether 0 is a level. It is then the middle one."""
        return bool(self.levels[len(self.levels) // 2] == 0)

    @abstractmethod
    def start_cuts(self, counts: Floats) -> Floats:
        """Return the cuts that fit the (C,) counts of the levels if all strengths are equal."""

    @abstractmethod
    def chances(self, difference: Floats, cuts: Floats) -> Floats:
        """Return the (R, C) chances of the levels for (R,) differences d."""

    @abstractmethod
    def slopes(self, difference: Floats, cuts: Floats, chances: Floats) -> Floats:
        """Return the (R, C, M) derivatives of the logarithms of the (R, C) chances by d and by each cut."""

    @abstractmethod
    def information(
        self, difference: Floats, cuts: Floats, chances: Floats, slopes: Floats, counts: Floats
    ) -> Floats:
        """Return the (R, M, M) information about d and the cuts, from the (R, C) counts of the levels.

        The information is the negative second derivative of the log-likelihood. `chances` and `slopes` are what the
        methods with these names return.
        """

    def _magnitude_counts(self, counts: Floats) -> Floats:
        """Return the number of preferences of each of the `magnitudes`, for either item."""
        magnitude_counts = (counts + counts[::-1])[self.levels >= 0]
        if self.has_ties:
            magnitude_counts[0] /= 2  # the sum has the level 0 twice, as it is its own opposite
        return magnitude_counts


class AdjacentModel(PreferenceModel):
    """The model in which P(c) is proportional to exp(c d / 2 + a_|c|)."""

    __slots__ = ()

    @property
    def free_positions(self) -> list[int]:
        """The positions of the magnitudes with a free parameter a: all but the lowest positive magnitude."""
        return [position for position in range(len(self.magnitudes)) if position != self._reference]

    @property
    def _reference(self) -> int:
        """The position of the lowest positive magnitude, whose a is 0."""
        return 1 if self.has_ties else 0

    def start_cuts(self, counts: Floats) -> Floats:
        # Twice the mean count of a magnitude's levels: a positive magnitude is shared by two levels, 0 is not.
        level_counts = self._magnitude_counts(counts) * np.where(self.magnitudes == 0, 2, 1)
        return np.log(level_counts[self.free_positions] / level_counts[self._reference])

    def chances(self, difference: Floats, cuts: Floats) -> Floats:
        log_weight = difference[:, np.newaxis] * self.levels / 2 + self._offsets(cuts)
        weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))  # does not overflow
        return weight / weight.sum(axis=1, keepdims=True)

    def slopes(self, difference: Floats, cuts: Floats, chances: Floats) -> Floats:
        comparison_count, level_count = chances.shape
        slopes = np.zeros((comparison_count, level_count, 1 + len(cuts)))
        # The derivative of a log chance is that of the exponent, minus its mean over the levels.
        exponent_slopes = np.zeros((level_count, 1 + len(cuts)))
        exponent_slopes[:, 0] = self.levels / 2
        for column, position in enumerate(self.free_positions, start=1):
            exponent_slopes[:, column] = np.abs(self.levels) == self.magnitudes[position]
        slopes += exponent_slopes
        slopes -= (chances @ exponent_slopes)[:, np.newaxis, :]
        return slopes

    def information(
        self, difference: Floats, cuts: Floats, chances: Floats, slopes: Floats, counts: Floats
    ) -> Floats:
        # In this model (an exponential family), the observed information equals the expected one.
        weights = counts.sum(axis=1)[:, np.newaxis] * chances
        return np.einsum("rc,rcm,rcn->rmn", weights, slopes, slopes, optimize=True)

    def _offsets(self, cuts: Floats) -> Floats:
        """Return the (C,) terms a_|c| of the levels c.

        The term of a level is the entry of ``cuts`` for its magnitude. It is 0 for the lowest positive magnitude, which
        is the reference and has no entry.
        """
        terms = np.zeros(len(self.magnitudes))
        terms[self.free_positions] = cuts
        return terms[np.searchsorted(self.magnitudes, np.abs(self.levels))]


class CumulativeModel(PreferenceModel):
    """The model in which P(preference <= c) = F(t_c - d) with the logistic F."""

    __slots__ = ()

    def start_cuts(self, counts: Floats) -> Floats:
        # If d is 0, preferences lie between -t and t with probability 2 F(t) - 1, which is the share below t.
        magnitude_counts = self._magnitude_counts(counts)
        share_below = np.cumsum(magnitude_counts)[:-1] / magnitude_counts.sum()
        return scipy.special.logit((1 + share_below) / 2)

    def chances(self, difference: Floats, cuts: Floats) -> Floats:
        bounds = self._bounds(cuts) - difference[:, np.newaxis]
        lower_bounds, upper_bounds = bounds[:, :-1], bounds[:, 1:]
        # Near 1, differences of F lose digits. So take them from the other tail if the middle of the bounds is above 0.
        is_above_middle = lower_bounds + np.where(np.isinf(upper_bounds), 0.0, upper_bounds) > 0
        from_lower_tail = scipy.special.expit(upper_bounds) - scipy.special.expit(lower_bounds)
        from_upper_tail = scipy.special.expit(-lower_bounds) - scipy.special.expit(-upper_bounds)
        # If thresholds are out of order, differences are negative. Return tiny chances instead, so that the step of
        # the optimiser is halved.
        return np.maximum(np.where(is_above_middle, from_upper_tail, from_lower_tail), _MIN_PROBABILITY)

    def slopes(self, difference: Floats, cuts: Floats, chances: Floats) -> Floats:
        comparison_count, level_count = chances.shape
        slopes = np.zeros((comparison_count, level_count, 1 + len(cuts)))
        # A chance is F(upper bound) - F(lower bound), and the derivative of the logistic F is F (1 - F).
        cumulative, bound_slopes = self._cumulative(difference, cuts), self._bound_slopes(len(cuts))
        density = cumulative * (1 - cumulative)
        slopes += density[:, 1:, np.newaxis] * bound_slopes[1:]
        slopes -= density[:, :-1, np.newaxis] * bound_slopes[:-1]
        slopes /= chances[:, :, np.newaxis]
        # By d, the quotient is this sum, which avoids dividing small numbers.
        slopes[:, :, 0] = cumulative[:, 1:] + cumulative[:, :-1] - 1
        return slopes

    def information(
        self, difference: Floats, cuts: Floats, chances: Floats, slopes: Floats, counts: Floats
    ) -> Floats:
        cumulative, bound_slopes = self._cumulative(difference, cuts), self._bound_slopes(len(cuts))
        # Second derivatives of F at each bound, times count / chance of the level below minus that of the level above.
        curvature = cumulative * (1 - cumulative) * (1 - 2 * cumulative)
        counts_per_chance = np.pad(counts / chances, ((0, 0), (1, 1)))  # no levels beyond the outer bounds
        curvature *= counts_per_chance[:, :-1] - counts_per_chance[:, 1:]
        slope_products = bound_slopes[:, :, np.newaxis] * bound_slopes[:, np.newaxis, :]
        outer = np.einsum("rc,rcm,rcn->rmn", counts, slopes, slopes, optimize=True)
        return outer - np.einsum("rb,bmn->rmn", curvature, slope_products)

    def _cumulative(self, difference: Floats, cuts: Floats) -> Floats:
        """Return the (R, C + 1) values of F at the bounds of the levels."""
        return scipy.special.expit(self._bounds(cuts) - difference[:, np.newaxis])

    def _bounds(self, cuts: Floats) -> Floats:
        """Return the (C + 1,) thresholds below, between and above the levels, from -inf to inf."""
        middle_bound = [] if self.has_ties else [0.0]
        return np.r_[-np.inf, -cuts[::-1], middle_bound, cuts, np.inf]

    def _bound_slopes(self, cut_count: int) -> Floats:
        """Return the (C + 1, M) derivatives of `_bounds` minus d, by d and by each cut."""
        bound_count = len(self.levels) + 1
        slopes = np.zeros((bound_count, 1 + cut_count))
        slopes[1:-1, 0] = -1
        for cut in range(cut_count):
            # Each cut is a bound above the middle, and its negative is one below. The outer bounds are infinite.
            slopes[bound_count - 1 - cut_count + cut, 1 + cut] = 1
            slopes[cut_count - cut, 1 + cut] = -1
        return slopes


def preference_model(name: str, levels: Ints) -> PreferenceModel:
    return AdjacentModel(levels) if name == ADJACENT else CumulativeModel(levels)
