"""Choose the items that best distinguish systems, and estimate figures of all items from those chosen.

An item's usefulness says how much people's judgments of it would help to tell systems apart. It is computed from metric
scores that exist before people judge, following Zouhar, Cui, Sachan 2025, *How to Select Datapoints for Efficient Human
Evaluation of NLG Models?* Usefulness determines the probability that the item is sampled. As in surveys, weights of one
over the probability give estimates for all items (Horvitz, Thompson 1952). See docs/choosing.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints, parts_of
from quorum.statistics.aggregation import item_response
from quorum.statistics.crossed import (
    CONFIDENCE,
    ITEM,
    MIN_CLUSTERS,
    check_confidence,
    quantile_of,
    too_few_clusters,
)
from quorum.statistics.inference import Inference, signed
from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    check_positive_int,
    encode,
    finite_vector,
    floats_of,
    is_real,
    one_of,
    refuse_values,
    same_length,
)
from quorum.statistics.resampling import Seed, generator_of

METHODS = ("disagreement", "information")

# The lowest probability of an item, as a fraction of its probability in a uniform sample. So no item has more than four
# times its weight in a uniform sample, however wrong the scores are (Hesterberg 1995, Technometrics 37).
FLOOR = 0.25
ESTIMATORS = ("hajek", "horvitz-thompson")
_COUNT_TOLERANCE = 1e-6  # largest difference between the sum of probabilities and a whole number
_PAIRS_PER_BATCH = 4_000_000  # number of pairs of captions; 32 MB of doubles


def order_disagreement(scores: ArrayLike) -> Floats:
    """Return, for each of I items, the share of cases in which two metrics order two captions of the item differently.

    A case is a pair of captions with a pair of metrics. It counts half if only one of the metrics ties the captions.
    scores: (I, S, M) scores of the captions that S systems give for the items, by M metrics; nan for no caption.
    """
    table = _read_scores(scores)
    if table.shape[2] < 2:
        raise BadOption("scores is of one metric, expected two or more, since they are to disagree")
    share = np.zeros(len(table))
    metrics = list(combinations(range(table.shape[2]), 2))
    for item, item_scores in enumerate(table):
        full_rows = item_scores[~np.isnan(item_scores).any(axis=1)]
        caption, other_caption = np.triu_indices(len(full_rows), 1)
        if len(caption):
            order = np.sign(full_rows[caption] - full_rows[other_caption])  # by metric: 1, -1, or 0 for a tie
            share[item] = np.mean([np.abs(order[:, a] - order[:, b]).mean() / 2 for a, b in metrics])
    return share


def score_information(scores: ArrayLike) -> Floats:
    """Return the (I,) Fisher information of items about systems, from scores as in `order_disagreement`.

    It is that of the model `item_response`, whose "persons" are the pairs of a system and a metric. A person is right
    on an item if the score is above the metric's median.
    """
    table = _read_scores(scores)
    item, system, metric = np.nonzero(~np.isnan(table))
    is_right = (table > np.nanmedian(table, axis=(0, 1)))[item, system, metric]
    model = item_response(item, system * table.shape[2] + metric, is_right.astype(np.float64))
    information = np.zeros(len(table))
    information[model.items.astype(np.int64)] = model.information(model.ability).mean(axis=1)
    return information


def comparison_information(scores: ArrayLike) -> Floats:
    """Return the (P,) Fisher information p (1 - p) of people's choice between the two candidates of each of P pairs.

    The first candidate wins with probability p = F(d / s), where F is the normal distribution function, d the
    difference of scores by a metric, and s the root mean square of these differences. The information is averaged over
    metrics. scores: (P, 2, M) scores of both candidates by M metrics.
    """
    table = _read_scores(scores)
    difference = table[:, 0] - table[:, -1]  # of the first and the second candidate
    scale = np.sqrt(np.square(difference).mean(axis=0))
    p_first = scipy.special.ndtr(difference / np.where(scale > 0, scale, 1.0))
    return np.asarray((p_first * (1 - p_first)).mean(axis=1))


def _read_scores(values: ArrayLike) -> Floats:
    table = floats_of(values, "scores")
    if table.ndim != 3 or not table.size:
        raise BadShape(f"scores has the shape {table.shape}, expected items x systems x metrics")
    if np.isinf(table).any():
        raise BadValue("scores holds an infinite number")
    has_no_score = np.isnan(table).all(axis=(0, 1))
    if has_no_score.any():
        raise BadValue(f"scores has none of metric {int(has_no_score.argmax())}")
    return table


def inclusion_probabilities(usefulness: ArrayLike, budget: int, *, floor: float = FLOOR) -> Floats:
    """Return (I,) probabilities with which to sample items, whose sum is `budget`, the number of items to sample.

    The share `floor` of the budget is divided equally among the items, the rest in proportion to sqrt(usefulness). The
    square root minimises the error of a sum (Neyman 1934), because usefulness is a variance. An item whose
    probability would exceed 1 is certain. With `floor` 1 all items are equally probable.
    """
    usefulness_of_item = finite_vector(usefulness, "usefulness")
    refuse_values(usefulness_of_item, usefulness_of_item < 0, "usefulness", "a number from zero on")
    check_positive_int(budget, "budget")
    if budget > len(usefulness_of_item):
        raise BadOption(f"budget is {budget:,}, but there are {len(usefulness_of_item):,} items")
    if not (is_real(floor) and 0 < floor <= 1):
        raise BadOption(f"floor is {floor!r}, expected a number above 0, up to 1")
    root = np.sqrt(usefulness_of_item)
    if not root.any():
        root = np.ones(len(usefulness_of_item))
    share = floor + (1 - floor) * root / root.mean()
    # Items whose probability would exceed 1 are certain, which leaves less of the budget to the others.
    is_certain: Flags = np.zeros(len(usefulness_of_item), dtype=np.bool_)
    while True:
        budget_left = budget - int(is_certain.sum())
        # If all items are certain, the sum of the other shares is 0, by which nothing can be divided.
        probabilities = np.where(is_certain, 1.0, share * budget_left / max(share[~is_certain].sum(), 1e-300))
        is_above_one = (probabilities >= 1) & ~is_certain
        if not is_above_one.any():
            return probabilities
        is_certain |= is_above_one


def draw_items(probabilities: ArrayLike, *, seed: Seed) -> Ints:
    """Sample items with (I,) probabilities, by systematic sampling in random order.

    Return the positions of the sampled items. The number of sampled items is the sum of the probabilities, and each
    item is sampled with exactly its probability (Goodman, Kish 1950). Raise BadValue if the sum is not a whole
    number.
    """
    chance = _read_probabilities(probabilities)
    generator, _ = generator_of(seed)
    order = generator.permutation(len(chance))
    bounds = np.cumsum(chance[order])
    total_count = np.rint(bounds[-1])
    if abs(bounds[-1] - total_count) > _COUNT_TOLERANCE:
        raise BadValue(f"probabilities add up to {bounds[-1]:g}, expected a whole number of items")
    # Item i is sampled if a grid of step 1 with a random start has a point between the bounds i - 1 and i. The last
    # bound must be whole, without a rounding error.
    bounds *= total_count / bounds[-1]
    bounds[-1] = total_count
    steps = np.ceil(bounds - generator.random())  # number of points up to each bound
    return np.sort(order[np.diff(steps, prepend=0.0) > 0])


def _read_probabilities(values: ArrayLike) -> Floats:
    """Return (N,) probabilities. Raise BadValue if one is not above 0 and at most 1."""
    chance = finite_vector(values, "probabilities")
    refuse_values(chance, (chance <= 0) | (chance > 1), "probabilities", "a number above 0, up to 1")
    if not len(chance):
        raise BadOption("there are no items, expected one or more")
    return chance


@dataclass(frozen=True, slots=True)
class WeightedEstimate(Inference):
    """An estimate for all items, from the chosen items.

    n: number of values. items: number of items that they belong to. effective: number of items in a uniform sample that
    would give an equally precise estimate (Kish 1965).
    """

    value: float
    n: int
    items: int
    effective: float


@signed("mean-of-all-items", data=("items", "population"))  # signatures leave out what is named in `data`
def mean_of_all_items(
    values: ArrayLike,
    probabilities: ArrayLike,
    items: Iterable[Any] | None = None,
    *,
    estimator: str = "hajek",
    population: int | None = None,
    confidence: float = CONFIDENCE,
) -> WeightedEstimate:
    """Estimate the mean over all items from (N,) values of the chosen items and their (N,) probabilities.

    The weight of a value is one over its item's probability to be chosen. The estimator "hajek" divides by the sum of
    the weights (Hajek 1971). "horvitz-thompson" divides by `population`, the number of values of all items; it is
    unbiased, but has wider intervals. Values with the same entry in `items` (N,), such as an image, form a cluster.
    Intervals regard all items as a sample of possible items.
    """
    value_of_item, chance = finite_vector(values, "values"), _read_probabilities(probabilities)
    same_length(values=value_of_item, probabilities=chance)
    one_of(estimator, ESTIMATORS, "estimator")
    weight = 1 / chance
    if estimator == "hajek":
        value = float(weight @ value_of_item / weight.sum())
        influence = weight * (value_of_item - value) / weight.sum()
    elif population is None:
        raise BadOption("population is None, expected how many values all items have")
    else:
        check_positive_int(population, "population")
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
    """Estimate Kendall's tau-b of two columns over all items, from (N,) values of the chosen items.

    The weight of a pair of values is the product of both values' weights, which are as in `mean_of_all_items`.
    """
    x, y = finite_vector(first, "first"), finite_vector(second, "second")
    chance = _read_probabilities(probabilities)
    same_length(first=x, second=y, probabilities=chance)
    weight = 1 / chance
    # For each value, sum over all other values: concordant minus discordant, not tied in x, not tied in y.
    sums = np.zeros((3, len(x)))
    rows = max(1, _PAIRS_PER_BATCH // len(x))
    for block in parts_of(len(x), rows):
        x_order, y_order = (np.sign(column[block, np.newaxis] - column) for column in (x, y))
        sums[0, block] = (x_order * y_order) @ weight
        sums[1, block], sums[2, block] = np.abs(x_order) @ weight, np.abs(y_order) @ weight
    balance, varied_first, varied_second = sums @ weight
    if not varied_first * varied_second > 0:
        reason = "one of the two is the same everywhere, so that nothing is ordered"
        item_count = len(encode(items)[0]) if items is not None else len(x)
        confidence = check_confidence(confidence)
        effective = _effective_items(weight, items)
        return WeightedEstimate(math.nan, len(x), item_count, effective, confidence=confidence, reason=reason)
    root = math.sqrt(varied_first * varied_second)
    value = float(balance / root)
    # The derivative of tau-b by each value's weight.
    slope = 2 * sums[0] / root - value * (sums[1] / varied_first + sums[2] / varied_second)
    return _estimate(value, weight * slope, weight, items, confidence)


def _effective_items(weight: Floats, items: Iterable[Any] | None) -> float:
    item_weights = weight if items is None else np.bincount(encode(items, "items")[1], weights=weight)
    return float(item_weights.sum() ** 2 / np.square(item_weights).sum())


def _estimate(
    value: float, influence: Floats, weight: Floats, items: Iterable[Any] | None, confidence: float
) -> WeightedEstimate:
    """Return an estimate with its interval by t, from the (N,) influences and weights of the values.

    items: (N,) items of the values, or None if each value is an item.
    """
    confidence = check_confidence(confidence)
    item_influences = influence
    if items is not None:
        item = encode(items, "items")[1]
        same_length(values=influence, items=item)
        item_influences = np.asarray(np.bincount(item, weights=influence), dtype=np.float64)
    count, effective = len(item_influences), _effective_items(weight, items)
    reason, half_width = "", math.nan
    if count < MIN_CLUSTERS:
        reason = too_few_clusters(ITEM, count)
    else:
        variance = float(item_influences.var(ddof=1)) * count
        half_width = quantile_of(confidence, max(effective - 1, 1)) * math.sqrt(variance)
    interval = Inference(
        low=value - half_width, high=value + half_width, confidence=confidence, reason=reason
    )
    return WeightedEstimate(value, len(influence), count, effective, **interval.fields_by_name())
