"""What a template is made of once it is read: a tree of plain elements, and the questions that its controls ask."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

FIELD = re.compile(r"\$\{\s*([^{}$\r\n]{1,200}?)\s*\}")
VOID = frozenset({"br", "hr", "img", "input", "wbr", "source", "track", "col"})
Shape = Literal["choice", "several", "number", "text", "fixed"]
CLOSED = ("choice", "several")  # shapes whose answers are some of a few options


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen.

    Attributes:
        value: what is stored; may hold ``${field}``.
        label: its words on the page; may hold ``${field}``.
        required: of a checkbox: it must be ticked.
        chosen: it is chosen before anybody does anything.
    """

    value: str
    label: str = ""
    required: bool = False
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What one name of the form asks.

    Attributes:
        name: of its control, as the answer and the results file carry it.
        shape: choice: one of the options; several: any of them; number; text; fixed: a hidden constant.
        control: the sort of its controls: radio, checkbox, select, number, range, text, textarea, hidden.
        label: its words on the page, or its name.
        low, high, step: of numbers; None where there is no bound.
        longest: characters of a text at most.
        preset: of text, number and fixed: what stands there at first; may hold ``${field}``.
        within: of numbers: how far an answer may lie from an expected one and be right; None where it says nothing.
    """

    name: str
    shape: Shape
    control: str
    label: str = ""
    required: bool = False
    options: tuple[Option, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    longest: int = 0
    preset: str = ""
    within: float | None = None


@dataclass(slots=True)
class Element:
    """An element of the page. A control names its question, and its option where it has one, by number from 0."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)
    question: int = -1
    option: int = -1
    own_word: bool = False  # its text is ours, and is translated when it is shown


def words_in(element: Element) -> str:
    """The text of an element in one line, without that of its controls."""
    return " ".join("".join(_texts(element)).split())


def _texts(element: Element) -> Iterator[str]:
    for one in element.inside:
        if isinstance(one, str):
            yield one
        elif one.tag not in ("select", "textarea", "option"):
            yield from _texts(one)
            yield " " if one.tag in ("p", "div", "br", "li", "td", "th") else ""


def walk(elements: list[Element | str]) -> Iterator[Element]:
    """Every element, in the order of the page."""
    for one in elements:
        if isinstance(one, Element):
            yield one
            yield from walk(one.inside)


def fields_in(text: str) -> list[str]:
    """The fields that a text names."""
    return [str(name).strip() for name in FIELD.findall(text)]
