"""What relevance and graded have in common: every text a system gave, crossed with every image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from judgments.draws import content_key, rng_for
from judgments.errors import DesignError
from judgments.kinds.base import ChoiceKind
from judgments.material import Division, Image, Material, Text, UnitSpec, drawn_images
from judgments.prefilter import passes_filter

if TYPE_CHECKING:
    from judgments.design import StudyDesign


@dataclass(frozen=True, slots=True)
class Crossing:
    """The image-caption pairs of a study.

    Attributes:
        division: judged images and those of control items.
        images: m judged images, after drawing.
        texts: n distinct candidate texts of the split, in the order the systems gave them.
        passed: (m, n) bool, which pairs pass the filter (all where there is none).
    """

    division: Division
    images: list[Image]
    texts: list[Text]
    passed: npt.NDArray[np.bool_]

    @property
    def notes(self) -> dict[str, Any]:
        """What the filter did, for the study's page."""
        return {"candidate_pairs": int(self.passed.size), "passed_filter": int(self.passed.sum())}


class CrossedKind(ChoiceKind):
    """An image and a caption are judged together."""

    def cross(self, design: StudyDesign, material: Material) -> Crossing:
        """Every distinct text a system gave for an image of the split, with every image of the split."""
        division = material.divided(
            judged=design.sampling.split,
            controls=design.controls.split,
            seed=design.seed,
            control_needed=design.controls.per_hit > 0,
        )
        texts: dict[str, Text] = {}
        for image in division.judged:
            for _, text in image.outputs:
                texts.setdefault(text.text, text)
        if not texts:
            raise DesignError(
                f"no system of dataset {material.name!r} gave a caption for an image of split "
                f"{design.sampling.split!r}; import candidates first.",
                field="sampling.split",
            )
        images = drawn_images(division.judged, design.sampling.images, rng_for(design.seed, "images"))
        candidates = list(texts.values())
        if design.filter.bleu_pre > 0:
            passed = passes_filter(
                [text.text for text in candidates],
                [[text.text for text in image.references] for image in images],
                threshold=design.filter.bleu_pre,
                order=design.filter.order,
            )
        else:
            passed = np.ones((len(images), len(candidates)), dtype=bool)
        return Crossing(division=division, images=images, texts=candidates, passed=passed)

    def unit(self, design: StudyDesign, image: Image, text: Text, *, filtered: bool = False) -> UnitSpec:
        """The unit of one image-caption pair."""
        return UnitSpec(
            key=content_key("unit", self.name, design.seed, image.name, text.key),
            image=image.name,
            first=text,
            filtered=filtered,
        )

    def control(self, design: StudyDesign, place: str, image: Image, text: Text, expected: Any) -> UnitSpec:
        """A control item; ``place`` tells it from the same caption in another HIT."""
        return UnitSpec(
            key=content_key("control", self.name, design.seed, place, image.name, text.key),
            image=image.name,
            first=text,
            control=True,
            control_kind="reference",
            expected=expected,
        )

    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        """The image and the caption."""
        return {
            "image": {"url": picture_url, "alt": "The image to be judged"},
            "caption": {"text": unit.first.text},
        }


def chunked(items: Sequence[UnitSpec], size: int) -> list[tuple[UnitSpec, ...]]:
    """``items`` in runs of ``size``; the last may be shorter."""
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
