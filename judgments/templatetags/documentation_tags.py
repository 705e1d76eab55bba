"""The link of each page to the documentation."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext

from judgments.admin import documentation

register = template.Library()


@register.simple_tag(takes_context=True)
def help_address(context: RequestContext) -> str:
    return documentation.help_address(context["request"])
