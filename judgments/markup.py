"""Markdown that a designer wrote, made safe to show."""

from __future__ import annotations

import markdown
import nh3
from django.utils.safestring import SafeString, mark_safe

TAGS = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def render_markdown(text: str) -> SafeString:
    """Instructions or consent as HTML: headings start at h2, and nothing in it can run, load or style.

    Pictures are left out on purpose: a picture from elsewhere would tell its host who reads the page.
    """
    html = markdown.markdown(
        text,
        extensions=["sane_lists", "tables", "toc"],
        extension_configs={"toc": {"baselevel": 2}},
        output_format="html",
    )
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return mark_safe(clean)  # noqa: S308  # cleaned in the line above
