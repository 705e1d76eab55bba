"""The choices of an analysis, and the specifications that they span."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorum.numeric.arrays import Ints

Specification = Mapping[str, str]  # an option of each choice, by name of the choice
# the label of each choice in figures, by name
LABELS = {
    "controls": "control items right",
    "aggregation": "votes by",
    "triplet_ties": "tied triplets",
    "undecided": "undecided pairs",
    "metric_ties": "metric's ties",
    "coefficient": "coefficient",
    "tokenizer": "tokens of",
    "references": "references",
    "level": "level of answers",
    "clusters": "clusters",
}
# rules by which votes become a consensus: votes for two candidates, for yes and no, and of grades
PAIR_RULES = ("majority", "control-weighted", "dawid-skene")
BINARY_RULES = ("share", "two-thirds", "dawid-skene")
GRADE_RULES = ("mean", "median", "standardised")
ALL, HALF, OWN_DROPPED, OWN_KEPT = "all", "half", "own-dropped", "own-kept"
TRIPLET_TIES = ("set-aside", "count")
UNDECIDED_CHOICES = ("left-out", "half")
METRIC_TIES = ("wrong", "half", "left-out")
COEFFICIENTS = ("kendall-tau-b", "kendall-tau-c")
LEVELS = {"interval": ("interval", "ordinal")}
BOTH_CLUSTERS = "item-and-rater"
# least shares of right control items, in addition to the study's own; 0 excludes nobody
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
MAX_SPECIFICATIONS = 1000


@dataclass(frozen=True, slots=True)
class AnalysisChoice:
    """A choice of the analysis. The first option is the default."""

    name: str
    options: tuple[str, ...]

    @property
    def label(self) -> str:
        return LABELS[self.name]


def choices_of(options: Mapping[str, Sequence[str]]) -> tuple[AnalysisChoice, ...]:
    """Return the choices with several options, in the order of LABELS. Options are by name of the choice."""
    return tuple(
        AnalysisChoice(name, tuple(options[name])) for name in LABELS if len(options.get(name, ())) > 1
    )


@dataclass(frozen=True, slots=True)
class Universe:
    """The S specifications of an analysis. Each has one option of each of C choices; the default comes first.

    Attributes:
        option_indices: (S, C) index of the option in each specification. If there are too many ``combinations``, these
            are a seeded sample.
        combinations: the number of combinations.
    """

    choices: tuple[AnalysisChoice, ...]
    option_indices: Ints
    combinations: int

    @classmethod
    def from_choices(
        cls,
        choices: tuple[AnalysisChoice, ...],
        generator: np.random.Generator,
        max_specifications: int = MAX_SPECIFICATIONS,
    ) -> Universe:
        shape = tuple(len(choice.options) for choice in choices)
        combinations = math.prod(shape)
        numbers = np.arange(combinations)
        if combinations > max_specifications:
            # number 0, the default, is always kept
            sample = generator.choice(combinations - 1, size=max_specifications - 1, replace=False) + 1
            numbers = np.concatenate([[0], np.sort(sample)])
        indices = np.stack(np.unravel_index(numbers, shape), axis=1) if shape else np.zeros((1, 0))
        return cls(choices, indices.astype(np.int64), combinations)

    def __len__(self) -> int:
        return len(self.option_indices)

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in self.option_indices.tolist():
            yield {
                choice.name: choice.options[position]
                for choice, position in zip(self.choices, row, strict=True)
            }
