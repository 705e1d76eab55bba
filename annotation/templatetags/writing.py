"""The rules of caption writing for the page: as data for its script, and with examples for people."""

from __future__ import annotations

from django import template
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

from judgments.kinds.caption_rules import Rule, rules_for

register = template.Library()


@register.simple_tag
def rules_as_data(language: str) -> SafeString:
    """The rules for captions in ``language``, for the script that checks them while somebody types."""
    data = json_script([rule.as_data() for rule in rules_for(language)])
    return mark_safe(data.replace("<script ", "<script data-rules ", 1))  # json_script escapes


@register.simple_tag
def refusals(language: str) -> list[Rule]:
    """The rules that refuse a caption, as far as a short example shows what they mean."""
    return [rule for rule in rules_for(language) if rule.hard and not rule.counts]
