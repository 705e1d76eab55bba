"""Elements of a template, and the questions of its controls. Controls of one name are one question."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

FIELD = re.compile(r"\$\{\s*([^{}$\r\n]{1,200}?)\s*\}")
VOID = frozenset({"br", "hr", "img", "input", "wbr", "source", "track", "col"})
Shape = Literal["choice", "several", "number", "text", "fixed"]
LONGEST_NAME = 100
LONGEST_TEXT = 10_000
GREATEST = 1e15  # the largest typed number up to which whole numbers are exact
MOST_QUESTIONS = 500
WITHIN = "data-within"  # the tolerance of a number, not shown to workers
BUTTONS = {"submit", "reset", "button", "image"}
NOT_CARRIED = {"file", "password"}
GROUPED = ("radio", "checkbox")
# Choice: one of the options; several: any of them; fixed: a hidden constant.
SHAPES: dict[str, Shape] = {
    "radio": "choice",
    "checkbox": "several",
    "select": "choice",
    "number": "number",
    "range": "number",
    "hidden": "fixed",
    "text": "text",
    "textarea": "text",
}
SORTS = {
    "radio": "radio buttons",
    "checkbox": "checkboxes",
    "select": "a list to choose from",
    "number": "a number field",
    "range": "a slider",
    "text": "a text field",
    "textarea": "a text field",
    "hidden": "a hidden field",
}


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a choice; value and label may contain ``${field}``.

    Attributes:
        required: of a checkbox: it must be ticked.
    """

    value: str
    label: str = ""
    required: bool = False
    chosen: bool = False


@dataclass(slots=True)
class Question:
    """A question of the form.

    Attributes:
        name: of its control, as in the answer and the results file.
        control: a key of ``SHAPES``.
        low, high, step: of numbers; None if unbounded.
        longest: maximal characters of a text.
        preset: initial value of text, number and fixed; may contain ``${field}``.
        within: of numbers: tolerance around an expected answer.
    """

    name: str
    control: str
    label: str = ""
    required: bool = False
    options: tuple[Option, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    longest: int = LONGEST_TEXT
    preset: str = ""
    within: float | None = None

    @property
    def shape(self) -> Shape:
        return SHAPES[self.control]


@dataclass(slots=True)
class Element:
    """An element of the page; a control has 0-based numbers of its question and option."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)
    question: int = -1
    option: int = -1
    own_word: bool = False  # our own text, translated when shown


def words_in(element: Element) -> str:
    """Return an element's text in one line, without its controls."""
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


class _Labels:
    def __init__(self, page: list[Element | str]) -> None:
        self._by_id: dict[str, str] = {}
        self._around: dict[int, str] = {}
        self._group: dict[int, str] = {}
        self._read(page, "", "")

    def _read(self, nodes: list[Element | str], label: str, group: str) -> None:
        for one in nodes:
            if not isinstance(one, Element):
                continue
            own, inner = label, group
            if one.tag == "label":
                own = words_in(one)
                if one.attributes.get("for"):
                    self._by_id.setdefault(one.attributes["for"], own)
            elif one.tag == "fieldset":
                legend = next(
                    (part for part in one.inside if isinstance(part, Element) and part.tag == "legend"), None
                )
                inner = words_in(legend) if legend is not None else group
            elif one.tag in ("input", "select", "textarea"):
                self._around[id(one)], self._group[id(one)] = label, group
            self._read(one.inside, own, inner)

    def own(self, control: Element) -> str:
        given = control.attributes
        return (
            self._around.get(id(control), "")
            or self._by_id.get(given.get("id", ""), "")
            or given.get("aria-label", "")
            or given.get("title", "")
        )

    def group(self, control: Element) -> str:
        return self._group.get(id(control), "")


def find_questions(page: list[Element | str]) -> tuple[tuple[Question, ...], list[str]]:
    """Return a page's ordered questions, and sentences about removed unusable controls.

    Raises:
        ValueError: an invalid name, a name shared by two sorts of controls, or bounds that are no numbers.
    """
    _one_id_each(page)
    labels = _Labels(page)
    found: dict[str, Question] = {}
    sentences: list[str] = []
    _read(page, labels, found, sentences)
    if len(found) > MOST_QUESTIONS:
        raise ValueError(f"The template asks {len(found)} questions; expected at most {MOST_QUESTIONS}.")
    for one in found.values():
        _check_options(one)
        one.label = one.label or one.name
    return tuple(found.values()), list(dict.fromkeys(sentences))


def _one_id_each(page: list[Element | str]) -> None:
    seen: set[str] = set()
    for one in walk(page):
        own = one.attributes.get("id", "")
        if own and (own in seen or FIELD.search(own) or len(own.split()) != 1):
            del one.attributes["id"]
        seen.add(own)


def _read(
    nodes: list[Element | str], labels: _Labels, found: dict[str, Question], sentences: list[str]
) -> None:
    kept: list[Element | str] = []
    for one in nodes:
        if isinstance(one, str) or one.tag not in ("input", "select", "textarea"):
            if isinstance(one, Element):
                _read(one.inside, labels, found, sentences)
            kept.append(one)
            continue
        control = _control(one)
        if control in BUTTONS | NOT_CARRIED:
            continue  # left_out tells of those that matter
        if not one.attributes.get("name", "").strip():
            sentences.append(
                f"{SORTS[control][0].upper()}{SORTS[control][1:]} without a name: left out, as an answer needs one."
            )
            continue
        _take(one, control, labels, found)
        kept.append(one)
    nodes[:] = kept


def _control(element: Element) -> str:
    if element.tag != "input":
        return element.tag
    kind = element.attributes.get("type", "text").lower()
    return kind if kind in SORTS or kind in BUTTONS | NOT_CARRIED else "text"


def _take(element: Element, control: str, labels: _Labels, found: dict[str, Question]) -> None:
    given = element.attributes
    name = " ".join(given["name"].split())
    if FIELD.search(name):
        raise ValueError(
            f"The name {name[:60]!r} of {SORTS[control]} holds a field; expected the same name in every row."
        )
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise ValueError(
            f"The name {name[:60]!r} is none; expected at most {LONGEST_NAME} visible characters."
        )
    there = found.get(name)
    if there is not None and there.control != control:
        raise ValueError(
            f"The name {name!r} belongs to {SORTS[there.control]} and to {SORTS[control]}; expected a name for each."
        )
    if there is not None and control not in GROUPED:
        raise ValueError(f"The name {name!r} belongs to {SORTS[control]} twice; expected a name for each.")
    one = there or Question(name, control)
    found.setdefault(name, one)
    element.question = list(found).index(name)
    if control in GROUPED:
        element.option = len(one.options)
        own = labels.own(element)
        required = "required" in given
        value = given.get("value", "on")
        option = Option(value, own or value, required and control == "checkbox", "checked" in given)
        one.options = (*one.options, option)
        one.required |= required and control == "radio"
        one.label = one.label or labels.group(element) or _single_label(element, control, own)
        return
    one.label = labels.own(element) or labels.group(element)
    one.required = "required" in given
    if control == "select":
        _take_list(element, one)
    elif SHAPES[control] == "number":
        _take_bounds(given, one)
        one.preset = given.get("value", "")
    else:
        one.longest = _whole(given.get("maxlength", ""), LONGEST_TEXT)
        text = "".join(part for part in element.inside if isinstance(part, str))
        one.preset = text if control == "textarea" else given.get("value", "")


def _single_label(element: Element, control: str, own: str) -> str:
    return own if control == "checkbox" and "value" not in element.attributes else ""


def _take_list(element: Element, one: Question) -> None:
    """Without an empty first entry, the first option would count as an answer."""
    places = [part for part in walk(element.inside) if part.tag == "option"]
    chosen = any("selected" in part.attributes for part in places)
    for part in places:
        words = " ".join("".join(text for text in part.inside if isinstance(text, str)).split())
        part.option, part.question = len(one.options), element.question
        option = Option(
            part.attributes.get("value", words),
            words or part.attributes.get("label", ""),
            chosen="selected" in part.attributes,
        )
        one.options = (*one.options, option)
    if places and not chosen and one.options[0].value:
        one.required = True
        element.attributes["required"] = ""
        element.inside.insert(0, Element("option", {"value": ""}, ["–"]))


def _take_bounds(given: dict[str, str], one: Question) -> None:
    one.low, one.high = (_number(given, bound, one.name) for bound in ("min", "max"))
    if one.control == "range":
        one.low, one.high = (
            one.low if one.low is not None else 0.0,
            one.high if one.high is not None else 100.0,
        )
        # without a value of its own it stands nowhere until it is moved
        one.required = one.required or not given.get("value", "").strip()
    step = given.get("step", "1").strip().lower()
    one.step = None if step == "any" else _number(given, "step", one.name) or 1.0
    one.within = _number(given, WITHIN, one.name)
    if one.within is not None and one.within < 0:
        raise ValueError(f"{WITHIN} of “{one.name}” is {given[WITHIN][:40]!r}; expected 0 or more.")
    if one.low is not None and one.high is not None and one.low > one.high:
        raise ValueError(
            f"“{one.name}” goes from {one.low:g} to {one.high:g}; expected the lower number first."
        )


def _number(given: dict[str, str], bound: str, name: str) -> float | None:
    text = given.get(bound, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{bound} of “{name}” is {text[:40]!r}; expected a number.")
    return number


def _whole(text: str, otherwise: int) -> int:
    return min(int(text), otherwise) if text.isascii() and text.isdigit() and 0 < len(text) < 9 else otherwise


def _check_options(one: Question) -> None:
    values = [option.value for option in one.options]
    if one.control in GROUPED or one.control == "select":
        if not any(values):
            raise ValueError(f"“{one.name}” has nothing to choose; expected options with a value.")
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:
            raise ValueError(f"“{one.name}” has the option {twice!r} twice; expected every value once.")


def as_number(value: Any) -> int | float | None:
    """Return a finite number, as int if whole, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not abs(value) <= GREATEST:  # not a number as well
        return None
    return int(value) if float(value).is_integer() else float(value)
