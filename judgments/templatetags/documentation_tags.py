"""Template tags for a link from an admin page to its documentation, and for a button on an empty list."""

from __future__ import annotations

from django import template
from django.template.context import RequestContext

from judgments.admin import documentation

register = template.Library()


@register.simple_tag(takes_context=True)
def help_address(context: RequestContext) -> str:
    return documentation.help_address(context["request"])


@register.simple_tag(takes_context=True)
def button_when_empty(context: RequestContext) -> dict[str, str]:
    from judgments.admin.base import button_for_empty_list  # late: it loads the admin's theme

    return button_for_empty_list(context["cl"].model_admin, context.request)  # its label and address
