"""Format numbers: thousands separators, coefficients without leading zero, durations."""

from __future__ import annotations

import math
from typing import Any

from django import template
from django.utils.safestring import SafeString

register = template.Library()


def _is_number(value: Any) -> bool:
    """Templates pass '' for missing values."""
    return isinstance(value, int | float) and math.isfinite(value)


@register.filter
def thousands(value: Any) -> str:
    """Format as 12,345, or a dash."""
    whole = isinstance(value, float) and value.is_integer()  # as JSON may hand a count back
    return f"{int(value) if whole else value:,}" if _is_number(value) else "–"


@register.filter
def coefficient(value: Any) -> str:
    """Format as .62, -.05, 1.00, or a dash."""
    if not _is_number(value):
        return "–"
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


@register.filter
def is_markup(value: Any) -> bool:
    return isinstance(value, SafeString)


@register.filter
def cents(value: Any) -> str:
    """Format cents as 12.30, or a dash."""
    if not isinstance(value, int):
        return "–"
    return f"{'-' if value < 0 else ''}{abs(value) // 100:,}.{abs(value) % 100:02d}"


@register.filter
def percent(value: Any) -> str:
    """Format a share as 62 %, or a dash."""
    return f"{100 * value:.0f} %" if _is_number(value) else "–"


@register.filter
def hours(value: float) -> str:
    """Format a duration: "about 3 h 10 min"."""
    minutes = value * 60
    if minutes < 1:
        return "under a minute"
    if minutes < 60:
        return f"about {minutes:.0f} min"
    whole, rest = divmod(round(minutes / 5) * 5, 60)
    if whole >= 20 or not rest:
        return f"about {value:,.0f} h"
    return f"about {whole} h {rest} min"
