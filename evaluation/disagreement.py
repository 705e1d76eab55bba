"""Where a metric is sure, people are sure, and they say the opposite. Pure: arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from evaluation.records import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """What a metric and people disagree about, the most first.

    Attributes:
        rows: (k,) int64, which of the rows that were handed in.
        metric, people: (k,) float64 from 0 to 1: how sure each is (pairs), or where each ranks the caption.
        size: (k,) float64 from 0 to 1, how far apart they are.
        compared: how many rows both say something about.
    """

    rows: Ints
    metric: Floats
    people: Floats
    size: Floats
    compared: int


def quantiles(values: Floats) -> Floats:
    """(n,) the share of the values below each, and half of those equal to it."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    below = np.cumsum(counts) - counts / 2
    return np.asarray(below[places] / max(values.size, 1))


def certainty(wins: Floats, losses: Floats) -> Floats:
    """(n,) from 0 to 1: how sure so many votes make us of which answer most people would give.

    The posterior probability p, from a uniform prior, that the share of those who say so is above one half, as
    |2p - 1|: 0 without votes or where they are even, 0.5 for one vote, 0.875 for three of three.
    """
    return np.asarray(np.abs(1.0 - 2.0 * betainc(wins + 1.0, losses + 1.0, 0.5)))


def rank_pairs(first: Floats, second: Floats, winner: Ints, wins: Floats, losses: Floats) -> Ranking:
    """Candidate pairs whose winner by the metric is not people's.

    Args:
        first, second: (n,) the metric's scores of both candidates.
        winner: (n,) 1 or 2 by people; 0 where there is no consensus.
        wins, losses: (n,) votes for the first and for the second; both 0 where a winner was published without votes,
            which counts as one vote.

    How far they are apart is the product of how sure both are: the quantile of the metric's margin among all of its
    margins, and people's ``certainty``.
    """
    known = winner > 0
    margin = np.abs(first - second)
    metric = np.zeros(first.size)
    metric[known] = quantiles(margin[known])
    silent = known & (wins + losses == 0)
    people = certainty(wins + (silent & (winner == 1)), losses + (silent & (winner == 2)))
    opposed = known & (margin > 0) & ((first > second) != (winner == 1))
    return _ranking(opposed, metric, people, metric * people, int(known.sum()))


def rank_captions(scores: Floats, people: Floats) -> Ranking:
    """Captions by how far apart the metric's rank and people's are; (n,) each, nan where people say nothing."""
    known = ~np.isnan(people)
    ours, theirs = np.zeros(scores.size), np.zeros(scores.size)
    ours[known], theirs[known] = quantiles(scores[known]), quantiles(people[known])
    apart = np.abs(ours - theirs)
    return _ranking(known & (apart > 0), ours, theirs, apart, int(known.sum()))


def _ranking(kept: np.ndarray, metric: Floats, people: Floats, size: Floats, compared: int) -> Ranking:
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(-size[rows], kind="stable")]
    return Ranking(rows, metric[rows], people[rows], size[rows], compared)
