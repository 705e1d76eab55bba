"""The defensible choices of an analysis; the first option of each is the default."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.numeric.arrays import Ints

# Name -> what a figure calls it.
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
# What votes become: of two candidates, of yes and no, of grades.
OF_PAIRS = ("majority", "control-weighted", "dawid-skene")
OF_YES_AND_NO = ("share", "two-thirds", "dawid-skene")
OF_GRADES = ("mean", "median", "standardised")
ALL, HALF, OWN_DROPPED, OWN_KEPT = "all", "half", "own-dropped", "own-kept"
TRIPLET_TIES = ("set-aside", "count")
UNDECIDED = ("left-out", "half")
METRIC_TIES = ("wrong", "half", "left-out")
COEFFICIENTS = ("kendall-tau-b", "kendall-tau-c")
LEVELS = {"interval": ("interval", "ordinal")}
BOTH, ITEM, NAIVE = "item-and-rater", "item", "naive"
# Shares of control items beside the study's own. "0" sets nobody aside.
THRESHOLDS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9)
MOST_SPECIFICATIONS = 1000


@dataclass(frozen=True, slots=True)
class Choice:
    name: str
    options: tuple[str, ...]

    @property
    def label(self) -> str:
        return LABELS[self.name]


def choices_of(options: Mapping[str, Sequence[str]]) -> tuple[Choice, ...]:
    return tuple(Choice(name, tuple(options[name])) for name in LABELS if len(options.get(name, ())) > 1)


@dataclass(frozen=True, slots=True)
class Universe:
    """Specifications of an analysis: one option of each choice, the default first.

    Attributes:
        taken: (S, C) positions of the options; a seeded sample if ``possible`` ones exceed the bound.
        possible: the number of combinations.
    """

    choices: tuple[Choice, ...]
    taken: Ints
    possible: int

    @classmethod
    def of(
        cls, choices: tuple[Choice, ...], generator: np.random.Generator, most: int = MOST_SPECIFICATIONS
    ) -> Universe:
        shape = tuple(len(choice.options) for choice in choices)
        possible = math.prod(shape)
        numbers = np.arange(possible)
        if possible > most:
            drawn = generator.choice(possible - 1, size=most - 1, replace=False) + 1
            numbers = np.concatenate([[0], np.sort(drawn)])
        taken = np.stack(np.unravel_index(numbers, shape), axis=1) if shape else np.zeros((1, 0), np.int64)
        return cls(choices, taken.astype(np.int64), possible)

    def __len__(self) -> int:
        return len(self.taken)

    def __iter__(self) -> Iterator[dict[str, str]]:
        for row in self.taken.tolist():
            yield {
                choice.name: choice.options[place] for choice, place in zip(self.choices, row, strict=True)
            }
