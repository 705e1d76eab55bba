"""Make control items: texts in which words are replaced by words of another item's text. Workers must mark these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from django.utils.translation import pgettext

from common.errors import DesignError
from common.texts import word_bounds
from contrib.error_spans.kind.screens import TEXTS_PER_SCREEN, join_on_screen
from judgments.drawing.controls.makers import DEGRADED, REFERENCE, ControlSlot
from judgments.drawing.draws import shuffle
from judgments.drawing.keys import candidate_key
from judgments.drawing.material import Group, Image, Text
from judgments.kinds.base import Kind

REPLACED_SHARE = 0.25  # share of a text's words that a control item replaces
MIN_DAMAGED = 2  # smallest number of words that a control item replaces
MIN_WORDS = 4  # smallest number of words of a text that can be damaged


def reference_control(kind: Kind, slot: ControlSlot, image: Image) -> Group:
    """Return a control item made from a person's text or, if none can be damaged, from a system's.

    Raises:
        DesignError: no text can be damaged.
    """
    texts_of_systems = [text for _, text in image.outputs]
    groups = (
        _damaged_control(kind, slot, image, texts, REFERENCE)
        for texts in (image.references, texts_of_systems)
        if texts
    )
    group = next((group for group in groups if group is not None), None)
    if group is None:
        raise DesignError(
            pgettext(
                "staff",
                "item %(name)r has no text that is long enough (number of words: at least %(least)d) to be degraded "
                "with words of other texts. No check question can be made from it; set controls.per_hit and "
                "quiz.items to 0.",
            )
            % {"name": image.name, "least": MIN_WORDS},
            field="controls.split",
        )
    return group


def degraded_control(kind: Kind, slot: ControlSlot, image: Image) -> Group | None:
    """Return a control item made from a system's text, else from a person's; None if no such text can be damaged."""
    texts = [text for _, text in image.outputs] or list(image.references)
    return _damaged_control(kind, slot, image, texts, DEGRADED)


def _damaged_control(
    kind: Kind, slot: ControlSlot, image: Image, texts: Sequence[Text], control_kind: str
) -> Group | None:
    """Return a control item in which adjacent words are replaced by another item's (Kocmi et al. 2024, section 3).

    If two texts are shown side by side, both are damaged, so that workers must read both. Return None if none can be.

    Args:
        slot: the place of the control item on a page of work, and what it is drawn from.
        texts: the texts to damage. If two are shown, and too few of these can be damaged, other texts of the image are.
        control_kind: DEGRADED or REFERENCE.
    """
    other_texts: list[Text] = []
    spans = slot.design.spans
    if spans.contrastive:  # different texts, since two equal texts would reveal what is damaged
        texts = _distinct_texts(texts)
        known_texts = {text.text for text in texts}
        other_texts = _distinct_texts(
            [text for text in _texts_of_image(image) if text.text not in known_texts]
        )
    damages: dict[str, tuple[Text, dict[str, Any]]] = {}
    for text, expected in chain(_damaged_texts(slot, image, texts), _damaged_texts(slot, image, other_texts)):
        damages.setdefault(text.key, (text, expected))
        if len(damages) == (TEXTS_PER_SCREEN if spans.contrastive else 1):
            break
    units = []
    for text, expected in damages.values():
        shown_texts: dict[str, Any] = {"first": text}
        if spans.reference and image.references:
            shown_texts["reference"] = image.references[0]
        # The key of the damaged text is a part of the control item's key.
        units.append(kind.control_unit(slot, image, (text.key,), expected, control_kind, **shown_texts))
    return Group(image.name, join_on_screen(units)) if units else None


def has_text_to_damage(image: Image) -> bool:
    """Return whether the image has a text that is long enough to be damaged."""
    return any(len(word_bounds(text.text)) >= MIN_WORDS for text in _texts_of_image(image))


def _texts_of_image(image: Image) -> list[Text]:
    return [*image.references, *(text for _, text in image.outputs)]


def _distinct_texts(texts: Sequence[Text]) -> list[Text]:
    return list({text.text: text for text in texts}.values())


def _damaged_texts(
    slot: ControlSlot, image: Image, texts: Sequence[Text]
) -> Iterator[tuple[Text, dict[str, Any]]]:
    """Yield the texts that can be damaged, damaged and in random order, each with its expected answer.

    The words that replace others are adjacent words of a text of another image. The expected answer names the
    characters that they cover, within which an error must be marked.
    """
    rng = slot.rng
    other_texts = [
        text.text for other in slot.images if other.name != image.name for text in _texts_of_image(other)
    ]
    for text in shuffle(texts, rng):
        word_count = len(word_bounds(text.text))
        if word_count < MIN_WORDS:
            continue
        replaced_count = max(MIN_DAMAGED, round(REPLACED_SHARE * word_count))
        start, end = _draw_phrase(text.text, replaced_count, rng)
        for other_text in shuffle(other_texts, rng):
            if len(word_bounds(other_text)) < replaced_count:
                continue
            phrase_start, phrase_end = _draw_phrase(other_text, replaced_count, rng)
            phrase = other_text[phrase_start:phrase_end]
            if phrase in text.text:
                continue
            damaged_text = text.text[:start] + phrase + text.text[end:]
            yield Text(candidate_key(damaged_text), damaged_text), {"within": [start, start + len(phrase)]}
            break


def _draw_phrase(text: str, word_count: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw adjacent words of a text. Return the offsets at which they start and end."""
    words = word_bounds(text)
    first_word = int(rng.integers(len(words) - word_count + 1))
    return words[first_word][0], words[first_word + word_count - 1][1]
