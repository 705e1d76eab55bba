"""Halves of the votes (V15 section 7.4): what people and metrics reach on them, and what nobody can pass.

The votes on a pair (or its triplets, each won, lost or tied) are split into two halves; where their number is odd, one
has a vote more. One half is the consensus; where it is tied, the pair is left out. The figures are chances over all
splits and both halves, in closed form: that the other half, or a metric, names the consensus (its tie being wrong),
and that the pair's better answer does (the ceiling).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from evaluation.arrays import Floats, Ints
from evaluation.statistics.inputs import BadValue, finite_vector, refuse_values, same_length

MOST_VOTES = 2_000  # of a pair


@dataclass(frozen=True, slots=True)
class Halves:
    """(P,) chances over all splits, nan for pairs with fewer than two votes.

    agree: both halves name the same winner. first, second: a half names the first, the second.
    """

    agree: Floats
    first: Floats
    second: Floats

    @property
    def decided(self) -> Floats:
        """Return (P,) how often a half names a winner: the weights of the pairs."""
        return self.first + self.second

    @property
    def ceiling(self) -> Floats:
        return np.maximum(self.first, self.second)

    def reached(self, answers: Ints) -> Floats:
        """Return (P,) how often a half names the answers 1 or 2; 0 is a tie, and wrong."""
        said = np.where(answers == 1, self.first, np.where(answers == 2, self.second, 0.0))
        return np.where(np.isnan(self.first), np.nan, said)


def halves_of_votes(won: ArrayLike, lost: ArrayLike, tied: ArrayLike) -> Halves:
    """Return the chances of pairs with (P,) votes for the first, for the second, and for neither."""
    columns = [finite_vector(values, name) for values, name in ((won, "won"), (lost, "lost"), (tied, "tied"))]
    same_length(won=columns[0], lost=columns[1], tied=columns[2])
    for values, name in zip(columns, ("won", "lost", "tied"), strict=True):
        refuse_values(
            values, (values < 0) | (values != np.floor(values)), name, "a whole number from zero on"
        )
    counts = np.stack(columns, axis=1).astype(np.int64)
    if counts.size and int(counts.sum(axis=1).max()) > MOST_VOTES:
        raise BadValue(f"a pair has {int(counts.sum(axis=1).max()):,} votes, expected {MOST_VOTES:,} at most")
    patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([_chances(*row) for row in patterns.tolist()]).reshape(-1, 3)
    return Halves(*chances[pattern.ravel()].T)


def _chances(won: int, lost: int, tied: int) -> tuple[float, float, float]:
    n = won + lost + tied
    if n < 2:
        return (np.nan,) * 3
    size = n // 2
    one = np.arange(min(won, size) + 1)[:, np.newaxis]
    two = np.arange(min(lost, size) + 1)[np.newaxis]
    rest = size - one - two
    possible = (rest >= 0) & (rest <= tied)
    ways = _ways(won, one) + _ways(lost, two) + _ways(tied, np.clip(rest, 0, tied)) - _ways(n, np.array(size))
    chance = np.where(possible, np.exp(ways), 0.0)
    smaller, larger = np.sign(one - two), np.sign((won - one) - (lost - two))
    agree = float(chance[(smaller == larger) & (smaller != 0)].sum())
    named = [float((chance[smaller == side].sum() + chance[larger == side].sum()) / 2) for side in (1, -1)]
    return min(agree, 1.0), min(named[0], 1.0), min(named[1], 1.0)


def _ways(of: int, taken: Ints) -> Floats:
    return np.asarray(gammaln(of + 1) - gammaln(taken + 1) - gammaln(of - taken + 1), dtype=np.float64)
