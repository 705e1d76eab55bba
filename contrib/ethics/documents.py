"""Write the checklist for an ethics board as a document, in Markdown or HTML."""

from __future__ import annotations

from django.utils.html import escape
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from common.markup import render_markdown
from contrib.ethics.checklist import ChecklistSection
from judgments.models import Study


def as_markdown(study: Study, sections: list[ChecklistSection]) -> str:
    """Return the checklist as Markdown, in the language in use."""
    title = _("Checklist for an ethics board: %(name)s") % {"name": study.name}
    parts = [f"# {title}", _("Filled in from the design of study `%(slug)s`.") % {"slug": study.slug}]
    for section in sections:
        parts.append(f"## {section.title}")
        for line in section.lines:
            parts.append(f"**{line.question}** ({line.sources})")
            parts.append(_as_quotation(line.answer) if line.answer else f"**{open_line_text()}**")
    return "\n\n".join(parts) + "\n"


def open_line_text() -> str:
    return _("You must fill in this line.")


def _as_quotation(text: str) -> str:
    """Quote a text of several lines in Markdown, so that its headings do not become headings of the document.

    A list, such as that of the collected data, has no headings and stays as it is.
    """
    if "\n" not in text or text.startswith("- "):
        return text
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


PAGE_STYLE = """
body {
  font: 11pt/1.5 system-ui, sans-serif; max-width: 42em; margin: 2em auto; padding: 0 1em;
  color: #111; background: #fff;
}
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #999; }
blockquote { margin: 0 0 0 .5em; padding-left: 1em; border-left: 3px solid #bbb; }
p { break-inside: avoid; } h2 { break-after: avoid; }
"""


def as_html(study: Study, sections: list[ChecklistSection]) -> str:
    """Return the checklist as a printable page without scripts."""
    body = render_markdown(as_markdown(study, sections))
    title = escape(_("Checklist for an ethics board: %(name)s") % {"name": study.name})
    return (
        f'<!doctype html>\n<html lang="{get_language() or "en"}"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{PAGE_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )
