"""What relevance, graded and slider have in common: one caption of one image is judged."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.caption_pairs import CaptionDraw, draw_captions
from judgments.drawing.controls import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    Known,
    Makers,
    degraded_text,
    foreign_captions,
    known_problem,
)
from judgments.drawing.draws import content_key, shuffled
from judgments.drawing.material import Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import ChoiceKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class ImageCaptionKind(ChoiceKind):
    """An image and a caption are judged together.

    Attributes:
        good, bad: what a control item expects, in the form ``is_right`` takes: of a caption of the image, and of one
            that describes another.
    """

    judges_one_caption = True
    chosen_by_id = True
    good: ClassVar[Any]
    bad: ClassVar[Any]

    def draw(self, design: StudyDesign, material: Material) -> CaptionDraw:
        """The image-caption pairs of a design (``judgments.drawing.caption_pairs``)."""
        return draw_captions(design, material, partial(self.unit_key, design))

    def require_units(self, design: StudyDesign, groups: Sequence[Group]) -> None:
        """Refuse a draw of which the filter left nothing.

        Raises:
            DesignError: there is no group.
        """
        if not groups:
            raise DesignError(
                f"no image-caption pair reaches filter.bleu_pre = {design.filter.bleu_pre}.",
                field="filter.bleu_pre",
            )

    def unit_key(self, design: StudyDesign, image: Image, text: Text) -> str:
        """What the unit of an image and a caption is called."""
        return content_key("unit", self.name, design.seed, image.name, text.key)

    def unit(
        self, design: StudyDesign, image: Image, text: Text, *, filtered: bool = False, audited: bool = False
    ) -> UnitSpec:
        """The unit of one image-caption pair."""
        return UnitSpec(
            key=self.unit_key(design, image, text),
            image=image.name,
            first=text,
            filtered=filtered,
            audited=audited,
        )

    @abstractmethod
    def describes(self, value: float) -> bool:
        """Whether people say, by this consensus, that the caption describes the image."""

    def expectations(self) -> tuple[Any, ...]:
        """Good or bad."""
        return (self.good, self.bad)

    def makers(self, design: StudyDesign) -> Makers:
        """Its control items: one image and caption each."""
        return Makers(
            reference=partial(self.reference_control, design),
            degraded=partial(self.degraded_control, design),
            known=partial(self.known_control, design),
            known_together=self.grouped,
        )

    def quiz_group(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """As a control item."""
        return self.reference_control(design, place, image, images, rng)

    def reference_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group:
        """An own caption, expected to be good, or another image's, expected to be bad; drawn."""
        if rng.integers(2):
            text, expected = image.references[int(rng.integers(len(image.references)))], self.good
        else:
            text, expected = foreign_captions(image, images, 1, rng)[0], self.bad
        return Group(image.name, (self.control(design, place, image, text, expected, REFERENCE),))

    def degraded_control(
        self, design: StudyDesign, place: str, image: Image, images: Sequence[Image], rng: np.random.Generator
    ) -> Group | None:
        """An own caption with other words in place of all that matter, expected to be bad."""
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
        """The designer's item."""
        return Group(items[0].image.name, tuple(self.known_unit(design, place, item) for item in items))

    def known_unit(self, design: StudyDesign, place: str, item: Known) -> UnitSpec:
        """One of the designer's items.

        Raises:
            DesignError: it has no caption, or no answer is right, or every answer is.
        """
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
        """A control item; ``place`` tells it from the same caption in another HIT."""
        return UnitSpec(
            key=content_key("control", self.name, design.seed, place, image.name, text.key),
            image=image.name,
            first=text,
            control=True,
            control_kind=control_kind,
            expected=expected,
        )

    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """The image and the caption."""
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": unit.first.text},
        }


def chunked(items: Sequence[UnitSpec], size: int) -> list[tuple[UnitSpec, ...]]:
    """``items`` in runs of ``size``; the last may be shorter."""
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
