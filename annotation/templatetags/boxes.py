"""Template tags for boxes over a picture."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """Return a share as an SVG length, independent of the language: 0.25 is "25%"."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


@register.filter
def box_of(answer: Sequence[Mapping[str, Any]] | None, word: int) -> str:
    return next((str(link["box"]) for link in answer or () if link["word"] == word), "")


@register.filter
def largest_first(boxes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the drawing order: small boxes on top of large ones, so that they can be clicked."""
    return sorted(boxes, key=lambda box: -box["width"] * box["height"])


@register.filter
def direction(text: str) -> str:
    """Return rtl or ltr by the first letter with a direction.

    Needed for isolated words, where dir="auto" may find no letters.
    """
    for letter in text:
        found = unicodedata.bidirectional(letter)
        if found in ("L", "R", "AL"):
            return "ltr" if found == "L" else "rtl"
    return "ltr"
