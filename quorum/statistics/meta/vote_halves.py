"""Agreement of two halves of people's votes with each other, and with a metric (Vedantam et al. 2015, section 7.4).

The votes on a pair of candidates are split at random into two halves; if their number is odd, one half has a vote more.
(If pairs are judged as several triplets, with a reference each, the winner of a triplet by its votes takes the place of
a vote.) The winner in one half is the consensus; a pair on which this half is tied is left out. The figures say how
often the other half names this winner, and how often a metric does, so people and metrics are measured by the same
standard. A tie is a wrong answer. Each figure is the expectation over all splits, with each half as the consensus in
turn, in closed form. The ceiling is the highest share of consensus winners that any answers can be expected to name.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats, Ints
from quorum.statistics.inputs import BadValue, finite_vector, refuse_values, same_length

MAX_VOTES = 2_000  # votes on a pair


@dataclass(frozen=True, slots=True)
class Halves:
    """What two random halves of the votes on P pairs name as the winner: (P,) chances over all splits.

    Chances are nan for pairs with fewer than two votes. agree: the halves name the same winner. disagree: they name
    different winners. first, second: a half names the first candidate, and the second.
    """

    agree: Floats
    disagree: Floats
    first: Floats
    second: Floats

    @property
    def decided_chances(self) -> Floats:
        """The (P,) chances that a half is not tied. They are the weights of the pairs in all figures."""
        return self.first + self.second

    def ceiling_contributions(self, pairs: Flags) -> Floats:
        """Return the (P,) contributions of pairs to the ceiling of the pairs for which `pairs` (P,) is true.

        The ceiling is the sum of these pairs' contributions, divided by the sum of their `decided_chances`. As the
        other figures are such ratios too, their intervals are computed in the same way.

        For a pair, let x be the chance that a half names the better candidate minus the chance that it names the worse
        one, and d the chance that it names either. Answers that always name the better candidate name a share
        (sum d + sum |x|) / (2 sum d) of the consensus winners. The better candidate is not known, and the one with more
        votes is the better one too often, because the same votes decide the consensus. So |x| is not estimated for each
        pair, but limited: sum |x| <= sqrt(pairs * sum x^2) (Jensen's inequality; both are equal if all pairs are
        equally hard). As the halves share no vote, agree - disagree has the expectation x^2.
        """
        squared_difference = self.agree - self.disagree
        mean, chance = float(squared_difference[pairs].mean()), float(self.decided_chances[pairs].mean())
        root = math.sqrt(max(mean, 0.0))
        ceiling = (1 + root / chance) / 2
        if ceiling >= 1:
            return self.decided_chances
        # Add the influence of each pair on the ceiling (the delta method), which the interval needs. Multiply it by
        # `chance`, since the sum of contributions is divided by the sum of these chances.
        if not root:
            return ceiling * self.decided_chances
        by_difference = (squared_difference - mean) / (4 * root)
        by_chances = root * (self.decided_chances - chance) / (2 * chance)
        return ceiling * self.decided_chances + (by_difference - by_chances)

    @property
    def agree_ties_half(self) -> Floats:
        """The (P,) expected credits of a half for naming the other half's winner, if a tie is half right."""
        # if one half names a winner, the other agrees, disagrees or is tied, so ties are decided - agree - disagree
        return (self.decided_chances + self.agree - self.disagree) / 2  # agree + ties / 2

    def chances_of(self, answers: Ints) -> Floats:
        """Return the (P,) chances that a half names the candidate that (P,) `answers` name: 1, 2, or 0 for a tie.

        The chance of a tie is 0, because it is never the consensus.
        """
        chance = np.where(answers == 1, self.first, np.where(answers == 2, self.second, 0.0))
        return np.where(np.isnan(self.first), np.nan, chance)


def halves_of_votes(won: ArrayLike, lost: ArrayLike, tied: ArrayLike) -> Halves:
    """Return the chances of P pairs with (P,) numbers of votes for the first candidate, the second, and neither.

    Raise BadValue if a pair has more than MAX_VOTES votes.
    """
    columns = {
        "won": finite_vector(won, "won"),
        "lost": finite_vector(lost, "lost"),
        "tied": finite_vector(tied, "tied"),
    }
    same_length(**columns)
    for name, column in columns.items():
        refuse_values(
            column, (column < 0) | (column != np.floor(column)), name, "a whole number from zero on"
        )
    counts = np.stack(list(columns.values()), axis=1).astype(np.int64)
    if counts.size and int(counts.sum(axis=1).max()) > MAX_VOTES:
        raise BadValue(f"a pair has {int(counts.sum(axis=1).max()):,} votes, expected {MAX_VOTES:,} at most")
    # Many pairs have the same numbers of votes, so compute the chances once for each different triple of numbers.
    triples, triple_of_pair = np.unique(counts, axis=0, return_inverse=True)
    chances = np.array([_chances(*triple) for triple in triples.tolist()]).reshape(-1, 4)
    return Halves(*chances[triple_of_pair.ravel()].T)


def _chances(first_count: int, second_count: int, tie_count: int) -> tuple[float, ...]:
    """Return the fields of `Halves` for a pair with these numbers of votes, from all splits into halves."""
    n = first_count + second_count + tie_count
    if n < 2:
        return (np.nan,) * 4
    # All possible numbers of votes in the smaller half, with the chance that a random split has them (a multivariate
    # hypergeometric distribution). Rows are numbers of votes for the first, columns numbers of votes for the second.
    size = n // 2
    first_votes = np.arange(min(first_count, size) + 1)[:, np.newaxis]
    second_votes = np.arange(min(second_count, size) + 1)[np.newaxis]
    tied_votes = size - first_votes - second_votes
    is_possible = (tied_votes >= 0) & (tied_votes <= tie_count)
    log_chance = (
        _log_binomial(first_count, first_votes)
        + _log_binomial(second_count, second_votes)
        + _log_binomial(tie_count, np.clip(tied_votes, 0, tie_count))
        - _log_binomial(n, np.array(size))
    )
    chance = np.where(is_possible, np.exp(log_chance), 0.0)
    # The winners of both halves: 1 for the first, -1 for the second, 0 for a tie.
    smaller_winner = np.sign(first_votes - second_votes)
    larger_winner = np.sign((first_count - first_votes) - (second_count - second_votes))
    agree = float(chance[(smaller_winner == larger_winner) & (smaller_winner != 0)].sum())
    disagree = float(chance[(smaller_winner == -larger_winner) & (smaller_winner != 0)].sum())
    # A half is the smaller or the larger one with equal chances.
    first = float((chance[smaller_winner == 1].sum() + chance[larger_winner == 1].sum()) / 2)
    second = float((chance[smaller_winner == -1].sum() + chance[larger_winner == -1].sum()) / 2)
    # sums may round to more than 1
    return tuple(min(share, 1.0) for share in (agree, disagree, first, second))


def _log_binomial(number: int, choices: Ints) -> Floats:
    """Return the logarithms of binomial coefficients, which themselves may overflow."""
    return np.asarray(
        scipy.special.gammaln(number + 1)
        - scipy.special.gammaln(choices + 1)
        - scipy.special.gammaln(number - choices + 1),
        dtype=np.float64,
    )
