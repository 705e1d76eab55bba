"""A saved answer of keywords in templates: what was typed, and what was ticked."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from judgments.drawing.phrases import phrase
from judgments.kinds.keywords import MISSING, PHRASE

register = template.Library()


@register.filter
def typed(answer: Sequence[str] | None, collocations: Sequence[str]) -> str:
    """The keywords that are no collocation on offer, as the plain form's field holds them."""
    offered = {phrase(one) for one in collocations}
    return ", ".join(one for one in answer or () if phrase(one) not in offered)


@register.filter
def holds(answer: Sequence[str] | None, collocation: str) -> bool:
    """Whether a collocation is among the keywords."""
    return phrase(collocation) in {phrase(one) for one in answer or ()}


@register.simple_tag
def said_of(what: str) -> str:
    """The sentence for a word that is "missing" from the text, or for a "phrase" that is not on offer, with {word} for
    the page's script."""
    return str({"missing": MISSING, "phrase": PHRASE}[what]) % {"word": "{word}"}
