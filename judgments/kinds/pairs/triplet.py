"""Triplet (Vedantam et al. 2015, section 3): which of B and C is more similar to A? No image is shown."""

from __future__ import annotations

from typing import Any

import numpy as np

from judgments.drawing.keys import content_keys
from judgments.drawing.material import Image, Pair, Text, UnitSpec
from judgments.kinds.base import Choice, Page
from judgments.kinds.pairs.kind import PairChoiceKind


class Triplet(PairChoiceKind):
    """Workers compare two candidates with a reference, sentence A. Each reference of a candidate pair has a unit."""

    name = "triplet"
    title = "Triplet: which sentence is more similar?"
    choices = (Choice(1, "Sentence B", "1", "B"), Choice(2, "Sentence C", "2", "C"))  # with keyboard keys
    defaults = {
        "question": "Which of the two sentences, B or C, is more similar to A?",
        "seconds_per_unit": 6.0,
    }
    page = Page("annotation/kinds/triplet.html", letters=("A", "B", "C"), shows_picture=False)
    control_references = 2  # sentence A, and another one, which is shown beside its damaged copy

    def units_of(self, pair: Pair, seed: int, references_by_key: dict[str, Text]) -> list[UnitSpec]:
        keys = content_keys("unit", self.name, seed, pair.key, last=pair.references)  # one for each
        return [
            UnitSpec(
                key=unit_key,
                image=pair.image,
                reference=references_by_key[reference_key],
                first=pair.first,
                second=pair.second,
                kind=pair.kind,
                pair=pair.key,
            )
            for unit_key, reference_key in zip(keys, pair.references, strict=True)
        ]

    def control_reference(self, image: Image, caption: Text, rng: np.random.Generator) -> Text | None:
        """Return another caption of the image, with a different text if possible."""
        different_texts = [text for text in image.references if text.text != caption.text]
        captions = different_texts or list(image.references)
        return captions[int(rng.integers(len(captions)))]

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {"a": {"text": unit.reference.text}, "b": {"text": left.text}, "c": {"text": right.text}}
