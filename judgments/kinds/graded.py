"""Graded relevance (H13 §4.2.1): how well a caption describes the image, from 4 to 1."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from evaluation.statistics.aggregation import GRADE_THRESHOLDS, majority_vote, mean_grade
from judgments.design.wordings import CAPTION, WORDINGS
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    ChoiceRehearsal,
    Comparison,
    Consensus,
    ConsensusColumns,
    Page,
    Rehearsal,
    RelevanceScale,
    Units,
)
from judgments.kinds.image_caption import ImageCaptionKind

GRADES = (1, 2, 3, 4)


class MeanGrade(Aggregation):
    """The mean grade (H13); votes of the ``listed`` grades are listed even at 0."""

    rule = "mean"
    level = "interval"

    def __init__(self, listed: Sequence[int] = ()) -> None:
        self._listed = listed

    def consensus(self, units: Units, values: Answers) -> Mapping[int, Consensus]:
        means = mean_grade(units, values)
        if self._listed:
            given = majority_vote(units, values, labels=self._listed)
            return ConsensusColumns(
                unit=means.units,
                n=means.n,
                value=means.mean,
                share=None,
                margin=None,
                tie=np.zeros(len(means.n), dtype=np.bool_),
                votes=given.counts,
                answers=tuple(map(str, self._listed)),
                whole=False,
            )
        votes: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for unit, value in zip(units, values, strict=True):
            votes[int(unit)][int(value)] += 1
        return {
            unit: Consensus(
                n=votes[unit].total(),
                value=mean,
                votes={str(grade): votes[unit][grade] for grade in sorted(votes[unit])},
            )
            for unit, mean in zip(means.units.tolist(), means.mean.tolist(), strict=True)
        }


def in_range(given: int, expected: Any) -> bool:
    """Compare with a range ("3-4") or one grade."""
    grades = [int(grade) for grade in str(expected).split("-")]
    return grades[0] <= given <= grades[-1]


def nearest_grade(mean: float) -> int:
    """Return the grade nearest to a mean; halves round down."""
    return math.ceil(mean - 0.5)


def leaning(qualities: Sequence[float]) -> list[float]:
    """Weight grades by a factor of e per grade of distance."""
    weights = [math.exp(-abs(grade - qualities[0])) for grade in GRADES]
    return [weight / sum(weights) for weight in weights]


class Graded(ImageCaptionKind):
    name = "graded"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    values: tuple[int, ...] = GRADES
    labelled: ClassVar[tuple[int, ...]] = (4, 3, 2, 1)
    choices: tuple[Choice, ...] = tuple(
        Choice(grade, label, str(grade)) for grade, label in zip(labelled, wording.choices, strict=True)
    )
    defaults = {"question": wording.question, "seconds_per_unit": 12.0}
    page = Page("annotation/kinds/graded.html")
    good, bad = "3-4", "1-2"
    aggregation = MeanGrade(GRADES)
    comparison = Comparison(cuts=GRADE_THRESHOLDS)
    relevance = RelevanceScale(
        describes=lambda mean: nearest_grade(mean) >= 3,
        grade=lambda mean: nearest_grade(mean) - 1,
        averaged=True,
    )
    rehearsal: Rehearsal = ChoiceRehearsal(GRADES, leaning, in_range)

    def expected_on_repeat(self, given: int) -> str:
        """Allow one grade of difference, as H13's mean grades differ by as much between judges."""
        return f"{max(given - 1, self.values[0])}-{min(given + 1, self.values[-1])}"

    def is_right(self, given: int, expected: Any) -> bool:
        return in_range(given, expected)
