"""Graded relevance (H13 §4.2.1): how well the caption describes the image, from 4 to 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evaluation.statistics.aggregation import GRADE_THRESHOLDS, majority_vote, mean_grade
from judgments.design.wordings import CAPTION, GRADED_WORDS, Wording
from judgments.drawing.controls import known_items
from judgments.drawing.draws import rng_for
from judgments.drawing.material import Batch, Group, Material
from judgments.drawing.packing import hits_of
from judgments.kinds.base import Choice, Consensus
from judgments.kinds.image_caption import ImageCaptionKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class Graded(ImageCaptionKind):
    """One grade per image-caption pair; the consensus is the mean."""

    name = "graded"
    wordings: ClassVar[Mapping[str, Wording]] = GRADED_WORDS
    wording: Wording | None = GRADED_WORDS[CAPTION]
    title = "Graded: how well does the caption describe the image?"
    values: ClassVar[tuple[int, ...]] = (1, 2, 3, 4)
    level = "interval"
    aggregation = "mean"
    labelled: ClassVar[tuple[int, ...]] = (4, 3, 2, 1)
    choices: tuple[Choice, ...] = (
        Choice(4, "Describes the image without any errors", "4"),
        Choice(3, "Describes the image with minor errors", "3"),
        Choice(2, "Is somewhat related to the image", "2"),
        Choice(1, "Is unrelated to the image", "1"),
    )
    defaults = {
        "question": "How well does the caption describe the image?",
        "seconds_per_unit": 12.0,
    }
    template = "annotation/kinds/graded.html"
    good, bad = "3-4", "1-2"
    people_cuts: ClassVar[tuple[float, ...]] = GRADE_THRESHOLDS
    guessed_right: ClassVar[float | None] = 2 / 4

    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """Return HITs of the drawn pairs that pass the filter; no HIT repeats an image."""
        draw = self.draw(design, material)
        groups = [
            Group(one.image.name, (self.unit(design, one.image, text, audited=audited),))
            for one in draw.images
            for text, audited in one.judged(
                rng_for(design.seed, f"captions {one.image.name}"),
                rng_for(design.seed, f"audited {one.image.name}"),
            )
        ]
        self.require_units(design, groups)
        hits = hits_of(
            groups,
            design=design,
            size=design.units_per_hit,
            repeat_images=False,
            control_images=draw.division.controls,
            make_control=self.makers(design),
            known=known_items(design.controls.known, material),
        )
        return Batch(hits=hits, notes=draw.notes)

    def again(self, given: int) -> str:
        """Allow one grade of difference: H13's mean grades differ by as much between judges."""
        return f"{max(given - 1, self.values[0])}-{min(given + 1, self.values[-1])}"

    def is_right(self, given: int, expected: Any) -> bool:
        """Check a range (3-4 for a reference, 1-2 for another image's caption) or one grade."""
        grades = [int(grade) for grade in str(expected).split("-")]
        return grades[0] <= given <= grades[-1]

    def consensus(self, units: Sequence[int], values: Sequence[int]) -> dict[int, Consensus]:
        """Return the mean grade (H13); share, margin and tie do not apply."""
        votes = majority_vote(units, values, labels=self.values)
        means = mean_grade(units, values)
        rows = zip(means.units.tolist(), means.mean.tolist(), votes.counts.tolist(), strict=True)
        return {
            unit: Consensus(
                n=sum(counts),
                value=mean,
                share=None,
                margin=None,
                tie=False,
                votes={str(value): count for value, count in zip(self.values, counts, strict=True)},
            )
            for unit, mean, counts in rows
        }

    def describes(self, value: float) -> bool:
        """Return whether the nearest grade is 3 or 4; halves round down."""
        return self.is_right(self.relevance(value) + 1, self.good)

    def relevance(self, value: float) -> int:
        """Return the nearest grade minus one, halves rounded down: 0 unrelated to 3 without errors."""
        return math.ceil(value - 1.5)

    def leaning(self, qualities: Sequence[float]) -> list[float]:
        """Weight grades by a factor of e per grade of distance from the quality."""
        weights = [math.exp(-abs(grade - qualities[0])) for grade in self.values]
        return [weight / sum(weights) for weight in weights]
