"""The simulated answers of kinds that rate a caption: whether it describes the image, or how well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from contrib.rehearsals.answers.base import ChoiceRehearsal
from judgments.kinds import Consensus
from judgments.kinds.graded import Graded
from judgments.kinds.relevance import Relevance


class RelevanceRehearsal(ChoiceRehearsal):
    kind_class = Relevance

    def probabilities(self, qualities: Sequence[float]) -> list[float]:
        """Return the probabilities of no and yes, by the logistic function of the only quality, the caption's.

        Both are 0.5 at the middle quality, 2.5 of 1 to 4. At the lowest quality, the probability of yes is 0.05.
        """
        yes_probability = 1 / (1 + math.exp(2 * (2.5 - qualities[0])))
        return [1 - yes_probability, yes_probability]


class ScaleRehearsal(ChoiceRehearsal):
    """The simulated answers of a kind with a scale, whose consensus is a mean.

    Attributes:
        spread: the distance from the quality, as a fraction of the scale, over which the probability of a point falls
            by a factor of e.
    """

    kind_class = Graded
    spread: ClassVar[float] = 1 / 3

    def probabilities(self, qualities: Sequence[float]) -> list[float]:
        """Return the probability of each point of the scale, by the quality of the only caption.

        The probability falls with the distance of the point from the quality. Quality 1 is the lowest point, and
        quality 4 is the highest.
        """
        low, length = self.kind.scale.low, self.kind.scale.length
        centre = low + (qualities[0] - 1) / 3 * length
        weights = [math.exp(-abs(point - centre) / (self.spread * length)) for point in self.kind.values]
        return [weight / sum(weights) for weight in weights]

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether the point nearest to the mean is right."""
        if consensus.value is None:
            return False
        return self.kind.is_right(self.kind.values[self.kind.scale.steps_to(consensus.value)], truth)
