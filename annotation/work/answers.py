"""Check the answers that a client sends. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotation.errors import AnswerProblem
from annotation.work.presentation import Place
from judgments.design.study_design import StudyDesign
from judgments.kinds import KINDS, Kind

MOST_SECONDS = 86_400.0
LONGEST_COMMENT = 2_000
SIGNALS = ("pasted",)  # counts that a page may report about how an answer was entered
MOST_SIGNAL = 1_000_000


def answer_key(kind: Kind) -> str:
    return "answer" if kind.is_open else "value"


def checked_answers(
    answers: Sequence[Mapping[str, Any]], *, design: StudyDesign, places: Sequence[Place]
) -> dict[str, dict[str, Any]]:
    """Check answers and return them by position, in the form in which they are stored.

    Args:
        answers: ``[{"position", "value" or "answer", "seconds"?, "wall_seconds"?, "comment"?, "signals"?}]``.

    Raises:
        AnswerProblem: the list has another form, or a position or answer is unknown or repeated.
    """
    kind = KINDS[design.protocol]
    key = answer_key(kind)
    if not isinstance(answers, Sequence) or isinstance(answers, str):
        raise AnswerProblem(
            _("Nothing was saved: answers must be a list of objects with position and %(key)s.")
            % {"key": key}
        )
    by_position = {place.position: place for place in places}
    given: dict[str, dict[str, Any]] = {}
    for answer in answers:
        if not isinstance(answer, Mapping) or "position" not in answer or key not in answer:
            raise AnswerProblem(
                _("Nothing was saved: each answer needs position and %(key)s.") % {"key": key}
            )
        position = answer["position"]
        if type(position) is not int or position not in by_position:
            raise AnswerProblem(
                _("Nothing was saved: position is %(position)s; expected 1 to %(most)d.")
                % {"position": short_of(position), "most": len(places)}
            )
        try:
            kept = kind.checked(answer[key], unit=by_position[position].unit, design=design)
        except ValueError as error:
            raise AnswerProblem(
                _("Nothing was saved: the %(key)s at position %(position)d is %(given)s; %(problem)s.")
                % {"key": key, "position": position, "given": short_of(answer[key]), "problem": error},
                position=position,
            ) from None
        if str(position) in given and given[str(position)][key] != kept:
            raise AnswerProblem(
                _("Nothing was saved: position %(position)d is answered twice.") % {"position": position},
                position=position,
            )
        given[str(position)] = {key: kept} | {
            name: check(answer[name], position)
            for name, check in BESIDES.items()
            if answer.get(name) is not None
        }
    return given


def without_unfinished(
    answers: Sequence[Mapping[str, Any]], *, design: StudyDesign, places: Sequence[Place]
) -> tuple[list[Mapping[str, Any]], dict[int, Any]]:
    """Split a plain form's answers into valid ones and, by position, invalid ones.

    Without scripts, a refusal comes only after the form is sent, so invalid text must not be lost.
    """
    kind = KINDS[design.protocol]
    if not kind.is_open:
        return list(answers), {}
    units = {place.position: place.unit for place in places}
    fine: list[Mapping[str, Any]] = []
    unfinished: dict[int, Any] = {}
    for answer in answers:
        given = answer[answer_key(kind)]
        if problem_of(given, kind=kind, unit=units[answer["position"]], design=design):
            unfinished[answer["position"]] = given
        else:
            fine.append(answer)
    return fine, unfinished


def problem_of(given: Any, *, kind: Kind, unit: Any, design: StudyDesign) -> str:
    """Return why an answer is invalid, in words for its worker; "" if it is valid."""
    try:
        kind.checked(given, unit=unit, design=design)
    except ValueError as error:
        return str(getattr(error, "says", error))
    return ""


def short_of(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _seconds(name: str) -> Callable[[Any, int], float]:
    def check(seconds: Any, position: int) -> float:
        if type(seconds) not in (int, float) or not 0 <= seconds <= MOST_SECONDS:
            raise AnswerProblem(
                _(
                    "Nothing was saved: %(name)s at position %(position)d is %(seconds)s; expected 0 to %(most)d."
                )
                % {"name": name, "position": position, "seconds": short_of(seconds), "most": MOST_SECONDS},
                position=position,
            )
        return float(seconds)

    return check


def _comment(comment: Any, position: int) -> str:
    if not isinstance(comment, str) or len(comment) > LONGEST_COMMENT or "\x00" in comment:
        raise AnswerProblem(
            _(
                "Nothing was saved: the comment at position %(position)d is no text of at most %(most)d characters."
            )
            % {"position": position, "most": LONGEST_COMMENT},
            position=position,
        )
    return comment.strip()


def _signals(signals: Any, position: int) -> dict[str, int]:
    fine = isinstance(signals, Mapping) and all(
        name in SIGNALS and type(count) is int and 0 <= count <= MOST_SIGNAL
        for name, count in signals.items()
    )
    if not fine:
        raise AnswerProblem(
            _(
                "Nothing was saved: the signals at position %(position)d are none; expected counts of %(names)s."
            )
            % {"position": position, "names": ", ".join(SIGNALS)},
            position=position,
        )
    return dict(signals)


BESIDES: dict[str, Callable[[Any, int], Any]] = {
    "seconds": _seconds("seconds"),
    "wall_seconds": _seconds("wall_seconds"),
    "comment": _comment,
    "signals": _signals,
}
