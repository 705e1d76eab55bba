"""The functions by which a kind makes its control items, and the items whose right answer a designer knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from common.texts import one_text
from judgments.drawing.keys import text_key
from judgments.drawing.material import Group, Image, Material, Text

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign


# kinds of control items (``controls.kinds``)
REFERENCE, DEGRADED, REPEATED, KNOWN_GOOD = "reference", "degraded", "repeated", "known-good"

SPLIT_CONTROLS = (REFERENCE, DEGRADED)  # the kinds that are made from images that are not judged


@dataclass(frozen=True, slots=True)
class ControlSlot:
    """The place of a control item, and what it is drawn from.

    Attributes:
        position: a text that distinguishes this place from others, such as "3.0" for the first control item of page 3;
            it is a part of the item's key.
        images: the images of the control split, which are not judged.
        rng: the random stream for the texts of the item.
    """

    design: StudyDesign
    position: str
    images: Sequence[Image]
    rng: np.random.Generator


MakeControl = Callable[[ControlSlot, Image], Group]

MakeOptionalControl = Callable[[ControlSlot, Image], Group | None]


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item of ``controls.known`` in a study file: texts for which the study's owner knows the right answer.

    Attributes:
        number: the position in the file, from 1.
        reference, first, second: the texts that are shown; None if the kind shows fewer.
        expected: the right answer, or range of answers.
        explanation: why the answer is right, for workers who answered otherwise.
    """

    number: int
    image: Image
    reference: Text | None
    first: Text | None
    second: Text | None
    expected: Any
    explanation: str


MakeKnownControl = Callable[[ControlSlot, Sequence[KnownItem]], Group]


@dataclass(frozen=True, slots=True)
class ControlMakers:
    """The functions by which a kind makes control items; None for items that it does not support.

    Attributes:
        reference: a function that makes an item with a reference; also used for quizzes.
        degraded: a function that makes an item with a damaged caption; it returns None if that is impossible.
        known_good: a function that makes items from the known items of the study file.
        groups_known_items: whether the known items of an image form one group.
        min_references: number of references that an image needs for a control item.
        quiz_usable: a function that returns whether an image can be in a quiz. By default it needs two references,
            since a triplet shows one and has another as the right candidate.
    """

    reference: MakeControl | None = None
    degraded: MakeOptionalControl | None = None
    known_good: MakeKnownControl | None = None
    groups_known_items: bool = False
    min_references: int = 1
    quiz_usable: Callable[[Image], bool] = lambda image: len(image.references) > 1


def resolve_known_items(items: Sequence[Any], material: Material) -> list[KnownItem]:
    """Return the known items of a study file, with their texts and images from the dataset.

    Raises:
        DesignError: an image is not in the dataset.
    """
    images = {image.name: image for image in material.images}
    texts_of_dataset = texts_by_wording(material.images) if items else {}
    known_items = []
    for number, item in enumerate(items, start=1):
        image = images.get(item.image)
        if image is None:
            raise DesignError(
                gettext(
                    "controls.known: item %(number)s names item %(image)r, but dataset %(name)r "
                    "has no such item."
                )
                % {"number": number, "image": item.image, "name": material.name},
                field="controls.known",
            )
        # of several texts with the same wording, prefer the image's own
        texts = texts_of_dataset | texts_by_wording([image])
        reference, first, second = (
            _find_or_make_text(text, texts) for text in (item.reference, item.first, item.second)
        )
        known_items.append(KnownItem(number, image, reference, first, second, item.expected, item.why))
    return known_items


def _find_or_make_text(text: str, texts: Mapping[str, Text]) -> Text | None:
    """Return the dataset's text with this wording, or else a new text; None for ""."""
    if not text:
        return None
    return texts.get(one_text(text)) or Text(text_key(text), text)


def texts_by_wording(images: Sequence[Image]) -> dict[str, Text]:
    """Return all texts of the images by their normal form, such as "A dog" for " A dog ".

    If a reference and a candidate have the same normal form, return the reference.
    """
    outputs: dict[str, Text] = {}
    references: dict[str, Text] = {}
    for image in images:
        outputs.update((one_text(text.text), text) for _system, text in image.outputs)
        references.update((one_text(text.text), text) for text in image.references)
    return outputs | references


def known_item_error(item: KnownItem, expected: str) -> DesignError:
    """Return the error about a known item. ``expected`` continues the sentence that begins with "item 3"."""
    return DesignError(
        gettext("controls.known: item %(number)s %(expected)s.")
        % {"number": item.number, "expected": expected},
        field="controls.known",
    )
