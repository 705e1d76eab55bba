"""Check the answers to a page of work, and bring them into their stored form.

The kind checks the value of an answer. This module checks the rest: position, times, comment and signals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.errors import AnswerProblem
from annotation.work.sheet.units import PageUnit
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS, Kind
from judgments.kinds.base import RefusedAnswer
from judgments.models import Unit

MAX_ANSWER_SECONDS = 86_400.0  # a day
MAX_COMMENT_LENGTH = 2_000  # characters
SIGNALS = ("pasted",)  # counts that a page may always report
# counts and times that a page may report if the design records writing (contrib/honest_answers/README.md)
WRITING_SIGNALS = (
    "text", "from_keys", "from_paste", "from_composition", "from_elsewhere", "pastes", "keys", "deletions",
    "typing_ms", "gap_ms", "gap_spread_ms", "bursts", "away", "away_ms",
)  # fmt: skip
MAX_SIGNAL = 1_000_000  # highest count or time, in ms, that a page may report
MAX_QUOTED_LENGTH = 80  # characters of a value in an error message


def answer_key(kind: Kind) -> str:
    """Return the field of an answer: "answer" for free texts and other open answers, "value" for numbers."""
    return "answer" if kind.is_open else "value"


def check_answers(
    answers: Sequence[Mapping[str, Any]], *, design: StudyDesign, page_units: Sequence[PageUnit]
) -> dict[str, dict[str, Any]]:
    """Check answers, and return each answer in its stored form, by position.

    An example of the result is ``{"1": {"value": 2, "seconds": 3.5}}``.

    Args:
        answers: objects such as ``{"position": 1, "value": 2, "seconds": 3.5}``. Open answers have the field "answer"
            instead of "value". The fields of ``OPTIONAL_FIELDS`` may be missing.

    Raises:
        AnswerProblem: an answer is invalid.
    """
    kind = KINDS[design.protocol].for_design(design)
    key = answer_key(kind)
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise AnswerProblem(
            _(
                "Nothing was saved: “answers” must be a list of objects with the fields “position” "
                "and “%(key)s”."
            )
            % {"key": key}
        )
    units_by_position = {page_unit.position: page_unit.unit for page_unit in page_units}
    stored_forms: dict[str, dict[str, Any]] = {}
    for answer in answers:
        if not isinstance(answer, Mapping) or "position" not in answer or key not in answer:
            raise AnswerProblem(
                _("Nothing was saved: each answer needs the fields “position” and “%(key)s”.") % {"key": key}
            )
        position = answer["position"]
        # not isinstance, since True is an int
        if type(position) is not int or position not in units_by_position:
            raise AnswerProblem(
                _("Nothing was saved: “position” is %(position)s; expected a number from 1 to %(most)d.")
                % {"position": abbreviate(position), "most": len(page_units)}
            )
        stored_form = _check_answer(answer, kind=kind, unit=units_by_position[position], design=design)
        earlier_form = stored_forms.get(str(position))
        if earlier_form is not None and earlier_form[key] != stored_form[key]:
            raise AnswerProblem(
                _("Nothing was saved: position %(position)d is answered twice.") % {"position": position},
                position=position,
            )
        stored_forms[str(position)] = stored_form
    return stored_forms


def _check_answer(
    answer: Mapping[str, Any], *, kind: Kind, unit: Unit, design: StudyDesign
) -> dict[str, Any]:
    """Return the stored form of an answer at a valid position. Raise AnswerProblem if a field is invalid."""
    key = answer_key(kind)
    position = answer["position"]
    try:
        value = kind.clean_answer(answer[key], unit=unit, design=design)
    except ValueError as error:
        raise AnswerProblem(
            _("Nothing was saved: the field “%(key)s” at position %(position)d is %(given)s; %(problem)s.")
            % {"key": key, "position": position, "given": abbreviate(answer[key]), "problem": error},
            position=position,
        ) from None
    stored_form: dict[str, Any] = {key: value}
    for name, check in OPTIONAL_FIELDS.items():
        if answer.get(name) is not None:
            stored_form[name] = check(answer[name], position)
    _refuse_unrecorded_signals(stored_form.get("signals", {}), position, design)
    return stored_form


def split_unfinished(
    answers: Sequence[Mapping[str, Any]], *, design: StudyDesign, page_units: Sequence[PageUnit]
) -> tuple[list[Mapping[str, Any]], dict[int, Any]]:
    """Return the valid answers of a form that was sent without scripts, and the invalid input by position.

    Without scripts, an answer is checked only after the form is sent, so invalid text must not be lost.
    """
    kind = KINDS[design.protocol].for_design(design)
    # The form fields of other kinds have only valid values. With confidences, an answer may lack its confidence.
    if not (kind.is_open or kind.confidences):
        return list(answers), {}
    units = {page_unit.position: page_unit.unit for page_unit in page_units}
    valid_answers: list[Mapping[str, Any]] = []
    invalid_inputs: dict[int, Any] = {}
    for answer in answers:
        value = answer[answer_key(kind)]
        if find_problem(value, kind=kind, unit=units[answer["position"]], design=design):
            invalid_inputs[answer["position"]] = value
        else:
            valid_answers.append(answer)
    return valid_answers, invalid_inputs


def find_problem(value: Any, *, kind: Kind, unit: Any, design: StudyDesign) -> str:
    """Return why an answer is invalid, as a sentence for the worker; "" if it is valid."""
    try:
        kind.clean_answer(value, unit=unit, design=design)
    except RefusedAnswer as error:  # its `str()` is for logs and imports
        return str(error.message)
    except ValueError as error:
        return str(error)
    return ""


def abbreviate(value: Any) -> str:
    """Return a wrong value as an error quotes it, in at most ``MAX_QUOTED_LENGTH`` characters."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED_LENGTH else f"{text[: MAX_QUOTED_LENGTH - 1]}…"


def _make_seconds_check(name: str) -> Callable[[Any, int], float]:
    """Return a function that checks the field ``name``, a number of seconds, of the answer at a position."""

    def check(seconds: Any, position: int) -> float:
        if type(seconds) not in (int, float) or not 0 <= seconds <= MAX_ANSWER_SECONDS:
            text = abbreviate(seconds)
            raise AnswerProblem(
                _(
                    "Nothing was saved: the field “%(name)s” at position %(position)d is "
                    "%(seconds)s; expected a number from 0 to %(most)d."
                )
                % {"name": name, "position": position, "seconds": text, "most": MAX_ANSWER_SECONDS},
                position=position,
            )
        return float(seconds)

    return check


def _clean_comment(comment: Any, position: int) -> str:
    # PostgreSQL cannot store U+0000
    if not isinstance(comment, str) or len(comment) > MAX_COMMENT_LENGTH or "\x00" in comment:
        raise AnswerProblem(
            _(
                "Nothing was saved: the comment at position %(position)d is not a text of at most %(most)d "
                "characters."
            )
            % {"position": position, "most": MAX_COMMENT_LENGTH},
            position=position,
        )
    return comment.strip()


def _refuse_unrecorded_signals(signals: Mapping[str, int], position: int, design: StudyDesign) -> None:
    writing_signals = [name for name in signals if name in WRITING_SIGNALS]
    if writing_signals and not design.writing.record:
        raise AnswerProblem(
            _(
                "Nothing was saved: the field “signals” at position %(position)d contains "
                "“%(name)s”, but this study does not record how answers are written; expected "
                "numbers only for %(names)s."
            )
            % {"position": position, "name": writing_signals[0], "names": ", ".join(SIGNALS)},
            position=position,
        )


def _clean_signals(signals: Any, position: int) -> dict[str, int]:
    """Return the signals at a position, which are counts and times by name. Raise AnswerProblem if they are invalid."""
    is_valid = isinstance(signals, Mapping) and all(
        name in (*SIGNALS, *WRITING_SIGNALS) and type(number) is int and 0 <= number <= MAX_SIGNAL
        for name, number in signals.items()
    )
    if not is_valid:
        raise AnswerProblem(
            _(
                "Nothing was saved: the field “signals” at position %(position)d is not valid; "
                "expected a number for each of %(names)s."
            )
            % {"position": position, "names": ", ".join((*SIGNALS, *WRITING_SIGNALS))},
            position=position,
        )
    return dict(signals)


# Checks of the fields that an answer may lack; each returns the stored form of the field. "seconds" are active time,
# "wall_seconds" include pauses.
OPTIONAL_FIELDS: dict[str, Callable[[Any, int], Any]] = {
    "seconds": _make_seconds_check("seconds"),
    "wall_seconds": _make_seconds_check("wall_seconds"),
    "comment": _clean_comment,
    "signals": _clean_signals,
}


def unanswered_positions(
    page_units: Sequence[PageUnit], answers: Mapping[str, Mapping[str, Any]], *, kind: Kind
) -> list[int]:
    """Return the positions of a page that have no valid answer yet."""
    return [
        page_unit.position
        for page_unit in page_units
        if answer_key(kind) not in answers.get(str(page_unit.position), {})
    ]
