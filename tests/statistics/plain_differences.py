"""Slow, obvious forms of statistics whose fast paths are checked against them."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from scipy import stats

Numbers = np.ndarray


def coefficient(x: Numbers, y: Numbers, name: str) -> float:
    """One correlation as scipy gives it; nan where there is none."""
    if len(x) < 2 or len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    if name == "pearson":
        return float(stats.pearsonr(x, y).statistic)
    if name == "spearman":
        # Of two observations scipy ranks nothing.
        return float(stats.pearsonr(stats.rankdata(x), stats.rankdata(y)).statistic)
    return float(stats.kendalltau(x, y, variant="b" if name == "kendall-tau-b" else "c").statistic)


def mean_over(groups: Numbers, x: Numbers, y: Numbers, name: str) -> float:
    """The mean of the defined coefficients of each group; nan where there is none."""
    values = [coefficient(x[groups == group], y[groups == group], name) for group in np.unique(groups)]
    defined = [value for value in values if not math.isnan(value)]
    return float(np.mean(defined)) if defined else math.nan


def of_means(systems: Numbers, x: Numbers, y: Numbers, name: str) -> float:
    """The coefficient between the systems' means, as fractions give them; denominators are below 100.

    Equal means tie, and close ones keep every digit.
    """
    means = []
    for scores in (x, y):
        exact = np.array([Fraction(score).limit_denominator(100) for score in scores.tolist()])
        means.append([float(np.mean(exact[systems == system])) for system in np.unique(systems)])
    return coefficient(np.array(means[0]), np.array(means[1]), name)


def exact_p(one: Numbers, two: Numbers, statistic: str) -> float:
    """Two-sided p of the paired difference over all 2^N swaps; the caller's scores are free of rounding."""
    functions: dict[str, Callable[[Numbers], float]] = {"mean": np.sum, "median": np.median}
    function = functions[statistic]
    observed = abs(function(one) - function(two))
    swaps = [np.array(swap) for swap in itertools.product([False, True], repeat=len(one))]
    differences = [
        abs(function(np.where(swap, two, one)) - function(np.where(swap, one, two))) for swap in swaps
    ]
    return float(np.mean(np.array(differences) >= observed))


def accuracy_with_ties(metric: Numbers, people: Numbers, groups: Numbers, epsilon: float) -> float:
    """acc_eq pair by pair, averaged over the groups that have a pair."""
    accuracies = []
    for group in np.unique(groups):
        places = np.flatnonzero(groups == group)
        right = []
        for i, j in itertools.combinations(places, 2):
            gap = metric[i] - metric[j]
            ordered = 0 if abs(gap) <= epsilon + 1e-12 * np.abs(metric).max() else np.sign(gap)
            right.append(ordered == np.sign(people[i] - people[j]))
        if right:
            accuracies.append(np.mean(right))
    return float(np.mean(accuracies))
