"""Numbers as a reader expects them: thousands apart, no leading zero on a coefficient, times in words."""

from __future__ import annotations

import math
from typing import Any

from django import template
from django.utils.safestring import SafeString

register = template.Library()


def _is_number(value: Any) -> bool:
    """A template hands over '' for what is not there."""
    return isinstance(value, int | float) and math.isfinite(value)


@register.filter
def thousands(value: Any) -> str:
    """12,345; a dash for nothing."""
    whole = isinstance(value, float) and value.is_integer()  # as JSON may hand a count back
    return f"{int(value) if whole else value:,}" if _is_number(value) else "–"


@register.filter
def coefficient(value: Any) -> str:
    """.62 for 0.62, -.05, 1.00; a dash where there is no number."""
    if not _is_number(value):
        return "–"
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


@register.filter
def is_markup(value: Any) -> bool:
    """Whether it is HTML already, to be shown as it is."""
    return isinstance(value, SafeString)


@register.filter
def cents(value: Any) -> str:
    """12.30 for 1230 cents; a dash for nothing."""
    if not isinstance(value, int):
        return "–"
    return f"{'-' if value < 0 else ''}{abs(value) // 100:,}.{abs(value) % 100:02d}"


@register.filter
def percent(value: Any) -> str:
    """62 % for 0.62; a dash for nothing."""
    return f"{100 * value:.0f} %" if _is_number(value) else "–"


@register.filter
def hours(value: float) -> str:
    """A stretch of time in words: "about 3 h 10 min"."""
    minutes = value * 60
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"about {minutes:.0f} min"
    whole, rest = divmod(round(minutes / 5) * 5, 60)
    if whole >= 20 or not rest:
        return f"about {value:,.0f} h"
    return f"about {whole} h {rest} min"
