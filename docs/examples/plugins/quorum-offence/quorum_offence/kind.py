"""A kind of HIT that asks whether a caption hurts somebody. The consensus is yes if two thirds say so."""

from typing import Any

from judgments.design.study_design import StudyDesign
from judgments.drawing.controls.splits import divide_images
from judgments.drawing.keys import content_key
from judgments.drawing.material import Batch, Group, Material, UnitSpec
from judgments.kinds.base import Choice, ChoiceKind, Page
from judgments.kinds.relevance import TwoThirdsMajority


class Offence(ChoiceKind):
    name = "offence"
    title = "Offence: does the caption hurt somebody?"
    values = (0, 1)
    choices = (Choice(0, "No", "0"), Choice(1, "Yes", "1"))
    defaults = {"question": "Does this caption hurt somebody?"}
    page = Page("annotation/kinds/offence.html")
    aggregation = TwoThirdsMajority()

    def draw_batch(self, design: StudyDesign, material: Material) -> Batch:
        units = [
            UnitSpec(key=content_key("unit", self.name, design.seed, text.key), image=image.name, first=text)
            for image in divide_images(design, material).judged_images
            for text in image.references
        ]
        return Batch(hits=self.hits(design, [Group(unit.image, (unit,)) for unit in units]))

    def present_unit(self, unit: Any, *, side: str, picture_url: Any) -> dict[str, Any]:
        return {"caption": {"text": unit.first.text}}
