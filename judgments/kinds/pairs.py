"""What triplet and pairwise share: two candidates, a forced choice, the majority."""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evaluation.statistics.aggregation import majority_vote
from evaluation.statistics.aggregation.stopping import majority_range
from judgments.drawing.controls import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    Known,
    Makers,
    degraded_text,
    divided,
    foreign_captions,
    known_items,
    known_problem,
)
from judgments.drawing.material import (
    Batch,
    Group,
    Image,
    Material,
    Pair,
    Text,
    UnitSpec,
    balanced_sides,
    shuffled,
)
from judgments.drawing.packing import hits_with_an_image_twice
from judgments.drawing.pairing import draw_pairs, pairs_left_out
from judgments.kinds.base import (
    Aggregation,
    Answers,
    Choice,
    ChoiceKind,
    ChoiceRehearsal,
    ConsensusColumns,
    Sides,
    Units,
)

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

NOTES = {
    "pairs_of_equal_texts_left_out": "Published pairs of two equal texts, left out: {}.",
    "repeated_pairs_left_out": "Published pairs that compare the texts of another one again, left out: {}.",
    "pairs_short_of_references": "Pairs passed over, as they have fewer references than asked for: {}.",
    "hits_with_an_image_twice": "HITs that ask about an image more than once, as too few other images are left: {}.",
}
FIRST, SECOND = 1, 2


class TwoSides(Sides):
    """Whether the second candidate is shown first; sides are balanced to within one."""

    def draw(self, units: Sequence[Any], rng: np.random.Generator) -> list[bool]:
        return balanced_sides(len(units), rng)

    def mirrored(self, side: Any) -> bool:
        return not side

    def canonical(self, given: int, *, side: Any) -> int:
        return FIRST + SECOND - given if side else given

    def seen(self, given: int, *, side: Any) -> int:
        return self.canonical(given, side=side)


class Majority(Aggregation):
    """The majority with explicit ties (V15 §3)."""

    rule = "majority"
    tie_rule = "set-aside"
    settles = True

    def consensus(self, units: Units, values: Answers) -> ConsensusColumns:
        votes = majority_vote(units, values, labels=(FIRST, SECOND))
        return ConsensusColumns(
            unit=votes.units,
            n=votes.n,
            value=np.where(votes.winner >= 0, votes.winner + FIRST, np.nan),
            share=votes.share,
            margin=votes.margin,
            tie=votes.tie,
            votes=votes.counts,
            answers=("1", "2"),
            whole=True,
        )

    def outcome_range(self, values: Sequence[int], remaining: int) -> tuple[int, int]:
        return majority_range(values.count(FIRST), values.count(SECOND), remaining)


def leaning(qualities: Sequence[float]) -> list[float]:
    """Return a logistic curve of the difference: 0.95 for a reference against another image's caption."""
    first = 1 / (1 + math.exp(qualities[1] - qualities[0]))
    return [first, 1 - first]


class PairKind(ChoiceKind):
    """Choose between two candidates; ``value`` 1 is the first and 2 the second."""

    values = (FIRST, SECOND)
    two_sided = True
    compares_pairs = True
    choices = (Choice(FIRST, "B", "1"), Choice(SECOND, "C", "2"))
    sides = TwoSides()
    aggregation = Majority()
    rehearsal = ChoiceRehearsal((FIRST, SECOND), leaning, operator.eq)
    control_references: ClassVar[int] = 1

    @abstractmethod
    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        pass

    def control_reference(self, image: Image, own: Text, rng: np.random.Generator) -> Text | None:
        """Return sentence A of a control item, for kinds that show one."""
        return None

    @property
    def expectations(self) -> tuple[Any, ...]:
        return self.values

    def batch(self, design: StudyDesign, material: Material) -> Batch:
        division = divided(design, material)
        wanted = {str(kind): count for kind, count in design.sampling.pairs.items()}
        drawn = draw_pairs(
            material,
            division.judged,
            wanted=wanted,
            references=design.sampling.references,
            source=design.sampling.source,
            seed=design.seed,
            only=design.sampling.only,
        )
        pairs = drawn.pairs
        texts = {text.key: text for image in division.judged for text in image.references}
        groups = [
            Group(pair.image, (unit,)) for pair in pairs for unit in self.units_of(pair, design.seed, texts)
        ]
        hits = self.hits(
            design,
            groups,
            control_images=division.controls,
            known=known_items(design.controls.known, material),
        )
        notes: dict[str, Any] = {}
        if not design.sampling.only:
            notes |= pairs_left_out(material, division.judged, wanted=wanted, drawn=pairs)
        if drawn.passed_over:
            notes["pairs_short_of_references"] = drawn.passed_over
        repeating = hits_with_an_image_twice(hits)
        if repeating:
            notes["hits_with_an_image_twice"] = repeating
        sentences = [words.format(notes[name]) for name, words in NOTES.items() if name in notes]
        return Batch(
            hits=hits,
            pairs=tuple(pairs),
            notes=notes | ({"sentences": sentences} if sentences else {}),
        )

    def control_items(self, design: StudyDesign) -> Makers:
        return Makers(
            reference=partial(self._reference_control, design.seed),
            degraded=partial(self._degraded_control, design.seed),
            known=partial(self._known_control, design.seed),
            least_references=self.control_references,
        )

    def _reference_control(
        self, seed: int, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        own = image.references[int(rng.integers(len(image.references)))]
        reference = self.control_reference(image, own, rng)
        foreign = foreign_captions(image, images, 1, rng)[0]
        expected = int(rng.integers(1, 3))
        first, second = (own, foreign) if expected == 1 else (foreign, own)
        return self._control(seed, place, image, (reference, first, second), expected, REFERENCE)

    def _degraded_control(
        self, seed: int, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        for own in shuffled(image.references, rng):
            damaged = degraded_text(own, image, images, rng, whole=False)
            if damaged is not None:
                reference = self.control_reference(image, own, rng)
                expected = int(rng.integers(1, 3))
                first, second = (own, damaged) if expected == 1 else (damaged, own)
                return self._control(seed, place, image, (reference, first, second), expected, DEGRADED)
        return None

    def _known_control(
        self,
        seed: int,
        place: str,
        items: Sequence[Known],
        images: Sequence[Image],
        rng: np.random.Generator,
    ) -> Group:
        (item,) = items
        if item.first is None or item.second is None or item.first.text == item.second.text:
            raise known_problem(item, "needs two different texts, first and second")
        if self.control_references > 1 and item.reference is None:
            raise known_problem(item, "needs sentence A under reference")
        if item.expected not in self.values:
            raise known_problem(item, f"expects {item.expected!r}; 1 is first and 2 is second")
        expected = int(rng.integers(1, 3))
        first, second = (item.first, item.second) if expected == item.expected else (item.second, item.first)
        reference = item.reference if self.control_references > 1 else None
        return self._control(seed, place, item.image, (reference, first, second), expected, KNOWN_GOOD)

    def _control(
        self,
        seed: int,
        place: str,
        image: Image,
        texts: tuple[Text | None, Text, Text],
        expected: int,
        control_kind: str,
    ) -> Group:
        reference, first, second = texts
        keys = (reference.key if reference else None, first.key, second.key)
        shown = {"reference": reference, "first": first, "second": second}
        unit = self.control_unit(seed, place, image, keys, expected, control_kind, **shown)
        return Group(image.name, (unit,))
