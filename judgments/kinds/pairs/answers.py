"""The answers to a pair: their choices on the page, the order of the candidates, and their consensus.

An answer is a number: 1 for the first candidate, 2 for the second. A design can allow further answers, which
``quorum.statistics.aggregation.pair_answers`` codes: no difference (0), neither (3), the strength of the preference (10
is added if it is strong), and the confidence (100, 200 or 300 is added).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext_noop

from judgments.drawing.draws import balanced_sides
from judgments.kinds.base import Aggregation, Answers, Choice, Sides, Units
from judgments.kinds.consensus import ConsensusColumns
from quorum.statistics.aggregation import majority_vote
from quorum.statistics.aggregation.pair_answers import (
    FIRST,
    NEITHER,
    NO_DIFFERENCE,
    SECOND,
    SURE,
    side_of,
    sides_of,
)
from quorum.statistics.stopping import majority_range, plurality_range

# The keys of a design's table ``answers`` that allow further answers. The setting of a kind, such as
# "no_difference,strength", has those that the design allows, in this order.
FURTHER_ANSWERS = ("no_difference", "neither", "strength", "confidence")
# The choices (value, label, keyboard key) that name no side, by the design's key that adds them.
NEUTRAL_CHOICES = {
    "no_difference": Choice(NO_DIFFERENCE, gettext_noop("No difference"), "0"),
    "neither": Choice(NEITHER, gettext_noop("Neither of the two"), "5"),
}
SLIGHTLY, BY_FAR = gettext_noop("%(letter)s, slightly"), gettext_noop("%(letter)s, by far")
CONFIDENCE_CHOICES = (
    Choice(SURE, gettext_noop("A guess"), "7"),
    Choice(2 * SURE, gettext_noop("Fairly sure"), "8"),
    Choice(3 * SURE, gettext_noop("Certain"), "9"),
)


class TwoSides(Sides):
    """The order of the two candidates. A side is whether the worker sees the second candidate first.

    Half of the units of a page show the second candidate first.
    """

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[bool]:
        return balanced_sides(len(units), rng)

    def mirror(self, side: Any) -> bool:  # for a second version of a page, with all sides exchanged
        return not side

    def to_canonical(self, answer: int, *, side: Any) -> int:
        """Swap first and second if the worker saw the second candidate first. Keep strength and confidence."""
        chosen_side = side_of(answer)
        if not side or chosen_side not in (FIRST, SECOND):
            return answer
        return answer - chosen_side + (SECOND if chosen_side == FIRST else FIRST)

    def from_canonical(self, answer: int, *, side: Any) -> int:
        return self.to_canonical(answer, side=side)


class Majority(Aggregation):
    """The consensus is the side with most votes, or a tie (Vedantam et al. 2015, section 3). Strength does not count.

    "No difference" (0) and "neither" (3) can win. Such an outcome is not a tie of votes, but has no better candidate.
    """

    rule = "majority"
    tie_rule = "set-aside"
    supports_early_stopping = True

    def __init__(self, labels: Sequence[int] = (FIRST, SECOND)) -> None:
        self._labels = labels

    def consensus(self, units: Units, values: Answers) -> ConsensusColumns:
        votes = majority_vote(units, sides_of(values), labels=self._labels)
        value = np.array([*self._labels, np.nan])[votes.winner]  # a tie, -1, gives nan
        return ConsensusColumns(
            unit=votes.units,
            n=votes.n,
            value=value,
            share=votes.share,
            margin=votes.margin,
            tie=votes.tie,
            votes=votes.counts,
            answers=tuple(map(str, self._labels)),
            is_integer=True,
        )

    def outcome_range(self, values: Sequence[float], remaining: int) -> tuple[int, int]:
        """Return the lowest and highest outcome that is possible: 1 if the first wins, -1 if the second does, or 0."""
        counts = Counter(side_of(int(value)) for value in values)
        if len(self._labels) == 2:
            return majority_range(counts[FIRST], counts[SECOND], remaining)
        most_other_votes = max(counts[label] for label in self._labels if label not in (FIRST, SECOND))
        return plurality_range(counts[FIRST], counts[SECOND], most_other_votes, remaining)
