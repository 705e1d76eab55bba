"""Read the answers to a template's questions from a submitted form, and check them.

An answer is an object with a value for each question: ``{"tone": "positive", "stars": 4, "boxes": ["a", "b"]}``.
A mistake that workers can make raises RefusedAnswer, with a message for them; others raise a plain ValueError.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from common.amounts import spell_number
from contrib.hit_templates.questions import FormQuestion
from judgments.kinds.base import RefusedAnswer

GREATEST_NUMBER = 1e15  # largest number that can be typed; up to it, whole numbers are exact
MAX_NAMES_LISTED = 8  # names or values that an error message lists
STEP_TOLERANCE = 1e-6  # tolerance as a fraction of a step, so that 0.3 counts as a multiple of 0.1
NO_ANSWER = gettext_lazy("“%(name)s” has no answer yet.")
NO_TICK = gettext_lazy("“%(name)s” must be ticked.")
NO_NUMBER = gettext_lazy("“%(name)s” needs a number%(range)s.")
TOO_LONG = gettext_lazy("“%(name)s” is too long. Maximum number of characters: %(most)d.")


def checked_answer(questions: Sequence[FormQuestion], answer: Any) -> dict[str, Any]:
    """Return an answer in its stored form: a text, a number, or a list of ticked values, by name of the question.

    Unanswered questions are left out, except check boxes, for which the list is empty. Hidden constants are added.

    Raises:
        ValueError: the answer is invalid; the message ends with what was expected.
    """
    names = [question.name for question in questions]
    if not isinstance(answer, Mapping) or not all(isinstance(name, str) for name in answer):
        raise ValueError(gettext("expected an object with %(names)s") % {"names": _list_names(names)})
    unknown_name = next((name for name in answer if name not in names), None)
    if unknown_name is not None:
        escaped_name = ascii(unknown_name[:60])[1:-1]  # without the quotation marks
        raise ValueError(
            gettext("“%(name)s” is not a question of the form; expected %(names)s")
            % {"name": escaped_name, "names": _list_names(names)}
        )
    stored_answer: dict[str, Any] = {}
    for question in questions:
        value = CLEANER_BY_SHAPE[question.shape](question, answer.get(question.name))
        if value is not None:
            stored_answer[question.name] = value
    return stored_answer


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_NAMES_LISTED]) + (" …" if len(names) > MAX_NAMES_LISTED else "")


def _missing_answer(question: FormQuestion) -> RefusedAnswer:
    return RefusedAnswer(
        gettext("expected an answer to “%(name)s”") % {"name": question.name},
        NO_ANSWER % {"name": question.label},
    )


def _clean_choice(question: FormQuestion, value: Any) -> str | None:
    """Return the chosen value; None if an optional question has no answer.

    An option with the value "" stands for no answer, as in a select list.
    """
    values = [option.value for option in question.options if option.value]
    if value in (None, ""):
        if question.required:
            raise _missing_answer(question)
        return None
    if value not in values:
        raise RefusedAnswer(
            gettext("expected one of these values for “%(name)s”: %(values)s")
            % {"name": question.name, "values": _list_names(values)},
            NO_ANSWER % {"name": question.label},
        )
    return str(value)


def _clean_ticks(question: FormQuestion, value: Any) -> list[str]:
    """Return the ticked values in the order of the options."""
    values = [option.value for option in question.options]
    ticked_values = [] if value is None else value
    if not isinstance(ticked_values, list) or not all(entry in values for entry in ticked_values):
        raise ValueError(
            gettext("expected a list of values for “%(name)s”; allowed values: %(values)s")
            % {"name": question.name, "values": _list_names(values)}
        )
    for option in question.options:
        if option.required and option.value not in ticked_values:
            raise RefusedAnswer(
                gettext("expected “%(value)s” to be ticked in “%(name)s”")
                % {"name": question.name, "value": option.value},
                NO_TICK % {"name": option.label or question.label},
            )
    return [entry for entry in values if entry in ticked_values]


def _clean_number(question: FormQuestion, value: Any) -> int | float | None:
    """Return a number within the question's range; None if an optional question has no answer."""
    if value in (None, ""):
        if question.required:
            raise _missing_answer(question)
        return None
    number = as_number(value)
    if number is None or not _is_in_range(question, number):
        range_text = _range_text(question)
        raise RefusedAnswer(
            gettext("expected a number%(range)s for “%(name)s”")
            % {"name": question.name, "range": range_text},
            NO_NUMBER % {"name": question.label, "range": range_text},
        )
    return number


def as_number(value: Any) -> int | float | None:
    """Return a number of at most GREATEST_NUMBER in size, as int if it is whole; None for other values."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not abs(value) <= GREATEST_NUMBER:  # the comparison is false for nan, too
        return None
    return int(value) if float(value).is_integer() else float(value)


def _is_in_range(question: FormQuestion, number: float) -> bool:
    """Return whether a number keeps the bounds and the step of a question.

    Steps are counted from the lower bound, or else from 0 (HTML Standard).
    """
    if question.low is not None and number < question.low:
        return False
    if question.high is not None and number > question.high:
        return False
    if question.step is None:
        return True
    steps = (number - (question.low or 0.0)) / question.step
    return math.isfinite(steps) and abs(steps - round(steps)) <= STEP_TOLERANCE * max(1.0, abs(steps))


def _range_text(question: FormQuestion) -> str:
    """Return the range of a number as the end of a sentence, such as " from 1 to 5"; "" without bounds."""
    low, high = (None if bound is None else spell_number(bound) for bound in (question.low, question.high))
    if low is not None and high is not None:
        return gettext(" from %(low)s to %(high)s") % {"low": low, "high": high}
    if low is not None:
        return gettext(" of at least %(low)s") % {"low": low}
    return gettext(" of at most %(high)s") % {"high": high} if high is not None else ""


def _clean_text(question: FormQuestion, value: Any) -> str | None:
    """Return a text without outer blanks; None if an optional question has no answer."""
    if value is not None and not isinstance(value, str):
        raise ValueError(gettext("expected a text for “%(name)s”") % {"name": question.name})
    text = (value or "").replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text:
        if question.required:
            raise _missing_answer(question)
        return None
    if len(text) > question.max_length:
        raise RefusedAnswer(
            gettext("expected a shorter text for “%(name)s” (maximum number of characters: %(most)d)")
            % {"name": question.name, "most": question.max_length},
            TOO_LONG % {"name": question.label, "most": question.max_length},
        )
    # Control characters and lone surrogates cannot be stored.
    if any(unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t" for character in text):
        raise ValueError(
            gettext("expected a text without control characters for “%(name)s”") % {"name": question.name}
        )
    return text


def _preset_value(question: FormQuestion, value: Any) -> str:
    return question.preset


CLEANER_BY_SHAPE = {
    "choice": _clean_choice,
    "several": _clean_ticks,
    "number": _clean_number,
    "text": _clean_text,
    "fixed": _preset_value,
}


def initial_answer(questions: Sequence[FormQuestion]) -> dict[str, Any]:
    """Return the answer that the page shows before the worker changes it, in its stored form, without constants.

    Sliders without a value are left out, since they must be moved.
    """
    answer: dict[str, Any] = {}
    for question in questions:
        chosen_values = [option.value for option in question.options if option.is_chosen]
        if question.shape == "several":
            answer[question.name] = chosen_values
        elif question.shape == "choice":
            # If the template chooses several options, the last one counts, as in browsers. An empty one is no answer.
            if chosen_values and chosen_values[-1]:
                answer[question.name] = chosen_values[-1]
        elif question.shape == "number":
            answer |= _number_answer(question.name, question.preset)
        elif question.shape == "text" and question.preset.strip():
            answer[question.name] = _plain_text(question.preset)
    return answer


def _default_of_slider(question: FormQuestion) -> str:
    """Return the value that a form sends for a slider that was not moved: its middle (HTML Standard).

    Return "" for other questions.
    """
    if question.control != "range" or question.low is None or question.high is None:
        return ""
    middle = question.low + (question.high - question.low) / 2
    if question.step:
        middle = question.low + math.floor((middle - question.low) / question.step + 0.5) * question.step
    return f"{min(middle, question.high):g}"


def _number_answer(name: str, text: str) -> dict[str, Any]:
    """Return ``{name: number}`` for a text with a number, and {} for a blank text.

    Other texts are the value instead of a number. They are refused when the answer is checked.
    """
    if not text.strip():
        return {}
    try:
        number = as_number(float(text))
    except ValueError:
        number = None
    return {name: text.strip()[:200] if number is None else number}


def answer_of_form(
    form: Mapping[str, Any], prefix: str, questions: Sequence[FormQuestion]
) -> dict[str, Any] | None:
    """Return the answer in a submitted form, which is not checked yet.

    Return None if there is none: no field begins with the prefix, or the answer is still the initial one, and the
    worker did not confirm it with the check box ``<prefix>-none``.

    Args:
        form: the fields of the form: ``<prefix>-<question>`` and, for check boxes, ``<prefix>-<question>-<option>``,
            where questions and options are numbered from 0.
    """
    if not any(name.startswith(f"{prefix}-") for name in form):
        return None
    answer: dict[str, Any] = {}
    for question_index, question in enumerate(questions):
        name = f"{prefix}-{question_index}"
        text = str(form.get(name) or "")
        if question.shape == "several":
            answer[question.name] = [
                option.value for index, option in enumerate(question.options) if f"{name}-{index}" in form
            ]
        elif question.shape == "number":
            answer |= _number_answer(question.name, text)
        elif question.shape != "fixed" and text.strip():
            answer[question.name] = text
    # What the form sends if the worker changed nothing. Without scripts, this includes the middle of each slider.
    untouched_answer = initial_answer(questions)
    for question in questions:
        if question.name in answer and question.name not in untouched_answer:
            untouched_answer |= _number_answer(question.name, _default_of_slider(question))
    is_untouched = {name: _plain_text(value) for name, value in answer.items()} == untouched_answer
    return None if is_untouched and f"{prefix}-none" not in form else answer


def _plain_text(value: Any) -> Any:
    """Return a text without outer blanks and with the line ends of the stored form; other values unchanged."""
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else value
