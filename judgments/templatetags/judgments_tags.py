"""Template filters of the staff pages, most of which format numbers, and a tag that shows the form of a step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from django import template
from django.template.context import RequestContext
from django.template.defaultfilters import filesizeformat
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from rest_framework import serializers

from common import amounts
from common.amounts import DASH
from common.features import declared_by_features
from common.texts import text_or_placeholder
from judgments.jobs.words import describe_note, describe_work
from judgments.models import Study

register = template.Library()

# The form control of each type of field. The first type that matches counts; other types have the control "text".
INPUT_KINDS: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], str], ...] = (
    (serializers.BooleanField, "checkbox"),
    (serializers.IntegerField, "number"),
    (serializers.FloatField, "decimal"),
    (serializers.ChoiceField, "select"),
)


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number. Templates pass "" for a missing value."""
    return isinstance(value, int | float) and math.isfinite(value)


@register.filter
def file_size(size: int) -> str:
    """Format a size in bytes, such as 1.2 MB. As on all staff pages, the decimal sign is a point."""
    return str(filesizeformat(size)).replace(",", ".")


@register.filter
def thousands(value: Any) -> str:
    """Format a number as 12,345. Return a dash for other values."""
    if not _is_number(value):
        return DASH
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # JSON may turn a count into a float
    return amounts.thousands(value)


@register.filter
def coefficient(value: Any, digits: int = 2) -> str:
    """Format a coefficient as .62, -.05 or 1.00. Return a dash for other values."""
    return amounts.coefficient(value, digits) if _is_number(value) else DASH


@register.filter
def p_value(value: Any, sentence: str = "") -> str:
    """Format a p value as .047 or < .001, or as p = .047 if `sentence` is set. Return a dash for other values."""
    format = amounts.p_in_text if sentence else amounts.p_value
    return format(value) if _is_number(value) else DASH


@register.filter
def is_markup(value: Any) -> bool:
    return isinstance(value, SafeString)


@register.filter
def cents(value: Any, currency: str = "") -> str:
    """Format an amount in cents as 12.30 USD. Return a dash for other values."""
    if not isinstance(value, int):
        return DASH
    return amounts.spell_cents(value, currency).replace(" ", amounts.NO_BREAK)


@register.filter
def percent(value: Any, unit: str = "%") -> str:
    """Format a fraction as 62 %, or as 62 if `unit` is empty. Return a dash for other values."""
    format = amounts.percent if unit else amounts.percent_number
    return format(value) if _is_number(value) else DASH


@register.filter
def interval(figure: Any, notation: Any = 2) -> str:
    """Format an interval as [.58, .66], or return a dash if an end is missing.

    Args:
        figure: a mapping or an object with the ends ``low`` and ``high``.
        notation: the number of digits, or "percent".
    """
    ends = (
        figure
        if isinstance(figure, Mapping)
        else {end: getattr(figure, end, None) for end in ("low", "high")}
    )
    low, high = ends.get("low"), ends.get("high")
    if not (_is_number(low) and _is_number(high)):
        return DASH
    if notation == "percent":
        return amounts.interval_in_table(low, high, amounts.percent)
    return amounts.interval_in_table(low, high, partial(amounts.coefficient, digits=notation))


register.filter("hours", amounts.spell_hours)
register.filter("describe_note", describe_note)
register.filter("readable", text_or_placeholder)
register.filter("describe_work", describe_work)


@register.simple_tag(takes_context=True)
def additions(context: RequestContext, place: str) -> SafeString:
    """Render the templates that features add at a place of a page (``Feature.additions``), with its variables."""
    templates = [name for name, value in declared_by_features("additions").items() if value == place]
    engine = template.Engine.get_default()
    with context.push():  # their variables must not reach the page
        return SafeString("\n".join(engine.get_template(name).render(context).strip() for name in templates))


@register.inclusion_tag("judgments/parts/step_form.html", takes_context=True)
def step_form(
    context: RequestContext,
    name: str,
    title: str,
    help: str = "",
    button: str = "",
    opened: bool = False,
    reason: bool = False,
    **initial_values: Any,
) -> dict[str, Any]:
    """Return the context of a step's form. The form is collapsed until it is opened, or was sent and refused.

    Args:
        help: a sentence above the fields.
        button: a CSS class of the button.
        opened: whether the form is open at first.
        reason: whether the form itself shows why it was refused.
        initial_values: values of fields before the form is sent, in place of the fields' own. The variable
            ``initial_values`` of a page's context can also have them, by step.
    """
    step = context["steps"][name]
    refusal = context.get("refusal")
    posted_values = refusal.posted_values if refusal is not None and refusal.step == name else None
    fields = step.form.parameters().fields
    initial_values = (context.get("initial_values") or {}).get(name, {}) | initial_values
    return {
        "study": context["study"],
        "page": context["active_page"],
        "csrf_token": context["csrf_token"],
        "step": step,
        "title": title,
        "help": help,
        "button": button,
        "opened": opened or posted_values is not None,
        "currency": context.get("currency", ""),
        "reason": refusal.sentence if reason and refusal is not None and refusal.step == name else "",
        "hidden": {name: initial_values[name] for name in step.form.hidden},
        "inputs": [
            _input_context(
                context["study"],
                fields[name],
                initial_values | (posted_values or {}),
                use_defaults=posted_values is None,
                required=fields[name].required or name in step.form.needed,
            )
            for name in step.form.fields
        ],
    }


def _input_context(
    study: Study,
    field: serializers.Field[Any, Any, Any, Any],
    values: Mapping[str, Any],
    *,
    use_defaults: bool,
    required: bool,
) -> dict[str, Any]:
    """Return the context of a field's control.

    Args:
        use_defaults: whether a field without a value gets its own initial value. A form that was sent and refused keeps
            empty fields empty.
    """
    name = str(field.style.get("name", field.field_name))  # "amount" for a field of cents
    value = values.get(name, field.get_initial() if use_defaults else "")
    is_multiline = field.style.get("base_template") == "textarea.html"
    kind = next((kind for field_class, kind in INPUT_KINDS if isinstance(field, field_class)), "text")
    declared_choices = field.style.get("choices", ())  # choices by which a text field is shown as checkboxes
    kind = field.style.get("kind", "ticks" if declared_choices else kind)
    if kind == "ticks" and isinstance(value, str):
        value = value.split(",")
    choices = declared_choices or getattr(field, "choices", {}).items()
    if callable(declared_choices):
        choices = declared_choices(study)
    return {
        "field": field,
        "name": name,
        "label": gettext(str(field.label)),
        "help": gettext(str(field.help_text or "")),
        "kind": "textarea" if is_multiline else kind,
        "choices": [(value, gettext(str(label))) for value, label in choices],
        "required": required,
        "value": "" if value in (None, []) else value,
    }
