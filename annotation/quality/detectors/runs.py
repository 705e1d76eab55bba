"""Runs and changes in sequences of answers: count them, and compute the probability that chance gives as many.

A run is a series of equal answers, one after another. A change is an answer that differs from the previous one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb

import numpy as np

from quorum.numeric.arrays import Flags, Floats


def longest_run(flags: Flags) -> int:
    """Return the length of the longest run of true values."""
    if not flags.any():
        return 0
    # where the value changes, if false values are added at both ends: the starts and the ends of runs, in turn
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    starts, ends = edges[::2], edges[1::2]
    return int((ends - starts).max())


def run_chance(chances: Floats, length: int) -> float:
    """Return the probability that independent trials have at least ``length`` successes in a row; ``length`` >= 1.

    The first such run ends at trial i if the ``length`` trials up to i succeed, the one before them fails, and no
    run ended earlier. This gives a recursion over i, which is exact for unequal probabilities.

    Args:
        chances: (N,) the probability of success in each trial.
    """
    n = len(chances)
    if length > n:
        return 0.0
    with np.errstate(divide="ignore"):  # a probability of 0 is replaced, because its logarithm is not finite
        log_sums = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(chances, 1e-300)))))
    # the probability that the trials i..i+length-1 all succeed
    streak_chances = np.exp(log_sums[length:] - log_sums[:-length]).tolist()
    failure_chances = (1.0 - chances).tolist()
    # the probability that a run ended within the first i trials, at index i
    ended_chances = [0.0] * (n + 1)
    for end in range(length, n + 1):
        start = end - length
        # the probability that the trial before the run fails, and that no run ended before it
        start_chance = 1.0 if start == 0 else failure_chances[start - 1] * (1.0 - ended_chances[start - 1])
        ended_chances[end] = ended_chances[end - 1] + streak_chances[start] * start_chance
    return min(1.0, ended_chances[n])


@lru_cache(maxsize=4096)
def alternation_distribution(first: int, second: int) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... changes in a random order of ``first`` things and ``second`` others.

    The number of changes is the number of runs, less one (Wald & Wolfowitz 1940).
    """
    if not first or not second:
        return (1.0,)  # equal things never change
    order_count = comb(first + second, first)
    chances = [0.0]  # with things of both types, there is at least one change
    for changes in range(1, first + second):
        # there are changes + 1 runs, and n things can be cut into k runs in C(n-1, k-1) ways
        half = (changes + 1) // 2
        if changes % 2:  # both types have ``half`` runs, and either begins
            ways = 2 * comb(first - 1, half - 1) * comb(second - 1, half - 1)
        else:  # the type that begins has one run more than the other
            ways = comb(first - 1, half) * comb(second - 1, half - 1)
            ways += comb(first - 1, half - 1) * comb(second - 1, half)
        chances.append(ways / order_count)
    return tuple(chances)


def alternation_chance(groups: Iterable[tuple[int, int]], changes: int) -> float:
    """Return the probability of ``changes`` or more changes over all groups, if each group is in random order.

    A change between the last thing of a group and the first of the next does not count.

    Args:
        groups: the number of things of each of two types in each group.
    """
    total_distribution = np.array([1.0])  # of the sum of the groups' numbers of changes
    for first, second in groups:
        # sorted, since both orders have the same distribution, which is cached
        distribution = alternation_distribution(min(first, second), max(first, second))
        total_distribution = np.convolve(total_distribution, distribution)
    return float(min(1.0, total_distribution[changes:].sum()))
