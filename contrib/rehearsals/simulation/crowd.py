"""The crowd of a rehearsal: its parameters, and the simulated workers that it creates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Participation, Worker
from common.errors import WrongState
from contrib.rehearsals.simulation.careless_types import CARELESS_TYPES
from judgments.drawing.draws import rng_for
from judgments.kinds import Kind
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

ACCURACY_SPREAD = 0.1  # largest difference between a careful worker's accuracy and the crowd's
ADDITIONAL_PEOPLE = 2  # people beyond the slots of a HIT, since some return theirs
PACE_SPREAD = 0.4  # standard deviation of the logarithm of a worker's seconds per unit


@dataclass(frozen=True, slots=True)
class RehearsalCrowd:
    """The crowd of a rehearsal. If a field has no valid value, WrongState is raised.

    If a HIT needs more workers than there are, some are added. A worker whom a detector pauses or excludes is replaced
    by a new one, who is a spammer with the same probability.

    Attributes:
        spammers: the share of careless workers.
        accuracy: the mean probability that a careful worker's answer is right.
        drop_outs: the probability that a worker returns a claimed HIT.
        speed: how many times as fast as planned careful workers are.
        sorts: the types of careless workers, by name, separated by commas.
        rules: whether the recommended detectors are enabled in a study without detectors.
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
        problems = [
            f"{name} is {value:g}; expected {expected}"
            for name, value, expected, is_valid in (
                ("workers", self.workers, "1 to 100,000", 1 <= self.workers <= 100_000),
                ("spammers", self.spammers, "a share from 0 to 1", 0 <= self.spammers <= 1),
                ("accuracy", self.accuracy, "a chance from 0 to 1", 0 <= self.accuracy <= 1),
                ("drop_outs", self.drop_outs, "a chance from 0 to 0.9", 0 <= self.drop_outs <= 0.9),
                ("speed", self.speed, "more than 0, at most 100", 0 < self.speed <= 100),
                ("seed", self.seed, "0 or more", self.seed >= 0),
            )
            if not is_valid
        ]
        unknown_sorts = [name for name in self.sort_names if name not in CARELESS_TYPES]
        if unknown_sorts:
            problems.append(f"sorts names {unknown_sorts[0]!r}; expected some of {', '.join(CARELESS_TYPES)}")
        if problems:
            raise WrongState(f"The rehearsal was not begun: {'; '.join(problems)}.")


@dataclass(frozen=True, slots=True)
class Person:
    """A simulated worker.

    Attributes:
        accuracy: the probability that an answer is right; None for a careless worker.
        seconds: the usual time per unit.
        sort: the type of a careless worker; "" for a careful one.
        number: the number of the worker in the crowd, from 0.
    """

    worker: Worker
    accuracy: float | None
    seconds: float
    sort: str = ""
    number: int = 0

    def choose_answer(self, kind: Kind, position: int, drawn_answer: Any) -> Any:
        """Return the answer that the person gives at a position of a page: the drawn one, unless careless."""
        if not self.sort:
            return drawn_answer
        return CARELESS_TYPES[self.sort].choose_answer(kind, position, self.number, drawn_answer)


def create_people(study: Study, crowd: RehearsalCrowd) -> list[Person]:
    """Create the workers, or find those of an interrupted run and its replacements.

    There are enough workers for each HIT, even if some drop out.
    """
    slots_per_hit = max(HIT.objects.filter(study=study).values_list("required", flat=True), default=1)
    person_count = max(crowd.workers, slots_per_hit + ADDITIONAL_PEOPLE)
    rng = rng_for(crowd.seed, "rehearsal crowd")
    careless_numbers = set(rng.permutation(person_count)[: round(crowd.spammers * person_count)].tolist())
    people = []
    careless_count = 0
    for number in range(person_count):
        accuracy = crowd.accuracy + float(rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD))
        pace = draw_pace(rng)
        # careless workers have the types in turn
        sort = crowd.sort_names[careless_count % len(crowd.sort_names)] if number in careless_numbers else ""
        careless_count += bool(sort)
        people.append(_make_person(study, crowd, number, accuracy=accuracy, pace=pace, sort=sort))
    worker_count = Worker.objects.filter(study=study, source=Worker.Source.REHEARSAL).count()
    people += [create_newcomer(study, crowd, number) for number in range(person_count, worker_count)]
    return people


def create_newcomer(study: Study, crowd: RehearsalCrowd, number: int) -> Person:
    """Create the worker with this number, who replaces one whom a detector paused or excluded."""
    rng = rng_for(crowd.seed, f"rehearsal newcomer {number}")
    is_spammer = bool(rng.random() < crowd.spammers)
    sort = crowd.sort_names[int(rng.integers(len(crowd.sort_names)))] if is_spammer else ""
    accuracy = crowd.accuracy + float(rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD))
    return _make_person(study, crowd, number, accuracy=accuracy, pace=draw_pace(rng), sort=sort)


def _make_person(
    study: Study, crowd: RehearsalCrowd, number: int, *, accuracy: float, pace: float, sort: str
) -> Person:
    """Return a simulated person. Their worker is created and joins the study, unless an earlier run did this."""
    usual_seconds = design_of(study).seconds_per_unit / crowd.speed
    worker, _ = Worker.objects.get_or_create(
        study=study, name=f"sim-{number + 1:04d}", defaults={"source": Worker.Source.REHEARSAL}
    )
    Participation.objects.get_or_create(study=study, worker=worker, defaults={"completion_code": "REHEARSE"})
    if sort:
        pace = CARELESS_TYPES[sort].pace * (1.0 if CARELESS_TYPES[sort].constant_pace else pace)
    return Person(
        worker=worker,
        accuracy=None if sort else min(max(accuracy, 0.0), 1.0),
        seconds=usual_seconds * pace,
        sort=sort,
        number=number,
    )


def draw_pace(rng: np.random.Generator) -> float:
    """Draw a factor for a worker's time: lognormal with mean 1, so that a careful crowd takes the planned hours."""
    return float(rng.lognormal(-(PACE_SPREAD**2) / 2, PACE_SPREAD))
