"""Choose the next comparison, for Bradley-Terry strengths.

A pair's chance to be drawn grows with what one more comparison tells, and is never zero. Weights of one over the chance
give the strengths of even drawing (Chiang et al. 2024, *Chatbot Arena*, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.inputs import BadShape, BadValue, finite_vector, floats_of

PRIOR = 1.0  # variance of each strength before any comparison, so that there is a first draw
_STEPS = 100  # of Newton's method, which takes about ten
_FARTHEST = 4.0  # change of a strength in one step: beyond it the logistic curve is flat
_TOLERANCE = 1e-9  # the last step changes no strength by more
_TINIEST = 1e-300  # a gain that has underflowed is still one, or all chances would be 0 / 0


def prior_strengths(first: ArrayLike, second: ArrayLike, counts: ArrayLike, *, items: int) -> Floats:
    """Return (K,) most probable log-strengths, given (P, 3) counts of wins of `first`, ties and losses.

    A tie is half a win each. Strengths are normal around 0 with variance ``PRIOR``, so that a maximum exists.
    ``first`` and ``second`` are (P,) numbers of the items, from 0.
    """
    first_item, second_item = _items(first, items), _items(second, items)
    table = floats_of(counts, "counts", "something that is no number")
    if table.shape != (len(first_item), 3):
        raise BadShape(f"counts is of shape {table.shape}, expected ({len(first_item)}, 3)")
    if (table < 0).any():
        raise BadValue("counts holds a number below zero")
    wins, total = table[:, 0] + table[:, 1] / 2, table.sum(axis=1)
    theta: Floats = np.zeros(items)
    step: Floats = np.ones(items)
    steps = 0
    while np.abs(step).max() > _TOLERANCE and steps < _STEPS:
        chance = _wins(theta[first_item] - theta[second_item])
        residual = wins - total * chance
        slope = (
            np.bincount(first_item, residual, items)
            - np.bincount(second_item, residual, items)
            - theta / PRIOR
        )
        information = _information(first_item, second_item, total * chance * (1 - chance), items)
        step = np.asarray(np.linalg.solve(information, slope), dtype=np.float64)
        theta += step * min(1.0, _FARTHEST / max(float(np.abs(step).max()), _TOLERANCE))
        steps += 1
    return theta


@dataclass(slots=True)
class Drawing:
    """Draw pairs of items one after the other, each as if those before it were answered.

    A pair weighs log(1 + I v), with the information I about the difference d of its strengths and the variance v of d
    (D-optimality, Fedorov 1972), times 2 F(-|d| / sqrt v), with the normal F: without it, systems far apart would be
    compared for ever.
    """

    first: Ints
    second: Ints
    difference: Floats
    information: Floats
    variance: Floats
    even: float

    @classmethod
    def of(
        cls, first: ArrayLike, second: ArrayLike, answered: ArrayLike, strengths: ArrayLike, *, even: float
    ) -> Drawing:
        """Prepare draws after (P,) comparisons ``answered`` of each pair, at (K,) log-strengths.

        ``even`` is the share of draws in which all pairs are equally probable, above 0 and up to 1.
        """
        if not 0 < even <= 1:
            raise BadValue(f"even is {even!r}, expected a number above 0 and up to 1")
        theta, number = finite_vector(strengths, "strengths"), finite_vector(answered, "asked")
        first_item, second_item = _items(first, len(theta)), _items(second, len(theta))
        difference = theta[first_item] - theta[second_item]
        chance = _wins(difference)
        each = chance * (1 - chance)
        variance = np.linalg.inv(_information(first_item, second_item, number * each, len(theta)))
        return cls(first_item, second_item, difference, each, np.asarray(variance, dtype=np.float64), even)

    def chances(self, open_pairs: ArrayLike) -> Floats:
        """Return (P,) chances with sum 1, 0 for pairs that are not open."""
        is_open = np.asarray(open_pairs, dtype=bool)
        if not is_open.any():
            raise BadValue("no pair is open")
        variance = self._of_differences()
        gains = np.log1p(self.information * variance) * scipy.special.ndtr(
            -np.abs(self.difference) / np.sqrt(variance)
        )
        gains = np.where(is_open, np.maximum(gains, _TINIEST), 0.0)
        chances: Floats = self.even * is_open / is_open.sum() + (1 - self.even) * gains / gains.sum()
        # Without it, that of a single open pair may be above 1 in the last digit.
        return chances / chances.sum()

    def draw(self, open_pairs: ArrayLike, rng: np.random.Generator) -> tuple[int, float]:
        chances = self.chances(open_pairs)
        pair = int(rng.choice(len(chances), p=chances))
        toward = self.variance[:, self.first[pair]] - self.variance[:, self.second[pair]]
        spread = toward[self.first[pair]] - toward[self.second[pair]]
        each = self.information[pair]
        self.variance = self.variance - np.outer(toward, toward) * (each / (1 + each * spread))
        return pair, float(chances[pair])

    def _of_differences(self) -> Floats:
        variances = np.diag(self.variance)
        return variances[self.first] + variances[self.second] - 2 * self.variance[self.first, self.second]


def _items(numbers: ArrayLike, items: int) -> Ints:
    codes = np.asarray(numbers, dtype=np.int64)
    if codes.ndim != 1 or not len(codes) or codes.min() < 0 or codes.max() >= items:
        raise BadValue(f"first and second hold something else than numbers of items, from 0 to {items - 1}")
    return codes


def _wins(difference: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-difference))
    return chance


def _information(first: Ints, second: Ints, each: Floats, items: int) -> Floats:
    table = np.zeros((items, items))
    np.add.at(table, (first, second), -each)
    np.add.at(table, (second, first), -each)
    table[np.diag_indices(items)] = 1 / PRIOR - table.sum(axis=1)
    return table
