"""Template tags for the rules of caption writing."""

from __future__ import annotations

from typing import Any

from django import template

from judgments.kinds.caption_rules import ENGLISH, first_part, rules_for

register = template.Library()


@register.simple_tag
def caption_rules(language: str) -> list[dict[str, Any]]:
    return [rule.as_data() for rule in rules_for(language)]


@register.simple_tag
def refusals(language: str) -> list[dict[str, Any]]:
    """Return each refusing rule's sentence once, with an example if there is one in ``language``."""
    found: dict[str, dict[str, Any]] = {}
    for rule in rules_for(language):
        # "at most 50 words" needs no example; examples of general rules are English
        written = rule.languages or ENGLISH
        if rule.hard and not rule.counts and str(rule.says) not in found:
            found[str(rule.says)] = {"rule": rule, "shown": first_part(language) in written}
    return list(found.values())
