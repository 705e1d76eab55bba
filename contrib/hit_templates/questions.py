"""Find the questions that a template's page asks. Radio buttons or check boxes with the same name form one question."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from contrib.hit_templates.html.elements import FIELD, Element, walk_elements
from contrib.hit_templates.html.labels import ControlLabels

Shape = Literal["choice", "several", "number", "text", "fixed"]
MAX_NAME_LENGTH = 100  # characters of a question's name
MAX_TEXT_LENGTH = 10_000  # characters of a written answer
MAX_QUESTIONS = 500
TOLERANCE_ATTRIBUTE = "data-within"  # the tolerance of a number, which workers do not see
BUTTONS = {"submit", "reset", "button", "image"}
UNSUPPORTED_TYPES = {"file", "password"}
GROUPED_TYPES = ("radio", "checkbox")
# The shape of the answer by the type of the control. A "choice" is one of the options, "several" are any of them, and
# "fixed" is a hidden constant.
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
    """An option of a question. Its value and its label may contain ``${field}``.

    Attributes:
        required: whether the option is a check box that must be ticked.
        is_chosen: whether the option is chosen when the page is opened.
    """

    value: str
    label: str = ""
    required: bool = False
    is_chosen: bool = False


@dataclass(slots=True)
class FormQuestion:
    """A question of the form.

    Attributes:
        name: the name of its controls, which is its key in answers and in results files.
        control: the type of its controls, a key of ``SHAPES``.
        label: the text that names the question on the page; may contain ``${field}``.
        required: whether an answer is needed. For check boxes, each option says whether it must be ticked.
        options: the options, if the question has some to choose from.
        low, high, step: bounds and step of a number; None if there is none.
        max_length: largest number of characters of a text.
        preset: initial value of a text or a number, or the hidden constant; may contain ``${field}``.
        tolerance: how far a number may be from the expected answer; None if the template does not say.
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


def find_questions(page: list[Element | str]) -> tuple[tuple[FormQuestion, ...], list[str]]:
    """Return the questions of a page in order, and notes, as sentences, about controls that are left out.

    Controls that cannot be used are removed from the page. In the others, ``question_index`` and ``option_index`` are
    set.

    Raises:
        ValueError: a name is invalid or shared by two types of controls, or bounds are not numbers, or there are
            too many questions.
    """
    _drop_unusable_ids(page)
    labels = ControlLabels(page)
    questions: dict[str, FormQuestion] = {}
    notes: list[str] = []
    _read_nodes(page, labels, questions, notes)
    if len(questions) > MAX_QUESTIONS:
        raise ValueError(f"The template asks {len(questions)} questions; expected at most {MAX_QUESTIONS}.")
    for question in questions.values():
        _check_options(question)
        question.label = question.label or question.name
    return tuple(questions.values()), list(dict.fromkeys(notes))


def _drop_unusable_ids(page: list[Element | str]) -> None:
    """Remove ids that an earlier element has, that contain a field, or that are not one word: no label can use them."""
    element_ids: set[str] = set()
    for element in walk_elements(page):
        element_id = element.attributes.get("id", "")
        if element_id and (
            element_id in element_ids or FIELD.search(element_id) or len(element_id.split()) != 1
        ):
            del element.attributes["id"]
        element_ids.add(element_id)


def _read_nodes(
    nodes: list[Element | str],
    labels: ControlLabels,
    questions: dict[str, FormQuestion],
    notes: list[str],
) -> None:
    """Add the questions of nodes to ``questions``, by name, and remove controls that cannot be used from ``nodes``.

    Sentences about removed controls are added to ``notes``.
    """
    kept_nodes: list[Element | str] = []
    for node in nodes:
        if isinstance(node, str) or node.tag not in ("input", "select", "textarea"):
            if isinstance(node, Element):
                _read_nodes(node.children, labels, questions, notes)
            kept_nodes.append(node)
            continue
        control = _control_type(node)
        if control in BUTTONS | UNSUPPORTED_TYPES:
            continue  # ``describe_omissions`` mentions those that matter
        if not node.attributes.get("name", "").strip():
            notes.append(
                f"{CONTROL_WORDS[control][0].upper()}{CONTROL_WORDS[control][1:]} without a name: left out, "
                "as an answer needs one."
            )
            continue
        _read_control(node, control, labels, questions)
        kept_nodes.append(node)
    nodes[:] = kept_nodes


def _control_type(element: Element) -> str:
    """Return the type of a control. Unknown types of ``input`` are text fields, as in browsers."""
    if element.tag != "input":
        return element.tag
    input_type = element.attributes.get("type", "text").lower()
    return input_type if input_type in CONTROL_WORDS or input_type in BUTTONS | UNSUPPORTED_TYPES else "text"


def _read_control(
    element: Element, control: str, labels: ControlLabels, questions: dict[str, FormQuestion]
) -> None:
    """Add the question of a control to ``questions`` or, for a further radio button or check box, its option.

    Raises:
        ValueError: the name is invalid, or belongs to another control.
    """
    attributes = element.attributes
    name = _checked_name(attributes["name"], control, questions)
    question = questions.setdefault(name, FormQuestion(name, control))
    element.question_index = list(questions).index(name)
    if control in GROUPED_TYPES:
        _add_option(element, question, labels)
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


def _checked_name(name_attribute: str, control: str, questions: dict[str, FormQuestion]) -> str:
    """Return the name of a control without superfluous blanks. Raise ValueError if it cannot be used."""
    name = " ".join(name_attribute.split())
    if FIELD.search(name):
        raise ValueError(
            f"The name {name[:60]!r} of {CONTROL_WORDS[control]} holds a field; expected the same name in every row."
        )
    if len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise ValueError(
            f"The name {name[:60]!r} cannot be used; expected at most {MAX_NAME_LENGTH} visible characters."
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
    return name


def _add_option(element: Element, question: FormQuestion, labels: ControlLabels) -> None:
    attributes = element.attributes
    label, value = labels.label_of(element), attributes.get("value", "on")  # "on" is the default of HTML
    is_required, is_check_box = "required" in attributes, question.control == "checkbox"
    option = FormOption(
        value, label or value, required=is_required and is_check_box, is_chosen="checked" in attributes
    )
    element.option_index = len(question.options)
    question.options = (*question.options, option)
    question.required |= is_required and not is_check_box
    question.label = question.label or labels.legend_of(element)
    # The label of a check box without a value is a question of its own, such as "I have seen this film".
    if is_check_box and "value" not in attributes:
        question.label = question.label or label


def _read_options(element: Element, question: FormQuestion) -> None:
    """Read the options of a select list.

    If no option is selected and the first one is not empty, the first one would be sent as the answer of a worker who
    chose none. Therefore, an empty option is added in front of it, and the question becomes required.
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
    question.low, question.high = (_read_number(attributes, bound, question.name) for bound in ("min", "max"))
    if question.control == "range":
        question.low, question.high = (
            question.low if question.low is not None else 0.0,
            question.high if question.high is not None else 100.0,
        )
        # If the template gives no value, the slider starts in the middle, which need not be anybody's answer. It then
        # counts as answered only after it was moved, so the form must require an answer.
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


def _read_number(attributes: dict[str, str], attribute: str, question_name: str) -> float | None:
    """Return the number in an attribute; None if it is missing. Raise ValueError if it is no finite number."""
    text = attributes.get(attribute, "").strip()
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{attribute} of “{question_name}” is {text[:40]!r}; expected a number.")
    return number


def _read_length(text: str, limit: int) -> int:
    """Return the length in the text of an attribute, but at most ``limit``; ``limit`` if it is no number."""
    is_number = text.isascii() and text.isdigit() and len(text) < 9  # more digits are more than ``limit``
    return min(int(text), limit) if is_number else limit


def _check_options(question: FormQuestion) -> None:
    """Raise ValueError if a question with options has none with a value, or two with the same value."""
    values = [option.value for option in question.options]
    if question.control in GROUPED_TYPES or question.control == "select":
        if not any(values):
            raise ValueError(f"“{question.name}” has nothing to choose; expected options with a value.")
        repeated_value = next((value for value in values if values.count(value) > 1), None)
        if repeated_value is not None:
            raise ValueError(
                f"“{question.name}” has the option {repeated_value!r} twice; expected every value once."
            )
