"""Choose the items that tell systems apart, and the next comparison; stop where a unit has enough votes.

Items are chosen by scores at hand, and people's answers weighed back to all items. Usefulness follows Zouhar, Cui,
Sachan 2025, *How to Select Datapoints for Efficient Human Evaluation of NLG Models?* Here it sets how probable an item
is, as in surveys, so that weights of one over the probability lead back to all items (Horvitz, Thompson 1952). See
docs/choosing.md.

Adaptive choice, for Bradley-Terry strengths. A pair's chance to be drawn grows with what one more comparison tells,
and is never zero. Weights of one over the chance give the strengths of even drawing (Chiang et al. 2024, *Chatbot
Arena*, section 5).

Early stopping without loss. In V15 section 3 a candidate wins a pair with most of its triplets. An outcome is 1
(first), -1 (second) or 0 (a tie). A range holds the lowest and highest outcome still possible, equal once it is
decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.aggregation import item_response
from quorum.statistics.aggregation.votes_and_means import RELEVANT
from quorum.statistics.crossed import CONFIDENCE, FEWEST, ITEM, check_confidence, too_few
from quorum.statistics.inference import Inference, signed
from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    encode,
    finite_vector,
    floats_of,
    is_real,
    one_of,
    positive,
    refuse_values,
    same_length,
)
from quorum.statistics.resampling import Seed, generator_of

METHODS = ("disagreement", "information")

# An item that seems useless is still this probable, in parts of what an even draw would give it: no weight of an item
# is more than four times that of an even draw, however wrong the scores are (Hesterberg 1995, Technometrics 37).
FLOOR = 0.25
ESTIMATORS = ("hajek", "horvitz-thompson")
_WHOLE = 1e-6  # probabilities may miss a whole number of items by so much
_PAIRS_AT_ONCE = 4_000_000


def order_disagreement(scores: ArrayLike) -> Floats:
    """Return (I,) how often two metrics order two captions of an item differently, from (I, S, M) scores.

    A metric's tie counts half against another metric's order.
    """
    table = _scores(scores)
    if table.shape[2] < 2:
        raise BadOption("scores is of one metric, expected two or more, since they are to disagree")
    share = np.zeros(len(table))
    metrics = list(combinations(range(table.shape[2]), 2))
    for row, item in enumerate(table):
        complete = item[~np.isnan(item).any(axis=1)]
        metric, other_metric = np.triu_indices(len(complete), 1)
        if len(metric):
            order = np.sign(complete[metric] - complete[other_metric])
            share[row] = np.mean([np.abs(order[:, a] - order[:, b]).mean() / 2 for a, b in metrics])
    return share


def score_information(scores: ArrayLike) -> Floats:
    """Return (I,) Fisher information of items about the systems, from (I, S, M) scores, by `item_response`.

    A system by a metric is a person, right on an item where the score is above the metric's median.
    """
    table = _scores(scores)
    item, system, metric = np.nonzero(~np.isnan(table))
    right = (table > np.nanmedian(table, axis=(0, 1)))[item, system, metric]
    fitted = item_response(item, system * table.shape[2] + metric, right.astype(np.float64))
    information = np.zeros(len(table))
    information[fitted.items.astype(np.int64)] = fitted.information(fitted.ability).mean(axis=1)
    return information


def comparison_information(scores: ArrayLike) -> Floats:
    """Return (P,) Fisher information p (1 - p) of a choice between two candidates, from (P, 2, M) scores.

    The first wins with probability p: the normal distribution function of the scores' difference over its root mean
    square. It is the mean over metrics.
    """
    table = _scores(scores)
    difference = table[:, 0] - table[:, -1]
    size = np.sqrt(np.square(difference).mean(axis=0))
    first = scipy.special.ndtr(difference / np.where(size > 0, size, 1.0))
    return np.asarray((first * (1 - first)).mean(axis=1))


def _scores(values: ArrayLike) -> Floats:
    table = floats_of(values, "scores")
    if table.ndim != 3 or not table.size:
        raise BadShape(f"scores has the shape {table.shape}, expected items x systems x metrics")
    if np.isinf(table).any():
        raise BadValue("scores holds an infinite number")
    empty = np.isnan(table).all(axis=(0, 1))
    if empty.any():
        raise BadValue(f"scores has none of metric {int(empty.argmax())}")
    return table


def inclusion_probabilities(usefulness: ArrayLike, budget: int, *, floor: float = FLOOR) -> Floats:
    """Return (I,) probabilities with sum `budget`: a `floor` for all, the rest by the root of (I,) usefulness.

    The root minimises the error of a sum (Neyman 1934), as usefulness is in squares. An item that would come to more
    than 1 is certain. `floor` 1 is an even draw.
    """
    useful = finite_vector(usefulness, "usefulness")
    refuse_values(useful, useful < 0, "usefulness", "a number from zero on")
    positive(budget, "budget")
    if budget > len(useful):
        raise BadOption(f"budget is {budget:,}, but there are {len(useful):,} items")
    if not (is_real(floor) and 0 < floor <= 1):
        raise BadOption(f"floor is {floor!r}, expected a number above 0, up to 1")
    size = np.sqrt(useful)
    if not size.any():
        size = np.ones(len(useful))
    share = floor + (1 - floor) * size / size.mean()
    certain: Flags = np.zeros(len(useful), dtype=np.bool_)
    while True:
        left = budget - int(certain.sum())
        probabilities = np.where(certain, 1.0, share * left / max(share[~certain].sum(), 1e-300))
        over = (probabilities >= 1) & ~certain
        if not over.any():
            return probabilities
        certain |= over


def draw_items(probabilities: ArrayLike, *, seed: Seed) -> Ints:
    """Draw as many items as the (I,) probabilities add up to, by systematic sampling in random order; return positions.

    Probabilities are exact and the number is fixed (Goodman, Kish 1950).
    """
    chance = _probabilities(probabilities)
    generator, _ = generator_of(seed)
    order = generator.permutation(len(chance))
    ends = np.cumsum(chance[order])
    whole = np.rint(ends[-1])
    if abs(ends[-1] - whole) > _WHOLE:
        raise BadValue(f"probabilities add up to {ends[-1]:g}, expected a whole number of items")
    ends *= whole / ends[-1]
    ends[-1] = whole
    steps = np.ceil(ends - generator.random())
    return np.sort(order[np.diff(steps, prepend=0.0) > 0])


def _probabilities(values: ArrayLike) -> Floats:
    chance = finite_vector(values, "probabilities")
    refuse_values(chance, (chance <= 0) | (chance > 1), "probabilities", "a number above 0, up to 1")
    if not len(chance):
        raise BadOption("there are no items, expected one or more")
    return chance


@dataclass(frozen=True, slots=True)
class WeightedEstimate(Inference):
    """A figure of all items, from those that were chosen.

    n: the values. items: what they belong to. effective: the number of items drawn evenly that their weights are worth
    (Kish 1965).
    """

    value: float
    n: int
    items: int
    effective: float


@signed("mean-of-all-items", data=("items", "population"))
def weighted_mean(
    values: ArrayLike,
    probabilities: ArrayLike,
    items: Iterable[Any] | None = None,
    *,
    estimator: str = "hajek",
    population: int | None = None,
    confidence: float = CONFIDENCE,
) -> WeightedEstimate:
    """Estimate the mean over all items from (N,) values of the chosen ones and their (N,) probabilities.

    "hajek" divides by the sum of the weights (Hajek 1971), "horvitz-thompson" by `population`, the number of values
    of all items: unbiased, and wider. Values of one of (N,) `items`, such as an image, count together. Intervals take
    all items as a sample of items of this kind.
    """
    value_of_item, chance = finite_vector(values, "values"), _probabilities(probabilities)
    same_length(values=value_of_item, probabilities=chance)
    one_of(estimator, ESTIMATORS, "estimator")
    weight = 1 / chance
    if estimator == "hajek":
        value = float(weight @ value_of_item / weight.sum())
        influence = weight * (value_of_item - value) / weight.sum()
    elif population is None:
        raise BadOption("population is None, expected how many values all items have")
    else:
        positive(population, "population")
        value = float(weight @ value_of_item / population)
        influence = weight * value_of_item / population
    return _estimate(value, influence, weight, items, confidence)


@signed("kendall-tau-b-of-all-items", data=("items",))
def weighted_kendall(
    first: ArrayLike,
    second: ArrayLike,
    probabilities: ArrayLike,
    items: Iterable[Any] | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> WeightedEstimate:
    """Estimate Kendall's tau-b of two (N,) columns over all items; captions' weights multiply."""
    x, y = finite_vector(first, "first"), finite_vector(second, "second")
    chance = _probabilities(probabilities)
    same_length(first=x, second=y, probabilities=chance)
    weight = 1 / chance
    # of each value with all others: same order, apart in first, apart in second
    sums = np.zeros((3, len(x)))
    rows = max(1, _PAIRS_AT_ONCE // len(x))
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        order = [np.sign(column[part, np.newaxis] - column) for column in (x, y)]
        sums[0, part] = (order[0] * order[1]) @ weight
        sums[1, part], sums[2, part] = np.abs(order[0]) @ weight, np.abs(order[1]) @ weight
    same, apart, apart_too = sums @ weight
    if not apart * apart_too > 0:
        reason = "one of the two is the same everywhere, so that nothing is ordered"
        number = len(encode(items)[0]) if items is not None else len(x)
        confidence = check_confidence(confidence)
        effective = _effective(weight, items)
        return WeightedEstimate(math.nan, len(x), number, effective, confidence=confidence, reason=reason)
    root = math.sqrt(apart * apart_too)
    value = float(same / root)
    slope = 2 * sums[0] / root - value * (sums[1] / apart + sums[2] / apart_too)
    return _estimate(value, weight * slope, weight, items, confidence)


def _effective(weight: Floats, items: Iterable[Any] | None) -> float:
    of_items = weight if items is None else np.bincount(encode(items, "items")[1], weights=weight)
    return float(of_items.sum() ** 2 / np.square(of_items).sum())


def _estimate(
    value: float, influence: Floats, weight: Floats, items: Iterable[Any] | None, confidence: float
) -> WeightedEstimate:
    confidence = check_confidence(confidence)
    of_items = influence
    if items is not None:
        item = encode(items, "items")[1]
        same_length(values=influence, items=item)
        of_items = np.asarray(np.bincount(item, weights=influence), dtype=np.float64)
    count, effective = len(of_items), _effective(weight, items)
    reason, half = "", math.nan
    if count < FEWEST:
        reason = too_few(ITEM, count)
    else:
        variance = float(of_items.var(ddof=1)) * count
        half = float(scipy.special.stdtrit(max(effective - 1, 1), 0.5 + confidence / 2)) * math.sqrt(variance)
    interval = Inference(low=value - half, high=value + half, confidence=confidence, reason=reason)
    return WeightedEstimate(value, len(influence), count, effective, **interval.shared())


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
