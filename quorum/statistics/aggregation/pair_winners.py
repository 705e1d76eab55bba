"""The winner of a candidate pair by the answers to its triplets (Vedantam et al. 2015, V15, section 3).

A triplet asks which of the two candidates is more similar to a reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import BadValue, encode, finite_vector, one_of, refuse_values, same_length

TRIPLET_TIES = ("set-aside", "count")


@dataclass(frozen=True, slots=True)
class PairResult(Result):
    """Winners of (P,) pairs, and how many triplets the first candidate won, lost and tied.

    winner: (P,) 1, 2, or 0 for a tie. tie: (P,) whether the winner is 0. share: (P,) max(wins, losses) / triplets.
    margin: (P,) |wins - losses| / triplets. triplet_ties: how tied triplets count, one of TRIPLET_TIES.
    """

    pairs: NDArray[Any]
    wins: Ints
    losses: Ints
    ties: Ints
    winner: Ints
    tie: Flags
    share: Floats
    margin: Floats
    triplet_ties: str


def outcomes_of(winners: ArrayLike) -> Ints:
    """Return the (N,) winners as int64. Raise BadValue if a winner is not 1, 2 or 0."""
    # Refuse None and texts here, because `finite_vector` would take "1" for a number, and call None nan.
    if not isinstance(winners, np.ndarray) or winners.dtype.kind in "OUS":
        objects = np.asarray(winners, dtype=object)
        for position, winner in enumerate(objects.tolist() if objects.ndim == 1 else []):
            if winner is None or isinstance(winner, str | bytes):
                raise BadValue(f"winners[{position}] is {winner!r}, expected 1, 2, or 0 for a tie")
    is_whole = isinstance(winners, np.ndarray) and winners.dtype.kind in "iu" and winners.ndim == 1
    outcome = np.asarray(winners) if is_whole else finite_vector(winners, "winners")
    # Whole numbers in the range are right. Others, and floats such as 0.5, are looked at one by one.
    if len(outcome) and (outcome.min() < 0 or outcome.max() > 2 or outcome.dtype.kind == "f"):
        refuse_values(outcome, ~np.isin(outcome, (0, 1, 2)), "winners", "1, 2, or 0 for a tie")
    return outcome.astype(np.int64, copy=False)


@signed("pair-winners")
def pair_winners(pairs: Iterable[Any], winners: ArrayLike, *, triplet_ties: str = "set-aside") -> PairResult:
    """Return the winner of each pair: the candidate that won more triplets (V15 section 3).

    `pairs` and `winners` have one entry for each triplet. With `triplet_ties` "count" instead of "set-aside", a winner
    needs more than half of all triplets, tied ones included.
    """
    one_of(triplet_ties, TRIPLET_TIES, "triplet_ties")
    names, codes = encode(pairs, "pairs")
    outcome = outcomes_of(winners)
    same_length(pairs=codes, winners=outcome)
    table = np.bincount(codes * 3 + outcome, minlength=3 * len(names)).reshape(-1, 3)
    ties, wins, losses = table.T
    n = table.sum(axis=1)
    if triplet_ties == "set-aside":
        first_wins, second_wins = wins > losses, losses > wins
    else:
        first_wins, second_wins = 2 * wins > n, 2 * losses > n
    winner = first_wins.astype(np.int64) + 2 * second_wins
    share = np.maximum(wins, losses) / n
    return PairResult(
        pairs=names,
        wins=wins,
        losses=losses,
        ties=ties,
        winner=winner,
        tie=winner == 0,
        share=share,
        margin=np.abs(wins - losses) / n,
        triplet_ties=triplet_ties,
    )
