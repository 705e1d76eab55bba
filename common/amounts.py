"""Format numbers for sentences, tables and JSON: counts, shares, coefficients, intervals, p, durations and money.

Money is stored in whole cents and typed as 1.50.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from django import forms
from django.utils.formats import number_format
from django.utils.translation import get_language, gettext

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

CENT = Decimal("0.01")
DASH = "–"
MIN_P_SHOWN = 0.001
NO_BREAK = "\N{NO-BREAK SPACE}"  # between a number and its unit


def thousands(number: float) -> str:
    """Format a number as 12,345. Languages in which the comma is the decimal sign have a space instead."""
    text = f"{number:,}"
    is_english = (get_language() or "en").startswith("en")
    return text if is_english else text.replace(",", "\N{NARROW NO-BREAK SPACE}")


def percent(share: float, digits: int = 0) -> str:
    """Format a share as 62 %."""
    return f"{percent_number(share, digits)}{NO_BREAK}%"


def percent_number(share: float, digits: int = 0) -> str:
    return f"{100 * share:z.{digits}f}"  # z: no "-0"


def coefficient(value: float, digits: int = 2) -> str:
    """Format a coefficient as .62, -.05 or 1.00. Omit a leading zero, and the minus sign if it rounds to 0."""
    text = f"{value:z.{digits}f}"  # z: no "-0.00"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def metric_score(value: float) -> str:
    """Format the score of a metric with three digits, as is usual in papers on captioning."""
    return coefficient(value, 3)


def p_value(p: float) -> str:
    """Format p as in APA 7, §6.36."""
    if not math.isfinite(p):
        return DASH
    if p < MIN_P_SHOWN:
        return f"<{NO_BREAK}.001"
    if p > 1 - MIN_P_SHOWN:
        return f">{NO_BREAK}.999"
    return f"{p:.3f}".removeprefix("0")


def p_in_text(p: float) -> str:
    """Format p for a sentence, such as p < .001 or p = .013."""
    text = p_value(p)
    return f"p {text}" if text.startswith(("<", ">")) else f"p = {text}"


def interval_in_table(low: Any, high: Any, format_value: Callable[[Any], str] = coefficient) -> str:
    """Format an interval as [.58, .66]."""
    return f"[{format_value(low)}, {format_value(high)}]"


def interval_in_text(figure: Mapping[str, Any], format_value: Callable[[float], str] = coefficient) -> str:
    """Format an interval for a sentence, such as .58 to .66, or 58 to 66 %.

    Args:
        figure: a figure with the limits "low" and "high", which are None if the interval is undefined.
    """
    low, high = figure["low"], figure["high"]
    if low is None or high is None:
        return gettext("undefined")
    # only the upper limit gets the unit
    format_low = percent_number if format_value is percent else format_value
    return gettext("%(low)s to %(high)s") % {"low": format_low(low), "high": format_value(high)}


def describe_range(values: Sequence[float], format_value: Callable[[float], str] = coefficient) -> str:
    """Return the range of values in words, or a single value if both ends have the same text."""
    low, high = min(values), max(values)
    if format_value(low) == format_value(high):
        return format_value(high)
    return interval_in_text({"low": low, "high": high}, format_value)


def spell_number(value: float) -> str:
    """Format a number in the language of a participant, such as 97,5 in German. Staff pages always use a point."""
    return number_format(Decimal(f"{value:g}"))


def with_noun(n: int, noun: str) -> str:
    """Return a number with its English noun, such as ``1 pair`` or ``2 pairs``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def spell_seconds(seconds: float) -> str:
    """Format a duration as 90 s, 12 min or 2.5 h. Minutes begin at two minutes, hours at two hours."""
    if round(seconds / 60) >= 2 * 60:
        return f"{thousands(round(seconds / 3600, 1))} h".replace(".0 h", " h")
    return f"{seconds / 60:.0f} min" if round(seconds) >= 2 * 60 else f"{seconds:.0f} s"


def spell_hours(hours: float) -> str:
    """Format a duration, such as "about 3 h 10 min".

    Durations of 20 hours or more are rounded to hours, those from one hour on to 5 minutes, and shorter ones to
    minutes.
    """
    minutes = hours * 60
    if minutes < 1:
        return gettext("under a minute")
    if round(minutes) < 60:
        return gettext("about %(n)s min") % {"n": round(minutes)}
    whole_hours, rest_minutes = divmod(round(minutes / 5) * 5, 60)
    if whole_hours >= 20 or not rest_minutes:
        return gettext("about %(n)s h") % {"n": thousands(round(hours))}
    return gettext("about %(hours)s h %(minutes)s min") % {"hours": whole_hours, "minutes": rest_minutes}


def spell_cents(cents: int, currency: str = "") -> str:
    """Format cents for staff as 12.30, or as 12.30 USD."""
    amount = f"{'-' if cents < 0 else ''}{thousands(abs(cents) // 100)}.{abs(cents) % 100:02d}"
    return f"{amount} {currency}" if currency else amount


def spell_money(cents: int, currency: str) -> str:
    """Format cents like ``spell_amount``, but 0 as an empty text."""
    return spell_amount(cents, currency) if cents else ""


def spell_amount(cents: int, currency: str) -> str:
    """Format cents for participants in their language, such as 12.30 USD, or 12,30 USD in German."""
    return f"{number_format(Decimal(cents) / 100, decimal_pos=2)} {currency}".rstrip()


def spell_totals(amounts: Iterable[tuple[int, str]]) -> str:
    """Return the sum of amounts, which are pairs of cents and currency, in words. Each currency has its own sum."""
    totals: Counter[str] = Counter()
    for cents, currency in amounts:
        totals[currency] += cents
    return ", ".join(spell_amount(totals[currency], currency) for currency in sorted(totals))


class AmountField(forms.DecimalField):
    """A form field for an amount in whole cents, shown and typed as 1.50. ``unit`` is its currency."""

    def __init__(
        self,
        label: _StrOrPromise = "",
        help_text: _StrOrPromise = "",
        *,
        required: bool = False,
        unit: str = "",
        most_cents: int | None = None,
    ) -> None:
        # imported late, since commands on files run without settings
        from unfold.widgets import UnfoldAdminDecimalFieldWidget

        self.unit = unit
        super().__init__(
            label=label,
            help_text=help_text,
            required=required,
            min_value=0,
            max_value=None if most_cents is None else Decimal(most_cents) / 100,
            max_digits=14,
            decimal_places=2,
            widget=UnfoldAdminDecimalFieldWidget,
        )

    def prepare_value(self, value: Any) -> Any:
        return Decimal(value) * CENT if isinstance(value, int) else value  # an int is cents; a text was typed

    def clean(self, value: Any) -> Any:
        amount = super().clean(value)
        return None if amount is None else int(amount * 100)


def json_float(value: float | None) -> float | None:
    """Return a number for JSON. Undefined and infinite numbers become None (null)."""
    return float(value) if value is not None and math.isfinite(value) else None


def as_json(value: Any, *names: str) -> Any:
    """Return ``value`` as plain data for JSON, or a dict of only its fields ``names``.

    At any depth, dataclasses become dicts, arrays become lists, and undefined and infinite numbers become None. An
    object with a method ``as_json`` is replaced by the method's result.
    """
    if names:
        return {name: as_json(getattr(value, name)) for name in names}
    if type(value) is float:
        return json_float(value)
    if value is None or type(value) in (str, int, bool):
        return value
    if hasattr(value, "as_json"):
        return as_json(value.as_json())
    if is_dataclass(value):
        return {member.name: as_json(getattr(value, member.name)) for member in fields(value)}
    if isinstance(value, Mapping):
        return {key: as_json(member) for key, member in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [as_json(member) for member in value]
    return json_float(value) if isinstance(value, float) else value
