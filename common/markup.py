"""Render Markdown of designers safely: instructions and consent texts as blocks, and questions inline."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape, unescape

import markdown
import nh3
from django.utils.safestring import SafeString, mark_safe

BLOCK_TAGS = {
    "a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# names of Markdown's rules for blocks, which inline texts do not use
BLOCK_RULES = (
    "empty", "indent", "code", "hashheader", "setextheader", "hr", "olist", "ulist", "quote", "reference",
)  # fmt: skip
INLINE_TAGS = {"code", "em", "strong"}
# Links and tags; the length of each part is limited, so that the search takes linear time. A match of LINK is an
# escaped bracket, "[text](address)", "[text][label]", or "[label]:".
LINK = re.compile(
    r"(\\\[|\[[^\[\]\n]{1,300}\](?:\((?:https?://(?:[^()\n]|\([^()\n]{0,300}\)){0,2000}|[^()\n]{0,2000})\)"
    r"|\[[^\[\]\n]{0,300}\]|:))"
)
TAG = re.compile(r"(<[^<>]{1,500}>)")
MARK_RUN = re.compile(r"(\*{4,}|_{4,})")  # more marks than those of an emphasis, which has up to three
# Unpaired marks are replaced while Markdown parses, since it would search for the end of each mark. This takes a minute
# for 20,000 brackets, and too much stack for 5,000 stars. Texts do not contain the replacements, which are not
# characters by the Unicode Standard 23.7.
PLACEHOLDER_CHARACTERS = {"\ufdd0": "[", "\ufdd1": "&lt;", "\ufdd2": "*", "\ufdd3": "_"}


def render_markdown(text: str) -> SafeString:
    """Return instructions or a consent text as HTML without scripts, styles or pictures. The highest heading is h2.

    Pictures are removed because their host would learn who reads the page.
    """
    try:
        html = markdown.markdown(
            _protect_unpaired_marks(text),
            extensions=["sane_lists", "tables", "toc"],
            extension_configs={"toc": {"baselevel": 2}},
            output_format="html",
        )
    except RecursionError:  # only texts of attackers have thousands of nested emphases
        html = f"<p>{escape(text)}</p>"
    clean_html = nh3.clean(
        html,
        tags=BLOCK_TAGS,
        attributes={"a": {"href"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return mark_safe(_restore_marks(clean_html))  # noqa: S308  # cleaned in the lines above


@lru_cache(maxsize=512)
def render_inline(text: str) -> SafeString:
    """Return a question as HTML with only emphasis and code. HTML tags in the question are shown as text."""
    reader = markdown.Markdown(output_format="html")
    for name in BLOCK_RULES:
        reader.parser.blockprocessors.deregister(name)
    reader.preprocessors.deregister("html_block")
    reader.inlinePatterns.deregister("html")
    line = " ".join(text.split())
    try:
        html = reader.convert(_protect_unpaired_marks(line))
    except RecursionError:
        html = escape(line)
    clean_html = nh3.clean(html, tags=INLINE_TAGS, attributes={}, clean_content_tags=set())
    return mark_safe(_restore_marks(clean_html))  # noqa: S308  # cleaned in the line above


def plain_text(text: str) -> str:
    """Return a question without Markdown."""
    return unescape(re.sub(r"<[^>]*>", "", render_inline(text)))


def _protect_unpaired_marks(text: str) -> str:
    """Replace marks that begin no link, tag or emphasis by placeholders. Lines that are rules, such as ***, stay."""
    for placeholder in PLACEHOLDER_CHARACTERS:
        text = text.replace(placeholder, "")
    text = _replace_outside(LINK, text, "[", "\ufdd0")
    text = _replace_outside(TAG, text, "<", "\ufdd1")
    lines = [line if _is_rule(line) else MARK_RUN.sub(_protect_run, line) for line in text.split("\n")]
    return "\n".join(lines)


def _is_rule(line: str) -> bool:
    """Return whether a line consists only of * or only of _. An empty line counts as a rule, too."""
    return set(line.strip()) in (set(), {"*"}, {"_"})


def _replace_outside(pattern: re.Pattern[str], text: str, mark: str, placeholder: str) -> str:
    """Return the text with ``mark`` replaced, except in matches of ``pattern``, which has one group."""
    # ``split`` returns the texts between matches at even positions, and the matches at odd ones
    parts = pattern.split(text)
    parts[::2] = [part.replace(mark, placeholder) for part in parts[::2]]
    return "".join(parts)


def _protect_run(match: re.Match[str]) -> str:
    return match[0].replace("*", "\ufdd2").replace("_", "\ufdd3")


def _restore_marks(html: str) -> str:
    for placeholder, mark in PLACEHOLDER_CHARACTERS.items():
        html = html.replace(placeholder, mark)
    return html
