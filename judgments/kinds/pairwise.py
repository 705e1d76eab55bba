"""Pairwise (V15 App. I): choose the candidate that describes the image better."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.material import Pair, Text, UnitSpec, content_key
from judgments.kinds.base import Choice, Page
from judgments.kinds.pairs import PairKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


# the options were B and C before 0.7: a design whose own texts speak of C keeps those letters
SPEAKS_OF_C = re.compile(r"(?<![\w'’])C(?![\w'’])")  # not "C'est"


def _texts_of(design: StudyDesign) -> Iterator[str]:
    yield from (design.question, design.instructions)
    for example in design.examples:
        yield from (example.answer, example.why)


class Pairwise(PairKind):
    name = "pairwise"
    wordings = WORDINGS[name]
    wording = wordings[CAPTION]
    title = wording.title
    choices: tuple[Choice, ...] = (
        Choice(1, wording.choices[0], "1", "A"),
        Choice(2, wording.choices[1], "2", "B"),
    )
    defaults = {"question": wording.question, "seconds_per_unit": 8.0}
    page = Page("annotation/kinds/pairwise.html", letters=("A", "B"))

    def worded(self, design: StudyDesign) -> PairKind:
        own = super().worded(design)
        if not any(map(SPEAKS_OF_C.search, _texts_of(design))):
            return own
        own = copy(own)
        words = self.wordings[design.judged].earlier
        own.choices = tuple(
            replace(choice, label=label, letter=letter)
            for choice, label, letter in zip(own.choices, words, "BC", strict=True)
        )
        own.page = replace(own.page, letters=("B", "C"))
        return own

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

    def present_unit(self, unit: Any, *, side: Any, picture_url: str) -> dict[str, Any]:
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be described")},
            "b": {"text": left.text},
            "c": {"text": right.text},
        }
