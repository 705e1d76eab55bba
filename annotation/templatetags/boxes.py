"""Boxes over a picture in templates: places as SVG takes them, and the box a word was linked to."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from django import template

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """A share of a side as SVG writes it, in every language the same: 0.25 is "25%"."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


@register.filter
def box_of(answer: Sequence[Mapping[str, Any]] | None, word: int) -> str:
    """The id of the box that ``word`` was linked to in a saved answer; '' where there is none."""
    return next((str(link["box"]) for link in answer or () if link["word"] == word), "")


@register.filter
def largest_first(boxes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The order of drawing: a small box lies on top of a large one, so that it can be pointed at."""
    return sorted(boxes, key=lambda box: -box["width"] * box["height"])


@register.filter
def direction(text: str) -> str:
    """How a text runs, rtl or ltr, by its first letter that has a direction: for words that are shown one by one, each
    isolated, where dir="auto" finds no letters to go by."""
    for letter in text:
        found = unicodedata.bidirectional(letter)
        if found in ("L", "R", "AL"):
            return "ltr" if found == "L" else "rtl"
    return "ltr"
