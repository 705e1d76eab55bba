"""The base classes of simulated answers, and the registry of those that features declare."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from common.features import lazy_registry, of_features
from judgments.design.numbers import plain_number
from judgments.kinds import Consensus, Kind


class Rehearsal(ABC):
    """The answers of simulated workers to the units of a kind.

    Attributes:
        kind_class: the class of the kind. Its subclasses have the same simulated answers unless they have their own.
        better_system_wins: whether systems differ in quality, and the better one of a pair tends to win. Otherwise they
            are equally good, and in a pair of a person's and a system's caption, the person's tends to win.
        kind: the kind of a study, with the settings of its design.
    """

    kind_class: ClassVar[type[Kind]]
    better_system_wins: ClassVar[bool] = False

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @abstractmethod
    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> Any:
        """Draw the true answer to a unit. ``qualities`` are the qualities of its candidates, from 1 to 4."""

    @abstractmethod
    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> Any:
        """Draw an answer that is right, wrong, or random if ``right`` is None."""

    @abstractmethod
    def matches(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether the consensus recovers the truth."""


class ChoiceRehearsal(Rehearsal):
    """The simulated answers of a kind whose answers are numbers."""

    @abstractmethod
    def probabilities(self, qualities: Sequence[float]) -> list[float]:
        """Return the probability that each of the kind's values is the truth, by the qualities of candidates."""

    def draw_truth(self, unit: Any, qualities: Sequence[float], rng: np.random.Generator) -> float:
        return plain_number(rng.choice(self.kind.values, p=self.probabilities(qualities)))

    def draw_answer(self, unit: Any, truth: Any, *, right: bool | None, rng: np.random.Generator) -> float:
        """Draw a random answer from all values, and a wrong answer from the wrong values nearest to the truth."""
        values = self.kind.values
        if right is None:
            return plain_number(rng.choice(values))
        right_values = [value for value in values if self.kind.is_right(value, truth)]
        wrong_values = [value for value in values if value not in right_values]
        if right or not wrong_values:
            return plain_number(rng.choice(right_values))
        distances = [min(abs(wrong_value - value) for value in right_values) for wrong_value in wrong_values]
        nearest_wrong_values = [
            value
            for value, distance in zip(wrong_values, distances, strict=True)
            if distance == min(distances)
        ]
        return plain_number(rng.choice(nearest_wrong_values))

    def matches(self, consensus: Consensus, truth: Any) -> bool:
        """Return whether the consensus is right. A mean counts as the nearest grade, or the lower of two."""
        return consensus.value is not None and self.kind.is_right(math.ceil(consensus.value - 0.5), truth)


def _read_rehearsals() -> dict[type[Kind], type[Rehearsal]]:
    return {rehearsal.kind_class: rehearsal for rehearsal in of_features("rehearsals")}


# The simulated answers that active features declare (``Feature.rehearsals``), by the class of the kind.
REHEARSALS = lazy_registry(_read_rehearsals)


def find_rehearsal(kind: Kind) -> Rehearsal | None:
    """Return the simulated answers of a kind, or those of its nearest base class; None if neither has any."""
    classes = [kind_class for kind_class in type(kind).__mro__ if kind_class in REHEARSALS]
    return REHEARSALS[classes[0]](kind) if classes else None
