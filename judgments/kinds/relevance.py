"""Binary relevance (H13 §4.3.2): an image with ten captions; which of them describe it?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluation.statistics.aggregation import relevance_vote
from evaluation.statistics.aggregation.stopping import relevance_range
from judgments.design.tables import CROSSED
from judgments.design.wordings import CAPTION, RELEVANCE_WORDS
from judgments.drawing.caption_pairs import CaptionDraw, ImageCaptions
from judgments.drawing.controls import (
    DEGRADED,
    REFERENCE,
    Known,
    degraded_text,
    foreign_captions,
    known_items,
    right_caption_count,
)
from judgments.drawing.draws import rng_for, shuffled
from judgments.drawing.material import Batch, Group, Image, Material, Text, UnitSpec
from judgments.drawing.packing import hits_of
from judgments.kinds.base import Choice, Consensus
from judgments.kinds.image_caption import ImageCaptionKind, chunked

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class Relevance(ImageCaptionKind):
    """Groups of captions under one image; ``value`` 1 says that the caption describes it."""

    name = "relevance"
    title = "Relevance: which captions describe the image?"
    wordings = RELEVANCE_WORDS
    wording = RELEVANCE_WORDS[CAPTION]
    values = (0, 1)
    level = "nominal"
    aggregation = "two-thirds"
    grouped = True
    settles = True
    choices = (Choice(0, "Does not describe it"), Choice(1, "Describes it"))
    defaults = {
        "question": "Which of these captions describe the image?",
        "seconds_per_unit": 3.0,
    }
    template = "annotation/kinds/relevance.html"
    people_cuts = (0.33, 0.66, 1.0)
    guessed_right = 1 / 2
    good, bad = 1, 0

    def defaults_for(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Groups are filled up where systems proposed few captions for an image: a control image has as many captions
        as fit, and must look like the others."""
        sampling = values.get("sampling")
        if isinstance(sampling, Mapping) and (sampling.get("pairs_from") == CROSSED or sampling.get("only")):
            return self.defaults
        return {**self.defaults, "filter": {"fill_to": values.get("captions_per_image", 10)}}

    def contradictions(self, design: StudyDesign) -> Iterator[str]:
        """Groups that are smaller than control images tell which those are."""
        size, fill_to = design.captions_per_image, design.filter.fill_to
        drawn = design.sampling.pairs_from != CROSSED and not design.sampling.only
        if drawn and design.controls.per_hit and fill_to < size:
            yield (
                f"filter.fill_to is {fill_to}, but control images have captions_per_image = {size} captions, by which "
                f"workers could tell them from smaller groups; expected {size}"
            )

    def batch(self, design: StudyDesign, material: Material) -> Batch:
        """Drawn pairs that pass the filter -> groups of ten, the last filled up -> HITs of images with one control
        image."""
        draw = self.draw(design, material)
        groups = [
            Group(one.image.name, units) for one in draw.images for units in self._groups(design, draw, one)
        ]
        self.require_units(design, groups)
        hits = hits_of(
            groups,
            design=design,
            size=design.images_per_hit,
            repeat_images=False,
            control_images=draw.division.controls,
            make_control=self.makers(design),
            known=known_items(design.controls.known, material),
        )
        filled = sum(unit.filtered for group in groups for unit in group.units)
        return Batch(hits=hits, notes={**draw.notes, **({"filled": filled} if filled else {})})

    def _groups(
        self, design: StudyDesign, draw: CaptionDraw, one: ImageCaptions
    ) -> list[tuple[UnitSpec, ...]]:
        """The image's captions that passed, in tens; the last ten filled up with others (H13)."""
        image = one.image
        rng = rng_for(design.seed, f"captions {image.name}")
        audit = rng_for(design.seed, f"audited {image.name}")
        units = [self.unit(design, image, text, audited=audited) for text, audited in one.judged(rng, audit)]
        size = design.captions_per_image
        fill_to = min(design.filter.fill_to, size)
        short = (fill_to - len(units) % size) if len(units) % size else 0
        if short > 0:
            units += [
                self.unit(design, image, text, filtered=True)
                for text in one.fill(short, draw.pool, draw.division.judged, rng)
            ]
            tail = len(units) % size or size
            units[-tail:] = shuffled(units[-tail:], rng)
        return chunked(units, size)

    def reference_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """One to three own captions as right answers, the rest captions of other images."""
        size = design.captions_per_image
        right = right_caption_count(image, size, rng)
        own = shuffled(list({text.text: text for text in image.references}.values()), rng)[:right]
        wrong = foreign_captions(image, images, size - right, rng)
        units = [self.control(design, place, image, text, self.good) for text in own]
        units += [self.control(design, place, image, text, self.bad) for text in wrong]
        return Group(image.name, tuple(shuffled(units, rng)))

    def degraded_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        """One to three own captions as right answers; the rest are own captions with other words in place of all that
        matter, and captions of other images where there are too few."""
        size = design.captions_per_image
        right = right_caption_count(image, size, rng)
        own = shuffled(list({text.text: text for text in image.references}.values()), rng)
        damaged: dict[str, Text] = {}
        for base in own * size:  # each caption again, with other words
            if len(damaged) == size - right:
                break
            text = degraded_text(base, image, images, rng, whole=True)
            if text is not None:
                damaged.setdefault(text.text, text)
        if not damaged:
            return None
        units = [self.control(design, place, image, text, self.good, DEGRADED) for text in own[:right]]
        units += [self.control(design, place, image, text, self.bad, DEGRADED) for text in damaged.values()]
        units += self._filled(design, place, image, images, units, rng)
        return Group(image.name, tuple(shuffled(units, rng)))

    def known_control(
        self,
        design: StudyDesign,
        place: str,
        items: Sequence[Known],
        images: Sequence[Image],
        rng: np.random.Generator,
    ) -> Group:
        """The designer's captions of an image, filled up with captions of other images as wrong answers."""
        units = [self.known_unit(design, place, item) for item in items[: design.captions_per_image]]
        units += self._filled(design, place, items[0].image, images, units, rng)
        return Group(items[0].image.name, tuple(shuffled(units, rng)))

    def _filled(
        self,
        design: StudyDesign,
        place: str,
        image: Image,
        images: Sequence[Image],
        units: Sequence[UnitSpec],
        rng: np.random.Generator,
    ) -> list[UnitSpec]:
        """Captions of other images, as many as the group lacks: a short one would show what it is."""
        taken = {unit.first.text for unit in units if unit.first is not None}
        lacking = design.captions_per_image - len(units)
        spare = foreign_captions(image, images, lacking + len(taken), rng)
        wrong = [text for text in spare if text.text not in taken][:lacking]
        return [self.control(design, place, image, text, self.bad, REFERENCE) for text in wrong]

    def consensus(self, units: Sequence[int], values: Sequence[int]) -> dict[int, Consensus]:
        """Relevant if at least two thirds say yes, compared exactly (H13); there are no ties."""
        votes = relevance_vote(units, values)
        rows = zip(
            votes.units.tolist(), votes.yes.tolist(), votes.n.tolist(), votes.share.tolist(), votes.relevant.tolist(),
            strict=True,
        )  # fmt: skip
        return {
            unit: Consensus(
                n=n,
                value=int(relevant),
                share=share,
                margin=abs(2 * yes - n) / n,
                tie=False,
                votes={"0": n - yes, "1": yes},
            )
            for unit, yes, n, share, relevant in rows
        }

    def describes(self, value: float) -> bool:
        """Two thirds said yes."""
        return value == self.good

    def outcome_range(self, values: Sequence[int], remaining: int) -> tuple[int, int]:
        """1 is relevant: two thirds say yes."""
        return relevance_range(values.count(1), values.count(0), remaining)

    def leaning(self, qualities: Sequence[float]) -> list[float]:
        """Even odds at the middle of the scale; 0.05 for a caption of another image."""
        yes = 1 / (1 + math.exp(2 * (2.5 - qualities[0])))
        return [1 - yes, yes]
