"""Parse the HTML of a template as a fillable page with questions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser

from common.errors import QuorumError
from judgments.hit_templates.cleaning import (
    BOXES,
    PLAIN,
    PLAIN_OF,
    clean_page,
    name_radio_group,
)
from judgments.hit_templates.questions import FIELD, VOID, Element, Question, fields_in, find_questions, walk

STRUCTURE = {"html", "head", "body", "form", "title", "font", "noscript", "template"}
FRAMES = {"iframe", "frame", "frameset", "object", "embed", "applet", "portal", "param"}
DRAWN = {"svg", "math", "canvas"}
ADDRESSES = {"href", "src", "poster", "action", "formaction", "background", "data", "xlink:href"}
KNOWN_ADDRESS = re.compile(r"\s*(https?://|mailto:|#|$)", re.IGNORECASE)
LIQUID = re.compile(r"\{\{|\{%")
MOST_NAMED = 5
MOST_CHARACTERS = 100_000
DEEPEST = 100
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
FIRST_LEVEL = 3  # a form uses h1 and, for each step, h2


class _Scan(HTMLParser):
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
        elif tag.startswith("crowd-") and tag not in PLAIN_OF:
            self.note("crowd", f"{tag} “{given['name']}”" if given.get("name") else tag)
        elif tag not in PLAIN | BOXES | STRUCTURE | {"meta", "button"} and tag not in PLAIN_OF:
            self.note("tags", tag[:40])

    def handle_endtag(self, tag: str) -> None:
        if tag in DRAWN and self._drawing:
            self._drawing -= 1

    def handle_data(self, data: str) -> None:
        self.found["liquid"] += bool(LIQUID.search(FIELD.sub("", data)))


def left_out_of(source: str) -> list[str]:
    """Return one sentence per sort of omitted element, in a stable order."""
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


class TemplateProblem(QuorumError):
    title = "The template cannot be used"


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template, of plain HTML; ``left_out`` notes what was not carried over."""

    page: tuple[Element | str, ...]
    questions: tuple[Question, ...]
    fields: tuple[str, ...]
    left_out: tuple[str, ...]


@lru_cache(maxsize=32)  # cached: a form shows the same template several times
def read_template(source: str) -> Template:
    """Parse a template as the requester pages or Turkle have it.

    Raises:
        TemplateProblem: it is too long or too deep, asks nothing, or uses a name for two things.
    """
    if len(source) > MOST_CHARACTERS:
        raise TemplateProblem(
            f"The template has {len(source):,} characters; expected at most {MOST_CHARACTERS:,}."
        )
    clean = clean_page(source)
    reader = _TreeReader()
    reader.feed(clean)
    reader.close()
    if reader.deepest > DEEPEST:
        raise TemplateProblem(
            f"The template's elements stand {reader.deepest} deep in each other; expected at most {DEEPEST}."
        )
    sentences: list[str] = []
    try:
        page = _plain(reader.root.inside, sentences)
        _level_headings(page)
        questions, about = find_questions(page)
    except ValueError as error:
        raise TemplateProblem(str(error)) from None
    if not any(question.shape != "fixed" for question in questions):
        lost = left_out_of(source)
        why = f" ({' '.join(lost)})" if lost else ""
        raise TemplateProblem(
            f"The template asks nothing that can be answered here; expected a control with a name{why}."
        )
    return Template(
        page=tuple(page),
        questions=questions,
        fields=tuple(dict.fromkeys(fields_in(clean))),
        left_out=(*left_out_of(source), *sentences, *about),
    )


class _TreeReader(HTMLParser):
    """Parse clean HTML, where every element is closed, into a tree."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("div")
        self.open = [self.root]
        self.deepest = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)
            self.deepest = max(self.deepest, len(self.open))

    def handle_endtag(self, tag: str) -> None:
        if len(self.open) > 1 and self.open[-1].tag == tag:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        inside = self.open[-1].inside
        if inside and isinstance(inside[-1], str):
            inside[-1] += data  # a field must not be cut in two
        else:
            inside.append(data)


def _plain(nodes: list[Element | str], sentences: list[str]) -> list[Element | str]:
    found: list[Element | str] = []
    for one in nodes:
        if isinstance(one, str):
            found.append(one)
            continue
        if one.tag == "crowd-radio-group" and (sentence := name_radio_group(one)):
            sentences.append(sentence)
        one.inside = _plain(one.inside, sentences)
        if one.tag in PLAIN_OF:
            found += PLAIN_OF[one.tag](one)
        elif one.tag in BOXES:
            found.append(Element("div", one.attributes, one.inside))
        elif one.tag == "select" and "multiple" in one.attributes:
            found += _boxes_of(one)
        else:
            found.append(one)
    return found


def _boxes_of(select: Element) -> list[Element | str]:
    """Boxes need no modifier key."""
    options = [one for one in walk(select.inside) if one.tag == "option"]
    boxes: list[Element | str] = []
    for one in options:
        words = "".join(text for text in one.inside if isinstance(text, str)).strip()
        given = {
            "type": "checkbox",
            "name": select.attributes.get("name", ""),
            "value": one.attributes.get("value", words),
        }
        if "selected" in one.attributes:
            given["checked"] = ""
        boxes.append(
            Element("label", {"class": "option"}, [Element("input", given), Element("span", {}, [words])])
        )
    return [Element("span", {"class": "group"}, boxes)]


def _level_headings(page: list[Element | str]) -> None:
    """Renumber headings below the form's own, without gaps."""
    levels = sorted({one.tag for one in walk(page) if one.tag in HEADINGS})
    names = {tag: f"h{min(FIRST_LEVEL + place, len(HEADINGS))}" for place, tag in enumerate(levels)}
    for one in walk(page):
        one.tag = names.get(one.tag, one.tag)
