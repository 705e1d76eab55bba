"""Data types of a parsed template: a tree of plain elements, and questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

FIELD = re.compile(r"\$\{\s*([^{}$\r\n]{1,200}?)\s*\}")
VOID = frozenset({"br", "hr", "img", "input", "wbr", "source", "track", "col"})
Shape = Literal["choice", "several", "number", "text", "fixed"]
CLOSED = ("choice", "several")  # shapes whose answers come from a few options


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a choice.

    Attributes:
        value: what is stored; may contain ``${field}``.
        label: its words on the page; may contain ``${field}``.
        required: of a checkbox: it must be ticked.
        chosen: whether it is chosen initially.
    """

    value: str
    label: str = ""
    required: bool = False
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the form.

    Attributes:
        name: of its control, as in the answer and the results file.
        shape: choice: one of the options; several: any of them; number; text; fixed: a hidden constant.
        control: radio, checkbox, select, number, range, text, textarea or hidden.
        label: its words on the page, or its name.
        low, high, step: of numbers; None if unbounded.
        longest: maximal characters of a text.
        preset: initial value of text, number and fixed; may contain ``${field}``.
        within: of numbers: tolerance around an expected answer; None if not given.
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
    """An element of the page. A control has 0-based numbers of its question and option."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)
    question: int = -1
    option: int = -1
    own_word: bool = False  # our own text, translated when shown


def words_in(element: Element) -> str:
    """Return an element's text in one line, without that of its controls."""
    return " ".join("".join(_texts(element)).split())


def _texts(element: Element) -> Iterator[str]:
    for one in element.inside:
        if isinstance(one, str):
            yield one
        elif one.tag not in ("select", "textarea", "option"):
            yield from _texts(one)
            yield " " if one.tag in ("p", "div", "br", "li", "td", "th") else ""


def walk(elements: list[Element | str]) -> Iterator[Element]:
    for one in elements:
        if isinstance(one, Element):
            yield one
            yield from walk(one.inside)


def fields_in(text: str) -> list[str]:
    return [str(name).strip() for name in FIELD.findall(text)]
