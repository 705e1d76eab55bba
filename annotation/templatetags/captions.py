"""Template tags that show a judged sentence safely."""

from __future__ import annotations

import unicodedata
from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html, json_script
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from annotation.work import presentation
from common.markup import render_inline

register = template.Library()
register.filter(presentation.worded)
register.filter("inline", render_inline)
# right-to-left languages and scripts (BCP 47)
RTL_LANGUAGES = frozenset("ar arc ckb dv fa he iw ji ks nqo ps sd syr ug ur yi".split())  # noqa: SIM905
RTL_SCRIPTS = frozenset("adlm arab aran hebr mand nkoo rohg samr syrc thaa".split())  # noqa: SIM905
SCRIPT_LETTERS = 4


@register.filter
def runs(text: str, language: str = "") -> str:
    """Return rtl or ltr for a language, or auto (by the first letter) if it is unknown."""
    if not language:
        return "auto"
    first, *others = language.lower().split("-")
    script = next((one for one in others if len(one) == SCRIPT_LETTERS and one.isalpha()), "")
    return "rtl" if script in RTL_SCRIPTS or (not script and first in RTL_LANGUAGES) else "ltr"


def looks_empty(text: str) -> bool:
    return all(unicodedata.category(one)[0] in "ZC" for one in text)


@register.simple_tag(takes_context=True)
def said(context: Context, text: str) -> SafeString:
    """Show a judged sentence.

    ``bdi`` keeps right-to-left text and direction marks within the sentence. A sentence without visible
    characters says so, since an empty card looks like a bug. The design may name the language.
    """
    language = getattr(context.get("design"), "language", "")
    if looks_empty(text):
        return format_html(
            '<bdi class="said blank" dir="auto">{}</bdi>', gettext("(nothing to be seen in this sentence)")
        )
    if language:
        return format_html('<bdi class="said" dir="auto" lang="{}">{}</bdi>', language, text)
    return format_html('<bdi class="said" dir="auto">{}</bdi>', text)


@register.simple_tag
def saved(row: Any) -> SafeString:
    return SafeString("") if row.value is None else as_json(row.value, "saved", row.position)


@register.simple_tag
def as_json(data: Any, name: str, about: object = "") -> SafeString:
    """Return data for scripts, found by ``[data-<name>]``; ``json_script`` escapes it."""
    return SafeString(json_script(data).replace("<script ", f'<script data-{name}="{about}" ', 1))
