"""Template tags for saved answers of keywords."""

from __future__ import annotations

from collections.abc import Sequence

from django import template

from judgments.drawing.phrases import phrase
from judgments.kinds.keywords import MISSING, PHRASE

register = template.Library()


@register.filter
def typed(answer: Sequence[str] | None, collocations: Sequence[str]) -> str:
    """Return typed keywords, without offered collocations, as the form's text."""
    offered = {phrase(one) for one in collocations}
    return ", ".join(one for one in answer or () if phrase(one) not in offered)


@register.filter
def holds(answer: Sequence[str] | None, collocation: str) -> bool:
    return phrase(collocation) in {phrase(one) for one in answer or ()}


@register.simple_tag
def said_of(what: str) -> str:
    """Return the message about a "missing" word or an unknown "phrase", with {word} for the script."""
    return str({"missing": MISSING, "phrase": PHRASE}[what]) % {"word": "{word}"}
