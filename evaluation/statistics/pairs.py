"""The winner of a candidate pair from the winners of its triplets (V15 section 3).

The first candidate wins the pair if it wins the majority of the pair's triplets. Winners are 1 (first),
2 (second) and 0 where a triplet, or a pair, has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.statistics.errors import BadValue
from evaluation.statistics.signed import signed
from evaluation.statistics.tables import Floats, encode, finite_vector, one_of, same_length

TRIPLET_TIES = ("set-aside", "count")


@dataclass(frozen=True, slots=True)
class PairResult:
    """Triplets that the first candidate won, lost and tied, and the winner, of each of P pairs.

    winner: (P,) 1, 2 or 0. tie: (P,) whether there is none. share: (P,) the winner's part of all the
    pair's triplets (of a tie: the larger part). margin: (P,) |wins - losses| over all triplets.
    """

    pairs: NDArray[Any]
    wins: NDArray[np.int64]
    losses: NDArray[np.int64]
    ties: NDArray[np.int64]
    winner: NDArray[np.int64]
    tie: NDArray[np.bool_]
    share: Floats
    margin: Floats
    triplet_ties: str
    signature: str = ""


def outcomes_of(winners: ArrayLike, name: str = "winners") -> NDArray[np.int64]:
    """(N,) winners as whole numbers: 1, 2, or 0 for a tie. Raises BadShape, BadValue."""
    if not isinstance(winners, np.ndarray) or winners.dtype.kind in "OUS":
        named = np.asarray(winners, dtype=object)
        for place, winner in enumerate(named.tolist() if named.ndim == 1 else []):
            if winner is None or isinstance(winner, str | bytes):
                raise BadValue(f"{name}[{place}] is {winner!r}, expected 1, 2, or 0 for a tie")
    whole = isinstance(winners, np.ndarray) and winners.dtype.kind in "iu" and winners.ndim == 1
    outcome = np.asarray(winners) if whole else finite_vector(winners, name)
    if len(outcome) and (outcome.min() < 0 or outcome.max() > 2 or outcome.dtype.kind == "f"):
        wrong = np.flatnonzero((outcome != 0) & (outcome != 1) & (outcome != 2))
        if wrong.size:
            raise BadValue(f"{name}[{wrong[0]}] is {outcome[wrong[0]]:g}, expected 1, 2, or 0 for a tie")
    return outcome.astype(np.int64, copy=False)


@signed("pair-winners")
def pair_winners(pairs: Iterable[Any], winners: ArrayLike, *, triplet_ties: str = "set-aside") -> PairResult:
    """Winner per pair from one row a triplet: (N,) pair names and (N,) triplet winners 1, 2 or 0.

    Tied triplets are set aside (the majority of the decided ones wins) or count (a winner needs more than
    half of all). With an odd number of judgments per triplet there are none. Raises BadShape, BadValue,
    BadOption.
    """
    one_of(triplet_ties, TRIPLET_TIES, "triplet_ties")
    names, codes = encode(pairs, "pairs")
    outcome = outcomes_of(winners)
    same_length(pairs=codes, winners=outcome)
    table = np.bincount(codes * 3 + outcome, minlength=3 * len(names)).reshape(-1, 3)
    ties, wins, losses = table.T
    n = table.sum(axis=1)
    if triplet_ties == "set-aside":
        first, second = wins > losses, losses > wins
    else:
        first, second = 2 * wins > n, 2 * losses > n
    winner = first.astype(np.int64) + 2 * second
    share = np.maximum(wins, losses) / n
    return PairResult(
        names, wins, losses, ties, winner, winner == 0, share, np.abs(wins - losses) / n, triplet_ties
    )
