"""The rehearsal crowd: a design tried out before it costs money.

Simulated workers join, take HITs, answer, return and submit through the services that people use. Each unit has a
truth, and each worker gets it right with a chance of their own. Afterwards the truth is compared with what the answers
say together. Nothing here is a judgment of a person: study, workers and assignments are marked as simulated, and a
study that holds people's judgments is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from annotation.answers import answer_key
from annotation.errors import AlreadyEnded
from annotation.models import Assignment, Judgment, Participation, Worker
from annotation.models.assignments import LIVE
from annotation.presentation import places_of
from annotation.quality import control_records
from annotation.services.claims import claim_assignment, expire_overdue, return_assignment
from annotation.services.submissions import submit_assignment
from judgments.draws import rng_for
from judgments.errors import WrongState
from judgments.kinds import KINDS
from judgments.models import HIT, Caption, Output, Study, System, Unit
from judgments.owners import let_go, new_owner, owner_lives
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import design_of

APART = 0.1  # careful workers' chances to be right lie within so much of the crowd's accuracy
SPREAD = 0.4  # standard deviation of the logarithm of a worker's seconds per unit
# how good a caption is on the scale of grades: a person's for the image, a machine's for it, one of another image
QUALITY = {"own": 4.0, "machine": 2.5, "foreign": 1.0}
SPAMMER_SPEED = 0.2  # a spammer's seconds as a share of a careful worker's


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who answers in a rehearsal.

    Attributes:
        workers: how many; more are brought in where a HIT needs more different people.
        spammers: share of them who answer at random, without looking.
        accuracy: mean chance of the others to be right.
        drop_outs: chance that a HIT is returned instead of answered.
        speed: how many times as fast as the design's seconds per unit.
        seed: of every draw.
    """

    workers: int = 20
    spammers: float = 0.1
    accuracy: float = 0.85
    drop_outs: float = 0.05
    speed: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no crowd."""
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
        if wrong:
            raise WrongState(f"The rehearsal was not begun: {'; '.join(wrong)}.")


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """How a rehearsal went, and how it was made.

    Attributes:
        workers, spammers: how many took part.
        hits: HITs filled.
        judgments: answers stored, controls included.
        returned: assignments that drop-outs gave back.
        hours: simulated working time of all workers.
        units: judged units with at least one answer.
        recovered: share of them whose consensus is the truth; of used answers alone, as in ``aggregate``. Graded: the
            grade nearest to the mean, a half going down.
        undecided: share of them that ended in a tie.
        controls_careful, controls_spammers: share of control items got right; None where none was seen.
        seed: of the crowd.
    """

    workers: int
    spammers: int
    hits: int
    judgments: int
    returned: int
    hours: float
    units: int
    recovered: float
    undecided: float
    controls_careful: float | None
    controls_spammers: float | None
    seed: int


@dataclass(frozen=True, slots=True)
class Person:
    """A simulated worker. ``accuracy`` is None for a spammer, who answers without looking."""

    worker: Worker
    accuracy: float | None
    seconds: float


def rehearse(*, study: Study, crowd: Crowd, progress: Progress = no_progress) -> RehearsalReport:
    """Fill every HIT of the study with simulated answers; going on where an earlier run was stopped.

    Raises:
        WrongState: no HITs; people's judgments are there; or the study was or is being rehearsed by another crowd,
            whose truths these answers would be held against.
    """
    owner = _begin(study, crowd)
    reached = Study.State.OPEN  # where it is cut off, whoever calls again goes on
    try:
        people = _people(study, crowd)
        truth = _truths(study, crowd.seed)
        _answer_all(study, people, truth, crowd, progress)
        reached = Study.State.CLOSED
    finally:
        let_go(owner)
        _end(study, crowd, state=reached)
    return _report(study, people, truth, crowd.seed)


@transaction.atomic
def _begin(study: Study, crowd: Crowd) -> str:
    """Mark the study as simulated, so that no person can join, and open it for the rehearsal's own workers; the
    name it is held under."""
    expire_overdue(study=study)
    locked = Study.objects.select_for_update().get(pk=study.pk)
    if locked.source != Study.Source.DESIGNED or locked.state == Study.State.DRAFT:
        raise WrongState(f"Study {study.slug!r} has no HITs to rehearse; generate them first.")
    people = Assignment.objects.filter(study=study).exclude(worker__source=Worker.Source.REHEARSAL)
    if people.filter(state__in=LIVE).exists():
        raise WrongState(
            f"Study {study.slug!r} holds judgments of people or waits for some; duplicate it and rehearse the copy."
        )
    before = locked.notes.get("rehearsal", {})
    if before.get("owner") and owner_lives(before["owner"]):
        raise WrongState(f"Study {study.slug!r} is being rehearsed at this moment.")
    if before and {name: before.get(name) for name in asdict(crowd)} != asdict(crowd):
        said = ", ".join(f"{name} {before[name]:g}" for name in asdict(crowd) if name in before)
        raise WrongState(
            f"Study {study.slug!r} was rehearsed with {said}; say the same to go on, "
            "or duplicate it and rehearse the copy."
        )
    owner = new_owner()
    locked.notes = {**locked.notes, "rehearsal": {**asdict(crowd), "owner": owner}}
    locked.simulated, locked.state = True, Study.State.OPEN
    locked.opened_at = locked.opened_at or timezone.now()
    locked.save(update_fields=["notes", "simulated", "state", "opened_at"])
    study.refresh_from_db()
    return owner


@transaction.atomic
def _end(study: Study, crowd: Crowd, *, state: Study.State) -> None:
    """Let go of the study; a rehearsal that was killed leaves its owner's name, and a dead owner holds nothing."""
    locked = Study.objects.select_for_update().get(pk=study.pk)
    locked.notes = {**locked.notes, "rehearsal": asdict(crowd)}
    locked.state = state
    locked.closed_at = timezone.now() if state == Study.State.CLOSED else None
    locked.save(update_fields=["notes", "state", "closed_at"])
    study.refresh_from_db()


def _people(study: Study, crowd: Crowd) -> list[Person]:
    """The workers, enough of them that each HIT finds as many different ones as it needs (and a drop-out's
    replacement)."""
    most = max(HIT.objects.filter(study=study).values_list("required", flat=True), default=1)
    total = max(crowd.workers, most + 2)
    rng = rng_for(crowd.seed, "rehearsal crowd")
    careless = set(rng.permutation(total)[: round(crowd.spammers * total)].tolist())
    base = design_of(study).seconds_per_unit / crowd.speed
    people = []
    for number in range(total):
        accuracy = crowd.accuracy + float(rng.uniform(-APART, APART))
        pace = _pace(rng)
        spams = number in careless
        worker, _ = Worker.objects.get_or_create(
            study=study, name=f"sim-{number + 1:04d}", defaults={"source": Worker.Source.REHEARSAL}
        )
        Participation.objects.get_or_create(
            study=study, worker=worker, defaults={"completion_code": "REHEARSE"}
        )
        people.append(
            Person(
                worker=worker,
                accuracy=None if spams else min(max(accuracy, 0.0), 1.0),
                seconds=base * (SPAMMER_SPEED if spams else pace),
            )
        )
    return people


def _truths(study: Study, seed: int) -> dict[int, Any]:
    """Unit id -> the right answer: for a control item what is expected, else drawn with the seed, leaning the way
    people's answers do (QUALITY). Triplets of one pair share their truth."""
    kind = KINDS[study.protocol]
    human = dict(System.objects.filter(dataset=study.dataset).values_list("pk", "human"))
    outputs = Output.objects.filter(system__dataset=study.dataset).values_list(
        "item_id", "caption_id", "system_id"
    )
    by_machine = {(item, caption) for item, caption, system in outputs if not human[system]}
    truths: dict[int, Any] = {}
    rows = Unit.objects.filter(study=study).select_related("first", "second", "pair").order_by("position")
    for unit in rows.iterator(2000):
        if unit.control:
            truths[unit.pk] = unit.expected
            continue
        qualities = [_quality(caption, unit, by_machine) for caption in (unit.first, unit.second) if caption]
        rng = rng_for(seed, f"truth {unit.pair.key if unit.pair else unit.key}")
        truths[unit.pk] = kind.draw_truth(unit, qualities, rng)
    return truths


def _quality(caption: Caption, unit: Unit, by_machine: set[tuple[int, int]]) -> float:
    if caption.item_id is not None:
        return QUALITY["own" if caption.item_id == unit.item_id else "foreign"]
    return QUALITY["machine" if (unit.item_id, caption.pk) in by_machine else "foreign"]


def _answer_all(
    study: Study, people: list[Person], truth: dict[int, Any], crowd: Crowd, progress: Progress
) -> None:
    """Workers take turns until nobody finds work any more."""
    total = sum(HIT.objects.filter(study=study).values_list("required", flat=True))
    rng = rng_for(crowd.seed, "rehearsal turns")
    waiting = list(people)
    done = Assignment.objects.filter(study=study).finished().count()
    while waiting:
        person = waiting[int(rng.integers(len(waiting)))]
        claim = claim_assignment(study=study, worker=person.worker)
        if claim is None:
            waiting.remove(person)
            continue
        try:
            if rng.random() < crowd.drop_outs:
                return_assignment(assignment=claim.assignment)
                continue
            _answer(claim.assignment, person, truth, crowd.seed)
        except AlreadyEnded:  # only another process can have ended what this worker holds
            raise WrongState(
                f"Study {study.slug!r} is rehearsed by another process at the same time; rehearse a copy instead."
            ) from None
        done += 1
        progress(done / total, f"{done:,} of {total:,} pages of work")


def _pace(rng: np.random.Generator) -> float:
    """A factor on seconds: lognormal, and 1 on average, so that a careful crowd takes the hours that the plan says."""
    return float(rng.lognormal(-(SPREAD**2) / 2, SPREAD))


def _answer(assignment: Assignment, person: Person, truth: dict[int, Any], seed: int) -> None:
    """Submit one HIT, with the time it would have taken."""
    hit = assignment.hit
    rng = rng_for(seed, f"answers {hit.key if hit else ''} {person.worker.name}")
    kind = KINDS[assignment.study.protocol]
    answers = []
    for place in places_of(assignment):
        right = None if person.accuracy is None else bool(rng.random() < person.accuracy)
        given = kind.draw_answer(place.unit, truth[place.unit.pk], right=right, rng=rng)
        seconds = max(0.3, person.seconds * _pace(rng))
        answers.append(
            {
                "position": place.position,
                answer_key(kind): kind.seen(given, side=place.side),
                "seconds": round(seconds, 1),
            }
        )
    submit_assignment(assignment=assignment, answers=answers)


def _report(study: Study, people: Iterable[Person], truth: dict[int, Any], seed: int) -> RehearsalReport:
    kind = KINDS[study.protocol]
    people = list(people)
    careless = {person.worker.pk for person in people if person.accuracy is None}
    answers: list[tuple[int, int, Any]] = []
    checks: list[tuple[int, Any, Any]] = []
    seen: Counter[bool] = Counter()
    right: Counter[bool] = Counter()
    seconds = 0.0
    count = 0
    rows = (
        Judgment.objects.of_study(study)
        .current()
        .values_list("unit_id", "unit__control", answer_key(kind), "seconds", "assignment__worker_id")
    )
    for unit, control, value, took, worker in rows.iterator(2000):
        count += 1
        seconds += took or 0.0
        if control:
            seen[worker in careless] += 1
            right[worker in careless] += kind.is_right(value, truth[unit])
            checks.append((worker, value, truth[unit]))
        else:
            answers.append((unit, worker, value))
    threshold = design_of(study).controls.threshold
    records = control_records(checks, threshold=threshold, is_right=kind.is_right)
    used = [(unit, value) for unit, worker, value in answers if worker not in records or records[worker].used]
    found = kind.consensus([unit for unit, _ in used], [value for _, value in used]) if used else {}
    recovered = sum(kind.recovers(one, truth[unit]) for unit, one in found.items())
    judged = len({unit for unit, _, _ in answers})
    return RehearsalReport(
        workers=len(people),
        spammers=len(careless),
        hits=HIT.objects.filter(study=study, open_slots=0).count(),
        judgments=count,
        returned=Assignment.objects.filter(study=study, state=Assignment.State.RETURNED).count(),
        hours=seconds / 3600,
        units=judged,
        recovered=recovered / judged if judged else float("nan"),
        undecided=sum(one.tie for one in found.values()) / judged if judged else float("nan"),
        controls_careful=right[False] / seen[False] if seen[False] else None,
        controls_spammers=right[True] / seen[True] if seen[True] else None,
        seed=seed,
    )
