"""Sorts of careless people in a rehearsal: what they tick without looking, and how fast. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from judgments.kinds import Kind

# kind, position in the page (from 1), number of the person, answer drawn without looking -> answer as seen
Tick = Callable[[Kind, int, int, Any], Any]


@dataclass(frozen=True, slots=True)
class Sort:
    """A way not to look.

    Attributes:
        name: as in ``--sorts``.
        about: what such a person does.
        pace: their seconds as a share of a careful person's; ``steady`` where all of the sort are equally fast.
        tick: what they answer, as they see it.
    """

    name: str
    about: str
    pace: float
    steady: bool
    tick: Tick


def _draw(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    return drawn


def _same(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    """Of two answers one person always gives the first and the next one the second."""
    return drawn if kind.is_open else (kind.values[0], kind.values[-1])[person % 2]


def _in_turn(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    return drawn if kind.is_open else (kind.values[0], kind.values[-1])[(position + person) % 2]


SORTS: dict[str, Sort] = {
    sort.name: sort
    for sort in (
        Sort("fast", "answers at random, five times as fast as others", 0.2, True, _draw),
        Sort("random", "answers at random, as slowly as others", 1.0, False, _draw),
        Sort("one-sided", "gives the same answer all the time, twice as fast as others", 0.5, False, _same),
        Sort("alternating", "gives two answers in turn, twice as fast as others", 0.5, False, _in_turn),
    )
}
