"""Control items of HIT templates: rows with expected answers, and repeated rows.

Expected answers are read from columns ``Expected.NAME``, named like ``Answer.NAME`` in results, or ``NAME_gold``
with ``NAME_gold_reason``, as in CrowdFlower's test questions. Expected answers are stored as JSON. For each
question, by name, it has one of

- ``{"any": [...]}``: a choice; each of these values is right,
- ``{"all": [...]}``: check boxes; exactly these are ticked,
- ``{"low": a, "high": b}``: a number from a to b,
- ``{"texts": [...]}``: a text; each of these is right, compared by ``normalise_answer``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from common.errors import DesignError
from contrib.hit_templates.answers import checked_answer
from contrib.hit_templates.filling import filled_questions
from contrib.hit_templates.questions import FormQuestion, as_number
from contrib.hit_templates.reading import TemplateForm
from judgments.drawing.controls.makers import KNOWN_GOOD, REPEATED, ControlSlot, Known
from judgments.drawing.draws import shuffle
from judgments.drawing.keys import content_key
from judgments.drawing.material import Group, Image, UnitSpec
from judgments.kinds.base import RefusedAnswer

if TYPE_CHECKING:
    from judgments.design.study_design import StudyDesign

TEMPLATE_CONTROLS = (KNOWN_GOOD, REPEATED)
TRIES = 20  # number of attempts to draw a wrong answer
SIMULATED_TEXT = "An answer of a simulated worker."
PREFIX, GOLD, REASON = "expected.", "_gold", "_gold_reason"
VALUE_SEPARATOR = re.compile(r"[|\r\n]+")
NO_TICKS = "[]"  # the cell for check boxes of which none should be ticked
REPEAT_TOLERANCE = 0.15  # tolerance of a repeated number as a fraction of its range, as on a slider
ROUNDING = 1e-9

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
        elif column.lower().endswith(GOLD) and column[: -len(GOLD)] in names:
            by_column[column] = column[: -len(GOLD)]
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
    reasons = [cell.strip() for column, cell in cells.items() if column.lower().endswith(REASON)]
    return " ".join(text for text in reasons if text)[:500]


def _read_choice(question: FormQuestion, cell: str) -> dict[str, Any]:
    values = [option.value for option in question.options if option.value]
    parts = [cell] if cell in values else _parts(cell)
    if not parts:
        raise ValueError(f"expected one of the values of “{question.name}”")
    for part in parts:
        _check_value(question, part)
    return {"any": parts}


def _read_ticks(question: FormQuestion, cell: str) -> dict[str, Any]:
    values = [option.value for option in question.options]
    parts = [] if cell == NO_TICKS else [cell] if cell in values else _parts(cell)
    if not parts and cell != NO_TICKS:
        raise ValueError(f"expected values of “{question.name}”, or {NO_TICKS} where none is to be ticked")
    return {"all": _check_value(question, parts)}


def _read_range(question: FormQuestion, cell: str) -> dict[str, Any]:
    low, dots, high = cell.partition("..")
    try:
        ends = [as_number(float(end)) for end in ((low, high) if dots else (low,))]
    except ValueError:
        ends = [None]
    if any(end is None for end in ends) or ends != sorted(ends, key=lambda end: end or 0):
        raise ValueError("expected a number, or two with .. between them such as 6..8")
    first, last = float(ends[0] or 0), float(ends[-1] or 0)
    if not dots:
        _check_value(question, ends[0])
        wide = question.within or 0.0
        return {"low": first - wide, "high": last + wide}
    if (question.low is not None and last < question.low) or (
        question.high is not None and first > question.high
    ):
        raise ValueError(f"expected numbers that “{question.name}” takes")
    if not _range_has_answer(question, first, last):
        raise ValueError(f"expected a range with a number in it that “{question.name}” takes")
    return {"low": first, "high": last}


def _range_has_answer(question: FormQuestion, first: float, last: float) -> bool:
    if not question.step:
        return True
    start = question.low or 0.0
    low = first if question.low is None else max(first, question.low)
    high = last if question.high is None else min(last, question.high)
    room = ROUNDING * max(1.0, abs(low), abs(high))
    return start + math.ceil((low - start - room) / question.step) * question.step <= high + room


def _read_texts(question: FormQuestion, cell: str) -> dict[str, Any]:
    parts = [part for part in _parts(cell) if normalise_answer(part)]
    if not parts:
        raise ValueError("expected a text with letters or digits")
    return {"texts": [_check_value(question, part) for part in parts]}


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in VALUE_SEPARATOR.split(cell) if part.strip()]


def _check_value(question: FormQuestion, value: Any) -> Any:
    try:
        return checked_answer([question], {question.name: value})[question.name]
    except RefusedAnswer as error:
        raise ValueError(str(error)) from None


READERS = {"choice": _read_choice, "several": _read_ticks, "number": _read_range, "text": _read_texts}


def normalise_answer(text: str) -> str:
    """Return a text without differences of case, character width and blanks, and without punctuation."""
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(plain)
    while start < end and _is_mark(plain[start]):
        start += 1
    while end > start and _is_mark(plain[end - 1]):
        end -= 1
    return plain[start:end]


def _is_mark(sign: str) -> bool:
    return sign == " " or unicodedata.category(sign)[0] == "P"


def meets_expectation(expected: Mapping[str, Mapping[str, Any]], answer: Mapping[str, Any]) -> bool:
    return all(_value_meets(wanted, answer.get(name)) for name, wanted in expected.items())


def _value_meets(wanted: Mapping[str, Any], value: Any) -> bool:
    if "any" in wanted:
        return (value if value is not None else "") in wanted["any"]
    if "all" in wanted:
        return set(value or ()) == set(wanted["all"])
    if "low" in wanted:
        room = ROUNDING * max(1.0, abs(wanted["low"]), abs(wanted["high"]))
        return isinstance(value, int | float) and wanted["low"] - room <= value <= wanted["high"] + room
    return isinstance(value, str) and normalise_answer(value) in {
        normalise_answer(text) for text in wanted["texts"]
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
            wide = _width_of(question)
            expected[question.name] = {"low": value - wide, "high": value + wide}
    return expected


def _width_of(question: FormQuestion) -> float:
    if question.within is not None:
        return question.within
    if question.low is None or question.high is None:
        return 0.0
    return REPEAT_TOLERANCE * (question.high - question.low)


def example_of(question: FormQuestion, wanted: Mapping[str, Any], drawn: Any) -> Any:
    """Return an answer that meets an expectation. ``drawn``, which is any valid answer, is returned if it does."""
    if "any" in wanted:
        return wanted["any"][0]
    if "all" in wanted:
        return list(wanted["all"])
    if "texts" in wanted:
        return wanted["texts"][0]
    if _value_meets(wanted, drawn):
        return drawn
    middle = (wanted["low"] + wanted["high"]) / 2
    if question.step:
        start = question.low or 0.0
        middle = start + round((middle - start) / question.step) * question.step
    return as_number(middle)


def expectation_text(wanted: Mapping[str, Any]) -> str:
    if "low" in wanted:
        low, high = (f"{wanted[end]:g}" for end in ("low", "high"))
        return low if low == high else f"{low} to {high}"
    if "all" in wanted:
        return ", ".join(wanted["all"]) or "–"
    return " or ".join(str(value) for value in wanted.get("any", wanted.get("texts", ()))) or "–"


def control_contradictions(template: TemplateForm, design: StudyDesign) -> Iterator[str]:
    """Yield clauses about control items that contradict a template. Each begins with a study-file key."""
    if design.controls.known:
        yield (
            gettext(
                "controls.known must be empty. The known items of a template are rows of its "
                "inputs with right answers in columns Expected.NAME"
            )
        )
    if not design.controls.per_hit:
        return
    foreign = [kind for kind in design.controls.kinds if kind not in TEMPLATE_CONTROLS]
    if foreign:
        yield (
            gettext(
                "controls.kinds contains %(foreign)r, which is not available for templates; expected %(listed)s"
            )
            % {"foreign": foreign[0], "listed": " or ".join(map(repr, TEMPLATE_CONTROLS))}
        )
    if REPEATED in design.controls.kinds and all(
        question.shape in ("text", "fixed") for question in template.questions
    ):
        yield (
            gettext(
                "controls.kinds contains 'repeated', but this template asks only for written texts. Nobody "
                "writes the same text twice; expected %(known_good)r"
            )
            % {"known_good": KNOWN_GOOD}
        )


def known_rows(template: TemplateForm, rows: Sequence[Image], dataset: str) -> list[Known]:
    """Return the rows with expected answers as known items.

    Raises:
        DesignError: the page shows a column with expected answers, or a cell is not a possible answer.
    """
    expecting = expected_columns((name for name, _ in rows[0].fields), template.questions)
    shown = next((name for name in template.fields if name in expecting), None)
    if shown is not None:
        raise DesignError(
            gettext(
                "template.html shows ${%(shown)s}. This field contains the right answer, so "
                "participants would see the right answer."
            )
            % {"shown": shown},
            field="template.html",
        )
    known = []
    for number, row in enumerate(rows, start=1):
        cells = dict(row.fields)
        try:
            expected = expected_of(filled_questions(template.questions, cells), cells)
        except ExpectedProblem as problem:
            raise DesignError(
                gettext(
                    "controls.kinds contains %(known_good)r, but the right answer of %(name)s in "
                    "column %(column)r of dataset %(dataset)r cannot be used: %(problem)s."
                )
                % {
                    "known_good": KNOWN_GOOD,
                    "name": row.name,
                    "dataset": dataset,
                    "column": problem.column,
                    "problem": problem,
                },
                field="controls.kinds",
            ) from None
        if expected:
            known.append(Known(number, row, None, None, None, expected, reason_of(cells)))
    if not known:
        names = [question.name for question in template.questions if question.shape != "fixed"]
        raise DesignError(
            gettext(
                "controls.kinds contains %(known_good)r, but no row of dataset %(dataset)r has a right answer; "
                "expected a column such as Expected.%(names)s with the right answers of some rows, or "
                "controls.per_hit = 0."
            )
            % {"known_good": KNOWN_GOOD, "dataset": dataset, "names": names[0]},
            field="controls.kinds",
        )
    return known


def known_control(slot: ControlSlot, items: Sequence[Known]) -> Group:
    row, fields = items[0].image, dict(items[0].image.fields)
    unit = UnitSpec(
        key=content_key("control", slot.design.protocol, slot.design.seed, slot.position, row.name, fields),
        image=row.name,
        control=True,
        control_kind=KNOWN_GOOD,
        expected=items[0].expected,
        content={"fields": fields},
    )
    return Group(row.name, (unit,))


def draw_answer_to(
    questions: Sequence[FormQuestion],
    expected: Mapping[str, Any],
    drawn: dict[str, Any],
    *,
    right: bool,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Return an answer that meets all expectations or, if not ``right``, fails one of them."""
    by_name = {question.name: question for question in questions}
    answer = drawn | {
        name: example_of(by_name[name], wanted, drawn.get(name)) for name, wanted in expected.items()
    }
    if right:
        return answer
    for name in shuffle(sorted(expected), rng):
        for _try in range(TRIES):
            other = answer | {name: drawn_answer(by_name[name], rng)}
            if not meets_expectation(expected, other):
                return other
    return answer


def drawn_answer(question: FormQuestion, rng: np.random.Generator) -> Any:
    values = [option.value for option in question.options if option.value]
    if question.shape == "choice":
        return values[int(rng.integers(len(values)))]
    if question.shape == "several":
        return [option.value for option in question.options if bool(rng.random() < 0.4) | option.required]
    if question.shape == "number":
        low = question.low if question.low is not None else 0.0
        high = question.high if question.high is not None else low + 100.0
        step = question.step or 1.0
        return low + step * int(rng.integers(int((high - low) / step + 1e-9) + 1))
    return SIMULATED_TEXT[: question.longest]
