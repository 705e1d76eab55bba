"""What stands on a page for its reader, apart from captions: the study's own words, and English ones among them."""

import json
import re
from html.parser import HTMLParser
from typing import Any

from scripts import messages

SPOKEN = ("alt", "aria-label", "title", "placeholder")
UNREAD = ("script", "style", "title", "code", "bdi")  # in bdi stand captions and names
VOID = ("input", "img", "br", "hr", "meta", "link", "rect")
# words that German has not
ENGLISH = re.compile(
    r"\b(the|your|you|this|that|and|of|is|are|with|for|not|no|to|which|has|have|page|picture|answer|caption)\b"
)
QUOTED = re.compile(r"„[^“]*“")


class Texts(HTMLParser):
    """Texts and spoken attributes of a page; what is marked as a caption, or as another language, is left out."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[tuple[str, bool]] = []
        self.found: list[str] = []
        self.data: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element's attributes for people, those for scripts with words, and whether to read on."""
        named = {name: value or "" for name, value in attrs}
        said = any(
            one in named.get("class", "").split() for one in ("source", "words", "material-symbols-outlined")
        )
        skipped = said or named.get("lang", "de") not in ("de", "") or tag in UNREAD
        inside = any(skip for _, skip in self.open)
        if not (skipped or inside):
            self.found += [value for name, value in named.items() if name in SPOKEN and value]
            self.found += [
                value for name, value in named.items() if name.startswith("data-") and " " in value
            ]
        if tag not in VOID:
            self.open.append((tag, skipped))

    def handle_endtag(self, tag: str) -> None:
        """Close whatever HTML lets stand open within it, too."""
        while self.open and any(one == tag for one, _ in self.open):
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        """A text, unless it is skipped; the words of the page's scripts are texts too."""
        inside = [tag for tag, _ in self.open]
        if inside and inside[-1] == "script":
            self.data.append(data)
        elif not any(skip for _, skip in self.open) and data.strip():
            self.found.append(re.sub(r"\s+", " ", data).strip())


def texts_of(html: str) -> list[str]:
    """Everything a reader of the page may read or hear in the page's language."""
    page = Texts(html)
    words: list[str] = []
    for one in page.data:
        words += _strings(json.loads(one)) if one.startswith("{") else []
    return page.found + words


def _strings(data: Any) -> list[str]:
    if isinstance(data, dict):
        return [text for one in data.values() for text in _strings(one)]
    return [data] if isinstance(data, str) else []


def english_on(html: str, *, staff: bool = False) -> list[str]:
    """What of a German page stands in English: a message as the source has it, or words that German has not."""
    known = MESSAGES | STAFF_MESSAGES if staff else MESSAGES
    if staff:  # study files, and texts of a study that somebody edits
        html = re.sub(r"(<(textarea|pre)\b[^>]*>).*?(</\2>)", r"\1\3", html, flags=re.DOTALL)
    return [text for text in texts_of(html) if text in known or ENGLISH.search(QUOTED.sub("", text).lower())]


def _messages(*, staff: bool) -> set[str]:
    """English messages whose translation is another text; those with places to fill, filled with anything, are found
    by their words."""
    found = set()
    of_workers = messages.stored_messages("fr")  # texts for staff are translated into German alone
    for key, message in messages.stored_messages("de").items():
        if (key not in of_workers) == staff:
            for text, translated in zip(_all(message.id), _all(message.string), strict=False):
                if text and text != translated:
                    found.add(text.strip())
    return found


def _all(text: Any) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


MESSAGES = _messages(staff=False)
STAFF_MESSAGES = _messages(staff=True) - {"English"}  # the menu of languages names each in its own
