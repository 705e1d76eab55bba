"""Clean the HTML of a template by an allow list, and replace Amazon's elements by plain ones.

Styles and classes are removed: the page has one look, light and dark, and no step can cover its surroundings.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping

import nh3
from django.utils.translation import gettext_noop

from judgments.hit_templates.questions import FIELD, Element

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


def _without(given: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in given.items() if name not in names}


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
    summary = Element("summary", {}, [title or INSTRUCTIONS], own_word=not title)
    return [Element("details", {}, [summary, *element.inside])]


def _example(element: Element) -> Nodes:
    title = Element("strong", {}, [EXAMPLES[element.tag]], own_word=True)
    return [Element("div", {}, [Element("p", {}, [title]), *element.inside])]


def _labelled(element: Element, control: Element) -> Nodes:
    label = element.attributes.get("label")
    if not label:
        return [control]
    return [Element("label", {"class": "ask"}, [Element("span", {}, [label]), control])]


def _input(element: Element) -> Nodes:
    given = element.attributes
    kept = _without(given, "label", "max-length", "type")
    if "max-length" in given:
        kept["maxlength"] = given["max-length"]
    kind = given.get("type", "text").lower()
    return _labelled(element, Element("input", kept | {"type": kind if kind in INPUT_TYPES else "text"}))


def _text_area(element: Element) -> Nodes:
    given = element.attributes
    kept = _without(given, "label", "max-length", "value")
    if "max-length" in given:
        kept["maxlength"] = given["max-length"]
    text = given.get("value", "")
    return _labelled(element, Element("textarea", kept, [text] if text else list(element.inside)))


def _slider(element: Element) -> Nodes:
    """Go from 0 to 100 by 1 by default, like Amazon's."""
    kept = {"min": "0", "max": "100", "step": "1", **_without(element.attributes, "label")}
    return _labelled(element, Element("input", kept | {"type": "range"}))


def _ticked(kind: str) -> Callable[[Element], Nodes]:
    def made(element: Element) -> Nodes:
        control = Element("input", element.attributes | {"type": kind})
        return [Element("label", {"class": "option"}, [control, Element("span", {}, element.inside)])]

    return made


def _classifier(kind: str) -> Callable[[Element], Nodes]:
    def made(element: Element) -> Nodes:
        given = element.attributes
        name = given.get("name", "")
        if not name:
            raise ValueError(f"<{element.tag}> has no name; expected one, as answers are kept under it.")
        shown: Nodes = list(element.inside)
        if given.get("src"):
            shown.append(Element("img", {"src": given["src"], "alt": ""}))
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
            for value in _categories(given.get("categories", ""), element.tag)
        ]
        legend = Element("legend", {}, [given.get("header") or name])
        return [Element("div", {}, [*shown, Element("fieldset", {}, [legend, *options])])]

    return made


def _categories(text: str, tag: str) -> list[str]:
    """Accept JSON, or Amazon's single quotation marks."""
    found: object = None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text.strip())
            break
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    if (
        not isinstance(found, list)
        or not found
        or not all(isinstance(one, str) and one.strip() for one in found)
    ):
        extra = " (a field may stand for one category, not for the list)" if FIELD.search(text) else ""
        raise ValueError(
            f"The categories of <{tag}> are {text[:60]!r}; expected a list such as ['yes', 'no']{extra}."
        )
    return [str(one).strip() for one in found]


def name_radio_group(element: Element) -> str | None:
    """Give a group's buttons one name; Amazon lets each have its own. Return a sentence if they had."""
    buttons = _buttons(element)
    names = [one.attributes.get("name", "") for one in buttons]
    distinct = list(dict.fromkeys(name for name in names if name))
    group = element.attributes.get("name") or element.attributes.get("id") or ""
    if not buttons or (len(distinct) == 1 and len(buttons) > 1 and all(names)):
        _require(element, buttons)
        return None
    name = group or (distinct[0] if distinct else "")
    values = [one.attributes.get("value", "") for one in buttons]
    distinct_values = len(set(values)) == len(values) and all(values)
    for one, own, value in zip(buttons, names, values, strict=True):
        one.attributes |= {"name": name, "value": value if distinct_values else own or value}
    _require(element, buttons)
    if len(distinct) < 2:
        return None
    return (
        f"The buttons {', '.join(distinct[:5])} of one group have names of their own: here they are one question, "
        f"“{name}”, whose answer is {'the value' if distinct_values else 'the name'} of the chosen button."
    )


def _require(element: Element, buttons: list[Element]) -> None:
    if "required" in element.attributes:
        for one in buttons:
            one.attributes["required"] = ""


def _buttons(element: Element) -> list[Element]:
    found: list[Element] = []
    for one in element.inside:
        if isinstance(one, Element):
            found += [one] if one.tag == "crowd-radio-button" else _buttons(one)
    return found


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
