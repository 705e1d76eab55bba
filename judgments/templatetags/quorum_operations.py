"""Forms of a study's steps, made from the parameters of their operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.template.context import RequestContext
from rest_framework import serializers

register = template.Library()

# The control of each type of field; the first that fits, "text" for all others.
INPUTS: tuple[tuple[type[serializers.Field[Any, Any, Any, Any]], str], ...] = (
    (serializers.BooleanField, "checkbox"),
    (serializers.IntegerField, "number"),
    (serializers.FloatField, "decimal"),
    (serializers.ChoiceField, "select"),
)


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
    """Return the form of a step, folded up until it is opened or was refused.

    Args:
        title: its heading.
        help: a sentence below it.
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
        "reason": refusal.words if reason and refusal is not None and refusal.step == name else "",
        "hidden": {name: begin[name] for name in step.form.hidden},
        "inputs": [
            _input(
                fields[name],
                begin | (sent or {}),
                sent is None,
                required=fields[name].required or name in step.form.needed,
            )
            for name in step.form.fields
        ],
    }


def _input(
    field: serializers.Field[Any, Any, Any, Any], begin: Mapping[str, Any], fresh: bool, *, required: bool
) -> dict[str, Any]:
    """Return the context of a field's input."""
    name = str(field.style.get("name", field.field_name))
    initial = field.get_initial() if fresh else ""
    value = begin.get(name, initial)
    multiline = field.style.get("base_template") == "textarea.html"
    kind = next((kind for known, kind in INPUTS if isinstance(field, known)), "text")
    choices = field.style.get("choices", ())
    kind = field.style.get("kind", "ticks" if choices else kind)
    if kind == "ticks" and isinstance(value, str):
        value = value.split(",")
    return {
        "field": field,
        "name": name,
        "kind": "textarea" if multiline else kind,
        "choices": choices() if callable(choices) else choices or getattr(field, "choices", {}).items(),
        "required": required,
        "value": "" if value in (None, []) else value,
    }
