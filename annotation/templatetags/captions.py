"""How a sentence that is judged stands on a page: escaped, and unable to disturb what is around it."""

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
# languages and scripts (BCP 47) that are written from right to left
RTL_LANGUAGES = frozenset("ar arc ckb dv fa he iw ji ks nqo ps sd syr ug ur yi".split())  # noqa: SIM905
RTL_SCRIPTS = frozenset("adlm arab aran hebr mand nkoo rohg samr syrc thaa".split())  # noqa: SIM905
SCRIPT_LETTERS = 4


@register.filter
def runs(text: str, language: str = "") -> str:
    """How a text of this language runs, rtl or ltr; auto (by its first letter) where the language is not said."""
    if not language:
        return "auto"
    first, *others = language.lower().split("-")
    script = next((one for one in others if len(one) == SCRIPT_LETTERS and one.isalpha()), "")
    return "rtl" if script in RTL_SCRIPTS or (not script and first in RTL_LANGUAGES) else "ltr"


def looks_empty(text: str) -> bool:
    """Whether nothing of it can be seen: white space, control and format characters only."""
    return all(unicodedata.category(one)[0] in "ZC" for one in text)


@register.simple_tag(takes_context=True)
def said(context: Context, text: str) -> SafeString:
    """A judged sentence. ``bdi`` with its own direction keeps right-to-left text, and characters that turn the
    direction round, within the sentence; a sentence without visible characters says so, since an empty card
    looks like a fault of the page. The study's design may say which language the sentences are in."""
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
    """The saved answer of a row of the page, for the script of its kind; '' where there is none yet."""
    return SafeString("") if row.value is None else as_json(row.value, "saved", row.position)


@register.simple_tag
def as_json(data: Any, name: str, about: object = "") -> SafeString:
    """Data for scripts, found by ``[data-<name>]``; ``json_script`` escapes it, and marks are our own."""
    return SafeString(json_script(data).replace("<script ", f'<script data-{name}="{about}" ', 1))
