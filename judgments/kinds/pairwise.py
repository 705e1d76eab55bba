"""Pairwise (V15 App. I): which of two candidates describes the image better."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.material import Pair, Text, UnitSpec, content_key
from judgments.kinds.base import Choice, Page
from judgments.kinds.pairs import PairKind


class Pairwise(PairKind):
    """One unit per candidate pair."""

    name = "pairwise"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    choices = (Choice(1, wording.choices[0], "1"), Choice(2, wording.choices[1], "2"))
    defaults = {"question": wording.question, "seconds_per_unit": 8.0}
    page = Page("annotation/kinds/pairwise.html", letters=("B", "C"))

    def units_of(self, pair: Pair, seed: int, texts: dict[str, Text]) -> list[UnitSpec]:
        return [
            UnitSpec(
                key=content_key("unit", self.name, seed, pair.key),
                image=pair.image,
                first=pair.first,
                second=pair.second,
                kind=pair.kind,
                pair=pair.key,
            )
        ]

    def shown(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be described")},
            "b": {"text": left.text},
            "c": {"text": right.text},
        }
