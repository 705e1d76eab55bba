"""Fill a template's page with a row's cells, as HTML for one step of a form.

A cell is always text: it cannot create a tag, an attribute, or an address other than http, https and the row's own
picture. Ids and names are unique to the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from urllib.parse import urlsplit

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from judgments.hit_templates.answers import first_answer
from judgments.hit_templates.cleaning import clean_filled_page
from judgments.hit_templates.questions import FIELD, VOID, WITHIN, Element, Question
from judgments.hit_templates.reading import Template

PICTURE = "picture"  # the column with the picture imported with the rows
REFERENCES = ("for", "headers", "aria-labelledby", "aria-describedby")
ADDRESSES = ("href", "src", "poster")
# Attributes set from the answer instead of the template.
OF_ANSWER = {"name", "value", "checked", "selected", "type"}


def fill_text(text: str, cells: Mapping[str, str]) -> str:
    return FIELD.sub(lambda found: str(cells.get(found[1].strip(), "")), text)


def filled_questions(questions: Sequence[Question], cells: Mapping[str, str]) -> tuple[Question, ...]:
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
    position: int
    cells: Mapping[str, str]
    picture: str
    questions: Sequence[Question]
    held: Mapping[str, Any]
    labelled: frozenset[str]
    keyed: int


def fill_page(
    template: Template,
    cells: Mapping[str, str],
    *,
    position: int,
    held: Mapping[str, Any] | None = None,
    picture: str = "",
) -> SafeString:
    """Return the page of a row as HTML.

    Args:
        position: of the unit, from 1; ids begin with ``t<position>-``, names with ``u<position>-``.
        held: the answer, from ``checked_answer`` or ``answer_of_form``; None if unanswered.
        picture: address of the row's own picture.
    """
    questions = filled_questions(template.questions, cells)
    radios = [number for number, one in enumerate(questions) if one.control == "radio"]
    step = _Step(
        position=position,
        cells=cells,
        picture=picture,
        questions=questions,
        held=first_answer(questions) if held is None else held,
        labelled=frozenset(_labelled(template.page)),
        keyed=radios[0] if len(radios) == 1 and len(questions[radios[0]].options) < 10 else -1,
    )
    html = "".join(_render_nodes(template.page, step, inside_label=False))
    return mark_safe(clean_filled_page(html))  # noqa: S308  # cleaned in this line


def _labelled(page: Sequence[Element | str]) -> Iterator[str]:
    for one in page:
        if isinstance(one, Element):
            if one.tag == "label" and one.attributes.get("for"):
                yield one.attributes["for"]
            yield from _labelled(one.inside)


def _render_nodes(nodes: Sequence[Element | str], step: _Step, *, inside_label: bool) -> Iterator[str]:
    for one in nodes:
        if isinstance(one, str):
            yield escape(fill_text(one, step.cells))
            continue
        attributes = dict(_attributes(one, step))
        if one.question >= 0:
            attributes = _control(one, attributes, step, inside_label=inside_label)
        written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        yield f"<{one.tag}{written}>"
        if one.tag in VOID:
            if one.tag == "input" and attributes.get("type") == "range":
                yield '<output data-said=""></output>'
            continue
        if one.tag == "textarea":
            yield f"\n{escape(str(step.held.get(step.questions[one.question].name, '')))}"
        elif one.own_word:
            words = "".join(part for part in one.inside if isinstance(part, str))
            yield escape(gettext(words))
        else:
            yield from _render_nodes(one.inside, step, inside_label=inside_label or one.tag == "label")
        yield f"</{one.tag}>"


def _attributes(element: Element, step: _Step) -> Iterator[tuple[str, str]]:
    own = f"t{step.position}-"
    for name, value in element.attributes.items():
        if name == WITHIN or (element.question >= 0 and name in OF_ANSWER):
            continue
        if name == "id":
            yield name, own + value
        elif name in REFERENCES:
            yield name, " ".join(own + one for one in fill_text(value, step.cells).split())
        elif name in ADDRESSES:
            address = _address(element.tag, fill_text(value, step.cells), step)
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


def _address(tag: str, text: str, step: _Step) -> str:
    address = text.strip()
    if tag == "a" and address.startswith("#"):
        return f"#t{step.position}-{address[1:]}"
    if step.picture and tag == "img" and address and address == step.cells.get(PICTURE, "").strip():
        return step.picture
    if any(ord(sign) < 32 or ord(sign) == 127 for sign in address):
        return ""
    try:
        parts = urlsplit(address)
        fine = (parts.scheme.lower() in ("http", "https") and bool(parts.hostname)) or (
            tag == "a" and parts.scheme.lower() == "mailto"
        )
    except ValueError:
        fine = False
    return address.replace(" ", "%20") if fine else ""


def _control(
    element: Element, attributes: dict[str, str], step: _Step, *, inside_label: bool
) -> dict[str, str]:
    question = step.questions[element.question]
    if element.tag == "option":
        option = question.options[element.option]
        chosen = {"selected": ""} if step.held.get(question.name) == option.value else {}
        return attributes | {"value": option.value} | chosen
    name = f"u{step.position}-{element.question}"
    made = attributes | {"name": name, "data-question": question.name, "data-shape": question.shape}
    if element.option >= 0:
        option = question.options[element.option]
        made["value"] = option.value
        held = step.held.get(question.name)
        if held is not None and (option.value in held if isinstance(held, list) else option.value == held):
            made["checked"] = ""
        made["type"] = question.control
        if question.control == "checkbox":
            made["name"] = f"{name}-{element.option}"
        elif step.keyed == element.question:
            made["data-key"] = str(element.option + 1)
    elif element.tag == "input":
        made["type"] = element.attributes.get("type", "text").lower()
        made["value"] = (
            question.preset if question.shape == "fixed" else str(step.held.get(question.name, ""))
        )
        if question.control == "range" and question.name not in step.held:
            made["data-open"] = ""
    if question.shape in ("text", "number") and question.control != "range":
        made["autocomplete"] = "off"
    if question.shape == "text":
        made.setdefault("dir", "auto")
        made.setdefault("maxlength", str(question.longest))
    if not inside_label and element.attributes.get("id") not in step.labelled and not _named(element):
        made["aria-label"] = question.options[element.option].label if element.option >= 0 else question.label
    return made


def _named(element: Element) -> bool:
    return any(element.attributes.get(name) for name in ("aria-label", "aria-labelledby", "title"))
