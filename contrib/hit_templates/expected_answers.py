"""The expected answers of known items, which are rows of the inputs: read them from cells, compare and show them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from contrib.hit_templates.answers import checked_answer
from contrib.hit_templates.questions import FormQuestion, as_number
from judgments.kinds.base import RefusedAnswer

# Beginnings and ends of the names of columns with expected answers and their reasons.
PREFIX, GOLD_SUFFIX, REASON_SUFFIX = "expected.", "_gold", "_gold_reason"
VALUE_SEPARATOR = re.compile(r"[|\r\n]+")
NO_TICKS = "[]"  # the cell for check boxes of which none should be ticked
REPEAT_TOLERANCE = 0.15  # tolerance of a repeated number as a fraction of its range, as on a slider
ROUNDING = 1e-9  # relative error of a number that comes from rounding

# By question, what is expected: {"any": values} for a choice, {"all": values} for check boxes, {"low": number, "high":
# number} for a number, and {"texts": texts} for a text, of which one suffices.
Expected = dict[str, dict[str, Any]]


class ExpectedProblem(ValueError):
    """Raised if a cell of ``column`` is not a possible answer. The message ends with what was expected."""

    def __init__(self, column: str, sentence: str) -> None:
        super().__init__(sentence)
        self.column = column


def expected_columns(columns: Iterable[str], questions: Sequence[FormQuestion]) -> dict[str, str]:
    """Return the question of each column with expected answers, by column; "" for an unknown question."""
    names = {question.name for question in questions if question.shape != "fixed"}
    by_column: dict[str, str] = {}
    for column in columns:
        if column.lower().startswith(PREFIX):
            name = column[len(PREFIX) :].strip()
            by_column[column] = name if name in names else ""
        elif column.lower().endswith(GOLD_SUFFIX) and column[: -len(GOLD_SUFFIX)] in names:
            by_column[column] = column[: -len(GOLD_SUFFIX)]
    return by_column


def expected_of(questions: Sequence[FormQuestion], cells: Mapping[str, str]) -> Expected:
    """Return the expected answers in a row; {} if it has none.

    Raises:
        ExpectedProblem: a cell is not a possible answer, or its question is unknown.
    """
    by_name = {question.name: question for question in questions}
    expected: Expected = {}
    for column, name in expected_columns(cells, questions).items():
        cell = cells[column].strip()
        if not cell:
            continue
        if not name:
            names = [question.name for question in questions if question.shape != "fixed"]
            raise ExpectedProblem(
                column, f"no such question; expected Expected. and one of {', '.join(names[:8])}"
            )
        try:
            expected[name] = READERS[by_name[name].shape](by_name[name], cell)
        except ValueError as error:
            raise ExpectedProblem(column, f"{cell[:60]!r}; {error}") from None
    return expected


def reason_of(cells: Mapping[str, str]) -> str:
    """Return why a row has its expected answers, from its columns of reasons; "" without a reason."""
    reasons = [cell.strip() for column, cell in cells.items() if column.lower().endswith(REASON_SUFFIX)]
    return " ".join(text for text in reasons if text)[:500]


def _read_choice(question: FormQuestion, cell: str) -> dict[str, Any]:
    """Read the values that are right, one or several."""
    values = [option.value for option in question.options if option.value]
    expected_values = [cell] if cell in values else _split_values(cell)
    if not expected_values:
        raise ValueError(f"expected one of the values of “{question.name}”")
    for value in expected_values:
        _clean_value(question, value)  # raises an error for a value that cannot be chosen
    return {"any": expected_values}


def _read_ticks(question: FormQuestion, cell: str) -> dict[str, Any]:
    values = [option.value for option in question.options]
    ticked = [] if cell == NO_TICKS else [cell] if cell in values else _split_values(cell)
    if not ticked and cell != NO_TICKS:
        raise ValueError(f"expected values of “{question.name}”, or {NO_TICKS} where none is to be ticked")
    return {"all": _clean_value(question, ticked)}


def _read_range(question: FormQuestion, cell: str) -> dict[str, Any]:
    """Read a number, or a range such as 6..8."""
    low, dots, high = cell.partition("..")
    try:
        ends = [as_number(float(end)) for end in ((low, high) if dots else (low,))]
    except ValueError:
        ends = [None]
    if any(end is None for end in ends) or ends != sorted(ends, key=lambda end: end or 0):
        raise ValueError("expected a number, or two with .. between them such as 6..8")
    first, last = float(ends[0] or 0), float(ends[-1] or 0)
    if not dots:
        _clean_value(question, ends[0])
        tolerance = question.tolerance or 0.0
        return {"low": first - tolerance, "high": last + tolerance}
    if (question.low is not None and last < question.low) or (
        question.high is not None and first > question.high
    ):
        raise ValueError(f"expected numbers that “{question.name}” takes")
    if not _range_has_answer(question, first, last):
        raise ValueError(f"expected a range with a number in it that “{question.name}” takes")
    return {"low": first, "high": last}


def _range_has_answer(question: FormQuestion, first: float, last: float) -> bool:
    """Return whether a multiple of the question's step lies between two numbers."""
    if not question.step:
        return True
    start = question.low or 0.0
    low = first if question.low is None else max(first, question.low)
    high = last if question.high is None else min(last, question.high)
    margin = ROUNDING * max(1.0, abs(low), abs(high))
    return start + math.ceil((low - start - margin) / question.step) * question.step <= high + margin


def _read_texts(question: FormQuestion, cell: str) -> dict[str, Any]:
    texts = [text for text in _split_values(cell) if normalise_answer(text)]
    if not texts:
        raise ValueError("expected a text with letters or digits")
    return {"texts": [_clean_value(question, text) for text in texts]}


def _split_values(cell: str) -> list[str]:
    return [part.strip() for part in VALUE_SEPARATOR.split(cell) if part.strip()]


def _clean_value(question: FormQuestion, value: Any) -> Any:
    try:
        return checked_answer([question], {question.name: value})[question.name]
    except RefusedAnswer as error:
        raise ValueError(str(error)) from None


READERS = {"choice": _read_choice, "several": _read_ticks, "number": _read_range, "text": _read_texts}


def normalise_answer(text: str) -> str:
    """Return a text without differences of case, character width and blanks, and without punctuation."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(plain)
    while start < end and _is_blank_or_punctuation(plain[start]):
        start += 1
    while end > start and _is_blank_or_punctuation(plain[end - 1]):
        end -= 1
    return plain[start:end]


def _is_blank_or_punctuation(character: str) -> bool:
    return character == " " or unicodedata.category(character)[0] == "P"


def meets_expectation(expected: Mapping[str, Mapping[str, Any]], answer: Mapping[str, Any]) -> bool:
    return all(_value_meets(expectation, answer.get(name)) for name, expectation in expected.items())


def _value_meets(expectation: Mapping[str, Any], value: Any) -> bool:
    """Return whether the answer to one question is as expected. None means that it is unanswered."""
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


def expected_on_repeat(questions: Sequence[FormQuestion], answer: Mapping[str, Any]) -> Expected:
    """Return the expected answers to a repeated row, from the first answer to it.

    A number may differ by ``data-within`` or by 15% of its range. Typed texts are not compared.
    """
    expected: Expected = {}
    for question in questions:
        value = answer.get(question.name)
        if question.shape == "several":
            expected[question.name] = {"all": list(value or ())}
        elif question.shape == "choice" or (question.shape == "number" and value is None):
            expected[question.name] = {"any": ["" if value is None else value]}
        elif question.shape == "number" and isinstance(value, int | float):
            tolerance = _repeat_tolerance(question)
            expected[question.name] = {"low": value - tolerance, "high": value + tolerance}
    return expected


def _repeat_tolerance(question: FormQuestion) -> float:
    if question.tolerance is not None:
        return question.tolerance
    if question.low is None or question.high is None:
        return 0.0
    return REPEAT_TOLERANCE * (question.high - question.low)


def example_of(question: FormQuestion, expectation: Mapping[str, Any], valid_answer: Any) -> Any:
    """Return an answer that meets an expectation.

    Args:
        valid_answer: a possible answer to a question for a number; it is returned if it meets the expectation.
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
    if question.step:
        start = question.low or 0.0
        middle = start + round((middle - start) / question.step) * question.step
    return as_number(middle)


def expectation_text(expectation: Mapping[str, Any]) -> str:
    """Return the expectation of one question as a text for researchers."""
    if "low" in expectation:
        low, high = (f"{expectation[end]:g}" for end in ("low", "high"))
        return low if low == high else f"{low} to {high}"
    if "all" in expectation:
        return ", ".join(expectation["all"]) or "–"
    return " or ".join(str(value) for value in expectation.get("any", expectation.get("texts", ()))) or "–"
