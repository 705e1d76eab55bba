"""Sequential collection: which two items are compared next, and when a unit has enough votes.

Adaptive choice, for Bradley-Terry strengths. A pair's chance to be drawn grows with what one more comparison tells,
and is never zero. Weights of one over the chance give the strengths of even drawing (Chiang et al. 2024, *Chatbot
Arena*, section 5).

Early stopping without loss. In V15 section 3 a candidate wins a pair with most of its triplets. An outcome is 1
(first), -1 (second) or 0 (a tie). A range holds the lowest and highest outcome still possible, equal once it is
decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.numeric.arrays import Floats, Ints
from evaluation.statistics.aggregation.voting import RELEVANT
from evaluation.statistics.inputs import BadOption, BadShape, BadValue, finite_vector, floats_of

PRIOR = 1.0  # variance of each strength before any comparison, so that there is a first draw
_STEPS = 100
_FARTHEST = 4.0
_TOLERANCE = 1e-9
_TINIEST = 1e-300

OPEN = (-1, 1)  # nothing is known yet
RULES = ("settled", "margin")
Range = tuple[int, int]
Signs = NDArray[np.int8]


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


def majority_range(first: int, second: int, remaining: int) -> Range:
    lead = first - second
    return _sign(lead - remaining), _sign(lead + remaining)


def plurality_range(first: int, second: int, other: int, remaining: int) -> Range:
    """Return the range of the most frequent answer; `other` are the votes of the most frequent one that is no side."""
    low, high = -1, 1
    if second + remaining <= max(first, other):  # the second cannot win any more
        low = 1 if first > max(second, other) + remaining else 0
    if first + remaining <= max(second, other):
        high = -1 if second > max(first, other) + remaining else 0
    return low, high


def relevance_range(yes: int, no: int, remaining: int) -> Range:
    """Return the range of H13's rule: relevant (1) from two yes of three on, else -1."""
    part, whole = RELEVANT
    votes = yes + no + remaining
    lowest = 1 if whole * yes >= part * votes else -1
    highest = 1 if whole * (yes + remaining) >= part * votes else -1
    return lowest, highest


def leads_enough(first: int, second: int, *, minimum: int, margin: int) -> bool:
    return first + second >= minimum and abs(first - second) >= margin


def expected_votes(range_of: Callable[[int, int, int], Range], *, votes: int, accuracy: float) -> float:
    """Return the exact mean number of votes, of up to `votes`, until `range_of(first, second, remaining)` is decided.

    Each vote is for the first answer with probability `accuracy`.
    """
    if not 0 <= accuracy <= 1 or votes < 1:
        raise BadValue(f"votes {votes}, accuracy {accuracy}; expected 1 or more, and 0 to 1")
    reached = {(0, 0): 1.0}  # votes of each kind -> the chance to come by there unsettled
    expected = 0.0
    for cast in range(votes):
        after: dict[tuple[int, int], float] = {}
        for (first, second), chance in reached.items():
            low, high = range_of(first, second, votes - cast)
            if low < high:
                expected += chance
                for counts, part in (((first + 1, second), accuracy), ((first, second + 1), 1 - accuracy)):
                    after[counts] = after.get(counts, 0.0) + chance * part
        reached = after
    return expected


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


@dataclass(frozen=True, slots=True)
class StoppingResult:
    """Votes used by early stopping, against full depth on the same votes.

    share: of votes at full depth; error: its standard error over pairs. flipped: pairs with another outcome than at
    full depth; tied: pairs tied there. right: share of right outcomes.
    """

    share: float
    error: float
    flipped: int
    tied: int
    right: float


def simulate_stopping(
    *,
    accuracy: float,
    references: int = 48,
    votes: int = 3,
    pairs: int = 2_000,
    rule: str = "settled",
    minimum: int = 2,
    margin: int = 2,
    seed: int = 0,
) -> StoppingResult:
    """Simulate pairs judged vote by vote, triplet after triplet, each vote right with probability `accuracy`.

    With the rule "margin" a triplet also ends when `leads_enough`, which may flip it.
    """
    if rule not in RULES:
        raise BadOption(f"rule is {rule!r}, expected one of {', '.join(RULES)}")
    if not 0 <= accuracy <= 1 or min(references, votes, pairs, minimum, margin) < 1:
        raise BadValue("expected an accuracy from 0 to 1, and 1 or more of everything else")
    right = np.random.default_rng(seed).random((pairs, references, votes)) < accuracy
    cast = np.where(right, 1, -1).astype(np.int8)
    full = np.sign(np.sign(cast.sum(axis=2)).sum(axis=1))
    used, outcome = _run(cast, rule=rule, minimum=minimum, margin=margin)
    shares = used / (references * votes)
    return StoppingResult(
        share=float(shares.mean()),
        error=float(shares.std(ddof=1) / np.sqrt(pairs)) if pairs > 1 else float("nan"),
        flipped=int((outcome != full).sum()),
        tied=int((full == 0).sum()),
        right=float((outcome > 0).mean()),
    )


def _run(cast: Signs, *, rule: str, minimum: int, margin: int) -> tuple[Ints, Ints]:
    pairs, references, votes = cast.shape
    used = np.zeros(pairs, dtype=np.int64)
    lead = np.zeros(pairs, dtype=np.int64)  # triplets won less triplets lost, among those that ended
    going = np.ones(pairs, dtype=bool)
    for reference in range(references):
        left = references - reference - 1
        inner = np.zeros(pairs, dtype=np.int64)  # the same among the votes of this triplet
        waits = going.copy()
        for vote in range(votes):
            inner += np.where(waits, cast[:, reference, vote], 0)
            used += waits
            remaining = votes - vote - 1
            low, high = np.sign(inner - remaining), np.sign(inner + remaining)
            if rule == "margin":
                enough = (vote + 1 >= minimum) & (np.abs(inner) >= margin)
                low, high = np.where(enough, np.sign(inner), low), np.where(enough, np.sign(inner), high)
            # the triplet in hand may settle the pair before it is settled itself: 2 of 4 votes exclude a loss
            going &= ~((lead + low > left) | (lead + high < -left))
            waits &= going & (low < high)
        lead += np.sign(inner)
    return used, np.sign(lead)
