"""The simulated answers of kinds in which workers choose one of two candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from contrib.rehearsals.answers.base import ChoiceRehearsal
from judgments.kinds.pairs.kind import PairChoiceKind
from judgments.kinds.pairs.triplet import Triplet
from quorum.statistics.aggregation.pair_answers import FIRST, MUCH, NEITHER, NO_DIFFERENCE, SURE, side_of

SIMULATED_TIES = 0.4  # nu of Davidson's model, which says how often simulated people see no difference


class PairRehearsal(ChoiceRehearsal):
    kind_class = PairChoiceKind
    better_system_wins = True

    def probabilities(self, qualities: Sequence[float]) -> list[float]:
        if not self.kind.further_answers:
            return side_probabilities(qualities)
        return answer_probabilities(self.kind.values, qualities)


class TripletRehearsal(PairRehearsal):
    kind_class = Triplet
    better_system_wins = False  # the sentence by people wins


def side_probabilities(qualities: Sequence[float]) -> list[float]:
    """Return the probability that a simulated person chooses each side, by the logistic function of the difference.

    Qualities are from 1 to 4. So the best text wins against the worst with probability 0.95.
    """
    first = 1 / (1 + math.exp(qualities[1] - qualities[0]))
    return [first, 1 - first]


def answer_probabilities(answers: Sequence[int], qualities: Sequence[float]) -> list[float]:
    """Return the probability that a simulated person gives each of these answers, by Davidson's model.

    "Neither" is as probable as a quarter of "no difference". "Much better" gains twice as much from the difference in
    quality as "better" does.
    """
    # The confidence of an answer does not change its probability, so leave that digit out.
    weights = [_answer_weight(answer % SURE, qualities[0] - qualities[1]) for answer in answers]
    return [weight / sum(weights) for weight in weights]


def _answer_weight(answer: int, difference: float) -> float:
    """Return a number in proportion to the probability of an answer without its confidence."""
    if answer in (NO_DIFFERENCE, NEITHER):
        return SIMULATED_TIES if answer == NO_DIFFERENCE else SIMULATED_TIES / 4
    sign = 1 if side_of(answer) == FIRST else -1
    return math.exp(sign * difference * (1 if answer >= MUCH else 0.5))
