"""Exact probabilities of the detectors' counts for an honest worker."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import comb

import numpy as np
import scipy  # loads its parts on first use

from annotation.quality.detectors.base import Flags, Floats


def binomial_at_most(count: int, n: int, chance: float) -> float:
    """Return P(X <= count) for X ~ binomial(n, chance)."""
    return 1.0 if count >= n else float(scipy.special.bdtr(count, n, min(max(chance, 0.0), 1.0)))


def binomial_at_least(count: int, n: int, chance: float) -> float:
    """Return P(X >= count) for X ~ binomial(n, chance)."""
    return 1.0 if count <= 0 else float(scipy.special.bdtrc(count - 1, n, min(max(chance, 0.0), 1.0)))


def longest_run(hits: Flags) -> int:
    if not hits.any():
        return 0
    edges = np.flatnonzero(np.diff(np.concatenate(([False], hits, [False])).astype(np.int8)))
    return int((edges[1::2] - edges[::2]).max())


def run_chance(chances: Floats, length: int) -> float:
    """Return the probability that independent trials have a run of ``length`` (1 or more) successes or more.

    The first such run ends at trial i if the ``length`` trials up to i succeed, the one before them fails, and no
    run ended earlier: a recursion over i, exact for unequal probabilities ``chances`` (N,).
    """
    n = len(chances)
    if length > n:
        return 0.0
    with np.errstate(divide="ignore"):
        logs = np.concatenate(([0.0], np.cumsum(np.log(np.maximum(chances, 1e-300)))))
    streak = np.exp(logs[length:] - logs[:-length]).tolist()  # the trials i..i+length-1 all succeed
    failing = (1.0 - chances).tolist()
    found = [0.0] * (n + 1)  # found[i]: a run ended within the first i trials
    for end in range(length, n + 1):
        start = end - length
        fresh = streak[start] if start == 0 else streak[start] * failing[start - 1] * (1.0 - found[start - 1])
        found[end] = found[end - 1] + fresh
    return min(1.0, found[n])


@lru_cache(maxsize=4096)
def alternation_distribution(first: int, second: int) -> tuple[float, ...]:
    """Return the probabilities of 0, 1, 2, ... changes in a random order of two sorts of things.

    ``first`` and ``second`` are their numbers (Wald & Wolfowitz 1940: the number of runs, less one).
    """
    if not first or not second:
        return (1.0,)
    orders = comb(first + second, first)
    chances = [0.0]
    for changes in range(1, first + second):
        half = (changes + 1) // 2
        if changes % 2:  # an even number of runs
            ways = 2 * comb(first - 1, half - 1) * comb(second - 1, half - 1)
        else:
            ways = comb(first - 1, half) * comb(second - 1, half - 1)
            ways += comb(first - 1, half - 1) * comb(second - 1, half)
        chances.append(ways / orders)
    return tuple(chances)


def alternation_chance(groups: Iterable[tuple[int, int]], changes: int) -> float:
    """Return the probability of ``changes`` or more over all groups, each in random order.

    ``groups`` are the numbers of both sorts in each group; changes are counted within groups.
    """
    together = np.array([1.0])
    for first, second in groups:
        together = np.convolve(together, alternation_distribution(min(first, second), max(first, second)))
    return float(min(1.0, together[changes:].sum()))
