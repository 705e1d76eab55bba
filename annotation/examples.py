"""The worked examples of a study as its pages show them: before the work, and in its panel of instructions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from django.urls import reverse
from django.utils.safestring import SafeString

from annotation.pictures import preview_picture_url
from annotation.wording import worded
from judgments.design import StudyDesign
from judgments.kinds import KINDS
from judgments.markup import render_markdown
from judgments.models import Dataset, Item, Study


@dataclass(frozen=True, slots=True)
class Worked:
    """A worked example.

    Attributes:
        picture: address of its picture; '' where it has none.
        scene: what the picture shows, in words.
        texts: (letter, text) of what stands there, the letter as on the page of work; '' where there is none.
        answer: the right answer.
        why: the reason, as HTML.
    """

    picture: str
    scene: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    why: SafeString | str


def worked_examples(study: Study, design: StudyDesign) -> list[Worked]:
    """In the order of the design; one query where an example names an image."""
    return _worked(design, _pictures(study, design))


def sketched_examples(dataset: Dataset, design: StudyDesign) -> list[Worked]:
    """The same for staff, of a design that no study has yet."""
    named = {number: one.image for number, one in enumerate(design.examples, start=1) if one.image}
    rows = Item.objects.filter(dataset=dataset, name__in=set(named.values())) if named else []
    addresses = {item.name: preview_picture_url(item) for item in rows}
    return _worked(design, {number: addresses.get(name, "") for number, name in named.items()})


def _worked(design: StudyDesign, addresses: dict[int, str]) -> list[Worked]:
    letters = KINDS[design.protocol].letters
    return [
        Worked(
            picture=addresses.get(number, ""),
            scene=worded(example.scene),
            texts=tuple(zip_longest(letters[: len(example.shown)], example.shown, fillvalue="")),
            answer=worded(example.answer),
            why=render_markdown(worded(example.why)) if example.why else "",
        )
        for number, example in enumerate(design.examples, start=1)
    ]


def _pictures(study: Study, design: StudyDesign) -> dict[int, str]:
    """Where the picture of each example is that has one, by the example's number."""
    named = {number: one.image for number, one in enumerate(design.examples, start=1) if one.image}
    if not named:
        return {}
    rows = Item.objects.filter(dataset_id=study.dataset_id, name__in=set(named.values()))
    items = {item.name: item for item in rows}
    return {
        number: reverse("annotation:example-picture", args=[study.slug, number])
        if items[name].picture
        else items[name].url
        for number, name in named.items()
        if name in items
    }


def example_item(study: Study, design: StudyDesign, number: int) -> Item | None:
    """The image of the example of that number, from 1; None where it names none."""
    if not 1 <= number <= len(design.examples) or not design.examples[number - 1].image:
        return None
    return Item.objects.filter(dataset_id=study.dataset_id, name=design.examples[number - 1].image).first()
