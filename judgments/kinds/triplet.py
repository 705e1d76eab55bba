"""Triplet (V15 §3): choose which of B and C is more similar to A, without an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from judgments.drawing.material import Image, Pair, Text, UnitSpec, content_keys
from judgments.kinds.base import Choice, Page
from judgments.kinds.pairs import PairKind


class Triplet(PairKind):
    """One unit per reference of a candidate pair; the reference is sentence A."""

    name = "triplet"
    title = "Triplet: which sentence is more similar?"
    choices = (Choice(1, "Sentence B", "1", "B"), Choice(2, "Sentence C", "2", "C"))
    defaults = {
        "question": "Which of the two sentences, B or C, is more similar to A?",
        "seconds_per_unit": 6.0,
    }
    page = Page("annotation/kinds/triplet.html", letters=("A", "B", "C"), shows_picture=False)
    control_references = 2

    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        keys = content_keys("unit", self.name, seed, pair.key, last=pair.references)
        return [
            UnitSpec(
                key=unit,
                image=pair.image,
                reference=texts[key],
                first=pair.first,
                second=pair.second,
                kind=pair.kind,
                pair=pair.key,
            )
            for unit, key in zip(keys, pair.references, strict=True)
        ]

    def control_reference(self, image: Image, own: Text, rng: np.random.Generator) -> Text | None:
        """Return another caption of the image, with a different text if possible."""
        others = [text for text in image.references if text.text != own.text] or list(image.references)
        return others[int(rng.integers(len(others)))]

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {"a": {"text": unit.reference.text}, "b": {"text": left.text}, "c": {"text": right.text}}
