"""Simulated workers of a rehearsal, careful and careless."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Participation, Worker
from common.errors import WrongState
from judgments.drawing.material import rng_for
from judgments.kinds import Kind
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

# kind, position on the page (from 1), number of the person, randomly drawn answer -> answer as seen
Tick = Callable[[Kind, int, int, Any], Any]
APART = 0.1  # careful workers' accuracy differs from the crowd's by at most this
# What a program might say of any picture.
PASTED = (
    "A vibrant scene unfolds as people gather together in a lively outdoor setting",
    "The subject is captured in a moment of quiet concentration against a soft background",
    "A carefully composed view shows several objects arranged in a warm and inviting light",
    "An everyday moment is shown in rich detail with a clear sense of depth and movement",
)
GAP, GAP_SPREAD = 220.0, 0.67  # of a person's keys: median in ms, and spread over it (benchmarks/honesty.py)
SPREAD = 0.4  # standard deviation of the logarithm of a worker's seconds per unit


@dataclass(frozen=True, slots=True)
class Sort:
    """A kind of careless worker.

    Attributes:
        pace: seconds as a share of a careful worker's; ``steady`` if all are equally fast.
        tick: returns the answer, as seen.
    """

    name: str
    about: str
    pace: float
    steady: bool
    tick: Tick


def _draw(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    return drawn


def _same(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    return drawn if kind.is_open else (kind.values[0], kind.values[-1])[person % 2]


def _in_turn(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    return drawn if kind.is_open else (kind.values[0], kind.values[-1])[(position + person) % 2]


def _paste(kind: Kind, position: int, person: int, drawn: Any) -> Any:
    return PASTED[(position + person) % len(PASTED)] if kind.writes_captions else drawn


SORTS: dict[str, Sort] = {
    sort.name: sort
    for sort in (
        Sort("fast", "answers at random, five times as fast as others", 0.2, True, _draw),
        Sort("random", "answers at random, as slowly as others", 1.0, False, _draw),
        Sort("one-sided", "gives the same answer all the time, twice as fast as others", 0.5, False, _same),
        Sort("alternating", "gives two answers in turn, twice as fast as others", 0.5, False, _in_turn),
        Sort("pasting", "pastes what a program wrote, where texts are asked for", 0.3, True, _paste),
    )
}


@dataclass(frozen=True, slots=True)
class Crowd:
    """The crowd of a rehearsal; ``RehearsalRequest`` explains the fields.

    More workers are added if a HIT needs more. A newcomer, as likely to be a spammer, replaces a worker whom a detector
    stops.
    """

    workers: int = 20
    spammers: float = 0.1
    accuracy: float = 0.85
    drop_outs: float = 0.05
    speed: float = 1.0
    seed: int = 0
    sorts: str = "fast"
    rules: bool = False

    @property
    def sort_names(self) -> list[str]:
        return [name.strip() for name in self.sorts.split(",")]

    def __post_init__(self) -> None:
        wrong = [
            f"{name} is {value:g}; expected {expected}"
            for name, value, expected, right in (
                ("workers", self.workers, "1 to 100,000", 1 <= self.workers <= 100_000),
                ("spammers", self.spammers, "a share from 0 to 1", 0 <= self.spammers <= 1),
                ("accuracy", self.accuracy, "a chance from 0 to 1", 0 <= self.accuracy <= 1),
                ("drop_outs", self.drop_outs, "a chance from 0 to 0.9", 0 <= self.drop_outs <= 0.9),
                ("speed", self.speed, "more than 0, at most 100", 0 < self.speed <= 100),
                ("seed", self.seed, "0 or more", self.seed >= 0),
            )
            if not right
        ]
        unknown = [name for name in self.sort_names if name not in SORTS]
        if unknown:
            wrong.append(f"sorts names {unknown[0]!r}; expected some of {', '.join(SORTS)}")
        if wrong:
            raise WrongState(f"The rehearsal was not begun: {'; '.join(wrong)}.")


@dataclass(frozen=True, slots=True)
class Person:
    """A simulated worker. ``accuracy`` is None for a spammer."""

    worker: Worker
    accuracy: float | None
    seconds: float
    sort: str = ""
    number: int = 0

    def ticks(self, kind: Kind, position: int, drawn: Any) -> Any:
        return SORTS[self.sort].tick(kind, position, self.number, drawn) if self.sort else drawn


def people_of(study: Study, crowd: Crowd) -> list[Person]:
    """Return enough workers for each HIT and for drop-outs, and the newcomers of a continued rehearsal."""
    most = max(HIT.objects.filter(study=study).values_list("required", flat=True), default=1)
    total = max(crowd.workers, most + 2)
    rng = rng_for(crowd.seed, "rehearsal crowd")
    careless = set(rng.permutation(total)[: round(crowd.spammers * total)].tolist())
    people = []
    spammer = 0
    for number in range(total):
        accuracy = crowd.accuracy + float(rng.uniform(-APART, APART))
        pace = pace_of(rng)
        sort = crowd.sort_names[spammer % len(crowd.sort_names)] if number in careless else ""
        spammer += bool(sort)
        people.append(_person(study, crowd, number, accuracy=accuracy, pace=pace, sort=sort))
    there = Worker.objects.filter(study=study, source=Worker.Source.REHEARSAL).count()
    people += [create_newcomer(study, crowd, number) for number in range(total, there)]
    return people


def create_newcomer(study: Study, crowd: Crowd, number: int) -> Person:
    rng = rng_for(crowd.seed, f"rehearsal newcomer {number}")
    spams = bool(rng.random() < crowd.spammers)
    sort = crowd.sort_names[int(rng.integers(len(crowd.sort_names)))] if spams else ""
    accuracy = crowd.accuracy + float(rng.uniform(-APART, APART))
    return _person(study, crowd, number, accuracy=accuracy, pace=pace_of(rng), sort=sort)


def _person(study: Study, crowd: Crowd, number: int, *, accuracy: float, pace: float, sort: str) -> Person:
    base = design_of(study).seconds_per_unit / crowd.speed
    worker, _ = Worker.objects.get_or_create(
        study=study, name=f"sim-{number + 1:04d}", defaults={"source": Worker.Source.REHEARSAL}
    )
    Participation.objects.get_or_create(study=study, worker=worker, defaults={"completion_code": "REHEARSE"})
    if sort:
        pace = SORTS[sort].pace * (1.0 if SORTS[sort].steady else pace)
    return Person(
        worker=worker,
        accuracy=None if sort else min(max(accuracy, 0.0), 1.0),
        seconds=base * pace,
        sort=sort,
        number=number,
    )


def pace_of(rng: np.random.Generator) -> float:
    """Draw a lognormal factor on seconds with mean 1, so that a careful crowd takes the planned hours."""
    return float(rng.lognormal(-(SPREAD**2) / 2, SPREAD))


def signals_of(person: Person, text: str, *, record: bool, rng: np.random.Generator) -> dict[str, int]:
    long = len(text)
    if person.sort == "pasting":
        counts = {
            "text": long,
            "from_paste": long,
            "pastes": 1,
            "keys": 0,
            "bursts": 0,
            "typing_ms": 0,
            "away": 1,
        }
        return {"pasted": long} | (counts if record else {})
    if not record:
        return {}
    deletions = int(rng.binomial(long, 0.06))
    keys, bursts, gap = long + 2 * deletions, 1 + int(rng.poisson(2)), GAP * pace_of(rng)
    return {
        "text": long,
        "from_keys": long,
        "from_paste": 0,
        "pastes": 0,
        "deletions": deletions,
        "away": 0,
        "keys": keys,
        "bursts": bursts,
        "typing_ms": round(gap * max(0, keys - bursts)),
        "gap_ms": round(gap),
        "gap_spread_ms": round(gap * GAP_SPREAD * float(rng.uniform(0.6, 1.4))),
    }
