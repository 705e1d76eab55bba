"""Figures in words and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def coefficient(value: float | None) -> str:
    """Two digits without the leading zero."""
    if value is None:
        return "–"
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def with_interval(figure: Mapping[str, Any]) -> str:
    """``.62 [.58, .66]``; a dash where undefined."""
    if figure["value"] is None:
        return "–"
    return f"{coefficient(figure['value'])} [{coefficient(figure['low'])}, {coefficient(figure['high'])}]"


def percent(share: float | None) -> str:
    """A share as a percentage with one digit."""
    return "–" if share is None else f"{100 * share:.1f} %"
