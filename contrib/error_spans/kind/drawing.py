"""Draw the texts whose errors are marked: single texts, or two texts of an item side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import pgettext

from common.errors import DesignError
from contrib.error_spans.kind.screens import TEXTS_PER_SCREEN, describe_screens, join_on_screen, screen_count
from judgments.design.study_design import StudyDesign
from judgments.drawing.draws import rng_for, shuffle
from judgments.drawing.image_captions import draw_captions
from judgments.drawing.keys import content_key, content_keys
from judgments.drawing.material import SCREENS, Batch, Group, Image, Material, Text, UnitSpec
from judgments.kinds.base import Kind

KIND_NAME = "spans"


def draw_texts(kind: Kind, design: StudyDesign, material: Material) -> Batch:
    """Draw single texts or, if the design asks for it, two texts of an item side by side."""
    draw = draw_captions(design, material, partial(unit_keys_of_texts, design))  # keys for `sampling.only`
    groups = []
    for captions in draw.images:
        image = captions.image
        judged_texts = captions.judged_texts(
            rng_for(design.seed, f"captions {image.name}"), rng_for(design.seed, f"audited {image.name}")
        )
        units = [make_text_unit(design, image, text, audited=is_audited) for text, is_audited in judged_texts]
        groups += [
            Group(image.name, units_on_screen)
            for units_on_screen in _group_by_screen(design, image.name, units)
        ]
    hits = kind.hits(design, groups, control_images=draw.division.control_images)
    if not design.spans.contrastive:
        return Batch(hits=hits, notes=draw.notes)
    sentences = [*draw.notes.get("sentences", []), *describe_screens(design, hits)]
    return Batch(  # the largest number of screens on a page is shown to participants
        hits=hits, notes={**draw.notes, "sentences": sentences, SCREENS: max(map(screen_count, hits))}
    )


def _group_by_screen(design: StudyDesign, item: str, units: Sequence[UnitSpec]) -> list[tuple[UnitSpec, ...]]:
    """Return an item's units by screen: one each or, for texts side by side, two random ones (a last one alone)."""
    if not design.spans.contrastive:
        return [(unit,) for unit in units]
    shuffled_units = shuffle(units, rng_for(design.seed, f"screens {item}"))
    return [
        join_on_screen(shuffled_units[start : start + TEXTS_PER_SCREEN])
        for start in range(0, len(shuffled_units), TEXTS_PER_SCREEN)
    ]


def unit_keys_of_texts(design: StudyDesign, image: Image, texts: Sequence[Text]) -> list[str]:
    """Return the keys of the units in which an item's texts are judged."""
    return content_keys("unit", KIND_NAME, design.seed, image.name, last=[text.key for text in texts])


def make_text_unit(
    design: StudyDesign,
    image: Image,
    text: Text,
    *,
    audited: bool = False,
    content: Mapping[str, Any] | None = None,
) -> UnitSpec:
    """Return the unit in which the errors of a text are marked.

    Args:
        audited: whether the text is kept only to audit the filter of the design.
        content: the content of the unit, which has the text's place in a document under the key "document"
            (``DocumentPlace``); None if no documents are judged.

    Raises:
        DesignError: the design shows references, and the item has none.
    """
    (key,) = unit_keys_of_texts(design, image, [text])
    if content:  # versions of a document can have texts in common, but each has units of its own
        key = content_key(key, content["document"]["name"])
    optional_fields: dict[str, Any] = {"content": content} if content else {}
    if design.spans.reference:
        if not image.references:
            raise DesignError(
                pgettext(
                    "staff",
                    "spans.reference is true, but item %(name)r has no reference; expected "
                    "spans.reference = false.",
                )
                % {"name": image.name},
                field="spans.reference",
            )
        optional_fields["reference"] = image.references[0]
    return UnitSpec(key=key, image=image.name, first=text, audited=audited, **optional_fields)
