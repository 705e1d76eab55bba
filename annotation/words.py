"""Times and sums in words, in the reader's language."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext


def spell_duration(seconds: float) -> str:
    """A span of work: 'less than a minute', 'about 4 min', 'about 3 h 10 min'."""
    minutes = round(seconds / 60)
    if minutes < 1:
        return _("less than a minute")
    return _("about {time}").format(time=_hours_and_minutes(minutes))


def spell_left(seconds: float) -> str:
    """What is left of a lease: '52 min left', '3 h 10 min left', '6 days left'. Rounded down."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return _("less than a minute left")
    if minutes >= 2 * 24 * 60:
        return _("{days} days left").format(days=minutes // (24 * 60))
    return _("{time} left").format(time=_hours_and_minutes(minutes))


def spell_pay(cents: int) -> str:
    """What a page of work pays, in cents of whatever the designer pays in; '' for nothing."""
    if not cents:
        return ""
    words = ngettext("{cents} cent a page of work", "{cents} cents a page of work", cents)
    return words.format(cents=cents)


def spell_count(count: int, one: str, many: str) -> str:
    """'1 sentence', '20 sentences'."""
    return f"{count} {one if count == 1 else many}"


def _hours_and_minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return _("{minutes} min").format(minutes=rest)
    if not rest:
        return _("{hours} h").format(hours=hours)
    return _("{hours} h {minutes} min").format(hours=hours, minutes=rest)
