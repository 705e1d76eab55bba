"""Replace Amazon's Crowd HTML Elements, such as ``<crowd-slider>``, by plain HTML.

ELEMENT_BUILDERS has a function for each of Amazon's elements. It gets the element, whose children are replaced already,
and returns the nodes that take its place.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping

from django.utils.translation import gettext_noop

from contrib.hit_templates.html.elements import FIELD, Element

# Our own texts (``built_in``), which are translated when they are shown.
INSTRUCTIONS = gettext_noop("Instructions")
EXAMPLES = {
    "positive-example": gettext_noop("A good example"),
    "negative-example": gettext_noop("A bad example"),
}
INPUT_TYPES = {"text", "number", "email", "url", "tel", "date", "time"}
Nodes = list[Element | str]


def _omit_attributes(attributes: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: value for name, value in attributes.items() if name not in names}


def _build_box(element: Element) -> Nodes:
    return [
        Element("div", _omit_attributes(element.attributes, "header", "heading", "image"), element.children)
    ]


def _build_nothing(element: Element) -> Nodes:
    return []  # the form has its own button to submit


def _build_titled_box(element: Element) -> Nodes:
    title = element.attributes.get("header") or element.attributes.get("heading")
    head: Nodes = [Element("p", {}, [Element("strong", {}, [title])])] if title else []
    return [Element("div", {}, head + element.children)]


def _build_instructions(element: Element) -> Nodes:
    title = element.attributes.get("link-text") or element.attributes.get("header")
    summary = Element("summary", {}, [title or INSTRUCTIONS], built_in=not title)
    return [Element("details", {}, [summary, *element.children])]


def _build_example(element: Element) -> Nodes:
    title = Element("strong", {}, [EXAMPLES[element.tag]], built_in=True)
    return [Element("div", {}, [Element("p", {}, [title]), *element.children])]


def _labelled_control(element: Element, control: Element) -> Nodes:
    label = element.attributes.get("label")
    if not label:
        return [control]
    return [Element("label", {"class": "ask"}, [Element("span", {}, [label]), control])]


def _build_input(element: Element) -> Nodes:
    attributes = element.attributes
    plain_attributes = _omit_attributes(attributes, "label", "max-length", "type")
    if "max-length" in attributes:
        plain_attributes["maxlength"] = attributes["max-length"]
    input_type = attributes.get("type", "text").lower()
    plain_attributes["type"] = input_type if input_type in INPUT_TYPES else "text"
    return _labelled_control(element, Element("input", plain_attributes))


def _build_text_area(element: Element) -> Nodes:
    attributes = element.attributes
    plain_attributes = _omit_attributes(attributes, "label", "max-length", "value")
    if "max-length" in attributes:
        plain_attributes["maxlength"] = attributes["max-length"]
    text = attributes.get("value", "")
    children: Nodes = [text] if text else list(element.children)
    return _labelled_control(element, Element("textarea", plain_attributes, children))


def _build_slider(element: Element) -> Nodes:
    """Return a plain slider. By default it goes from 0 to 100 by 1, like Amazon's."""
    defaults = {"min": "0", "max": "100", "step": "1"}
    plain_attributes = defaults | _omit_attributes(element.attributes, "label") | {"type": "range"}
    return _labelled_control(element, Element("input", plain_attributes))


def _button_builder(input_type: str) -> Callable[[Element], Nodes]:
    """Return a function that replaces an element by a radio button or a check box with a label."""

    def build(element: Element) -> Nodes:
        control = Element("input", element.attributes | {"type": input_type})
        return [Element("label", {"class": "option"}, [control, Element("span", {}, element.children)])]

    return build


def _classifier_builder(input_type: str) -> Callable[[Element], Nodes]:
    """Return a function that replaces a classifier by a list of options under its header."""

    def build(element: Element) -> Nodes:
        attributes = element.attributes
        name = attributes.get("name", "")
        if not name:
            raise ValueError(f"<{element.tag}> has no name; expected one, as answers are kept under it.")
        children: Nodes = list(element.children)
        if attributes.get("src"):
            children.append(Element("img", {"src": attributes["src"], "alt": ""}))
        flags = {} if input_type == "checkbox" else {"required": ""}
        options: Nodes = [
            Element(
                "label",
                {"class": "option"},
                [
                    Element("input", {"type": input_type, "name": name, "value": value, **flags}),
                    Element("span", {}, [value]),
                ],
            )
            for value in _read_categories(attributes.get("categories", ""), element.tag)
        ]
        legend = Element("legend", {}, [attributes.get("header") or name])
        return [Element("div", {}, [*children, Element("fieldset", {}, [legend, *options])])]

    return build


def _read_categories(text: str, tag: str) -> list[str]:
    """Return the categories in an attribute, a list in JSON or with single quotation marks, which Amazon allows."""
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
        hint = " (a field may stand for one category, not for the list)" if FIELD.search(text) else ""
        raise ValueError(
            f"The categories of <{tag}> are {text[:60]!r}; expected a list such as ['yes', 'no']{hint}."
        )
    return [str(category).strip() for category in categories]


def name_radio_group(element: Element) -> str | None:
    """Give the buttons of a group one name, as radio buttons in plain HTML have, before plain ones replace them.

    Amazon allows buttons with different names. The chosen button's value is then the answer or, if values are missing
    or equal, its name. Return a sentence about this, or None if the names did not differ.
    """
    buttons = _find_buttons(element)
    if "required" in element.attributes:
        for button in buttons:
            button.attributes["required"] = ""
    names = [button.attributes.get("name", "") for button in buttons]
    distinct_names = list(dict.fromkeys(name for name in names if name))
    # The name of a single button may not be that of the question, so the name of the group is preferred.
    has_common_name = len(distinct_names) == 1 and len(buttons) > 1 and all(names)
    if not buttons or has_common_name:
        return None
    group_name = element.attributes.get("name") or element.attributes.get("id") or ""
    name = group_name or (distinct_names[0] if distinct_names else "")
    values = [button.attributes.get("value", "") for button in buttons]
    has_distinct_values = len(set(values)) == len(values) and all(values)
    for button, button_name, value in zip(buttons, names, values, strict=True):
        button.attributes |= {"name": name, "value": value if has_distinct_values else button_name or value}
    if len(distinct_names) < 2:
        return None
    return (
        f"The buttons {', '.join(distinct_names[:5])} of one group have names of their own: here they are one "
        f"question, “{name}”, whose answer is {'the value' if has_distinct_values else 'the name'} of the chosen "
        "button."
    )


def _find_buttons(element: Element) -> list[Element]:
    buttons: list[Element] = []
    for node in element.children:
        if isinstance(node, Element):
            buttons += [node] if node.tag == "crowd-radio-button" else _find_buttons(node)
    return buttons


def _build_group(element: Element) -> Nodes:
    return [Element("div", {"class": "group"}, element.children)]


ELEMENT_BUILDERS: dict[str, Callable[[Element], Nodes]] = {
    "crowd-alert": _build_box,
    "crowd-button": _build_nothing,
    "crowd-card": _build_titled_box,
    "crowd-checkbox": _button_builder("checkbox"),
    "crowd-classifier": _classifier_builder("radio"),
    "crowd-classifier-multi-select": _classifier_builder("checkbox"),
    "crowd-form": _build_box,
    "crowd-image-classifier": _classifier_builder("radio"),
    "crowd-image-classifier-multi-select": _classifier_builder("checkbox"),
    "crowd-input": _build_input,
    "crowd-instructions": _build_instructions,
    "crowd-modal": _build_box,
    "crowd-radio-button": _button_builder("radio"),
    "crowd-radio-group": _build_group,
    "crowd-slider": _build_slider,
    "crowd-tab": _build_titled_box,
    "crowd-tabs": _build_box,
    "crowd-text-area": _build_text_area,
    "classification-target": _build_box,
    "short-instructions": _build_box,
    "short-summary": _build_box,
    "short-description": _build_box,
    "detailed-instructions": _build_box,
    "full-instructions": _build_instructions,
    "positive-example": _build_example,
    "negative-example": _build_example,
}
