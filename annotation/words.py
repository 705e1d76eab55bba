"""Times and sums in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.amounts import thousands


def spell_duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return _("less than a minute")
    return _("about %(time)s") % {"time": _hours_and_minutes(minutes)}


def spell_seconds(seconds: float) -> str:
    if seconds >= 2 * 3600:
        return f"{thousands(round(seconds / 3600, 1))} h".replace(".0 h", " h")
    return f"{seconds / 60:.0f} min" if seconds >= 2 * 60 else f"{seconds:.0f} s"


def spell_left(seconds: float) -> str:
    """Return the rest of a lease, rounded down."""
    minutes = int(seconds // 60)
    if minutes < 1:
        return _("less than a minute left")
    if minutes >= 2 * 24 * 60:
        return _("%(days)d days left") % {"days": minutes // (24 * 60)}
    return _("%(time)s left") % {"time": _hours_and_minutes(minutes)}


def spell_pay(cents: int, currency: str) -> str:
    if not cents:
        return ""
    pay = ngettext("%(cents)d cent a page of work", "%(cents)d cents a page of work", cents) % {
        "cents": cents
    }
    return f"{pay} ({currency})" if currency else pay


def spell_cents(cents: int, currency: str = "") -> str:
    """Format cents for a sentence: 12.30, or 12.30 USD."""
    amount = f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"
    return f"{amount} {currency}" if currency else amount


def spell_money(cents: int, currency: str) -> str:
    return spell_amount(cents, currency) if cents else ""


def spell_amount(cents: int, currency: str) -> str:
    return f"{number_format(Decimal(cents) / 100, decimal_pos=2)} {currency}".rstrip()


def spell_totals(amounts: Iterable[tuple[int, str]]) -> str:
    """Add up amounts in cents, each currency by itself."""
    totals: Counter[str] = Counter()
    for cents, currency in amounts:
        totals[currency] += cents
    return ", ".join(spell_amount(totals[currency], currency) for currency in sorted(totals))


def _hours_and_minutes(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    if not hours:
        return _("%(minutes)d min") % {"minutes": rest}
    both = {"hours": hours, "minutes": rest}
    return _("%(hours)d h %(minutes)d min") % both if rest else _("%(hours)d h") % both
