"""Types of careless simulated workers, and the answers that they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from judgments.kinds import Kind

# A function that returns a careless worker's answer, with the options in the order that the worker sees. Its arguments
# are the kind, the position on the page (from 1), the number of the worker, and a randomly drawn answer, which stays
# where the type has no answer of its own, for instance to open questions.
AnswerRule = Callable[[Kind, int, int, Any], Any]

# texts that a program might write about any picture
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
    """

    name: str
    pace: float
    constant_pace: bool
    choose_answer: AnswerRule
    description: str


def _keep_answer(kind: Kind, position: int, worker_number: int, drawn_answer: Any) -> Any:
    return drawn_answer


def _repeat_value(kind: Kind, position: int, worker_number: int, drawn_answer: Any) -> Any:
    """Return always the first value, or for every other worker the last one."""
    return drawn_answer if kind.is_open else (kind.values[0], kind.values[-1])[worker_number % 2]


def _alternate_values(kind: Kind, position: int, worker_number: int, drawn_answer: Any) -> Any:
    """Return the first and the last value in turn."""
    return drawn_answer if kind.is_open else (kind.values[0], kind.values[-1])[(position + worker_number) % 2]


def _paste_text(kind: Kind, position: int, worker_number: int, drawn_answer: Any) -> Any:
    """Return one of the pasted texts, in turn."""
    text = PASTED_TEXTS[(position + worker_number) % len(PASTED_TEXTS)]
    return text if kind.writes_captions else drawn_answer


CARELESS_TYPES: dict[str, CarelessType] = {
    careless_type.name: careless_type
    for careless_type in (
        # name, pace, whether the pace is constant, how an answer is chosen, description
        CarelessType("fast", 0.2, True, _keep_answer, "answers at random, five times as fast as others"),
        CarelessType("random", 1.0, False, _keep_answer, "answers at random, at the speed of others"),
        CarelessType(
            "one-sided", 0.5, False, _repeat_value, "always gives the same answer, twice as fast as others"
        ),
        CarelessType(
            "alternating", 0.5, False, _alternate_values, "gives two answers in turn, twice as fast as others"
        ),
        CarelessType(
            "pasting", 0.3, True, _paste_text, "pastes text written by a program, if texts are asked for"
        ),
    )
}
