"""Numbers as a reader expects them: thousands apart, no leading zero on a coefficient, times in words."""

from __future__ import annotations

import math
from typing import Any

from django import template

register = template.Library()


@register.filter
def thousands(value: Any) -> str:
    """12,345; a dash for nothing."""
    return "–" if value is None else f"{value:,}"


@register.filter
def coefficient(value: Any) -> str:
    """.62 for 0.62, -.05, 1.00; a dash where there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


@register.filter
def percent(value: Any) -> str:
    """62 % for 0.62; a dash for nothing."""
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.0f} %"


@register.filter
def percent_fine(value: Any) -> str:
    """71.8 % for 0.718; a dash for nothing."""
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.1f} %"


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


@register.filter
def item(table: Any, key: Any) -> Any:
    """An entry of a mapping; None where there is none."""
    return table.get(key) if hasattr(table, "get") else None
