"""What of a template cannot be carried over, in sentences for the person who brings it.

This only tells; what is kept is decided by ``cleaning``. It reads the template as it came.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser

from judgments.hit_templates.cleaning import BOXES, CROWD, PLAIN
from judgments.hit_templates.shapes import FIELD, fields_in

STRUCTURE = {"html", "head", "body", "form", "title", "font", "noscript", "template"}
FRAMES = {"iframe", "frame", "frameset", "object", "embed", "applet", "portal", "param"}
DRAWN = {"svg", "math", "canvas"}
ADDRESSES = {"href", "src", "poster", "action", "formaction", "background", "data", "xlink:href"}
KNOWN_ADDRESS = re.compile(r"\s*(https?://|mailto:|#|$)", re.IGNORECASE)
LIQUID = re.compile(r"\{\{|\{%")
MOST_NAMED = 5


class _Scan(HTMLParser):
    """Counts what a template holds that a page of work cannot."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: Counter[str] = Counter()
        self.named: dict[str, list[str]] = {}
        self._drawing = 0

    def note(self, what: str, detail: str = "") -> None:
        self.found[what] += 1
        if detail and detail not in self.named.setdefault(what, []):
            self.named[what].append(detail)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self._tag(tag, given)
        for name, value in given.items():
            if name.startswith("on"):
                self.note("handlers", name)
            elif name in ("style", "class"):
                self.found["styles"] += name == "style"
            elif name in ADDRESSES and tag not in FRAMES | {"form", "script", "link", "base"}:
                whole = FIELD.fullmatch(value.strip())
                if not whole and not KNOWN_ADDRESS.match(value):
                    self.note("addresses", value.strip()[:80])
            elif name == "pattern":
                self.note("patterns", given.get("name", ""))
            if FIELD.search(name):
                self.note("placed", name[:80])

    def _tag(self, tag: str, given: dict[str, str]) -> None:
        if tag == "script":
            self.note("scripts", given.get("src", ""))
        elif tag in ("style", "link"):
            self.note("sheets")
        elif tag == "base":
            self.note("base")
        elif tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.note("refresh")
        elif tag in FRAMES:
            self.note("frames", given.get("src", "") or given.get("data", ""))
        elif tag in DRAWN:
            self._drawing += 1
            self.note("drawn", tag)
        elif self._drawing:
            return  # the parts of a drawing go with it
        elif tag == "form":
            if given.get("action"):
                self.note("action", given["action"][:200])
        elif tag == "input" and given.get("type", "").lower() in ("file", "password"):
            self.note(f"input-{given['type'].lower()}", given.get("name", ""))
        elif tag.startswith("crowd-") and tag not in CROWD:
            self.note("crowd", f"{tag} “{given['name']}”" if given.get("name") else tag)
        elif tag not in PLAIN | BOXES | CROWD | STRUCTURE | {"meta", "button"}:
            self.note("tags", tag[:40])

    def handle_endtag(self, tag: str) -> None:
        if tag in DRAWN and self._drawing:
            self._drawing -= 1

    def handle_data(self, data: str) -> None:
        self.found["liquid"] += bool(LIQUID.search(FIELD.sub("", data)))


def left_out_of(source: str) -> list[str]:
    """A sentence for each sort of thing that stays behind; the same source gives the same sentences."""
    scan = _Scan()
    scan.feed(source)
    scan.close()
    return list(_sentences(scan))


def _sentences(scan: _Scan) -> Iterator[str]:
    found, named = scan.found, scan.named

    def some(what: str) -> str:
        names = named.get(what, [])
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return ", ".join(names[:MOST_NAMED]) + more

    def counted(what: str, one: str, several: str) -> str:
        return one if found[what] == 1 else f"{found[what]} {several}"

    if found["scripts"]:
        yield f"{counted('scripts', 'A script', 'scripts')} left out: nothing of the template runs here."
    if found["handlers"]:
        yield f"What scripts did on {some('handlers')} is left out."
    if found["sheets"] or found["styles"]:
        yield "Styles are left out: the page has Quorum’s look, in light and dark, wide and on a phone."
    if found["frames"]:
        where = f" ({some('frames')})" if some("frames") else ""
        yield f"{counted('frames', 'A frame from elsewhere', 'frames from elsewhere')} left out{where}."
    if found["action"]:
        yield f"The form’s own address ({some('action')}) is left out: answers go to Quorum."
    if found["base"]:
        yield "The base address of links is left out: links and pictures need whole addresses."
    if found["refresh"]:
        yield "The order to load another page (meta refresh) is left out."
    if found["drawn"]:
        yield f"Drawings ({some('drawn')}) are left out; a picture with an https address can stand there."
    for sort, words in (("file", "files cannot be sent"), ("password", "passwords are not asked for")):
        if found[f"input-{sort}"]:
            names = f" “{some(f'input-{sort}')}”" if some(f"input-{sort}") else ""
            yield f"The field{names} of type {sort} is left out: {words}."
    if found["crowd"]:
        yield f"These elements need Amazon’s scripts and are left out, with what they ask: {some('crowd')}."
    if found["addresses"]:
        yield f"Addresses that are not http, https or mailto are left out: {some('addresses')}."
    if found["placed"]:
        yield f"A field that stands for an attribute is left out: {some('placed')}."
    if found["patterns"]:
        yield "Patterns of text fields are not checked."
    if found["tags"]:
        yield f"These tags are left out, their text stays: {some('tags')}."
    if found["liquid"]:
        yield "Liquid ({{ … }}, {% … %}) is not carried out and stands on the page as it is; fields are ${name}."


def fields_of(source: str) -> list[str]:
    """The fields that a clean page asks for, in their order."""
    return list(dict.fromkeys(fields_in(source)))
