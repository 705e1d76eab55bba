"""Template tags for pages that show marked errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template

from contrib.error_spans.kind.answers import SEVERITY_KEYS, SEVERITY_WORDS, spans_with_offsets

register = template.Library()


@register.simple_tag
def severity_label(severity: str) -> str:
    return str(SEVERITY_WORDS[severity])


@register.simple_tag
def severity_key(severity: str) -> str:
    return SEVERITY_KEYS[severity].upper()  # the key of the keyboard


@register.simple_tag
def words_with_marks(content: Mapping[str, Any], answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the words of a text, each with the first mark that covers a part of it, for the form without scripts.

    ``content`` is from ``SpanAnnotation.present_unit``; its "words" are the offsets (start, end) of each word.
    """
    text, spans = content["caption"]["text"], spans_with_offsets(answer["spans"]) if answer else []
    words_of_text = []
    for index, (start, end) in enumerate(content["words"]):
        mark = next((span for span in spans if span["start"] < end and start < span["end"]), {})
        words_of_text.append({**mark, "index": index, "text": text[start:end]})
    return words_of_text


@register.simple_tag
def missing_part_mark(answer: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the first mark for a missing part of the text, which has no offsets; {} if there is none."""
    return next((span for span in answer["spans"] if span["start"] is None), {}) if answer else {}
