"""The rules of caption writing for the page: as data for its script, and with examples for people."""

from __future__ import annotations

from typing import Any

from django import template

from judgments.kinds.caption_rules import Rule, rules_for

register = template.Library()


@register.simple_tag
def caption_rules(language: str) -> list[dict[str, Any]]:
    """The rules for captions in ``language``, for the script that checks them while somebody types."""
    return [rule.as_data() for rule in rules_for(language)]


@register.simple_tag
def refusals(language: str) -> list[Rule]:
    """The rules that refuse a caption, as far as a short example shows what they mean."""
    return [rule for rule in rules_for(language) if rule.hard and not rule.counts]
