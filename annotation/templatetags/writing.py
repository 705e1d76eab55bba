"""The rules of caption writing for the page: as data for its script, and with examples for people."""

from __future__ import annotations

from typing import Any

from django import template

from judgments.kinds.caption_rules import ENGLISH, first_part, rules_for

register = template.Library()


@register.simple_tag
def caption_rules(language: str) -> list[dict[str, Any]]:
    """The rules for captions in ``language``, for the script that checks them while somebody types."""
    return [rule.as_data() for rule in rules_for(language)]


@register.simple_tag
def refusals(language: str) -> list[dict[str, Any]]:
    """What refuses a caption, each sentence once, with its example where that is written in ``language``."""
    found: dict[str, dict[str, Any]] = {}
    for rule in rules_for(language):
        # "at most 50 words" needs no example; of rules for every language the examples are English
        written = rule.languages or ENGLISH
        if rule.hard and not rule.counts and str(rule.says) not in found:
            found[str(rule.says)] = {"rule": rule, "shown": first_part(language) in written}
    return list(found.values())
