"""Read, compare and show the expected answers of control items.

A row of the inputs becomes a control item if it has expected answers in columns ``Expected.NAME`` or ``NAME_gold``,
where NAME is a question. A repeated row has the worker's first answer as the expected one.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contrib.hit_templates.answers import as_number, checked_answer
from contrib.hit_templates.questions import FormQuestion
from judgments.kinds.base import RefusedAnswer

# Beginnings and ends of the names of columns with expected answers and with explanations of them.
PREFIX, GOLD_SUFFIX, EXPLANATION_SUFFIX = "expected.", "_gold", "_gold_reason"
VALUE_SEPARATOR = re.compile(r"[|\r\n]+")
NO_TICKS = "[]"  # the cell for check boxes of which none should be ticked
REPEAT_TOLERANCE = 0.15  # tolerance of a repeated number as a fraction of its range, as on a slider
ROUNDING = 1e-9  # relative error of a number that comes from rounding

# The expectation by question: {"any": values} for a choice, {"all": values} for check boxes, {"low": number, "high":
# number} for a number, and {"texts": texts} for a text. One of "any", and one of "texts", suffices. In "any", "" stands
# for no answer: a question that was left open at first must be left open when the row is repeated.
Expectations = dict[str, dict[str, Any]]


class ExpectedAnswerProblem(ValueError):
    """Raised if a cell with an expected answer is not a possible answer.

    Attributes:
        column: the column of the cell.
    """

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column


def expected_answer_columns(columns: Iterable[str], questions: Sequence[FormQuestion]) -> dict[str, str]:
    """Return the columns that have expected answers, each with its question, or "" if there is no such question."""
    names = {question.name for question in questions if question.shape != "fixed"}  # not hidden constants
    question_by_column: dict[str, str] = {}
    for column in columns:
        if column.lower().startswith(PREFIX):
            name = column[len(PREFIX) :].strip()
            question_by_column[column] = name if name in names else ""
        elif column.lower().endswith(GOLD_SUFFIX) and column[: -len(GOLD_SUFFIX)] in names:
            question_by_column[column] = column[: -len(GOLD_SUFFIX)]
    return question_by_column


def read_expected_answers(questions: Sequence[FormQuestion], cells: Mapping[str, str]) -> Expectations:
    """Return the expected answers in a row, from its cells by column; {} if it has none.

    Raise ExpectedAnswerProblem if a cell is not a possible answer, or its question is unknown.
    """
    by_name = {question.name: question for question in questions}
    expectations: Expectations = {}
    for column, name in expected_answer_columns(cells, questions).items():
        cell = cells[column].strip()
        if not cell:
            continue
        if not name:
            names = [question.name for question in questions if question.shape != "fixed"]
            raise ExpectedAnswerProblem(
                column, f"no such question; expected Expected. and one of {', '.join(names[:8])}"
            )
        try:
            expectations[name] = READER_BY_SHAPE[by_name[name].shape](by_name[name], cell)
        except ValueError as error:
            raise ExpectedAnswerProblem(column, f"{cell[:60]!r}; {error}") from None
    return expectations


def read_explanation(cells: Mapping[str, str]) -> str:
    """Return the explanation of a row's expected answers; "" if it has none."""
    explanations = [
        cell.strip() for column, cell in cells.items() if column.lower().endswith(EXPLANATION_SUFFIX)
    ]
    return " ".join(text for text in explanations if text)[:500]


def _read_choice(question: FormQuestion, cell: str) -> dict[str, Any]:
    """Read the right value, or several of which each is right."""
    values = [option.value for option in question.options if option.value]
    expected_values = _split_values(cell, values)
    if not expected_values:
        raise ValueError(f"expected one of the values of “{question.name}”")
    for value in expected_values:
        _checked_value(question, value)  # raises an error for a value that cannot be chosen
    return {"any": expected_values}


def _read_ticks(question: FormQuestion, cell: str) -> dict[str, Any]:
    """Read the values of all check boxes that must be ticked."""
    if cell == NO_TICKS:
        return {"all": _checked_value(question, [])}
    ticked_values = _split_values(cell, [option.value for option in question.options])
    if not ticked_values:
        raise ValueError(f"expected values of “{question.name}”, or {NO_TICKS} where none is to be ticked")
    return {"all": _checked_value(question, ticked_values)}


def _read_range(question: FormQuestion, cell: str) -> dict[str, Any]:
    """Read a number, or a range such as 6..8."""
    first_text, dots, last_text = cell.partition("..")
    try:
        low = as_number(float(first_text))
        high = as_number(float(last_text)) if dots else low
    except ValueError:
        low = high = None
    if low is None or high is None or low > high:
        raise ValueError("expected a number, or two with .. between them such as 6..8")
    if not dots:
        _checked_value(question, low)
        tolerance = question.tolerance or 0.0
        return {"low": float(low) - tolerance, "high": float(high) + tolerance}
    if (question.low is not None and high < question.low) or (
        question.high is not None and low > question.high
    ):
        raise ValueError(f"expected numbers that “{question.name}” takes")
    if not _range_has_answer(question, float(low), float(high)):
        raise ValueError(f"expected a range with a number in it that “{question.name}” takes")
    return {"low": float(low), "high": float(high)}


def _range_has_answer(question: FormQuestion, low: float, high: float) -> bool:
    """Return whether a number between two others is an answer: a number of steps from the question's lower bound."""
    if not question.step:
        return True
    start = question.low or 0.0
    low = low if question.low is None else max(low, question.low)
    high = high if question.high is None else min(high, question.high)
    margin = ROUNDING * max(1.0, abs(low), abs(high))
    first_answer = start + math.ceil((low - start - margin) / question.step) * question.step
    return first_answer <= high + margin


def _read_texts(question: FormQuestion, cell: str) -> dict[str, Any]:
    """Read the right text, or several of which each is right."""
    texts = [text for text in _split_values(cell) if normalise_answer(text)]
    if not texts:
        raise ValueError("expected a text with letters or digits")
    return {"texts": [_checked_value(question, text) for text in texts]}


def _split_values(cell: str, whole_values: Sequence[str] = ()) -> list[str]:
    """Return the values in a cell, between VALUE_SEPARATOR, or the whole cell if it is one of ``whole_values``."""
    if cell in whole_values:
        return [cell]
    return [part.strip() for part in VALUE_SEPARATOR.split(cell) if part.strip()]


def _checked_value(question: FormQuestion, value: Any) -> Any:
    """Return the answer to a question in its stored form. Raise ValueError if it is not possible."""
    try:
        return checked_answer([question], {question.name: value})[question.name]
    except RefusedAnswer as error:
        raise ValueError(str(error)) from None


READER_BY_SHAPE = {"choice": _read_choice, "several": _read_ticks, "number": _read_range, "text": _read_texts}


def normalise_answer(text: str) -> str:
    """Return a text without differences of case, character width and blanks, and without punctuation."""
    plain_text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(plain_text)
    while start < end and _is_blank_or_punctuation(plain_text[start]):
        start += 1
    while end > start and _is_blank_or_punctuation(plain_text[end - 1]):
        end -= 1
    return plain_text[start:end]


def _is_blank_or_punctuation(character: str) -> bool:
    return character == " " or unicodedata.category(character)[0] == "P"


def meets_expectation(expected: Mapping[str, Mapping[str, Any]], answer: Mapping[str, Any]) -> bool:
    return all(_value_meets(expectation, answer.get(name)) for name, expectation in expected.items())


def _value_meets(expectation: Mapping[str, Any], value: Any) -> bool:
    """Return whether the answer to one question is as expected. ``value`` is None if there is no answer."""
    if "any" in expectation:
        return (value if value is not None else "") in expectation["any"]
    if "all" in expectation:
        return set(value or ()) == set(expectation["all"])
    if "low" in expectation:
        low, high = expectation["low"], expectation["high"]
        margin = ROUNDING * max(1.0, abs(low), abs(high))
        return isinstance(value, int | float) and low - margin <= value <= high + margin
    return isinstance(value, str) and normalise_answer(value) in {
        normalise_answer(text) for text in expectation["texts"]
    }


def expected_on_repeat(questions: Sequence[FormQuestion], answer: Mapping[str, Any]) -> Expectations:
    """Return the expected answers to a repeated row, from the worker's first answer to it.

    A number may differ by the question's tolerance or by 15 % of its range. Typed texts are not compared.
    """
    expectations: Expectations = {}
    for question in questions:
        value = answer.get(question.name)
        if question.shape == "several":
            expectations[question.name] = {"all": list(value or ())}
        elif question.shape == "choice" or (question.shape == "number" and value is None):
            expectations[question.name] = {"any": ["" if value is None else value]}
        elif question.shape == "number" and isinstance(value, int | float):
            tolerance = _repeat_tolerance(question)
            expectations[question.name] = {"low": value - tolerance, "high": value + tolerance}
    return expectations


def _repeat_tolerance(question: FormQuestion) -> float:
    if question.tolerance is not None:
        return question.tolerance
    if question.low is None or question.high is None:
        return 0.0
    return REPEAT_TOLERANCE * (question.high - question.low)


def example_answer(question: FormQuestion, expectation: Mapping[str, Any], valid_answer: Any) -> Any:
    """Return an answer to a question that meets its expectation.

    Args:
        valid_answer: a possible answer. For a number, it is returned if it meets the expectation.
    """
    if "any" in expectation:
        return expectation["any"][0]
    if "all" in expectation:
        return list(expectation["all"])
    if "texts" in expectation:
        return expectation["texts"][0]
    if _value_meets(expectation, valid_answer):
        return valid_answer
    middle = (expectation["low"] + expectation["high"]) / 2
    if question.step:  # the answer that is nearest to the middle
        start = question.low or 0.0
        middle = start + round((middle - start) / question.step) * question.step
    return as_number(middle)


def expectation_text(expectation: Mapping[str, Any]) -> str:
    """Return the expectation of one question as a text for researchers, such as "6 to 8" or "yes or no"."""
    if "low" in expectation:
        low, high = (f"{expectation[end]:g}" for end in ("low", "high"))
        return low if low == high else f"{low} to {high}"
    if "all" in expectation:
        return ", ".join(expectation["all"]) or "–"
    return " or ".join(str(value) for value in expectation.get("any", expectation.get("texts", ()))) or "–"
