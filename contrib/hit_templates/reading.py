"""Parse the HTML of a template of MTurk's requester pages or Turkle as a fillable page with questions.

HTML is cleaned by an allow list, and Amazon's elements are replaced by plain ones. Styles and classes are removed: the
page has one look, light and dark, and no step can cover its surroundings.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html.parser import HTMLParser

import nh3
from django.utils.translation import gettext_noop

from common.errors import QuorumError
from contrib.hit_templates.questions import FIELD, VOID, Element, Question, fields_in, find_questions, walk

# shown as they are
PLAIN = {
    "a", "abbr", "audio", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code", "col", "colgroup", "dd",
    "del", "details", "dfn", "div", "dl", "dt", "em", "fieldset", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "img", "input", "ins", "kbd", "label", "legend", "li", "mark", "ol", "optgroup", "option", "p",
    "pre", "q", "rp", "rt", "ruby", "s", "samp", "select", "small", "source", "span", "strike", "strong", "sub",
    "summary", "sup", "table", "tbody", "td", "textarea", "tfoot", "th", "thead", "time", "tr", "track", "tt", "u",
    "ul", "var", "video", "wbr",
}  # fmt: skip
# Page landmarks are ours: a template's own become plain boxes.
BOXES = {"address", "article", "aside", "center", "footer", "header", "hgroup", "main", "nav", "section"}
# go with everything in them
DROPPED = {
    "applet", "base", "canvas", "embed", "frame", "frameset", "iframe", "link", "math", "meta", "noembed", "noframes",
    "noscript", "object", "param", "portal", "script", "style", "svg", "template", "title", "button",
}  # fmt: skip
ATTRIBUTES = {
    "*": {"id", "title", "lang", "dir", "aria-label", "aria-labelledby", "aria-describedby"},
    "a": {"href"},
    "audio": {"src", "controls"},
    "video": {"src", "controls", "poster"},
    "source": {"src", "type"},
    "img": {"src", "alt", "width", "height"},
    "input": {
        "type", "name", "value", "checked", "required", "min", "max", "step", "maxlength", "placeholder",
        "data-within",
    },
    "textarea": {"name", "required", "maxlength", "placeholder", "rows"},
    "select": {"name", "required", "multiple"},
    "option": {"value", "selected", "label"},
    "optgroup": {"label"},
    "label": {"for"},
    "ol": {"start", "type", "reversed"},
    "li": {"value"},
    "td": {"colspan", "rowspan", "headers"},
    "th": {"colspan", "rowspan", "headers", "scope"},
    "details": {"open"},
    "time": {"datetime"},
    "bdo": {"dir"},
    "crowd-button": {"form-action"},
    "crowd-checkbox": {"name", "value", "checked", "required"},
    "crowd-radio-button": {"name", "value", "checked", "required"},
    "crowd-radio-group": {"name", "required"},
    "crowd-input": {"name", "value", "label", "type", "required", "placeholder", "max-length", "min", "max", "step",
                    "data-within"},
    "crowd-text-area": {"name", "value", "label", "required", "placeholder", "max-length", "rows"},
    "crowd-slider": {"name", "value", "min", "max", "step", "required", "label", "data-within"},
    "crowd-classifier": {"name", "categories", "header"},
    "crowd-classifier-multi-select": {"name", "categories", "header"},
    "crowd-image-classifier": {"name", "categories", "header", "src"},
    "crowd-image-classifier-multi-select": {"name", "categories", "header", "src"},
    "crowd-instructions": {"link-text"},
    "full-instructions": {"header"},
    "crowd-tab": {"header"},
    "crowd-card": {"heading", "image"},
}  # fmt: skip
# What a filled page may contain, for the second cleaning.
SHOWN = {
    **{
        tag: names
        for tag, names in ATTRIBUTES.items()
        if not tag.startswith("crowd-") and tag not in ("full-instructions",)
    },
    "*": ATTRIBUTES["*"] | {"class"},
    "a": {"href", "target", "rel"},
    "img": {"src", "alt", "width", "height", "loading", "decoding"},
    "input": ATTRIBUTES["input"] | {"inputmode", "autocomplete"},
    "textarea": ATTRIBUTES["textarea"] | {"autocomplete"},
    "output": {"for"},
}

# Our own words, translated when shown.
INSTRUCTIONS = gettext_noop("Instructions")
EXAMPLES = {
    "positive-example": gettext_noop("A good example"),
    "negative-example": gettext_noop("A bad example"),
}
INPUT_TYPES = {"text", "number", "email", "url", "tel", "date", "time"}
Nodes = list[Element | str]


def clean_page(source: str) -> str:
    """Remove all HTML that could run code, load a frame, submit elsewhere or add style."""
    return nh3.clean(
        source,
        tags=PLAIN | BOXES | PLAIN_OF.keys(),
        attributes=ATTRIBUTES,
        clean_content_tags=DROPPED,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


def clean_filled_page(page: str) -> str:
    """Clean a filled page, by the narrower allow list."""
    return nh3.clean(
        page,
        tags=PLAIN | {"output"},
        attributes=SHOWN,
        clean_content_tags=DROPPED,
        generic_attribute_prefixes={"data-"},
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


def _without(attributes: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name not in names}


def _box(element: Element) -> Nodes:
    return [Element("div", _without(element.attributes, "header", "heading", "image"), element.inside)]


def _nothing(element: Element) -> Nodes:
    return []


def _titled(element: Element) -> Nodes:
    title = element.attributes.get("header") or element.attributes.get("heading")
    head: Nodes = [Element("p", {}, [Element("strong", {}, [title])])] if title else []
    return [Element("div", {}, head + element.inside)]


def _instructions(element: Element) -> Nodes:
    title = element.attributes.get("link-text") or element.attributes.get("header")
    summary = Element("summary", {}, [title or INSTRUCTIONS], built_in=not title)
    return [Element("details", {}, [summary, *element.inside])]


def _example(element: Element) -> Nodes:
    title = Element("strong", {}, [EXAMPLES[element.tag]], built_in=True)
    return [Element("div", {}, [Element("p", {}, [title]), *element.inside])]


def _labelled(element: Element, control: Element) -> Nodes:
    label = element.attributes.get("label")
    if not label:
        return [control]
    return [Element("label", {"class": "ask"}, [Element("span", {}, [label]), control])]


def _input(element: Element) -> Nodes:
    attributes = element.attributes
    copied = _without(attributes, "label", "max-length", "type")
    if "max-length" in attributes:
        copied["maxlength"] = attributes["max-length"]
    kind = attributes.get("type", "text").lower()
    return _labelled(element, Element("input", copied | {"type": kind if kind in INPUT_TYPES else "text"}))


def _text_area(element: Element) -> Nodes:
    attributes = element.attributes
    copied = _without(attributes, "label", "max-length", "value")
    if "max-length" in attributes:
        copied["maxlength"] = attributes["max-length"]
    text = attributes.get("value", "")
    return _labelled(element, Element("textarea", copied, [text] if text else list(element.inside)))


def _slider(element: Element) -> Nodes:
    """Go from 0 to 100 by 1 by default, like Amazon's."""
    copied = {"min": "0", "max": "100", "step": "1", **_without(element.attributes, "label")}
    return _labelled(element, Element("input", copied | {"type": "range"}))


def _ticked(kind: str) -> Callable[[Element], Nodes]:
    def build(element: Element) -> Nodes:
        control = Element("input", element.attributes | {"type": kind})
        return [Element("label", {"class": "option"}, [control, Element("span", {}, element.inside)])]

    return build


def _classifier(kind: str) -> Callable[[Element], Nodes]:
    def build(element: Element) -> Nodes:
        attributes = element.attributes
        name = attributes.get("name", "")
        if not name:
            raise ValueError(f"<{element.tag}> has no name; expected one, as answers are kept under it.")
        shown: Nodes = list(element.inside)
        if attributes.get("src"):
            shown.append(Element("img", {"src": attributes["src"], "alt": ""}))
        options: Nodes = [
            Element(
                "label",
                {"class": "option"},
                [
                    Element("input", {"type": kind, "name": name, "value": value})
                    if kind == "checkbox"
                    else Element("input", {"type": kind, "name": name, "value": value, "required": ""}),
                    Element("span", {}, [value]),
                ],
            )
            for value in _categories(attributes.get("categories", ""), element.tag)
        ]
        legend = Element("legend", {}, [attributes.get("header") or name])
        return [Element("div", {}, [*shown, Element("fieldset", {}, [legend, *options])])]

    return build


def _categories(text: str, tag: str) -> list[str]:
    """Accept JSON, or Amazon's single quotation marks."""
    categories: object = None
    for read in (json.loads, ast.literal_eval):
        try:
            categories = read(text.strip())
            break
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    if (
        not isinstance(categories, list)
        or not categories
        or not all(isinstance(category, str) and category.strip() for category in categories)
    ):
        extra = " (a field may stand for one category, not for the list)" if FIELD.search(text) else ""
        raise ValueError(
            f"The categories of <{tag}> are {text[:60]!r}; expected a list such as ['yes', 'no']{extra}."
        )
    return [str(category).strip() for category in categories]


def name_radio_group(element: Element) -> str | None:
    """Give a group's buttons one name; Amazon lets each have its own. Return a sentence if they had."""
    buttons = _buttons(element)
    names = [button.attributes.get("name", "") for button in buttons]
    distinct = list(dict.fromkeys(name for name in names if name))
    group = element.attributes.get("name") or element.attributes.get("id") or ""
    if not buttons or (len(distinct) == 1 and len(buttons) > 1 and all(names)):
        _require(element, buttons)
        return None
    name = group or (distinct[0] if distinct else "")
    values = [button.attributes.get("value", "") for button in buttons]
    distinct_values = len(set(values)) == len(values) and all(values)
    for button, button_name, value in zip(buttons, names, values, strict=True):
        button.attributes |= {"name": name, "value": value if distinct_values else button_name or value}
    _require(element, buttons)
    if len(distinct) < 2:
        return None
    return (
        f"The buttons {', '.join(distinct[:5])} of one group have names of their own: here they are one question, "
        f"“{name}”, whose answer is {'the value' if distinct_values else 'the name'} of the chosen button."
    )


def _require(element: Element, buttons: list[Element]) -> None:
    if "required" in element.attributes:
        for button in buttons:
            button.attributes["required"] = ""


def _buttons(element: Element) -> list[Element]:
    buttons: list[Element] = []
    for node in element.inside:
        if isinstance(node, Element):
            buttons += [node] if node.tag == "crowd-radio-button" else _buttons(node)
    return buttons


def _group(element: Element) -> Nodes:
    return [Element("div", {"class": "group"}, element.inside)]


# Amazon's elements, and what becomes of them.
PLAIN_OF: dict[str, Callable[[Element], Nodes]] = {
    "crowd-alert": _box,
    "crowd-button": _nothing,
    "crowd-card": _titled,
    "crowd-checkbox": _ticked("checkbox"),
    "crowd-classifier": _classifier("radio"),
    "crowd-classifier-multi-select": _classifier("checkbox"),
    "crowd-form": _box,
    "crowd-image-classifier": _classifier("radio"),
    "crowd-image-classifier-multi-select": _classifier("checkbox"),
    "crowd-input": _input,
    "crowd-instructions": _instructions,
    "crowd-modal": _box,
    "crowd-radio-button": _ticked("radio"),
    "crowd-radio-group": _group,
    "crowd-slider": _slider,
    "crowd-tab": _titled,
    "crowd-tabs": _box,
    "crowd-text-area": _text_area,
    "classification-target": _box,
    "short-instructions": _box,
    "short-summary": _box,
    "short-description": _box,
    "detailed-instructions": _box,
    "full-instructions": _instructions,
    "positive-example": _example,
    "negative-example": _example,
}


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
        self.counts: Counter[str] = Counter()
        self.named: dict[str, list[str]] = {}
        self._drawing = 0

    def note(self, what: str, detail: str = "") -> None:
        self.counts[what] += 1
        if detail and detail not in self.named.setdefault(what, []):
            self.named[what].append(detail)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self._tag(tag, attributes)
        for name, value in attributes.items():
            if name.startswith("on"):
                self.note("handlers", name)
            elif name in ("style", "class"):
                self.counts["styles"] += name == "style"
            elif name in ADDRESSES and tag not in FRAMES | {"form", "script", "link", "base"}:
                whole = FIELD.fullmatch(value.strip())
                if not whole and not KNOWN_ADDRESS.match(value):
                    self.note("addresses", value.strip()[:80])
            elif name == "pattern":
                self.note("patterns", attributes.get("name", ""))
            if FIELD.search(name):
                self.note("placed", name[:80])

    def _tag(self, tag: str, attributes: dict[str, str]) -> None:
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
        elif tag in DRAWN:
            self._drawing += 1
            self.note("drawn", tag)
        elif self._drawing:
            return  # the parts of a drawing go with it
        elif tag == "form":
            if attributes.get("action"):
                self.note("action", attributes["action"][:200])
        elif tag == "input" and attributes.get("type", "").lower() in ("file", "password"):
            self.note(f"input-{attributes['type'].lower()}", attributes.get("name", ""))
        elif tag.startswith("crowd-") and tag not in PLAIN_OF:
            self.note("crowd", f"{tag} “{attributes['name']}”" if attributes.get("name") else tag)
        elif tag not in PLAIN | BOXES | STRUCTURE | {"meta", "button"} and tag not in PLAIN_OF:
            self.note("tags", tag[:40])

    def handle_endtag(self, tag: str) -> None:
        if tag in DRAWN and self._drawing:
            self._drawing -= 1

    def handle_data(self, data: str) -> None:
        self.counts["liquid"] += bool(LIQUID.search(FIELD.sub("", data)))


def left_out_of(source: str) -> list[str]:
    """Return one sentence per sort of omitted element, in a stable order."""
    scan = _Scan()
    scan.feed(source)
    scan.close()
    return list(_sentences(scan))


# What was noted -> its sentence, in the order of a page.
_SENTENCES = {
    "scripts": "%(counted)s left out: nothing of the template runs here.",
    "handlers": "What scripts did on %(named)s is left out.",
    "styles": "Styles are left out: the page has Quorum’s look, in light and dark, wide and on a phone.",
    "frames": "%(counted)s left out%(bracketed)s.",
    "action": "The form’s own address (%(named)s) is left out: answers go to Quorum.",
    "base": "The base address of links is left out: links and pictures need whole addresses.",
    "refresh": "The order to load another page (meta refresh) is left out.",
    "drawn": "Drawings (%(named)s) are left out; a picture with an https address can stand there.",
    "input-file": "The field%(quoted)s of type file is left out: files cannot be sent.",
    "input-password": "The field%(quoted)s of type password is left out: passwords are not asked for.",
    "crowd": "These elements need Amazon’s scripts and are left out, with what they ask: %(named)s.",
    "addresses": "Addresses that are not http, https or mailto are left out: %(named)s.",
    "placed": "A field that stands for an attribute is left out: %(named)s.",
    "patterns": "Patterns of text fields are not checked.",
    "tags": "These tags are left out, their text stays: %(named)s.",
    "liquid": "Liquid ({{ … }}, {%% … %%}) is not carried out and stands on the page as it is; fields are ${name}.",
}
_COUNTED = {
    "scripts": ("A script", "scripts"),
    "frames": ("A frame from elsewhere", "frames from elsewhere"),
}


def _sentences(scan: _Scan) -> Iterator[str]:
    for what, sentence in _SENTENCES.items():
        if count := scan.counts[what]:
            names = scan.named.get(what, [])
            more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            named = ", ".join(names[:MOST_NAMED]) + more
            singular, plural = _COUNTED.get(what, ("", ""))
            yield sentence % {
                "named": named,
                "bracketed": f" ({named})" if named else "",
                "quoted": f" “{named}”" if named else "",
                "counted": singular if count == 1 else f"{count} {plural}",
            }


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
    plain_nodes: list[Element | str] = []
    for node in nodes:
        if isinstance(node, str):
            plain_nodes.append(node)
            continue
        if node.tag == "crowd-radio-group" and (sentence := name_radio_group(node)):
            sentences.append(sentence)
        node.inside = _plain(node.inside, sentences)
        if node.tag in PLAIN_OF:
            plain_nodes += PLAIN_OF[node.tag](node)
        elif node.tag in BOXES:
            plain_nodes.append(Element("div", node.attributes, node.inside))
        elif node.tag == "select" and "multiple" in node.attributes:
            plain_nodes += _boxes_of(node)
        else:
            plain_nodes.append(node)
    return plain_nodes


def _boxes_of(select: Element) -> list[Element | str]:
    """Boxes need no modifier key."""
    options = [option for option in walk(select.inside) if option.tag == "option"]
    boxes: list[Element | str] = []
    for option in options:
        label = "".join(text for text in option.inside if isinstance(text, str)).strip()
        attributes = {
            "type": "checkbox",
            "name": select.attributes.get("name", ""),
            "value": option.attributes.get("value", label),
        }
        if "selected" in option.attributes:
            attributes["checked"] = ""
        boxes.append(
            Element(
                "label", {"class": "option"}, [Element("input", attributes), Element("span", {}, [label])]
            )
        )
    return [Element("span", {"class": "group"}, boxes)]


def _level_headings(page: list[Element | str]) -> None:
    """Renumber headings below the form's own, without gaps."""
    levels = sorted({element.tag for element in walk(page) if element.tag in HEADINGS})
    names = {tag: f"h{min(FIRST_LEVEL + depth, len(HEADINGS))}" for depth, tag in enumerate(levels)}
    for element in walk(page):
        element.tag = names.get(element.tag, element.tag)
