"""Fill the page of a template with the cells of a row, as HTML for one step of a worker's form.

A cell is always text: it cannot create a tag or an attribute. It can only be an address of http or https, or that of
the row's own picture. Since a form can have several steps with the same page, ids and names contain the step's
position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from urllib.parse import urlsplit

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from contrib.hit_templates.answers import initial_answer
from contrib.hit_templates.html.cleaning import clean_filled_page
from contrib.hit_templates.html.elements import FIELD, VOID_ELEMENTS, Element
from contrib.hit_templates.questions import TOLERANCE_ATTRIBUTE, FormQuestion
from contrib.hit_templates.reading import TemplateForm

PICTURE_COLUMN = "picture"  # the column with the picture that was imported with the row
# Attributes that refer to other elements by their ids.
REFERENCE_ATTRIBUTES = ("for", "headers", "aria-labelledby", "aria-describedby")
ADDRESS_ATTRIBUTES = ("href", "src", "poster")
# Attributes that are set from the question and the answer instead of the template.
ANSWER_ATTRIBUTES = {"name", "value", "checked", "selected", "type"}


def fill_text(text: str, cells: Mapping[str, str]) -> str:
    """Replace each ``${field}`` by the cell of its column; "" for a column that the row does not have."""
    return FIELD.sub(lambda match: str(cells.get(match[1].strip(), "")), text)


def filled_questions(questions: Sequence[FormQuestion], cells: Mapping[str, str]) -> tuple[FormQuestion, ...]:
    """Return the questions with the cells of a row in their labels, presets and options."""
    return tuple(
        replace(
            question,
            label=" ".join(fill_text(question.label, cells).split()) or question.name,
            preset=fill_text(question.preset, cells),
            options=tuple(
                replace(
                    option,
                    value=fill_text(option.value, cells),
                    label=" ".join(fill_text(option.label, cells).split()) or fill_text(option.value, cells),
                )
                for option in question.options
            ),
        )
        for question in questions
    )


@dataclass(frozen=True, slots=True)
class _Step:
    """The values with which the page of one step is filled.

    Attributes:
        position: position of the step's unit in the form, from 1.
        cells: the cells of the unit's row, by column.
        picture: address of the row's own picture; "" without one.
        questions: the questions with the cells filled in.
        answer: the answer that the page shows.
        labelled_ids: ids of controls for which the template has a label.
        keyed_question: index of the question whose buttons the keys 1 to 9 choose; -1 for none.
    """

    position: int
    cells: Mapping[str, str]
    picture: str
    questions: Sequence[FormQuestion]
    answer: Mapping[str, Any]
    labelled_ids: frozenset[str]
    keyed_question: int


def fill_page(
    template: TemplateForm,
    cells: Mapping[str, str],
    *,
    position: int,
    answer: Mapping[str, Any] | None = None,
    picture: str = "",
) -> SafeString:
    """Return the page of a row as HTML.

    Args:
        position: position of the unit, from 1; ids begin with ``t<position>-``, names with ``u<position>-``.
        answer: the worker's answer, which need not be valid; None if there is none. The initial one is shown then.
        picture: address of the row's own picture; "" without one.
    """
    questions = filled_questions(template.questions, cells)
    radio_indices = [index for index, question in enumerate(questions) if question.control == "radio"]
    has_keys = len(radio_indices) == 1 and len(questions[radio_indices[0]].options) <= 9
    step = _Step(
        position=position,
        cells=cells,
        picture=picture,
        questions=questions,
        answer=initial_answer(questions) if answer is None else answer,
        labelled_ids=frozenset(_labelled_ids(template.page)),
        keyed_question=radio_indices[0] if has_keys else -1,
    )
    html = "".join(_render_nodes(template.page, step, inside_label=False))
    return mark_safe(clean_filled_page(html))  # noqa: S308  # cleaned in this line


def _labelled_ids(page: Sequence[Element | str]) -> Iterator[str]:
    for node in page:
        if isinstance(node, Element):
            if node.tag == "label" and node.attributes.get("for"):
                yield node.attributes["for"]
            yield from _labelled_ids(node.children)


def _render_nodes(nodes: Sequence[Element | str], step: _Step, *, inside_label: bool) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield escape(fill_text(node, step.cells))
            continue
        attributes = dict(_fill_attributes(node, step))
        if node.question_index >= 0:
            attributes = _fill_control(node, attributes, step, inside_label=inside_label)
        attribute_text = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        yield f"<{node.tag}{attribute_text}>"
        if node.tag in VOID_ELEMENTS:
            if node.tag == "input" and attributes.get("type") == "range":
                yield '<output data-said=""></output>'  # in which ``template.js`` shows the slider's value
            continue
        if node.tag == "textarea":
            # Browsers ignore a line break at the start of a text area, and so would drop one of the answer.
            yield f"\n{escape(str(step.answer.get(step.questions[node.question_index].name, '')))}"
        elif node.built_in:
            text = "".join(part for part in node.children if isinstance(part, str))
            yield escape(gettext(text))  # a text of Quorum's own, not of the template
        else:
            yield from _render_nodes(node.children, step, inside_label=inside_label or node.tag == "label")
        yield f"</{node.tag}>"


def _fill_attributes(element: Element, step: _Step) -> Iterator[tuple[str, str]]:
    """Yield the attributes of the template with cells filled in, unique ids and safe addresses.

    Attributes that pictures, sounds and films always have are added.
    """
    prefix = f"t{step.position}-"
    for name, value in element.attributes.items():
        if name == TOLERANCE_ATTRIBUTE or (element.question_index >= 0 and name in ANSWER_ATTRIBUTES):
            continue
        if name == "id":
            yield name, prefix + value
        elif name in REFERENCE_ATTRIBUTES:
            yield name, " ".join(prefix + element_id for element_id in fill_text(value, step.cells).split())
        elif name in ADDRESS_ATTRIBUTES:
            address = _safe_address(element.tag, fill_text(value, step.cells), step)
            if address:
                yield name, address
                if element.tag == "a" and not address.startswith("#"):
                    yield from (("target", "_blank"), ("rel", "noopener noreferrer nofollow"))
        else:
            yield name, fill_text(value, step.cells)
    if element.tag == "img":
        if not element.attributes.get("alt"):
            yield "alt", gettext("Picture")
        yield from (("loading", "lazy"), ("decoding", "async"))
    if element.tag in ("audio", "video") and "controls" not in element.attributes:
        yield "controls", ""


def _safe_address(tag: str, text: str, step: _Step) -> str:
    """Return the filled address of an element if it is allowed, or else "".

    Allowed are the row's own picture, http, https and, for links, mailto and elements of the page.
    """
    address = text.strip()
    if tag == "a" and address.startswith("#"):
        return f"#t{step.position}-{address[1:]}"
    if step.picture and tag == "img" and address and address == step.cells.get(PICTURE_COLUMN, "").strip():
        return step.picture
    if any(ord(character) < 32 or ord(character) == 127 for character in address):
        return ""
    try:
        parts = urlsplit(address)
        is_allowed = (parts.scheme.lower() in ("http", "https") and bool(parts.hostname)) or (
            tag == "a" and parts.scheme.lower() == "mailto"
        )
    except ValueError:
        is_allowed = False
    return address.replace(" ", "%20") if is_allowed else ""


def _fill_control(
    element: Element, attributes: dict[str, str], step: _Step, *, inside_label: bool
) -> dict[str, str]:
    """Return the attributes of a control: those of the template, its name and value, and the state of the answer.

    The ``data-`` attributes are read by ``template.js``, except ``data-key``, the key that chooses the button, which
    ``steps.js`` reads.
    """
    question = step.questions[element.question_index]
    if element.tag == "option":
        option = question.options[element.option_index]
        selection = {"selected": ""} if step.answer.get(question.name) == option.value else {}
        return attributes | {"value": option.value} | selection
    name = f"u{step.position}-{element.question_index}"
    control_attributes = attributes | {
        "name": name,
        "data-question": question.name,
        "data-shape": question.shape,
    }
    if element.option_index >= 0:
        control_attributes |= _button_attributes(element, question, name, step)
    elif element.tag == "input":
        control_attributes["type"] = element.attributes.get("type", "text").lower()
        control_attributes["value"] = (  # the shape "fixed" is that of a hidden constant
            question.preset if question.shape == "fixed" else str(step.answer.get(question.name, ""))
        )
        if question.control == "range" and question.name not in step.answer:
            control_attributes["data-open"] = ""  # the slider is not answered yet
    if question.shape in ("text", "number") and question.control != "range":
        control_attributes["autocomplete"] = "off"
    if question.shape == "text":
        control_attributes.setdefault("dir", "auto")
        control_attributes.setdefault("maxlength", str(question.max_length))
    has_label = inside_label or element.attributes.get("id") in step.labelled_ids
    if not has_label and not _has_accessible_name(element):
        control_attributes["aria-label"] = (
            question.options[element.option_index].label if element.option_index >= 0 else question.label
        )
    return control_attributes


def _button_attributes(element: Element, question: FormQuestion, name: str, step: _Step) -> dict[str, str]:
    """Return the attributes of a radio button or a check box that depend on its option and on the answer.

    ``name`` is the name of the question's controls, to which check boxes add the number of their option.
    """
    option = question.options[element.option_index]
    attributes = {"value": option.value}
    answer = step.answer.get(question.name)
    chosen_values = answer if isinstance(answer, list) else [answer]
    if option.value in chosen_values:
        attributes["checked"] = ""
    attributes["type"] = question.control
    if question.control == "checkbox":
        attributes["name"] = f"{name}-{element.option_index}"
    elif step.keyed_question == element.question_index:
        attributes["data-key"] = str(element.option_index + 1)
    return attributes


def _has_accessible_name(element: Element) -> bool:
    return any(element.attributes.get(name) for name in ("aria-label", "aria-labelledby", "title"))
