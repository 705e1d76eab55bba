"""The base of relevance, graded and slider: judge one caption of one image."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.caption_pairs import CaptionDraw, ImageCaptions, draw_captions
from judgments.drawing.controls import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    Known,
    Makers,
    degraded_text,
    foreign_captions,
    known_items,
    known_problem,
)
from judgments.drawing.material import (
    Batch,
    Group,
    Image,
    Material,
    Text,
    UnitSpec,
    content_keys,
    rng_for,
    shuffled,
)
from judgments.kinds.base import ChoiceKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class ImageCaptionKind(ChoiceKind):
    """Judge an image and a caption.

    Control items expect ``good`` of an image's own caption and ``bad`` of another image's.
    """

    good: ClassVar[Any]
    bad: ClassVar[Any]

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        draw = draw_captions(design, material, partial(self.unit_keys, design))
        groups = [
            Group(one.image.name, units) for one in draw.images for units in self.groups(design, draw, one)
        ]
        if not groups:
            raise DesignError(
                f"no image-caption pair reaches filter.bleu_pre = {design.filter.bleu_pre}.",
                field="filter.bleu_pre",
            )
        hits = self.hits(
            design,
            groups,
            control_images=draw.division.controls,
            known=known_items(design.controls.known, material),
        )
        filled = sum(unit.filtered for group in groups for unit in group.units)
        return Batch(hits=hits, notes={**draw.notes, **({"filled": filled} if filled else {})})

    def groups(
        self, design: StudyDesign, draw: CaptionDraw, one: ImageCaptions
    ) -> list[tuple[UnitSpec, ...]]:
        """Return an image's units, in groups that stay together."""
        return [
            (unit,) for unit in self.judged(design, one, rng_for(design.seed, f"captions {one.image.name}"))
        ]

    def judged(self, design: StudyDesign, one: ImageCaptions, rng: np.random.Generator) -> list[UnitSpec]:
        """Return an image's units that the filter passes, and those of the audit."""
        audit = rng_for(design.seed, f"audited {one.image.name}")
        return self.units(design, one.image, one.judged(rng, audit))

    def unit_keys(self, design: StudyDesign, image: Image, texts: Sequence[Text]) -> list[str]:
        return content_keys("unit", self.name, design.seed, image.name, last=[text.key for text in texts])

    def units(
        self,
        design: StudyDesign,
        image: Image,
        drawn: Sequence[tuple[Text, bool]],
        *,
        filtered: bool = False,
    ) -> list[UnitSpec]:
        """Return the units of texts, each given with whether it is for the audit."""
        keys = self.unit_keys(design, image, [text for text, _ in drawn])
        return [
            UnitSpec(key=key, image=image.name, first=text, filtered=filtered, audited=audited)
            for key, (text, audited) in zip(keys, drawn, strict=True)
        ]

    @property
    def expectations(self) -> tuple[Any, ...]:
        return (self.good, self.bad)

    def control_items(self, design: StudyDesign) -> Makers:
        return Makers(
            reference=partial(self.reference_control, design),
            degraded=partial(self.degraded_control, design),
            known=partial(self.known_control, design),
            known_together=self.grouped,
        )

    def reference_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """Return an own caption (good) or another image's (bad), at random."""
        if rng.integers(2):
            text, expected = image.references[int(rng.integers(len(image.references)))], self.good
        else:
            text, expected = foreign_captions(image, images, 1, rng)[0], self.bad
        return Group(image.name, (self.control(design, place, image, text, expected, REFERENCE),))

    def degraded_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        """Return an own caption with its content words replaced."""
        for own in shuffled(image.references, rng):
            damaged = degraded_text(own, image, images, rng, whole=True)
            if damaged is not None:
                return Group(image.name, (self.control(design, place, image, damaged, self.bad, DEGRADED),))
        return None

    def known_control(
        self,
        design: StudyDesign,
        place: str,
        items: Sequence[Known],
        images: Sequence[Image],
        rng: np.random.Generator,
    ) -> Group:
        return Group(items[0].image.name, tuple(self.known_unit(design, place, item) for item in items))

    def known_unit(self, design: StudyDesign, place: str, item: Known) -> UnitSpec:
        """Return the unit of a designer's item. Some answers must be right and others wrong."""
        if item.first is None:
            raise known_problem(item, "needs the caption under first")
        try:
            right = sum(self.is_right(value, item.expected) for value in self.values)
        except ValueError:
            right = 0
        if not 0 < right < len(self.values):
            raise known_problem(
                item, f"expects {item.expected!r}, by which no answer, or every one, would be right"
            )
        return self.control(design, place, item.image, item.first, item.expected, KNOWN_GOOD)

    def control(
        self,
        design: StudyDesign,
        place: str,
        image: Image,
        text: Text,
        expected: Any,
        control_kind: str = REFERENCE,
    ) -> UnitSpec:
        return self.control_unit(design.seed, place, image, (text.key,), expected, control_kind, first=text)

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": unit.first.text},
        }
