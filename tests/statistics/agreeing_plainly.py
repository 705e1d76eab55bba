"""Agreement as the papers write it, pair by pair and far too slow: what the fast forms are held against.

A table is raters by units with nan for missing. `raters` and `units` say how often each counts; a rater
who counts twice is not compared with their own copy.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

Table = Any
Times = Sequence[float] | None
Distance = Callable[[float, float], float]


def _answers(table: Table, raters: Times, units: Times) -> list[tuple[float, list[tuple[float, float]]]]:
    """Each unit's weight, and the weight and value of its answers; units without an answer are left out."""
    height, width = len(table), len(table[0]) if len(table) else 0
    rater_times = [1.0] * height if raters is None else list(raters)
    unit_times = [1.0] * width if units is None else list(units)
    found = []
    for unit in range(width):
        answers = [
            (rater_times[rater], float(table[rater][unit]))
            for rater in range(height)
            if rater_times[rater] > 0 and not math.isnan(table[rater][unit])
        ]
        if answers and unit_times[unit] > 0:
            found.append((unit_times[unit], answers))
    return found


def _mean_distance(answers: list[tuple[float, float]], apart: Distance) -> float:
    pairs = list(permutations(answers, 2))
    total = sum(first[0] * second[0] for first, second in pairs)
    return sum(first[0] * second[0] * apart(first[1], second[1]) for first, second in pairs) / total


def level_distance(level: str, totals: Mapping[float, float]) -> Distance:
    """Krippendorff 2011, the four differences, squared."""
    values = sorted(totals)

    def apart(v: float, w: float) -> float:
        if level == "nominal":
            return float(v != w)
        if level == "interval":
            return (v - w) ** 2
        if level == "ratio":
            return ((v - w) / (v + w)) ** 2 if v + w else 0.0
        low, high = min(v, w), max(v, w)
        between = sum(totals[value] for value in values if low <= value <= high)
        return float((between - (totals[v] + totals[w]) / 2) ** 2)

    return apart


def alpha(table: Table, level: str, raters: Times = None, units: Times = None) -> float:
    comparable = [(times, said) for times, said in _answers(table, raters, units) if len(said) > 1]
    totals: defaultdict[float, float] = defaultdict(float)
    for times, said in comparable:
        for weight, value in said:
            totals[value] += times * weight
    n = sum(totals.values())
    apart = level_distance(level, totals)
    expected = sum(totals[v] * totals[w] * apart(v, w) for v in totals for w in totals)
    if expected == 0:
        return math.nan
    observed = sum(
        times * sum(weight for weight, _ in said) * _mean_distance(said, apart) for times, said in comparable
    )
    return 1 - (n - 1) * observed / expected


def weight_distance(weights: str, scale: Sequence[float]) -> Distance:
    """One minus Gwet's weight of two categories of an ascending scale."""

    def raw(one: float, other: float) -> float:
        if weights == "identity":
            return float(one != other)
        if weights == "ordinal":
            steps = abs(scale.index(one) - scale.index(other)) + 1
            return math.comb(steps, 2)
        if weights == "ratio":
            return ((one - other) / (one + other)) ** 2 if one + other else 0.0
        return abs(one - other) ** {"linear": 1, "quadratic": 2, "radical": 0.5}[weights]

    longest = raw(scale[0], scale[-1])
    return lambda one, other: raw(one, other) / longest


def percent(
    table: Table, weights: str, scale: Sequence[float], raters: Times = None, units: Times = None
) -> float:
    comparable = [(times, said) for times, said in _answers(table, raters, units) if len(said) > 1]
    if not comparable:
        return math.nan
    apart = weight_distance(weights, scale)
    judged = sum(times for times, _ in comparable)
    return 1 - sum(times * _mean_distance(said, apart) for times, said in comparable) / judged


def gwet(
    table: Table, weights: str, scale: Sequence[float], raters: Times = None, units: Times = None
) -> float:
    said = _answers(table, raters, units)
    q = len(scale)
    apart = weight_distance(weights, scale)
    total_weight = sum(1 - apart(one, other) for one in scale for other in scale)
    n = sum(times for times, _ in said)
    shares = dict.fromkeys(scale, 0.0)
    for times, answers in said:
        for weight, value in answers:
            shares[value] += times * weight / sum(one for one, _ in answers) / n
    expected = total_weight / (q * (q - 1)) * sum(share * (1 - share) for share in shares.values())
    observed = percent(table, weights, scale, raters, units)
    return (observed - expected) / (1 - expected)
