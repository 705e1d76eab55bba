"""Figures and tables of ours on a page: what draws them escapes every word that it was given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.cache import cache
from django.utils.safestring import SafeString, mark_safe

from judgments.draws import content_key

DAY = 86_400


def drawn(markup: str) -> SafeString:
    """SVG or HTML that ``evaluation.figures`` or ``evaluation.reports`` made, for a template to show as it is."""
    return mark_safe(markup)  # noqa: S308  # its makers escape what people wrote


def drawn_once(draw: Callable[..., str], *of: Any) -> str:
    """``draw(*of)``, or what it drew of equal values before: drawing takes longer than all else on a page.

    Args:
        draw: gives an SVG that follows from its arguments alone.
        of: JSON values.
    """
    key = f"quorum-drawing-{draw.__name__}-{content_key(*of)}"
    kept: str | None = cache.get(key)
    if kept is None:
        kept = draw(*of)
        cache.set(key, kept, DAY)
    return kept
