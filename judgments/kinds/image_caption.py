"""The base class of kinds that judge one caption of one image."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from judgments.drawing.caption_filter import ImageCaptions
from judgments.drawing.controls.captions import degraded_text, foreign_captions
from judgments.drawing.controls.makers import (
    DEGRADED,
    KNOWN_GOOD,
    REFERENCE,
    ControlMakers,
    ControlSlot,
    KnownItem,
    known_item_error,
    resolve_known_items,
)
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.image_captions import CaptionDraw, draw_captions
from judgments.drawing.keys import content_keys
from judgments.drawing.material import Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import ChoiceKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


class ImageCaptionKind(ChoiceKind):
    """Workers judge one caption of an image.

    Attributes:
        right_caption_answer: the answer, or range of answers, that control items expect for a caption of the image.
        wrong_caption_answer: what they expect for a damaged caption or a caption of another image.
    """

    right_caption_answer: Any
    wrong_caption_answer: Any

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        # ``sampling.only`` lists the keys of units
        draw = draw_captions(design, material, partial(self.unit_keys, design))
        groups = [
            Group(captions.image.name, units)
            for captions in draw.images
            for units in self.groups(design, draw, captions)
        ]
        if not groups:
            raise DesignError(
                f"no image-caption pair reaches filter.bleu_pre = {design.filter.bleu_pre}.",
                field="filter.bleu_pre",
            )
        hits = self.hits(
            design,
            groups,
            control_images=draw.division.control_images,
            known_items=resolve_known_items(design.controls.known, material),
        )
        notes = draw.notes
        if filler_count := sum(unit.filtered for group in groups for unit in group.units):
            notes["filled"] = filler_count
        return Batch(hits=hits, notes=notes)

    def groups(
        self, design: StudyDesign, draw: CaptionDraw, captions: ImageCaptions
    ) -> list[tuple[UnitSpec, ...]]:
        """Return the units of an image, in groups that stay together on a page."""
        rng = rng_for(design.seed, f"captions {captions.image.name}")
        return [(unit,) for unit in self.judged_units(design, captions, rng)]

    def judged_units(
        self, design: StudyDesign, captions: ImageCaptions, rng: np.random.Generator
    ) -> list[UnitSpec]:
        """Return the units about captions that pass the filter, and about a sample of the others, to audit it."""
        audit_rng = rng_for(design.seed, f"audited {captions.image.name}")
        return self.units(design, captions.image, captions.judged_texts(rng, audit_rng))

    def unit_keys(self, design: StudyDesign, image: Image, texts: Sequence[Text]) -> list[str]:
        return content_keys("unit", self.name, design.seed, image.name, last=[text.key for text in texts])

    def units(
        self,
        design: StudyDesign,
        image: Image,
        texts_with_audit_flags: Sequence[tuple[Text, bool]],
        *,
        filtered: bool = False,
    ) -> list[UnitSpec]:
        """Return the units about texts of an image.

        Args:
            texts_with_audit_flags: pairs of a text, and whether it is judged to audit the filter.
            filtered: whether texts only fill up the last group: the filter left them out, or another image has them.
        """
        keys = self.unit_keys(design, image, [text for text, _ in texts_with_audit_flags])
        return [
            UnitSpec(key=key, image=image.name, first=text, filtered=filtered, audited=is_audited)
            for key, (text, is_audited) in zip(keys, texts_with_audit_flags, strict=True)
        ]

    @property
    def expected_choices(self) -> tuple[Any, ...]:  # the right answers that a known item can have
        return (self.right_caption_answer, self.wrong_caption_answer)

    def control_items(self, design: StudyDesign) -> ControlMakers:
        return ControlMakers(
            reference=self.reference_control,
            degraded=self.degraded_control,
            known_good=self.known_control,
            groups_known_items=self.grouped,
        )

    def reference_control(self, slot: ControlSlot, image: Image) -> Group:
        """Return a control item with a caption of the image or of another image, with equal probability."""
        if slot.rng.integers(2):
            text = image.references[int(slot.rng.integers(len(image.references)))]
            expected = self.right_caption_answer
        else:
            text = foreign_captions(image, slot.images, 1, slot.rng)[0]
            expected = self.wrong_caption_answer
        return Group(image.name, (self.control(slot, image, text, expected, REFERENCE),))

    def degraded_control(self, slot: ControlSlot, image: Image) -> Group | None:
        """Return a control item with a damaged caption of the image; None if no caption can be damaged."""
        for caption in shuffle(image.references, slot.rng):
            damaged_text = degraded_text(caption, image, slot.images, slot.rng, replace_all=True)
            if damaged_text is not None:
                unit = self.control(slot, image, damaged_text, self.wrong_caption_answer, DEGRADED)
                return Group(image.name, (unit,))
        return None

    def known_control(self, slot: ControlSlot, items: Sequence[KnownItem]) -> Group:
        return Group(items[0].image.name, tuple(self.known_unit(slot, item) for item in items))

    def known_unit(self, slot: ControlSlot, item: KnownItem) -> UnitSpec:
        """Return the unit of a known item. Raise DesignError if no answer is right or all answers are right."""
        if item.first is None:
            raise known_item_error(item, "needs the caption under first")
        try:
            right_count = self.count_right(item.expected)
        except ValueError:
            right_count = 0
        if not 0 < right_count < len(self.values):
            raise known_item_error(
                item, f"expects {item.expected!r}, by which no answer, or every one, would be right"
            )
        return self.control(slot, item.image, item.first, item.expected, KNOWN_GOOD)

    def control(
        self, slot: ControlSlot, image: Image, text: Text, expected: Any, control_kind: str = REFERENCE
    ) -> UnitSpec:
        return self.control_unit(slot, image, (text.key,), expected, control_kind, first=text)

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be judged")},
            "caption": {"text": unit.first.text},
        }
