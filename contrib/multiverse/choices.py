"""The choices of an analysis, such as the tokenizer, and the specifications: all combinations of their options."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quorum.numeric.arrays import Ints

Specification = Mapping[str, str]  # options by choice: {"references": "half"}; other choices are as usual
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
# rules by which votes for two candidates, for yes and no, and of grades become a consensus (control-weighted: by each
# worker's accuracy on control items; standardised: the mean of z-scores by each worker's own mean and deviation)
PAIR_RULES = ("majority", "control-weighted", "dawid-skene")
BINARY_RULES = ("share", "two-thirds", "dawid-skene")
GRADE_RULES = ("mean", "median", "standardised")
# the references of a caption: all or half of them; without or with the caption itself, if it is a reference
ALL, HALF, OWN_DROPPED, OWN_KEPT = "all", "half", "own-dropped", "own-kept"
TRIPLET_TIES = ("set-aside", "count")  # whether tied triplets count in the vote of a pair
UNDECIDED_CHOICES = ("left-out", "half")  # the credit of a metric on a pair without a winner
METRIC_TIES = ("wrong", "half", "left-out")  # the credit of a metric that scores both candidates equally
COEFFICIENTS = ("kendall-tau-b", "kendall-tau-c")
# levels of measurement for alpha, by the level of the protocol
LEVELS = {"interval": ("interval", "ordinal")}
BOTH_CLUSTERS = "item-and-rater"  # clusters of votes in an interval of alpha
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
    """Return the choices with several options, in the order of LABELS.

    Args:
        options: the possible options by name of the choice; none or one if there is nothing to choose.
    """
    return tuple(
        AnalysisChoice(name, tuple(options[name])) for name in LABELS if len(options.get(name, ())) > 1
    )


@dataclass(frozen=True, slots=True)
class Universe:
    """The S specifications of an analysis. Each takes one option of each of C choices; the default comes first.

    Attributes:
        option_indices: (S, C) index of the option in each specification. If there are too many combinations, these
            are a seeded sample.
        combination_count: the number of all combinations of options.
    """

    choices: tuple[AnalysisChoice, ...]
    option_indices: Ints
    combination_count: int

    @classmethod
    def from_choices(
        cls,
        choices: tuple[AnalysisChoice, ...],
        generator: np.random.Generator,
        max_specifications: int = MAX_SPECIFICATIONS,
    ) -> Universe:
        """Combine the options of all choices, or draw ``max_specifications`` of the combinations."""
        option_counts = tuple(len(choice.options) for choice in choices)
        combination_count = math.prod(option_counts)
        numbers = np.arange(combination_count)
        if combination_count > max_specifications:
            # number 0, the default, is always kept
            sample = generator.choice(combination_count - 1, size=max_specifications - 1, replace=False) + 1
            numbers = np.concatenate([[0], np.sort(sample)])
        indices = np.zeros((1, 0))  # without choices, there is a single specification
        if option_counts:
            # A combination's number has a digit for each choice, to the base of its number of options.
            indices = np.stack(np.unravel_index(numbers, option_counts), axis=1)
        return cls(choices, indices.astype(np.int64), combination_count)

    def __len__(self) -> int:
        return len(self.option_indices)

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in self.option_indices.tolist():
            yield {
                choice.name: choice.options[index] for choice, index in zip(self.choices, row, strict=True)
            }
