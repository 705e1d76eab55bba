"""Rank pairs or captions by how much a metric and people disagree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # submodules load when they are first used

from quorum.numeric.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class DisagreementRanking:
    """A metric's k disagreements with people, largest first.

    Attributes:
        rows: (k,) indices of the input rows.
        metric, people: (k,) numbers from 0 to 1: how certain the metric and people are (pairs), or the share of
            captions that they rank lower (captions).
        size: (k,) the size of the disagreement, from 0 to 1.
        compared: number of rows that have both the metric's score and people's answer.
    """

    rows: Ints
    metric: Floats
    people: Floats
    size: Floats
    compared: int


def quantiles(values: Floats) -> Floats:
    """Return, for each of (n,) values, the share of smaller values plus half of the share of equal ones."""
    _, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
    smaller_or_half_equal = np.cumsum(counts) - counts / 2
    return np.asarray(smaller_or_half_equal[indices] / max(values.size, 1))


def certainty(wins: Floats, losses: Floats) -> Floats:
    """Return (n,) confidences, from 0 to 1, that a majority of all people would give the leading answer.

    The confidence is |2p - 1|, where p is the posterior probability, from a uniform prior, that the share of wins is
    above one half.

    Args:
        wins, losses: (n,) votes.
    """
    # betainc is the posterior probability that the share is at most one half: 1 - p.
    return np.asarray(np.abs(1.0 - 2.0 * scipy.special.betainc(wins + 1.0, losses + 1.0, 0.5)))


def rank_pairs(
    first: Floats, second: Floats, winner: Ints, wins: Floats, losses: Floats
) -> DisagreementRanking:
    """Rank the candidate pairs for which the metric and people name different winners.

    The size is the quantile of the metric's margin times people's ``certainty``.

    Args:
        first, second: (n,) the metric's scores.
        winner: (n,) 1 or 2 by people; 0 without consensus.
        wins, losses: (n,) votes; both 0 for a winner published without votes, which counts as one vote.
    """
    has_winner = winner > 0
    margin = np.abs(first - second)
    metric_certainty = np.zeros(first.size)
    metric_certainty[has_winner] = quantiles(margin[has_winner])
    has_no_votes = has_winner & (wins + losses == 0)
    people_certainty = certainty(
        wins + (has_no_votes & (winner == 1)), losses + (has_no_votes & (winner == 2))
    )
    is_opposed = has_winner & (margin > 0) & ((first > second) != (winner == 1))
    return _sort_rows(
        is_included=is_opposed,
        metric=metric_certainty,
        people=people_certainty,
        size=metric_certainty * people_certainty,
        compared=int(has_winner.sum()),
    )


def rank_captions(scores: Floats, people: Floats) -> DisagreementRanking:
    """Rank captions by the distance of the metric's rank from people's rank.

    Args:
        scores, people: (n,) the metric's and people's scores of n captions. Only people's may be missing (nan).
    """
    has_people = ~np.isnan(people)
    metric_ranks, people_ranks = np.zeros(scores.size), np.zeros(scores.size)
    metric_ranks[has_people] = quantiles(scores[has_people])
    people_ranks[has_people] = quantiles(people[has_people])
    distance = np.abs(metric_ranks - people_ranks)
    return _sort_rows(
        is_included=distance > 0,
        metric=metric_ranks,
        people=people_ranks,
        size=distance,
        compared=int(has_people.sum()),
    )


def _sort_rows(
    *, is_included: np.ndarray, metric: Floats, people: Floats, size: Floats, compared: int
) -> DisagreementRanking:
    rows = np.flatnonzero(is_included)
    rows = rows[np.argsort(-size[rows], kind="stable")]
    return DisagreementRanking(rows, metric[rows], people[rows], size[rows], compared)
