"""What triplet and pairwise have in common: two candidates, a forced choice, majority."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evaluation.statistics.aggregation import majority_vote
from judgments.controls import foreign_captions
from judgments.draws import balanced_sides, content_key
from judgments.kinds.base import Choice, ChoiceKind, Consensus
from judgments.kinds.hits import hits_of
from judgments.material import Batch, Group, Image, Material, Pair, Text, UnitSpec
from judgments.pairing import draw_pairs

if TYPE_CHECKING:
    from judgments.design import StudyDesign


class PairKind(ChoiceKind):
    """Forced choice between two candidates; ``value`` 1 is the first and 2 the second."""

    values = (1, 2)
    level = "nominal"
    two_sided = True
    compares_pairs = True
    choices = (Choice(1, "B", "1"), Choice(2, "C", "2"))
    control_references: ClassVar[int] = 1

    @abstractmethod
    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        """The units that judge one candidate pair."""

    def control_reference(self, image: Image, own: Text, rng: np.random.Generator) -> Text | None:
        """The sentence A of a control item, where the kind shows one."""
        return None

    def sides(self, units: Sequence[Any], rng: np.random.Generator) -> list[bool]:
        """Whether the second candidate is shown first; the sides of an assignment differ by at most one."""
        return balanced_sides(len(units), rng)

    def canonical(self, given: int, *, side: Any) -> int:
        """On flipped sides 1 and 2 change places."""
        return 3 - given if side else given

    def seen(self, given: int, *, side: Any) -> int:
        """The same exchange undoes itself."""
        return self.canonical(given, side=side)

    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """Pairs -> units -> HITs, with control items from the control split."""
        division = material.divided(
            judged=design.sampling.split,
            controls=design.controls.split,
            seed=design.seed,
            control_needed=design.controls.per_hit > 0,
        )
        pairs = draw_pairs(
            material,
            division.judged,
            wanted={str(kind): count for kind, count in design.sampling.pairs.items()},
            references=design.sampling.references,
            source=design.sampling.source,
            seed=design.seed,
        )
        texts = {text.key: text for image in division.judged for text in image.references}
        groups = [
            Group(pair.image, (unit,)) for pair in pairs for unit in self.units_of(pair, design.seed, texts)
        ]
        hits = hits_of(
            groups,
            design=design,
            size=design.units_per_hit,
            repeat_images=True,
            control_images=division.controls,
            make_control=partial(self._control, design.seed),
            least_references=self.control_references,
        )
        left_out = max(0, sum(design.sampling.pairs.values()) - len(pairs))
        notes = {"pairs_of_equal_texts_left_out": left_out} if left_out else {}
        return Batch(hits=hits, pairs=tuple(pairs), notes=notes)

    def quiz_group(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """A right and a wrong option."""
        return self._control(design.seed, place, image, images, rng)

    def _control(
        self, seed: int, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """A right and a wrong option; which is first is drawn."""
        own = image.references[int(rng.integers(len(image.references)))]
        reference = self.control_reference(image, own, rng)
        foreign = foreign_captions(image, images, 1, rng)[0]
        expected = int(rng.integers(1, 3))
        first, second = (own, foreign) if expected == 1 else (foreign, own)
        shown = reference.key if reference else None
        unit = UnitSpec(
            key=content_key("control", self.name, seed, place, image.name, shown, first.key, second.key),
            image=image.name,
            reference=reference,
            first=first,
            second=second,
            control=True,
            control_kind="reference",
            expected=expected,
        )
        return Group(image.name, (unit,))

    def consensus(self, units: Sequence[int], values: Sequence[int]) -> dict[int, Consensus]:
        """Majority with explicit ties (V15 §3)."""
        votes = majority_vote(units, values, labels=self.values)
        rows = zip(
            votes.units.tolist(),
            votes.values(),
            votes.counts.tolist(),
            votes.share.tolist(),
            votes.margin.tolist(),
            votes.tie.tolist(),
            strict=True,
        )
        return {
            unit: Consensus(
                n=sum(counts),
                value=value,
                share=share,
                margin=margin,
                tie=tie,
                votes=dict(zip(("1", "2"), counts, strict=True)),
            )
            for unit, value, counts, share, margin, tie in rows
        }

    def leaning(self, qualities: Sequence[float]) -> list[float]:
        """A logistic curve over the difference: 0.95 for a person's caption against one of another image."""
        first = 1 / (1 + math.exp(qualities[1] - qualities[0]))
        return [first, 1 - first]
