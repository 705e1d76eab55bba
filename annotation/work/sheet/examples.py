"""The worked examples of a design, as pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from django.urls import reverse
from django.utils.safestring import SafeString

from annotation.work.sheet.pictures import preview_picture_url
from annotation.work.sheet.texts import translated_text
from common.markup import render_markdown
from judgments.datasets.scaling import small_address
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS
from judgments.models import Dataset, Item, Study


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A worked example.

    Attributes:
        picture: the address of a picture; "" for none.
        scene: a text that describes what is shown.
        texts: pairs of a letter and a text, such as ("B", "a dog runs"). For kinds without letters, the letter is "".
        explanation: why this is the answer, as HTML; "" for none.
    """

    picture: str
    scene: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    explanation: SafeString | str


def worked_examples(study: Study, design: StudyDesign) -> list[WorkedExample]:
    """Return the worked examples of a study, with pictures at addresses that its workers can open."""
    picture_addresses: dict[int, str] = {}
    for number, item in _example_items(study.dataset_id, design).items():
        picture_addresses[number] = item.url
        if item.picture:
            address = reverse("annotation:example-picture", args=[study.slug, number])
            picture_addresses[number] = small_address(item, address)
    return _build_examples(design, picture_addresses)


def preview_examples(dataset: Dataset, design: StudyDesign) -> list[WorkedExample]:
    """Return the worked examples of a design, with pictures at addresses that its designers can open."""
    items = _example_items(dataset.pk, design)
    return _build_examples(
        design, {number: small_address(item, preview_picture_url(item)) for number, item in items.items()}
    )


def _build_examples(design: StudyDesign, picture_addresses: dict[int, str]) -> list[WorkedExample]:
    """Return the worked examples. The addresses are by the number of the example, from 1."""
    letters = KINDS[design.protocol].for_design(design).page.letters
    return [
        WorkedExample(
            picture=picture_addresses.get(number, ""),
            scene=translated_text(example.scene),
            texts=tuple(zip_longest(letters[: len(example.shown)], example.shown, fillvalue="")),
            answer=translated_text(example.answer),
            explanation=render_markdown(translated_text(example.why)) if example.why else "",
        )
        for number, example in enumerate(design.examples, start=1)
    ]


def _example_items(dataset_id: int, design: StudyDesign) -> dict[int, Item]:
    """Return the items of worked examples by the number of the example, from 1."""
    item_names = {
        number: example.image for number, example in enumerate(design.examples, start=1) if example.image
    }
    if not item_names:
        return {}
    rows = Item.objects.filter(dataset_id=dataset_id, name__in=set(item_names.values()))
    items = {item.name: item for item in rows}
    return {number: items[name] for number, name in item_names.items() if name in items}


def example_item(study: Study, design: StudyDesign, number: int) -> Item | None:
    """Return the item of a worked example by the example's number, from 1; None if there is none."""
    if not 1 <= number <= len(design.examples) or not design.examples[number - 1].image:
        return None
    return Item.objects.filter(dataset_id=study.dataset_id, name=design.examples[number - 1].image).first()
