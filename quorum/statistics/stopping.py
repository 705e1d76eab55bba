"""Early stopping: end voting when no further vote can change the outcome.

As in Vedantam et al. 2015 (V15), section 3, the candidate that wins more triplets wins a pair, and the majority of its
votes wins a triplet. An outcome is 1 (the first candidate wins), -1 (the second wins) or 0 (a tie). The range of an
outcome is the pair of the lowest and the highest outcome that are still possible. They are equal if it is decided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Ints
from quorum.statistics.aggregation.relevance import TWO_THIRDS
from quorum.statistics.inputs import BadOption, BadValue

UNDECIDED_RANGE = (-1, 1)  # range before any vote
RULES = ("settled", "margin")
OutcomeRange = tuple[int, int]
VoteSigns = NDArray[np.int8]  # 1 for a vote for the first, -1 for a vote for the second


def majority_range(first: int, second: int, remaining: int) -> OutcomeRange:
    """Return the range of the outcome by the majority of votes, of which `remaining` are to come."""
    lead = first - second
    return _sign(lead - remaining), _sign(lead + remaining)


def plurality_range(first: int, second: int, other: int, remaining: int) -> OutcomeRange:
    """Return the range of the outcome by the most frequent answer.

    `other` is the number of votes for the most frequent answer that names neither side.
    """
    low, high = -1, 1
    if second + remaining <= max(first, other):  # the second can no longer win
        low = 1 if first > max(second, other) + remaining else 0
    if first + remaining <= max(second, other):
        high = -1 if second > max(first, other) + remaining else 0
    return low, high


def relevance_range(yes: int, no: int, remaining: int) -> OutcomeRange:
    """Return the range of the outcome: 1 (relevant) if at least two thirds say yes, else -1 (Hodosh et al. 2013)."""
    numerator, denominator = TWO_THIRDS
    votes = yes + no + remaining
    lowest = 1 if denominator * yes >= numerator * votes else -1
    highest = 1 if denominator * (yes + remaining) >= numerator * votes else -1
    return lowest, highest


def leads_enough(first: int, second: int, *, minimum: int, margin: int) -> bool:
    """Return whether a side leads by `margin` votes or more, among `minimum` votes or more."""
    return first + second >= minimum and abs(first - second) >= margin


def expected_votes(
    range_of: Callable[[int, int, int], OutcomeRange], *, votes: int, accuracy: float
) -> float:
    """Return the exact mean number of votes, at most `votes`, until the outcome is decided.

    `range_of(first, second, remaining)` returns the range. Each vote is for the first with probability `accuracy`.
    """
    if not 0 <= accuracy <= 1 or votes < 1:
        raise BadValue(f"votes {votes}, accuracy {accuracy}; expected 1 or more, and 0 to 1")
    chances = {(0, 0): 1.0}  # by (first, second) votes, the chance that they occur before a decision
    vote_count = 0.0
    for votes_cast in range(votes):
        chances_after_vote: dict[tuple[int, int], float] = {}
        for (first, second), chance in chances.items():
            low, high = range_of(first, second, votes - votes_cast)
            if low < high:
                vote_count += chance
                for counts, share in (((first + 1, second), accuracy), ((first, second + 1), 1 - accuracy)):
                    chances_after_vote[counts] = chances_after_vote.get(counts, 0.0) + chance * share
        chances = chances_after_vote
    return vote_count


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


@dataclass(frozen=True, slots=True)
class StoppingResult:
    """How early stopping works in simulated pairs, compared with using all votes.

    share: number of votes used, divided by the number of all votes. error: the standard error of `share` over pairs.
    flipped: number of pairs whose outcome differs from the outcome by all votes. tied: number of pairs that are tied by
    all votes. right: share of pairs with the right outcome.
    """

    share: float
    error: float
    flipped: int
    tied: int
    right: float


def simulate_stopping(
    *,
    accuracy: float,
    references: int = 48,
    votes: int = 3,
    pairs: int = 2_000,
    rule: str = "settled",
    minimum: int = 2,
    margin: int = 2,
    seed: int = 0,
) -> StoppingResult:
    """Simulate pairs with `references` triplets each, which are judged one after the other, vote by vote.

    Each vote is right with probability `accuracy`. With the rule "margin", a triplet also ends when `leads_enough`
    is true, which may change its outcome.
    """
    if rule not in RULES:
        raise BadOption(f"rule is {rule!r}, expected one of {', '.join(RULES)}")
    if not 0 <= accuracy <= 1 or min(references, votes, pairs, minimum, margin) < 1:
        raise BadValue("expected an accuracy from 0 to 1, and 1 or more of everything else")
    is_right = np.random.default_rng(seed).random((pairs, references, votes)) < accuracy
    votes_by_triplet = np.where(is_right, 1, -1).astype(np.int8)
    full_outcome = np.sign(np.sign(votes_by_triplet.sum(axis=2)).sum(axis=1))
    used_votes, outcome = _run_votes(votes_by_triplet, rule=rule, minimum=minimum, margin=margin)
    shares = used_votes / (references * votes)
    return StoppingResult(
        share=float(shares.mean()),
        error=float(shares.std(ddof=1) / np.sqrt(pairs)) if pairs > 1 else float("nan"),
        flipped=int((outcome != full_outcome).sum()),
        tied=int((full_outcome == 0).sum()),
        right=float((outcome > 0).mean()),
    )


def _run_votes(signs: VoteSigns, *, rule: str, minimum: int, margin: int) -> tuple[Ints, Ints]:
    """Return the (P,) numbers of votes used, and the (P,) outcomes, from (P, references, votes) signs of votes."""
    pairs, references, votes = signs.shape
    used_votes = np.zeros(pairs, dtype=np.int64)
    lead = np.zeros(pairs, dtype=np.int64)  # triplets won minus triplets lost so far
    is_open = np.ones(pairs, dtype=bool)
    for reference in range(references):
        remaining_triplets = references - reference - 1
        balance = np.zeros(pairs, dtype=np.int64)  # votes for minus votes against in this triplet
        is_triplet_open = is_open.copy()
        for vote in range(votes):
            balance += np.where(is_triplet_open, signs[:, reference, vote], 0)
            used_votes += is_triplet_open
            remaining_votes = votes - vote - 1
            low, high = np.sign(balance - remaining_votes), np.sign(balance + remaining_votes)
            if rule == "margin":
                leads = (vote + 1 >= minimum) & (np.abs(balance) >= margin)
                low, high = (np.where(leads, np.sign(balance), limit) for limit in (low, high))
            # End a pair when the triplets left cannot change its winner. The present triplet counts by its range, so
            # it may still be open: 2 of 4 votes for a side exclude that the side loses it, which may suffice.
            is_open &= ~((lead + low > remaining_triplets) | (lead + high < -remaining_triplets))
            is_triplet_open &= is_open & (low < high)
        lead += np.sign(balance)
    return used_votes, np.sign(lead)
