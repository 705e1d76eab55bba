"""The tree of elements into which the HTML of a template is parsed, and its fields ``${field}``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

FIELD = re.compile(r"\$\{\s*([^{}$\r\n]{1,200}?)\s*\}")
VOID_ELEMENTS = frozenset({"br", "hr", "img", "input", "wbr", "source", "track", "col"})


@dataclass(slots=True)
class Element:
    """An element of the page.

    Attributes:
        question_index: index of the question to which a control belongs; -1 for other elements.
        option_index: index of the option that a radio button, a check box or an option element stands for; else -1.
        built_in: whether the text is Quorum's own instead of the template's, and so is translated when it is shown.
    """

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)
    question_index: int = -1
    option_index: int = -1
    built_in: bool = False


def inner_text(element: Element) -> str:
    """Return the text inside an element on one line, without the texts of its controls."""
    return " ".join("".join(_texts(element)).split())


def _texts(element: Element) -> Iterator[str]:
    for node in element.children:
        if isinstance(node, str):
            yield node
        elif node.tag not in ("select", "textarea", "option"):
            yield from _texts(node)
            yield " " if node.tag in ("p", "div", "br", "li", "td", "th") else ""


def walk_elements(elements: list[Element | str]) -> Iterator[Element]:
    for node in elements:
        if isinstance(node, Element):
            yield node
            yield from walk_elements(node.children)


def fields_in(text: str) -> list[str]:
    """Return the names of the fields ``${field}`` in a text, in order."""
    return [str(name).strip() for name in FIELD.findall(text)]
