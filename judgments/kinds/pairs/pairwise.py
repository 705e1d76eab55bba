"""Pairwise (Vedantam et al. 2015, appendix I): which of two candidates describes the image better?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from judgments.design.wordings import CAPTION, WORDINGS
from judgments.drawing.keys import content_key
from judgments.drawing.material import Pair, Text, UnitSpec
from judgments.kinds.base import Choice, Page
from judgments.kinds.pairs.kind import PairChoiceKind

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

# Before version 0.7, the options were B and C. A design keeps these letters if its own texts mention C.
LETTER_C = re.compile(r"(?<![\w'’])C(?![\w'’])")  # does not match "C'est"


class Pairwise(PairChoiceKind):
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

    def apply_wording(self, design: StudyDesign) -> PairChoiceKind:
        worded_kind = super().apply_wording(design)
        if not any(map(LETTER_C.search, _texts_of(design))):
            return worded_kind
        worded_kind = copy(worded_kind)
        labels = self.wordings[design.judged].former_choices
        worded_kind.choices = tuple(
            replace(choice, label=label, letter=letter)
            for choice, label, letter in zip(worded_kind.choices, labels, "BC", strict=True)
        )
        worded_kind.page = replace(worded_kind.page, letters=("B", "C"))
        return worded_kind

    def units_of(self, pair: Pair, seed: int, references_by_key: dict[str, Text]) -> list[UnitSpec]:
        return [  # a single unit, which shows no reference
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
        # ``side`` is true if the second caption is on the left.
        left, right = (unit.second, unit.first) if side else (unit.first, unit.second)
        return {
            "image": {"url": picture_url, "alt": gettext("The image to be described")},
            "b": {"text": left.text},  # clients rely on "b" and "c", although the page says A and B
            "c": {"text": right.text},
        }


def _texts_of(design: StudyDesign) -> Iterator[str]:
    yield from (design.question, design.instructions)
    for example in design.examples:
        yield from (example.answer, example.why)
