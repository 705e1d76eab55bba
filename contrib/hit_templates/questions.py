"""Find the questions of a template's page. Controls with the same name form one question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from contrib.hit_templates.elements import FIELD, Element, inner_text, walk_elements

Shape = Literal["choice", "several", "number", "text", "fixed"]
MAX_NAME_LENGTH = 100  # characters of a question's name
MAX_TEXT_LENGTH = 10_000  # characters of a written answer
GREATEST_NUMBER = 1e15  # largest number that can be typed; up to it, whole numbers are exact
MAX_QUESTIONS = 500
TOLERANCE_ATTRIBUTE = "data-within"  # the tolerance of a number, which workers do not see
BUTTONS = {"submit", "reset", "button", "image"}
UNSUPPORTED_TYPES = {"file", "password"}
GROUPED_TYPES = ("radio", "checkbox")
# choice: one of the options; several: any of them; fixed: a hidden constant
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
CONTROL_WORDS = {
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
class FormOption:
    """An option of a choice; value and label may contain ``${field}``.

    Attributes:
        required: whether it is a checkbox that must be ticked.
        is_chosen: whether the template chooses it before the worker does.
    """

    value: str
    label: str = ""
    required: bool = False
    is_chosen: bool = False


@dataclass(slots=True)
class FormQuestion:
    """A question of the form.

    Attributes:
        name: the name of its control, as in the answer and the results file.
        control: a key of ``SHAPES``.
        label: the text that names the question on the page; may contain ``${field}``.
        required: whether an answer is needed. Single checkboxes have ``required`` of their own.
        options: the options of a choice.
        low, high, step: bounds and step of a number; None if unbounded.
        max_length: largest number of characters of a text.
        preset: initial value of text, number and fixed; may contain ``${field}``.
        tolerance: tolerance around the expected answer, for a number.
    """

    name: str
    control: str
    label: str = ""
    required: bool = False
    options: tuple[FormOption, ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | None = None
    max_length: int = MAX_TEXT_LENGTH
    preset: str = ""
    tolerance: float | None = None

    @property
    def shape(self) -> Shape:
        return SHAPES[self.control]


class _Labels:
    """The labels of a page's controls: the text of a label element, and the legend of the field set around them."""

    def __init__(self, page: list[Element | str]) -> None:
        self._label_by_id: dict[str, str] = {}
        # by the identity of the control's element: the label element around it, and the legend
        self._outer_label: dict[int, str] = {}
        self._legend: dict[int, str] = {}
        self._read_labels(page, outer_label="", legend="")

    def _read_labels(self, nodes: list[Element | str], outer_label: str, legend: str) -> None:
        for node in nodes:
            if not isinstance(node, Element):
                continue
            inner_label, inner_legend = outer_label, legend
            if node.tag == "label":
                inner_label = inner_text(node)
                if node.attributes.get("for"):
                    self._label_by_id.setdefault(node.attributes["for"], inner_label)
            elif node.tag == "fieldset":
                children = [child for child in node.children if isinstance(child, Element)]
                legend_element = next((child for child in children if child.tag == "legend"), None)
                inner_legend = inner_text(legend_element) if legend_element is not None else legend
            elif node.tag in ("input", "select", "textarea"):
                self._outer_label[id(node)] = outer_label
                self._legend[id(node)] = legend
            self._read_labels(node.children, inner_label, inner_legend)

    def label_of(self, control: Element) -> str:
        attributes = control.attributes
        return (
            self._outer_label.get(id(control), "")
            or self._label_by_id.get(attributes.get("id", ""), "")
            or attributes.get("aria-label", "")
            or attributes.get("title", "")
        )

    def legend_of(self, control: Element) -> str:
        return self._legend.get(id(control), "")


def find_questions(page: list[Element | str]) -> tuple[tuple[FormQuestion, ...], list[str]]:
    """Return the questions of a page in order, and sentences about unusable controls.

    Unusable controls are removed from the page. The others get the index of their question and option.

    Raises:
        ValueError: a name is invalid or shared by two types of controls, or bounds are not numbers, or there are
            too many questions.
    """
    _drop_unusable_ids(page)
    labels = _Labels(page)
    questions: dict[str, FormQuestion] = {}
    sentences: list[str] = []
    _read_nodes(page, labels, questions, sentences)
    if len(questions) > MAX_QUESTIONS:
        raise ValueError(f"The template asks {len(questions)} questions; expected at most {MAX_QUESTIONS}.")
    for question in questions.values():
        _check_options(question)
        question.label = question.label or question.name
    return tuple(questions.values()), list(dict.fromkeys(sentences))


def _drop_unusable_ids(page: list[Element | str]) -> None:
    """Remove ids that are repeated, contain a field, or are not one word. Labels could not refer to them."""
    element_ids: set[str] = set()
    for element in walk_elements(page):
        element_id = element.attributes.get("id", "")
        if element_id and (
            element_id in element_ids or FIELD.search(element_id) or len(element_id.split()) != 1
        ):
            del element.attributes["id"]
        element_ids.add(element_id)


def _read_nodes(
    nodes: list[Element | str], labels: _Labels, questions: dict[str, FormQuestion], sentences: list[str]
) -> None:
    """Add the questions of nodes to ``questions``, and remove unusable controls from ``nodes``."""
    kept_nodes: list[Element | str] = []
    for node in nodes:
        if isinstance(node, str) or node.tag not in ("input", "select", "textarea"):
            if isinstance(node, Element):
                _read_nodes(node.children, labels, questions, sentences)
            kept_nodes.append(node)
            continue
        control = _control_type(node)
        if control in BUTTONS | UNSUPPORTED_TYPES:
            continue  # ``describe_omissions`` mentions those that matter
        if not node.attributes.get("name", "").strip():
            sentences.append(
                f"{CONTROL_WORDS[control][0].upper()}{CONTROL_WORDS[control][1:]} without a name: left out, "
                "as an answer needs one."
            )
            continue
        _read_control(node, control, labels, questions)
        kept_nodes.append(node)
    nodes[:] = kept_nodes


def _control_type(element: Element) -> str:
    if element.tag != "input":
        return element.tag
    input_type = element.attributes.get("type", "text").lower()
    return input_type if input_type in CONTROL_WORDS or input_type in BUTTONS | UNSUPPORTED_TYPES else "text"


def _read_control(
    element: Element, control: str, labels: _Labels, questions: dict[str, FormQuestion]
) -> None:
    """Add the question of a control or, for a further radio button or check box, its option.

    Raises:
        ValueError: the name is invalid, or belongs to another control.
    """
    attributes = element.attributes
    name = " ".join(attributes["name"].split())
    if FIELD.search(name):
        raise ValueError(
            f"The name {name[:60]!r} of {CONTROL_WORDS[control]} holds a field; expected the same name in every row."
        )
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ValueError(
            f"The name {name[:60]!r} is none; expected at most {MAX_NAME_LENGTH} visible characters."
        )
    existing_question = questions.get(name)
    if existing_question is not None and existing_question.control != control:
        raise ValueError(
            f"The name {name!r} belongs to {CONTROL_WORDS[existing_question.control]} and to "
            f"{CONTROL_WORDS[control]}; expected a name for each."
        )
    if existing_question is not None and control not in GROUPED_TYPES:
        raise ValueError(
            f"The name {name!r} belongs to {CONTROL_WORDS[control]} twice; expected a name for each."
        )
    question = existing_question or FormQuestion(name, control)
    questions.setdefault(name, question)
    element.question_index = list(questions).index(name)
    if control in GROUPED_TYPES:
        element.option_index = len(question.options)
        label = labels.label_of(element)
        required = "required" in attributes
        value = attributes.get("value", "on")
        is_required_box = required and control == "checkbox"
        option = FormOption(
            value, label or value, required=is_required_box, is_chosen="checked" in attributes
        )
        question.options = (*question.options, option)
        question.required |= required and control == "radio"
        question.label = (
            question.label or labels.legend_of(element) or _label_of_lone_checkbox(element, control, label)
        )
        return
    question.label = labels.label_of(element) or labels.legend_of(element)
    question.required = "required" in attributes
    if control == "select":
        _read_options(element, question)
    elif SHAPES[control] == "number":
        _read_bounds(attributes, question)
        question.preset = attributes.get("value", "")
    else:
        question.max_length = _read_length(attributes.get("maxlength", ""), MAX_TEXT_LENGTH)
        text = "".join(child for child in element.children if isinstance(child, str))
        question.preset = text if control == "textarea" else attributes.get("value", "")


def _label_of_lone_checkbox(element: Element, control: str, label: str) -> str:
    """Return the label of a check box without a value, which is a question of its own; "" for other controls."""
    return label if control == "checkbox" and "value" not in element.attributes else ""


def _read_options(element: Element, question: FormQuestion) -> None:
    """Read the options of a select list.

    Without a selected or an empty first option, the first option would count as an answer. In this case an empty
    option is added, and the question becomes required.
    """
    option_elements = [child for child in walk_elements(element.children) if child.tag == "option"]
    has_selection = any("selected" in child.attributes for child in option_elements)
    for option_element in option_elements:
        text = " ".join("".join(node for node in option_element.children if isinstance(node, str)).split())
        option_element.question_index = element.question_index
        option_element.option_index = len(question.options)
        option = FormOption(
            option_element.attributes.get("value", text),
            label=text or option_element.attributes.get("label", ""),
            is_chosen="selected" in option_element.attributes,
        )
        question.options = (*question.options, option)
    if option_elements and not has_selection and question.options[0].value:
        question.required = True
        element.attributes["required"] = ""
        element.children.insert(0, Element("option", {"value": ""}, ["–"]))


def _read_bounds(attributes: dict[str, str], question: FormQuestion) -> None:
    """Read the bounds, the step and the tolerance of a number."""
    question.low, question.high = (_read_number(attributes, bound, question.name) for bound in ("min", "max"))
    if question.control == "range":
        question.low, question.high = (
            question.low if question.low is not None else 0.0,
            question.high if question.high is not None else 100.0,
        )
        # a slider without a value counts as answered only after it was moved
        question.required = question.required or not attributes.get("value", "").strip()
    step = attributes.get("step", "1").strip().lower()
    if step != "any":
        number = _read_number(attributes, "step", question.name)
        question.step = number if number is not None and number > 0 else 1.0  # as in browsers
    question.tolerance = _read_number(attributes, TOLERANCE_ATTRIBUTE, question.name)
    if question.tolerance is not None and question.tolerance < 0:
        raise ValueError(
            f"{TOLERANCE_ATTRIBUTE} of “{question.name}” is {attributes[TOLERANCE_ATTRIBUTE][:40]!r}; "
            "expected 0 or more."
        )
    if question.low is not None and question.high is not None and question.low > question.high:
        raise ValueError(
            f"“{question.name}” goes from {question.low:g} to {question.high:g}; expected the lower number first."
        )


def _read_number(attributes: dict[str, str], bound: str, name: str) -> float | None:
    """Return the number in an attribute; None if it is missing.

    Args:
        bound: name of the attribute.
        name: name of the question, for the error message.
    """
    text = attributes.get(bound, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{bound} of “{name}” is {text[:40]!r}; expected a number.")
    return number


def _read_length(text: str, longest: int) -> int:
    """Return the length in an attribute, but at most ``longest``, which is also the length if there is none."""
    return min(int(text), longest) if text.isascii() and text.isdigit() and 0 < len(text) < 9 else longest


def _check_options(question: FormQuestion) -> None:
    """Raise ValueError if a choice has no option with a value, or two with the same value."""
    values = [option.value for option in question.options]
    if question.control in GROUPED_TYPES or question.control == "select":
        if not any(values):
            raise ValueError(f"“{question.name}” has nothing to choose; expected options with a value.")
        repeated_value = next((value for value in values if values.count(value) > 1), None)
        if repeated_value is not None:
            raise ValueError(
                f"“{question.name}” has the option {repeated_value!r} twice; expected every value once."
            )


def as_number(value: Any) -> int | float | None:
    """Return a finite number, as int if it is whole; None for other values."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not abs(value) <= GREATEST_NUMBER:  # the comparison is false for nan, too
        return None
    return int(value) if float(value).is_integer() else float(value)
