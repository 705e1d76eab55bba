"""Fill a template's page with a row's cells, as HTML for one step of a form, and read and check its answers.

A cell is always text: it cannot create a tag, an attribute, or an address other than http, https and the row's own
picture. Ids and names are unique to the step.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any
from urllib.parse import urlsplit

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_lazy

from common.amounts import spell_number
from contrib.hit_templates.questions import FIELD, VOID, WITHIN, Element, Question, as_number
from contrib.hit_templates.reading import Template, clean_filled_page

STEP_TOLERANCE = 1e-6  # tolerance as a share of a step: 0.3 is a multiple of 0.1
MISSING = gettext_lazy("“%(name)s” has no answer yet.")
TICK = gettext_lazy("“%(name)s” needs its tick.")
NO_NUMBER = gettext_lazy("“%(name)s” needs a number%(range)s.")
TOO_LONG = gettext_lazy("“%(name)s” is too long: at most %(most)d characters.")


class NoTemplateAnswer(ValueError):
    """An invalid answer; ``says`` is for its worker."""

    def __init__(self, why: str, says: Any) -> None:
        super().__init__(why)
        self.says = says


def checked_answer(questions: Sequence[Question], answer: Any) -> dict[str, Any]:
    """Return an answer in its stored form: name -> text, number, or list of ticked values.

    Unanswered questions are omitted, except boxes. Hidden constants have the template's value.

    Raises:
        ValueError: it is invalid; the message ends with what was expected.
    """
    names = [question.name for question in questions]
    if not isinstance(answer, Mapping) or not all(isinstance(name, str) for name in answer):
        raise ValueError(gettext("expected an object with %(names)s") % {"names": _listed(names)})
    unknown = next((name for name in answer if name not in names), None)
    if unknown is not None:
        raise ValueError(
            gettext("“%(name)s” is no question of it; expected %(names)s")
            % {"name": ascii(unknown[:60])[1:-1], "names": _listed(names)}
        )
    checked: dict[str, Any] = {}
    for question in questions:
        value = CHECKS[question.shape](question, answer.get(question.name))
        if value is not None:
            checked[question.name] = value
    return checked


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "")


def _missing(question: Question) -> NoTemplateAnswer:
    return NoTemplateAnswer(
        gettext("expected an answer to “%(name)s”") % {"name": question.name},
        MISSING % {"name": question.label},
    )


def _choice(question: Question, value: Any) -> str | None:
    values = [option.value for option in question.options if option.value]
    if value in (None, ""):
        if question.required:
            raise _missing(question)
        return None
    if value not in values:
        raise NoTemplateAnswer(
            gettext("expected for “%(name)s” one of %(values)s")
            % {"name": question.name, "values": _listed(values)},
            MISSING % {"name": question.label},
        )
    return str(value)


def _several(question: Question, value: Any) -> list[str]:
    values = [option.value for option in question.options]
    ticked = [] if value is None else value
    if not isinstance(ticked, list) or not all(entry in values for entry in ticked):
        raise ValueError(
            gettext("expected for “%(name)s” a list with some of %(values)s")
            % {"name": question.name, "values": _listed(values)}
        )
    for option in question.options:
        if option.required and option.value not in ticked:
            raise NoTemplateAnswer(
                gettext("expected “%(value)s” among “%(name)s”")
                % {"name": question.name, "value": option.value},
                TICK % {"name": option.label or question.label},
            )
    return [entry for entry in values if entry in ticked]


def _number(question: Question, value: Any) -> int | float | None:
    if value in (None, ""):
        if question.required:
            raise _missing(question)
        return None
    number = as_number(value)
    if number is None or not _fits(question, number):
        between = _range_of(question)
        raise NoTemplateAnswer(
            gettext("expected for “%(name)s” a number%(range)s") % {"name": question.name, "range": between},
            NO_NUMBER % {"name": question.label, "range": between},
        )
    return number


def _fits(question: Question, number: float) -> bool:
    if question.low is not None and number < question.low:
        return False
    if question.high is not None and number > question.high:
        return False
    if question.step is None:
        return True
    steps = (number - (question.low or 0.0)) / question.step
    return math.isfinite(steps) and abs(steps - round(steps)) <= STEP_TOLERANCE * max(1.0, abs(steps))


def _range_of(question: Question) -> str:
    low, high = (None if bound is None else spell_number(bound) for bound in (question.low, question.high))
    if low is not None and high is not None:
        return gettext(" from %(low)s to %(high)s") % {"low": low, "high": high}
    if low is not None:
        return gettext(" from %(low)s on") % {"low": low}
    return gettext(" up to %(high)s") % {"high": high} if high is not None else ""


def _text(question: Question, value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(gettext("expected for “%(name)s” a text") % {"name": question.name})
    text = (value or "").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        if question.required:
            raise _missing(question)
        return None
    if len(text) > question.longest:
        raise NoTemplateAnswer(
            gettext("expected for “%(name)s” at most %(most)d characters")
            % {"name": question.name, "most": question.longest},
            TOO_LONG % {"name": question.label, "most": question.longest},
        )
    # Controls and lone surrogates cannot be stored.
    if any(unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t" for sign in text):
        raise ValueError(
            gettext("expected for “%(name)s” a text without control characters") % {"name": question.name}
        )
    return text


def _fixed(question: Question, value: Any) -> str:
    return question.preset


CHECKS = {"choice": _choice, "several": _several, "number": _number, "text": _text, "fixed": _fixed}


def first_answer(questions: Sequence[Question]) -> dict[str, Any]:
    """Return the page's initial answer; an untouched slider has none."""
    answer: dict[str, Any] = {}
    for question in questions:
        chosen = [option.value for option in question.options if option.chosen]
        if question.shape == "several":
            answer[question.name] = chosen
        elif question.shape == "choice":
            answer |= {question.name: chosen[-1]} if chosen and chosen[-1] else {}
        elif question.shape == "number":
            answer |= _read_number(question.name, question.preset)
        elif question.shape == "text" and question.preset.strip():
            answer[question.name] = _plain(question.preset)
    return answer


def _middle(question: Question) -> str:
    """Return a slider's default value (HTML Standard), which a form without scripts sends."""
    if question.control != "range" or question.low is None or question.high is None:
        return ""
    middle = question.low + (question.high - question.low) / 2
    if question.step:
        middle = question.low + math.floor((middle - question.low) / question.step + 0.5) * question.step
    return f"{min(middle, question.high):g}"


def _read_number(name: str, text: str) -> dict[str, Any]:
    """Return other text unchanged, to be refused later."""
    if not text.strip():
        return {}
    try:
        number = as_number(float(text))
    except ValueError:
        number = None
    return {name: text.strip()[:200] if number is None else number}


def answer_of_form(
    form: Mapping[str, Any], prefix: str, questions: Sequence[Question]
) -> dict[str, Any] | None:
    """Read ``<prefix>-<question>`` and, for boxes, ``<prefix>-<question>-<option>``.

    Return None if it is empty, or unchanged from the initial form without ``<prefix>-none``.
    """
    if not any(name.startswith(f"{prefix}-") for name in form):
        return None
    answer: dict[str, Any] = {}
    for number, question in enumerate(questions):
        name = f"{prefix}-{number}"
        text = str(form.get(name) or "")
        if question.shape == "several":
            answer[question.name] = [
                option.value for index, option in enumerate(question.options) if f"{name}-{index}" in form
            ]
        elif question.shape == "number":
            answer |= _read_number(question.name, text)
        elif question.shape != "fixed" and text.strip():
            answer[question.name] = text
    first = first_answer(questions)
    for question in questions:
        if question.name in answer and question.name not in first:
            first |= _read_number(question.name, _middle(question))
    untouched = {name: _plain(value) for name, value in answer.items()} == first
    return None if untouched and f"{prefix}-none" not in form else answer


def _plain(value: Any) -> Any:
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else value


PICTURE = "picture"  # the column with the picture imported with the rows
REFERENCES = ("for", "headers", "aria-labelledby", "aria-describedby")
ADDRESSES = ("href", "src", "poster")
# Attributes set from the answer instead of the template.
OF_ANSWER = {"name", "value", "checked", "selected", "type"}


def fill_text(text: str, cells: Mapping[str, str]) -> str:
    return FIELD.sub(lambda match: str(cells.get(match[1].strip(), "")), text)


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
    answer: Mapping[str, Any]
    labelled: frozenset[str]
    keyed: int


def fill_page(
    template: Template,
    cells: Mapping[str, str],
    *,
    position: int,
    answer: Mapping[str, Any] | None = None,
    picture: str = "",
) -> SafeString:
    """Return the page of a row as HTML.

    Args:
        position: of the unit, from 1; ids begin with ``t<position>-``, names with ``u<position>-``.
        answer: from ``checked_answer`` or ``answer_of_form``; None if unanswered.
        picture: address of the row's own picture.
    """
    questions = filled_questions(template.questions, cells)
    radios = [number for number, question in enumerate(questions) if question.control == "radio"]
    step = _Step(
        position=position,
        cells=cells,
        picture=picture,
        questions=questions,
        answer=first_answer(questions) if answer is None else answer,
        labelled=frozenset(_labelled(template.page)),
        keyed=radios[0] if len(radios) == 1 and len(questions[radios[0]].options) < 10 else -1,
    )
    html = "".join(_render_nodes(template.page, step, inside_label=False))
    return mark_safe(clean_filled_page(html))  # noqa: S308  # cleaned in this line


def _labelled(page: Sequence[Element | str]) -> Iterator[str]:
    for node in page:
        if isinstance(node, Element):
            if node.tag == "label" and node.attributes.get("for"):
                yield node.attributes["for"]
            yield from _labelled(node.inside)


def _render_nodes(nodes: Sequence[Element | str], step: _Step, *, inside_label: bool) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield escape(fill_text(node, step.cells))
            continue
        attributes = dict(_attributes(node, step))
        if node.question >= 0:
            attributes = _control(node, attributes, step, inside_label=inside_label)
        written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        yield f"<{node.tag}{written}>"
        if node.tag in VOID:
            if node.tag == "input" and attributes.get("type") == "range":
                yield '<output data-said=""></output>'
            continue
        if node.tag == "textarea":
            yield f"\n{escape(str(step.answer.get(step.questions[node.question].name, '')))}"
        elif node.built_in:
            text = "".join(part for part in node.inside if isinstance(part, str))
            yield escape(gettext(text))
        else:
            yield from _render_nodes(node.inside, step, inside_label=inside_label or node.tag == "label")
        yield f"</{node.tag}>"


def _attributes(element: Element, step: _Step) -> Iterator[tuple[str, str]]:
    prefix = f"t{step.position}-"
    for name, value in element.attributes.items():
        if name == WITHIN or (element.question >= 0 and name in OF_ANSWER):
            continue
        if name == "id":
            yield name, prefix + value
        elif name in REFERENCES:
            yield name, " ".join(prefix + element_id for element_id in fill_text(value, step.cells).split())
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
        chosen = {"selected": ""} if step.answer.get(question.name) == option.value else {}
        return attributes | {"value": option.value} | chosen
    name = f"u{step.position}-{element.question}"
    control_attributes = attributes | {
        "name": name,
        "data-question": question.name,
        "data-shape": question.shape,
    }
    if element.option >= 0:
        option = question.options[element.option]
        control_attributes["value"] = option.value
        answer = step.answer.get(question.name)
        if answer is not None and (
            option.value in answer if isinstance(answer, list) else option.value == answer
        ):
            control_attributes["checked"] = ""
        control_attributes["type"] = question.control
        if question.control == "checkbox":
            control_attributes["name"] = f"{name}-{element.option}"
        elif step.keyed == element.question:
            control_attributes["data-key"] = str(element.option + 1)
    elif element.tag == "input":
        control_attributes["type"] = element.attributes.get("type", "text").lower()
        control_attributes["value"] = (
            question.preset if question.shape == "fixed" else str(step.answer.get(question.name, ""))
        )
        if question.control == "range" and question.name not in step.answer:
            control_attributes["data-open"] = ""
    if question.shape in ("text", "number") and question.control != "range":
        control_attributes["autocomplete"] = "off"
    if question.shape == "text":
        control_attributes.setdefault("dir", "auto")
        control_attributes.setdefault("maxlength", str(question.longest))
    if not inside_label and element.attributes.get("id") not in step.labelled and not _named(element):
        control_attributes["aria-label"] = (
            question.options[element.option].label if element.option >= 0 else question.label
        )
    return control_attributes


def _named(element: Element) -> bool:
    return any(element.attributes.get(name) for name in ("aria-label", "aria-labelledby", "title"))
