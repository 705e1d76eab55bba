"""Describe in sentences which parts of a template are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser

from contrib.hit_templates.html.cleaning import ALLOWED_ELEMENTS, LANDMARKS
from contrib.hit_templates.html.crowd_elements import ELEMENT_BUILDERS
from contrib.hit_templates.html.elements import FIELD

# Elements that no sentence mentions, since participants lose nothing without them.
STRUCTURE = {"html", "head", "body", "form", "title", "font", "noscript", "template"}
FRAMES = {"iframe", "frame", "frameset", "object", "embed", "applet", "portal", "param"}
GRAPHICS = {"svg", "math", "canvas"}
ADDRESSES = {"href", "src", "poster", "action", "formaction", "background", "data", "xlink:href"}
KNOWN_ADDRESS = re.compile(r"\s*(https?://|mailto:|#|$)", re.IGNORECASE)  # or an empty one
LIQUID_TAG = re.compile(r"\{\{|\{%")
MAX_NAMES_LISTED = 5

# The sentence for each type of omission, in the order in which they are shown.
_SENTENCES = {
    "scripts": "%(counted)s left out: nothing of the template runs here.",
    "handlers": "What scripts did on %(named)s is left out.",
    "styles": "Styles are left out: the page has Quorum’s look, in light and dark, wide and on a phone.",
    "frames": "%(counted)s left out%(bracketed)s.",
    "action": "The form’s own address (%(named)s) is left out: answers go to Quorum.",
    "base": "The base address of links is left out: links and pictures need whole addresses.",
    "refresh": "The order to load another page (meta refresh) is left out.",
    "drawings": "Drawings (%(named)s) are left out; a picture with an https address can stand there.",
    "input-file": "The field%(quoted)s of type file is left out: files cannot be sent.",
    "input-password": "The field%(quoted)s of type password is left out: passwords are not asked for.",
    "crowd": "These elements need Amazon’s scripts and are left out, with what they ask: %(named)s.",
    "addresses": "Addresses that are not http, https or mailto are left out: %(named)s.",
    "fields-as-attributes": "A field that stands for an attribute is left out: %(named)s.",
    "patterns": "Patterns of text fields are not checked.",
    "tags": "These tags are left out, their text stays: %(named)s.",
    "liquid": "Liquid ({{ … }}, {%% … %%}) is not carried out and stands on the page as it is; fields are ${name}.",
}
# How one and several omissions of a type are named in its sentence.
_COUNTED_NOUNS = {
    "scripts": ("A script", "scripts"),
    "frames": ("A frame from elsewhere", "frames from elsewhere"),
}


def describe_omissions(source: str) -> list[str]:
    """Return a sentence for each type of omission in the HTML of a template, always in the same order."""
    scan = _OmissionScan()
    scan.feed(source)
    scan.close()
    return list(_sentences(scan))


class _OmissionScan(HTMLParser):
    """A parser that counts the omitted parts of a template by type, and keeps their names or addresses."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.counts: Counter[str] = Counter()
        self.details: dict[str, list[str]] = {}
        self._drawing_depth = 0

    def note(self, omission: str, detail: str = "") -> None:
        """Count an omission, a key of ``_SENTENCES``, and keep its name or address."""
        self.counts[omission] += 1
        if detail and detail not in self.details.setdefault(omission, []):
            self.details[omission].append(detail)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self._note_tag(tag, attributes)
        for name, value in attributes.items():
            if name.startswith("on"):
                self.note("handlers", name)
            elif name == "style":
                self.note("styles")
            elif name in ADDRESSES and tag not in FRAMES | {"form", "script", "link", "base"}:
                # The tags that this condition excludes have sentences of their own.
                field_match = FIELD.fullmatch(value.strip())
                if not field_match and not KNOWN_ADDRESS.match(value):
                    self.note("addresses", value.strip()[:80])
            elif name == "pattern":
                self.note("patterns", attributes.get("name", ""))
            if FIELD.search(name):
                self.note("fields-as-attributes", name[:80])

    def _note_tag(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "script":
            self.note("scripts", attributes.get("src", ""))
        elif tag in ("style", "link"):
            self.note("styles")
        elif tag == "base":
            self.note("base")
        elif tag == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
            self.note("refresh")
        elif tag in FRAMES:
            self.note("frames", attributes.get("src", "") or attributes.get("data", ""))
        elif tag in GRAPHICS:
            self._drawing_depth += 1
            self.note("drawings", tag)
        elif self._drawing_depth:
            return  # the parts of a drawing are omitted with it
        elif tag == "form":
            if attributes.get("action"):
                self.note("action", attributes["action"][:200])
        elif tag == "input" and attributes.get("type", "").lower() in ("file", "password"):
            self.note(f"input-{attributes['type'].lower()}", attributes.get("name", ""))
        elif tag.startswith("crowd-") and tag not in ELEMENT_BUILDERS:
            self.note("crowd", f"{tag} “{attributes['name']}”" if attributes.get("name") else tag)
        elif (
            tag not in ALLOWED_ELEMENTS | LANDMARKS | STRUCTURE | {"meta", "button"}
            and tag not in ELEMENT_BUILDERS
        ):
            self.note("tags", tag[:40])

    def handle_endtag(self, tag: str) -> None:
        if tag in GRAPHICS and self._drawing_depth:
            self._drawing_depth -= 1

    def handle_data(self, data: str) -> None:
        self.counts["liquid"] += bool(LIQUID_TAG.search(FIELD.sub("", data)))


def _sentences(scan: _OmissionScan) -> Iterator[str]:
    for omission, sentence in _SENTENCES.items():
        if count := scan.counts[omission]:
            names = scan.details.get(omission, [])
            ending = f" and {len(names) - MAX_NAMES_LISTED} more" if len(names) > MAX_NAMES_LISTED else ""
            name_list = ", ".join(names[:MAX_NAMES_LISTED]) + ending
            singular, plural = _COUNTED_NOUNS.get(omission, ("", ""))
            yield sentence % {
                "named": name_list,
                "bracketed": f" ({name_list})" if name_list else "",
                "quoted": f" “{name_list}”" if name_list else "",
                "counted": singular if count == 1 else f"{count} {plural}",
            }
