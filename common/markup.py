"""Markdown that a designer wrote, made safe to show: instructions and consent as blocks, questions as one line."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape, unescape

import markdown
import nh3
from django.utils.safestring import SafeString, mark_safe

TAGS = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# Markdown's names of what begins a block
BLOCKS = (
    "empty",
    "indent",
    "code",
    "hashheader",
    "setextheader",
    "hr",
    "olist",
    "ulist",
    "quote",
    "reference",
)
INLINE_TAGS = {"code", "em", "strong"}
# Links and tags as people write them; each part is bounded, so that finding all takes time in proportion to the text.
LINK = re.compile(
    r"(\\\[|\[[^\[\]\n]{1,300}\](?:\((?:https?://(?:[^()\n]|\([^()\n]{0,300}\)){0,2000}|[^()\n]{0,2000})\)"
    r"|\[[^\[\]\n]{0,300}\]|:))"
)
TAG = re.compile(r"(<[^<>]{1,500}>)")
RUN = re.compile(r"(\*{4,}|_{4,})")
# What stands for the marks of no link, no tag, no emphasis while Markdown reads: it would look for the end of each one,
# which takes a minute for 20,000 brackets and more stack than there is for 5,000 stars. These are no characters, by the
# Unicode Standard 23.7: no text holds them.
STAND_INS = {"\ufdd0": "[", "\ufdd1": "&lt;", "\ufdd2": "*", "\ufdd3": "_"}


def render_markdown(text: str) -> SafeString:
    """Instructions or consent as HTML: headings start at h2, and nothing in it can run, load or style.

    Pictures are left out on purpose: a picture from elsewhere would tell its host who reads the page.
    """
    try:
        html = markdown.markdown(
            _without_loose_marks(text),
            extensions=["sane_lists", "tables", "toc"],
            extension_configs={"toc": {"baselevel": 2}},
            output_format="html",
        )
    except RecursionError:  # emphasis within emphasis a thousand times over: nobody wrote that to be read
        html = f"<p>{escape(text)}</p>"
    clean = nh3.clean(
        html,
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return mark_safe(_with_marks(clean))  # noqa: S308  # cleaned in the lines above


@lru_cache(maxsize=512)
def render_inline(text: str) -> SafeString:
    """A question as HTML: emphasis and code, and nothing else. It stands in labels, legends and quotation marks, where
    neither a block nor a link belongs; tags that are typed are shown as they are typed."""
    reader = markdown.Markdown(output_format="html")
    for name in BLOCKS:
        reader.parser.blockprocessors.deregister(name)
    reader.preprocessors.deregister("html_block")
    reader.inlinePatterns.deregister("html")
    line = " ".join(text.split())
    try:
        html = reader.convert(_without_loose_marks(line))
    except RecursionError:
        html = escape(line)
    clean = nh3.clean(html, tags=INLINE_TAGS, attributes={}, clean_content_tags=set())
    return mark_safe(_with_marks(clean))  # noqa: S308  # cleaned in the line above


def plain_text(text: str) -> str:
    """A question without its marks, for where no HTML can stand: a crowd's list of work."""
    return unescape(re.sub(r"<[^>]*>", "", render_inline(text)))


def _without_loose_marks(text: str) -> str:
    """Marks that begin nothing, out of Markdown's sight."""
    for stand_in in STAND_INS:
        text = text.replace(stand_in, "")
    text = _outside(LINK, text, "[", "\ufdd0")
    text = _outside(TAG, text, "<", "\ufdd1")
    lines = [
        line if set(line.strip()) <= {"*"} or set(line.strip()) <= {"_"} else RUN.sub(_run, line)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


def _outside(pattern: re.Pattern[str], text: str, mark: str, stand_in: str) -> str:
    """``mark`` replaced wherever it is no part of what ``pattern``, in one group, finds."""
    parts = pattern.split(text)
    return "".join(part if number % 2 else part.replace(mark, stand_in) for number, part in enumerate(parts))


def _run(found: re.Match[str]) -> str:
    return found[0].replace("*", "\ufdd2").replace("_", "\ufdd3")


def _with_marks(html: str) -> str:
    for stand_in, mark in STAND_INS.items():
        html = html.replace(stand_in, mark)
    return html
