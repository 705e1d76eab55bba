"""Format numbers in templates, and show the forms of operations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from django import template
from django.template.context import RequestContext
from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from rest_framework import serializers

from common import amounts
from common.texts import readable
from judgments.jobs.words import describe_note, describe_work
from judgments.models import Study

ENDS = ("low", "high")

register = template.Library()

# The control of each type of field; the first that fits, "text" for all others.
INPUTS: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], str], ...] = (
    (serializers.BooleanField, "checkbox"),
    (serializers.IntegerField, "number"),
    (serializers.FloatField, "decimal"),
    (serializers.ChoiceField, "select"),
)


def _is_number(value: Any) -> bool:
    """Return whether a value is a number; templates pass '' for missing ones."""
    return isinstance(value, int | float) and math.isfinite(value)


@register.filter
def file_size(size: int) -> str:
    """Format as 1.2 MB, with a point as all numbers on staff's pages."""
    return str(filesizeformat(size)).replace(",", ".")


@register.filter
def thousands(value: Any) -> str:
    """Format as 12,345, or a dash."""
    whole = isinstance(value, float) and value.is_integer()  # as JSON may hand a count back
    return amounts.thousands(int(value) if whole else value) if _is_number(value) else "–"


@register.filter
def coefficient(value: Any, digits: int = 2) -> str:
    """Format as .62, -.05, 1.00, or a dash."""
    return amounts.coefficient(value, digits) if _is_number(value) else "–"


@register.filter
def p_value(value: Any, equals: str = "") -> str:
    """Format as .047, behind `equals`, as < .001, or as a dash."""
    if not _is_number(value):
        return "–"
    return "< .001" if value < 0.0005 else equals + f"{value:.3f}".removeprefix("0")


@register.filter
def is_markup(value: Any) -> bool:
    return isinstance(value, SafeString)


@register.filter
def cents(value: Any, currency: str = "") -> str:
    """Format cents as 12.30 USD, or a dash."""
    if not isinstance(value, int):
        return "–"
    amount = f"{'-' if value < 0 else ''}{amounts.thousands(abs(value) // 100)}.{abs(value) % 100:02d}"
    return f"{amount}\N{NO-BREAK SPACE}{currency}" if currency else amount


@register.filter
def percent(value: Any, unit: str = "%") -> str:
    """Format a share as 62 %, without `unit` as 62, or as a dash."""
    return amounts.percent(value)[: None if unit else -2] if _is_number(value) else "–"


@register.filter
def interval(figure: Any, shows: Any = 2) -> str:
    """Format the ends of a mapping's or an object's interval as [.58, .66], as "percent", or as a dash."""
    get = figure.get if isinstance(figure, Mapping) else lambda end: getattr(figure, end, None)
    low, high = (percent(get(end)) if shows == "percent" else coefficient(get(end), shows) for end in ENDS)
    return "–" if "–" in (low, high) else f"[{low}, {high}]"


@register.filter
def hours(value: float) -> str:
    """Format a duration: "about 3 h 10 min"."""
    minutes = value * 60
    if minutes < 1:
        return gettext("under a minute")
    if minutes < 60:
        return gettext("about %(n)s min") % {"n": f"{minutes:.0f}"}
    whole, rest = divmod(round(minutes / 5) * 5, 60)
    if whole >= 20 or not rest:
        return gettext("about %(n)s h") % {"n": amounts.thousands(round(value))}
    return gettext("about %(hours)s h %(minutes)s min") % {"hours": whole, "minutes": rest}


register.filter("describe_note", describe_note)
register.filter("readable", readable)
register.filter("describe_work", describe_work)


@register.inclusion_tag("judgments/parts/step_form.html", takes_context=True)
def step_form(
    context: RequestContext,
    name: str,
    title: str,
    help: str = "",
    button: str = "",
    opened: bool = False,
    reason: bool = False,
    **begin: Any,
) -> dict[str, Any]:
    """Return the form of a step, folded until it is opened or was refused.

    Args:
        button: a class of the button.
        reason: whether the form itself shows why it was refused.
        begin: initial values other than ``initial``; a page's context may have them in ``begin``, by step.
    """
    step = context["steps"][name]
    refusal = context.get("refusal")
    sent = refusal.sent if refusal is not None and refusal.step == name else None
    fields = step.form.parameters().fields
    begin = (context.get("begin") or {}).get(name, {}) | begin
    return {
        "study": context["study"],
        "page": context["active_page"],
        "csrf_token": context["csrf_token"],
        "step": step,
        "title": title,
        "help": help,
        "button": button,
        "opened": opened or sent is not None,
        "currency": context.get("currency", ""),
        "reason": refusal.sentence if reason and refusal is not None and refusal.step == name else "",
        "hidden": {name: begin[name] for name in step.form.hidden},
        "inputs": [
            _input(
                context["study"],
                fields[name],
                begin | (sent or {}),
                sent is None,
                required=fields[name].required or name in step.form.needed,
            )
            for name in step.form.fields
        ],
    }


def _input(
    study: Study,
    field: serializers.Field[Any, Any, Any, Any],
    begin: Mapping[str, Any],
    fresh: bool,
    *,
    required: bool,
) -> dict[str, Any]:
    name = str(field.style.get("name", field.field_name))
    initial = field.get_initial() if fresh else ""
    value = begin.get(name, initial)
    multiline = field.style.get("base_template") == "textarea.html"
    kind = next((kind for known, kind in INPUTS if isinstance(field, known)), "text")
    declared = field.style.get("choices", ())
    kind = field.style.get("kind", "ticks" if declared else kind)
    if kind == "ticks" and isinstance(value, str):
        value = value.split(",")
    choices = declared(study) if callable(declared) else declared or getattr(field, "choices", {}).items()
    return {
        "field": field,
        "name": name,
        "label": gettext(str(field.label)),
        "help": gettext(str(field.help_text or "")),
        "kind": "textarea" if multiline else kind,
        "choices": [(value, gettext(str(label))) for value, label in choices],
        "required": required,
        "value": "" if value in (None, []) else value,
    }
