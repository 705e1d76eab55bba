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
    """A worked example. ``texts`` are pairs of a letter and a text; ``explanation`` is HTML."""

    picture: str
    scene: str
    texts: tuple[tuple[str, str], ...]
    answer: str
    explanation: SafeString | str


def worked_examples(study: Study, design: StudyDesign) -> list[WorkedExample]:
    """Return the worked examples of a study, with pictures at addresses that its workers can open."""
    addresses = {
        number: small_address(item, reverse("annotation:example-picture", args=[study.slug, number]))
        if item.picture
        else item.url
        for number, item in _example_items(study.dataset_id, design).items()
    }
    return _build_examples(design, addresses)


def preview_examples(dataset: Dataset, design: StudyDesign) -> list[WorkedExample]:
    items = _example_items(dataset.pk, design)
    return _build_examples(
        design, {number: small_address(item, preview_picture_url(item)) for number, item in items.items()}
    )


def _build_examples(design: StudyDesign, addresses: dict[int, str]) -> list[WorkedExample]:
    letters = KINDS[design.protocol].for_design(design).page.letters
    return [
        WorkedExample(
            picture=addresses.get(number, ""),
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
    if not 1 <= number <= len(design.examples) or not design.examples[number - 1].image:
        return None
    return Item.objects.filter(dataset_id=study.dataset_id, name=design.examples[number - 1].image).first()
