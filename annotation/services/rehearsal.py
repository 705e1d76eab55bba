"""The rehearsal crowd: a design tried out before it costs money.

Simulated workers join, take HITs, answer, return and submit through the services that people use. Each unit has a
truth, and each worker gets it right with a chance of their own. Afterwards the truth is compared with what the answers
say together. Nothing here is a judgment of a person: study, workers and assignments are marked as simulated, and a
study that holds people's judgments is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from django.db import transaction
from django.utils import timezone

from annotation.answers import answer_key
from annotation.controls import control_answers
from annotation.errors import AlreadyEnded, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Judgment, Participation, Worker
from annotation.models.assignments import LIVE
from annotation.presentation import places_of
from annotation.quality import control_records
from annotation.services.claims import claim_assignment, expire_overdue, return_assignment
from annotation.services.rehearsed_rules import SortReport, reports_by_sort
from annotation.services.rules import copy_rules, recommend_rules
from annotation.services.submissions import submit_assignment
from annotation.spamming import SORTS
from judgments.controls import REPEATED, REPEATS
from judgments.draws import rng_for
from judgments.errors import WrongState
from judgments.kinds import KINDS, Kind
from judgments.models import HIT, Caption, Output, Study, System, Unit
from judgments.owners import let_go, new_owner, owner_lives
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import design_of

APART = 0.1  # careful workers' chances to be right lie within so much of the crowd's accuracy
SPREAD = 0.4  # standard deviation of the logarithm of a worker's seconds per unit
# how good a caption is on the scale of grades: a person's for the image, a machine's for it, one of another image
QUALITY = {"own": 4.0, "machine": 2.5, "foreign": 1.0}
NEWCOMERS = 5  # at most so many times as many people come in place of those who were stopped


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who answers in a rehearsal.

    Attributes:
        workers: how many; more are brought in where a HIT needs more different people.
        spammers: share of them who answer without looking.
        accuracy: mean chance of the others to be right.
        drop_outs: chance that a HIT is returned instead of answered.
        speed: how many times as fast as the design's seconds per unit.
        seed: of every draw.
        sorts: of spammers, in equal shares: names of ``SORTS`` with commas between them.
        rules: whether the recommended rules watch, where the study has none of its own. Whoever is stopped is
            replaced by a newcomer, who is as likely to be a spammer.
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
        """The sorts of spammers."""
        return [name.strip() for name in self.sorts.split(",")]

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
        unknown = [name for name in self.sort_names if name not in SORTS]
        if unknown:
            wrong.append(f"sorts names {unknown[0]!r}; expected some of {', '.join(SORTS)}")
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
        invalidated: judgments of people whom a rule excluded; what the rules cost.
        by_sort: what the rules found of each sort of people.
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
    invalidated: int = 0
    by_sort: tuple[SortReport, ...] = ()


@dataclass(frozen=True, slots=True)
class Person:
    """A simulated worker. ``accuracy`` is None for a spammer, who answers without looking, as their ``sort`` does."""

    worker: Worker
    accuracy: float | None
    seconds: float
    sort: str = ""
    number: int = 0

    def ticks(self, kind: Kind, position: int, drawn: Any) -> Any:
        """What they answer at ``position``, as they see it; ``drawn`` is what was drawn for them."""
        return SORTS[self.sort].tick(kind, position, self.number, drawn) if self.sort else drawn


def rehearse(*, study: Study, crowd: Crowd, progress: Progress = no_progress) -> RehearsalReport:
    """Fill every HIT of the study with simulated answers; going on where an earlier run was stopped.

    Raises:
        WrongState: no HITs; people's judgments are there; or the study was or is being rehearsed by another crowd,
            whose truths these answers would be held against.
    """
    owner = _begin(study, crowd)
    reached = Study.State.OPEN  # where it is cut off, whoever calls again goes on
    try:
        people = people_of(study, crowd)
        truth = _truths(study, crowd.seed)
        people = _answer_all(study, people, truth, crowd, progress)
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
    copy_rules(study=locked)
    if crowd.rules:
        recommend_rules(study=locked)
    before = locked.notes.get("rehearsal", {})
    if before.get("owner") and owner_lives(before["owner"]):
        raise WrongState(f"Study {study.slug!r} is being rehearsed at this moment.")
    if before and {one.name: before.get(one.name, one.default) for one in fields(crowd)} != asdict(crowd):
        said = ", ".join(f"{name} {_said(before[name])}" for name in asdict(crowd) if name in before)
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


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def people_of(study: Study, crowd: Crowd) -> list[Person]:
    """The workers, enough of them that each HIT finds as many different ones as it needs (and a drop-out's
    replacement), and the newcomers of a rehearsal that is gone on with."""
    most = max(HIT.objects.filter(study=study).values_list("required", flat=True), default=1)
    total = max(crowd.workers, most + 2)
    rng = rng_for(crowd.seed, "rehearsal crowd")
    careless = set(rng.permutation(total)[: round(crowd.spammers * total)].tolist())
    people = []
    spammer = 0
    for number in range(total):
        accuracy = crowd.accuracy + float(rng.uniform(-APART, APART))
        pace = _pace(rng)
        sort = crowd.sort_names[spammer % len(crowd.sort_names)] if number in careless else ""
        spammer += bool(sort)
        people.append(_person(study, crowd, number, accuracy=accuracy, pace=pace, sort=sort))
    there = Worker.objects.filter(study=study, source=Worker.Source.REHEARSAL).count()
    people += [_newcomer(study, crowd, number) for number in range(total, there)]
    return people


def _newcomer(study: Study, crowd: Crowd, number: int) -> Person:
    """Somebody who comes in place of one who was stopped."""
    rng = rng_for(crowd.seed, f"rehearsal newcomer {number}")
    spams = bool(rng.random() < crowd.spammers)
    sort = crowd.sort_names[int(rng.integers(len(crowd.sort_names)))] if spams else ""
    accuracy = crowd.accuracy + float(rng.uniform(-APART, APART))
    return _person(study, crowd, number, accuracy=accuracy, pace=_pace(rng), sort=sort)


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


def _truths(study: Study, seed: int) -> dict[int, Any]:
    """Unit id -> the right answer: of a control item what is expected, else drawn with the seed, leaning the way
    people's answers do (QUALITY). Triplets of one pair share their truth, and so does a unit that is shown again."""
    kind = KINDS[study.protocol]
    human = dict(System.objects.filter(dataset=study.dataset).values_list("pk", "human"))
    outputs = Output.objects.filter(system__dataset=study.dataset).values_list(
        "item_id", "caption_id", "system_id"
    )
    by_machine = {(item, caption) for item, caption, system in outputs if not human[system]}
    truths: dict[int, Any] = {}
    of_key: dict[str, Any] = {}
    again: dict[int, str] = {}
    rows = Unit.objects.filter(study=study).select_related("first", "second", "pair").order_by("position")
    for unit in rows.iterator(2000):
        if unit.control_kind == REPEATED:
            again[unit.pk] = unit.content[REPEATS]
            continue
        if unit.control:
            truths[unit.pk] = unit.expected
            continue
        qualities = [_quality(caption, unit, by_machine) for caption in (unit.first, unit.second) if caption]
        rng = rng_for(seed, f"truth {unit.pair.key if unit.pair else unit.key}")
        truths[unit.pk] = of_key[unit.key] = kind.draw_truth(unit, qualities, rng)
    return truths | {pk: of_key[key] for pk, key in again.items()}


def _quality(caption: Caption, unit: Unit, by_machine: set[tuple[int, int]]) -> float:
    if caption.item_id is not None:
        return QUALITY["own" if caption.item_id == unit.item_id else "foreign"]
    return QUALITY["machine" if (unit.item_id, caption.pk) in by_machine else "foreign"]


def _answer_all(
    study: Study, people: list[Person], truth: dict[int, Any], crowd: Crowd, progress: Progress
) -> list[Person]:
    """Workers take turns until nobody finds work any more; everybody who took part, newcomers too."""
    total = sum(HIT.objects.filter(study=study).values_list("required", flat=True))
    rng = rng_for(crowd.seed, "rehearsal turns")
    people, waiting = list(people), list(people)
    most = NEWCOMERS * len(people)
    done = Assignment.objects.filter(study=study).finished().count()
    while waiting:
        person = waiting[int(rng.integers(len(waiting)))]
        try:
            claim = claim_assignment(study=study, worker=person.worker)
        except (WorkPaused, WorkerExcluded):
            waiting.remove(person)
            if len(people) < most:
                people.append(_newcomer(study, crowd, len(people)))
                waiting.append(people[-1])
            continue
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
        progress(min(1.0, done / total), f"{done:,} of {total:,} pages of work")
    return people


def _pace(rng: np.random.Generator) -> float:
    """A factor on seconds: lognormal, and 1 on average, so that a careful crowd takes the hours that the plan says."""
    return float(rng.lognormal(-(SPREAD**2) / 2, SPREAD))


def _answer(assignment: Assignment, person: Person, truth: dict[int, Any], seed: int) -> None:
    """Submit one HIT, with the time it would have taken.

    A careful worker says of a unit that is shown again what they said before, as often as they are right otherwise.
    """
    hit = assignment.hit
    rng = rng_for(seed, f"answers {hit.key if hit else ''} {person.worker.name}")
    kind = KINDS[assignment.study.protocol]
    answers = []
    said: dict[str, Any] = {}
    for place in sorted(places_of(assignment), key=lambda place: place.unit.control_kind == REPEATED):
        right = None if person.accuracy is None else bool(rng.random() < person.accuracy)
        wanted = said.get(place.unit.content.get(REPEATS, ""), truth[place.unit.pk])
        given = said[place.unit.key] = kind.draw_answer(place.unit, wanted, right=right, rng=rng)
        seconds = max(0.3, person.seconds * _pace(rng))
        answers.append(
            {
                "position": place.position,
                answer_key(kind): person.ticks(kind, place.position, kind.seen(given, side=place.side)),
                "seconds": round(seconds, 1),
            }
        )
    submit_assignment(assignment=assignment, answers=answers)


def _report(study: Study, people: Iterable[Person], truth: dict[int, Any], seed: int) -> RehearsalReport:
    kind = KINDS[study.protocol]
    people = list(people)
    careless = {person.worker.pk for person in people if person.accuracy is None}
    answers: list[tuple[int, int, Any]] = []
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
        if not control:
            answers.append((unit, worker, value))
    checks = control_answers(study)
    for check in checks:
        seen[check.worker in careless] += 1
        right[check.worker in careless] += kind.is_right(check.given, check.expected)
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
        invalidated=Judgment.objects.of_study(study).filter(assignment__state="invalidated").count(),
        by_sort=reports_by_sort(study, {person.worker.pk: person.sort for person in people}),
    )
