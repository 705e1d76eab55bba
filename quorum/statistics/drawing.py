"""Choose the next comparison for Bradley-Terry strengths.

A pair is drawn with a probability that grows with the information of one more comparison and is never zero. Comparisons
weighted by one over that probability give the same strengths, on average, as equally probable pairs (Chiang et al.
2024, *Chatbot Arena*, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.inputs import BadShape, BadValue, finite_vector, floats_of

PRIOR = 1.0  # prior variance of each strength; the first draws need a prior
_MAX_STEPS = 100  # largest number of steps of Newton's method, which needs about ten
_MAX_STEP = 4.0  # largest change of a strength in one step; farther away the logistic curve is flat
_TOLERANCE = 1e-9  # largest change of a strength in the last step
_MIN_GAIN = 1e-300  # least gain, so that chances are not 0 / 0 if all gains underflow


def prior_strengths(first: ArrayLike, second: ArrayLike, counts: ArrayLike, *, items: int) -> Floats:
    """Return the (K,) log-strengths of items with the highest posterior density, by Newton's method.

    first, second: (P,) pairs of items, which are numbered from 0. counts: (P, 3) numbers of comparisons of the pair
    that the first item won, tied and lost. items: K. A tie counts as half a win for each. The prior of strengths is
    normal around 0 with variance ``PRIOR``, so a maximum exists.
    """
    first_item, second_item = _read_items(first, items), _read_items(second, items)
    table = floats_of(counts, "counts", "something that is no number")
    if table.shape != (len(first_item), 3):
        raise BadShape(f"counts is of shape {table.shape}, expected ({len(first_item)}, 3)")
    if (table < 0).any():
        raise BadValue("counts holds a number below zero")
    wins, totals = table[:, 0] + table[:, 1] / 2, table.sum(axis=1)
    theta: Floats = np.zeros(items)
    step: Floats = np.ones(items)
    step_count = 0
    while np.abs(step).max() > _TOLERANCE and step_count < _MAX_STEPS:
        chance = _win_chances(theta[first_item] - theta[second_item])
        residual = wins - totals * chance
        slope = (
            np.bincount(first_item, residual, items)
            - np.bincount(second_item, residual, items)
            - theta / PRIOR
        )
        information = _information(first_item, second_item, totals * chance * (1 - chance), items)
        step = np.asarray(np.linalg.solve(information, slope), dtype=np.float64)
        theta += step * min(1.0, _MAX_STEP / max(float(np.abs(step).max()), _TOLERANCE))
        step_count += 1
    return theta


@dataclass(slots=True)
class PairDraws:
    """Draws of pairs of items, one after the other, each as if the pairs drawn before were already answered.

    first, second: (P,) items. difference: (P,) differences of strengths. information: (P,) information of a comparison.
    variance: (K, K) covariance of the strengths. uniform_share: share of draws in which all pairs are equally probable.

    The weight of a pair is log(1 + I v), where I is the information about the difference d of its strengths and v the
    variance of d (D-optimality, Fedorov 1972), times 2 F(-|d| / sqrt v) with the normal distribution function F.
    Without the second factor, items far apart would be drawn again and again.
    """

    first: Ints
    second: Ints
    difference: Floats
    information: Floats
    variance: Floats
    uniform_share: float

    @classmethod
    def from_comparisons(
        cls, first: ArrayLike, second: ArrayLike, answered: ArrayLike, strengths: ArrayLike, *, even: float
    ) -> PairDraws:
        """Prepare draws from (P,) numbers ``answered`` of comparisons of each pair, and (K,) log-strengths.

        ``even`` is the share of draws in which all pairs are equally probable, above 0 and up to 1.
        """
        if not 0 < even <= 1:
            raise BadValue(f"even is {even!r}, expected a number above 0 and up to 1")
        theta, counts = finite_vector(strengths, "strengths"), finite_vector(answered, "answered")
        first_item, second_item = _read_items(first, len(theta)), _read_items(second, len(theta))
        difference = theta[first_item] - theta[second_item]
        chance = _win_chances(difference)
        information = chance * (1 - chance)
        inverse = np.linalg.inv(_information(first_item, second_item, counts * information, len(theta)))
        variance = np.asarray(inverse, dtype=np.float64)
        return cls(first_item, second_item, difference, information, variance, even)

    def chances(self, open_pairs: ArrayLike) -> Floats:
        """Return the (P,) chances of pairs to be drawn next, with sum 1. Pairs that are not open have chance 0.

        Raise BadValue if no pair is open.
        """
        is_open = np.asarray(open_pairs, dtype=bool)
        if not is_open.any():
            raise BadValue("no pair is open")
        variance = self._difference_variances()
        # The factor 2 of the weights is left out, as only their ratios count.
        gains = np.log1p(self.information * variance) * scipy.special.ndtr(
            -np.abs(self.difference) / np.sqrt(variance)
        )
        gains = np.where(is_open, np.maximum(gains, _MIN_GAIN), 0.0)
        chances: Floats = (
            self.uniform_share * is_open / is_open.sum() + (1 - self.uniform_share) * gains / gains.sum()
        )
        # Normalise again, because the chance of a single open pair may exceed 1 by rounding.
        return chances / chances.sum()

    def draw(self, open_pairs: ArrayLike, rng: np.random.Generator) -> tuple[int, float]:
        """Draw a pair, and return its position and the chance that it had. Update `variance` as if it were answered.

        The update uses the formula of Sherman and Morrison.
        """
        chances = self.chances(open_pairs)
        pair = int(rng.choice(len(chances), p=chances))
        covariances = self.variance[:, self.first[pair]] - self.variance[:, self.second[pair]]
        variance = covariances[self.first[pair]] - covariances[self.second[pair]]
        factor = self.information[pair] / (1 + self.information[pair] * variance)
        self.variance = self.variance - np.outer(covariances, covariances) * factor
        return pair, float(chances[pair])

    def _difference_variances(self) -> Floats:
        variances = np.diag(self.variance)
        return variances[self.first] + variances[self.second] - 2 * self.variance[self.first, self.second]


def _read_items(numbers: ArrayLike, items: int) -> Ints:
    """Return (P,) codes of items. Raise BadValue if one is not from 0 to `items` - 1."""
    codes = np.asarray(numbers, dtype=np.int64)
    if codes.ndim != 1 or not len(codes) or codes.min() < 0 or codes.max() >= items:
        raise BadValue(f"first and second hold something else than numbers of items, from 0 to {items - 1}")
    return codes


def _win_chances(difference: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-difference))
    return chance


def _information(first: Ints, second: Ints, weights: Floats, items: int) -> Floats:
    """Return the (K, K) information about strengths, from the (P,) information of pairs and from the prior."""
    table = np.zeros((items, items))
    np.add.at(table, (first, second), -weights)
    np.add.at(table, (second, first), -weights)
    weights_of_item = -table.sum(axis=1)
    table[np.diag_indices(items)] = 1 / PRIOR + weights_of_item
    return table
