"""Times and sums in words."""

from __future__ import annotations


def spell_duration(seconds: float) -> str:
    """A span of work: 'less than a minute', 'about 4 min', 'about 3 h 10 min'."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute"
    return f"about {_hours_and_minutes(minutes)}"


def spell_left(seconds: float) -> str:
    """What is left of a lease: '52 min left', '3 h 10 min left', '6 days left'. Rounded down."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return "less than a minute left"
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60)} days left"
    return f"{_hours_and_minutes(minutes)} left"


def spell_pay(cents: int) -> str:
    """What a page of work pays, in cents of whatever the designer pays in; '' for nothing."""
    if not cents:
        return ""
    return "1 cent a page of work" if cents == 1 else f"{cents} cents a page of work"


def spell_count(count: int, one: str, many: str) -> str:
    """'1 sentence', '20 sentences'."""
    return f"{count} {one if count == 1 else many}"


def _hours_and_minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours} h {rest} min" if rest else f"{hours} h"
