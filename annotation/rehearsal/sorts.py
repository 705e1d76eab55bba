"""Types of careless simulated workers, and the answers that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from judgments.kinds import Kind

# A function of the kind, the position on the page (from 1), the number of the person and a randomly drawn answer. It
# returns the answer as the worker sees it.
AnswerRule = Callable[[Kind, int, int, Any], Any]

# a text that a program might write about any picture
PASTED_TEXTS = (
    "A vibrant scene unfolds as people gather together in a lively outdoor setting",
    "The subject is captured in a moment of quiet concentration against a soft background",
    "A carefully composed view shows several objects arranged in a warm and inviting light",
    "An everyday moment is shown in rich detail with a clear sense of depth and movement",
)


@dataclass(frozen=True, slots=True)
class CarelessType:
    """A type of careless simulated worker.

    Attributes:
        pace: the time of such a worker as a fraction of a careful worker's.
        constant_pace: whether all of them are equally fast.
        choose_answer: a function that returns the answer, in the order shown.
    """

    name: str
    description: str
    pace: float
    constant_pace: bool
    choose_answer: AnswerRule


def _keep_answer(kind: Kind, position: int, person: int, drawn_answer: Any) -> Any:
    return drawn_answer


def _repeat_value(kind: Kind, position: int, person: int, drawn_answer: Any) -> Any:
    return drawn_answer if kind.is_open else (kind.values[0], kind.values[-1])[person % 2]


def _alternate_values(kind: Kind, position: int, person: int, drawn_answer: Any) -> Any:
    return drawn_answer if kind.is_open else (kind.values[0], kind.values[-1])[(position + person) % 2]


def _paste_text(kind: Kind, position: int, person: int, drawn_answer: Any) -> Any:
    return PASTED_TEXTS[(position + person) % len(PASTED_TEXTS)] if kind.writes_captions else drawn_answer


CARELESS_TYPES: dict[str, CarelessType] = {
    sort.name: sort
    for sort in (
        CarelessType("fast", "answers at random, five times as fast as others", 0.2, True, _keep_answer),
        CarelessType("random", "answers at random, at the speed of others", 1.0, False, _keep_answer),
        CarelessType(
            "one-sided", "always gives the same answer, twice as fast as others", 0.5, False, _repeat_value
        ),
        CarelessType(
            "alternating", "gives two answers in turn, twice as fast as others", 0.5, False, _alternate_values
        ),
        CarelessType(
            "pasting", "pastes text written by a program, if texts are asked for", 0.3, True, _paste_text
        ),
    )
}
