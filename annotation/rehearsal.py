"""Rehearse a design: careful and careless simulated workers answer a study; and the report about it."""

from __future__ import annotations

import fcntl
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Case, Judgment, Participation, QualityRule, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.quality.controls import control_answers, control_records
from annotation.quality.detectors.honesty import hidden_word
from annotation.quality.rules import copy_rules, recommend_rules
from annotation.work.claims import claim_assignment, expire_overdue, return_assignment
from annotation.work.submissions import submit_assignment
from annotation.work.worksheet import answer_key, page_units_of
from common.errors import Busy, WrongState
from judgments.access.roles import note_event
from judgments.drawing.controls import REPEATED, REPEATS
from judgments.drawing.material import rng_for, shuffled
from judgments.kinds import Kind, Rehearsal
from judgments.models import HIT, Caption, Output, Study, System, Unit
from judgments.models.datasets import OutputQuerySet
from judgments.studies.generation import Progress, no_progress
from judgments.studies.studies import design_of, kind_of

# kind, position on the page (from 1), number of the person, randomly drawn answer -> answer as seen
Tick = Callable[[Kind, int, int, Any], Any]

ACCURACY_SPREAD = 0.1  # careful workers' accuracy differs from the crowd's by at most this

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
        accuracy = crowd.accuracy + float(rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD))
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
    accuracy = crowd.accuracy + float(rng.uniform(-ACCURACY_SPREAD, ACCURACY_SPREAD))
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


# quality of captions on the scale of grades: a person's for the image, a machine's for it, another image's
QUALITY = {"own": 4.0, "machine": 2.5, "foreign": 1.0}
# Of the best and the worst system, from one in the middle: where two meet, and where captions are judged alone.
APART, GRADES_APART = 2.0, 0.5
CAREFUL = "careful"
NEWCOMERS = 5  # limit of newcomers, as a multiple of the workers


def rehearsal_of(study: Study) -> Rehearsal:
    rehearsal = kind_of(study).rehearsal
    if rehearsal is None:
        raise WrongState(
            _("Study %(slug)r cannot be rehearsed: its protocol draws no simulated answers.")
            % {"slug": study.slug}
        )
    return rehearsal


def truths_of(study: Study, seed: int) -> dict[int, Any]:
    """Return the true answer by unit id.

    Control items have their expected answer; other truths are drawn from the seed, biased like people's answers
    (QUALITY). Triplets of one pair share their truth, and so do repetitions. Systems that meet in pairs, of which the
    best alone is named, or whose captions are graded, differ, as drawn by the seed: of alike ones no study would find
    the better.
    """
    rehearsal, kind = rehearsal_of(study), kind_of(study)
    best_alone = kind.names_best and not design_of(study).answers.worst
    apart = 0.0
    if kind.rehearses_systems or best_alone:
        apart = APART
    elif kind.judges_one_caption:
        apart = GRADES_APART
    above = _systems_above(study, seed, apart) if apart else {}
    human = dict(System.objects.filter(dataset=study.dataset).values_list("pk", "human"))
    captions = Output.objects.annotations().filter(system__dataset=study.dataset)
    of_texts = _above_of_texts(captions, above) if above and not kind.rehearses_systems else {}
    outputs = captions.values_list("item_id", "caption_id", "system_id")
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
        if kind.judges_one_caption and unit.first:
            qualities = [qualities[0] + of_texts.get((unit.item_id, unit.first.text), 0.0)]
        if above and unit.pair:
            systems = unit.pair.first_system_id, unit.pair.second_system_id
            qualities = [
                quality + above.get(system or 0, 0.0)
                for quality, system in zip(qualities, systems, strict=True)
            ]
        if best_alone:
            qualities = [
                QUALITY["machine"] + of_texts.get((unit.item_id, option["text"]), 0.0)
                for option in unit.content["options"]
            ]
        rng = rng_for(seed, f"truth {unit.pair.key if unit.pair else unit.key}")
        truths[unit.pk] = of_key[unit.key] = rehearsal.draw_truth(unit, qualities, rng)
    return truths | {pk: of_key[key] for pk, key in again.items()}


def _systems_above(study: Study, seed: int, apart: float) -> dict[int, float]:
    """Return how much better the captions of each system are than usual ones."""
    rows = System.objects.filter(dataset=study.dataset).order_by("name")
    systems = shuffled(list(rows.values_list("pk", flat=True)), rng_for(seed, "rehearsed systems"))
    return dict(zip(systems, np.linspace(-apart, apart, len(systems)).tolist(), strict=True))


def _above_of_texts(captions: OutputQuerySet, above: Mapping[int, float]) -> dict[tuple[int, str], float]:
    """Return by how much a text of an image is better: as its systems are on average."""
    differences: dict[tuple[int, str], list[float]] = {}
    for item, text, system in captions.values_list("item_id", "caption__text", "system_id"):
        differences.setdefault((item, text), []).append(above.get(system, 0.0))
    return {text_of_item: float(np.mean(values)) for text_of_item, values in differences.items()}


def _quality(caption: Caption, unit: Unit, by_machine: set[tuple[int, int]]) -> float:
    if caption.item_id is not None:
        return QUALITY["own" if caption.item_id == unit.item_id else "foreign"]
    return QUALITY["machine" if (unit.item_id, caption.pk) in by_machine else "foreign"]


@dataclass(frozen=True, slots=True)
class SortReport:
    """The results of one kind of people; "careful" are the honest ones.

    Attributes:
        stopped: those paused or excluded by a detector; for careful people these are false alarms.
        flagged: others with a flag.
        answers: quartiles of the number of answers until they were stopped, or None.
        kept: judgments that are still included.
    """

    sort: str
    people: int
    stopped: int
    flagged: int
    answers: tuple[float, float, float] | None
    judgments: int
    kept: int


def reports_by_sort(study: Study, sort_of: Mapping[int, str]) -> tuple[SortReport, ...]:
    """Return one report per kind, careful people first; empty if no detector is enabled."""
    if not QualityRule.objects.filter(study=study, enabled=True).exists():
        return ()
    rows = Judgment.objects.of_study(study).filter(replaced_by__isnull=True)
    judgments: Counter[int] = Counter()
    included: Counter[int] = Counter()
    for worker, state in rows.values_list("assignment__worker_id", "assignment__state").iterator(2000):
        judgments[worker] += 1
        included[worker] += state != "invalidated"
    stopped_at: dict[int, int] = {}
    flagged: set[int] = set()
    cases = Case.objects.filter(study=study).order_by("answers", "pk")
    for worker, action, answers in cases.values_list("worker_id", "action", "answers"):
        if action == QualityRule.Action.FLAG:
            flagged.add(worker)
        else:
            stopped_at.setdefault(worker, answers)
    active = set(
        Participation.objects.filter(study=study, standing=Participation.Standing.ACTIVE).values_list(
            "worker_id", flat=True
        )
    )
    by_sort: defaultdict[str, list[int]] = defaultdict(list)
    for worker in judgments:
        by_sort[sort_of.get(worker, "") or CAREFUL].append(worker)
    reports = []
    for sort in sorted(by_sort, key=lambda name: (name != CAREFUL, name)):
        workers = by_sort[sort]
        took = [stopped_at[worker] for worker in workers if worker in stopped_at and worker not in active]
        low, middle, high = np.quantile(took, [0.25, 0.5, 0.75]).tolist() if took else (0.0, 0.0, 0.0)
        reports.append(
            SortReport(
                sort=sort,
                people=len(workers),
                stopped=len(took),
                flagged=sum(worker in flagged and worker in active for worker in workers),
                answers=(low, middle, high) if took else None,
                judgments=sum(judgments[worker] for worker in workers),
                kept=sum(included[worker] for worker in workers),
            )
        )
    return tuple(reports)


@dataclass(frozen=True, slots=True)
class RehearsalReport:
    """The results of a rehearsal and its parameters.

    Attributes:
        hours: simulated working time of all workers.
        units: judged units with an answer.
        recovered: share whose consensus is the truth, from included answers as in ``aggregate``. Graded: the
            grade nearest to the mean, a half rounded down.
        undecided: share that ended in a tie.
        controls_careful, controls_spammers: accuracy on control items; None without any.
        invalidated: judgments of excluded workers.
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


def _report_of(study: Study, people: Iterable[Person], truth: dict[int, Any], seed: int) -> RehearsalReport:
    kind = kind_of(study)
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
        right[check.worker in careless] += kind.is_right(check.answer, check.expected)
    records = control_records(checks, rule=design_of(study).controls, kind=kind)
    used = [(unit, value) for unit, worker, value in answers if worker not in records or records[worker].used]
    outcomes = (
        kind.aggregation.consensus([unit for unit, _ in used], [value for _, value in used]) if used else {}
    )
    recovered = sum(rehearsal_of(study).recovers(outcome, truth[unit]) for unit, outcome in outcomes.items())
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
        undecided=sum(outcome.tie for outcome in outcomes.values()) / judged if judged else float("nan"),
        controls_careful=right[False] / seen[False] if seen[False] else None,
        controls_spammers=right[True] / seen[True] if seen[True] else None,
        seed=seed,
        invalidated=Judgment.objects.of_study(study).filter(assignment__state="invalidated").count(),
        by_sort=reports_by_sort(study, {person.worker.pk: person.sort for person in people}),
    )


def rehearse(*, study: Study, crowd: Crowd, progress: Progress = no_progress) -> RehearsalReport:
    """Fill every HIT of the study with simulated answers, or continue an interrupted run."""
    with _locked(study):
        _begin(study, crowd)
        reached = Study.State.OPEN  # after an interruption, another call continues
        try:
            people = people_of(study, crowd)
            truth = truths_of(study, crowd.seed)
            people = _answer_all(study, people, truth, crowd, progress)
            reached = Study.State.CLOSED
        finally:
            _end(study, crowd, state=reached)
    return _report_of(study, people, truth, crowd.seed)


@contextmanager
def _locked(study: Study) -> Iterator[None]:
    """Refuse a second rehearsal at the same time. The kernel drops the lock of a killed process."""
    folder = settings.DATA_DIR / "locks"
    folder.mkdir(exist_ok=True)
    with open(folder / f"rehearsal-{study.pk}", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(f"Study {study.slug!r} is being rehearsed at this moment.") from None
        yield


@transaction.atomic
def _begin(study: Study, crowd: Crowd) -> None:
    rehearsal_of(study)
    expire_overdue(study=study)
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if locked.source != Study.Source.DESIGNED or locked.state == Study.State.DRAFT:
        raise WrongState(
            _("Study %(slug)r has no HITs to rehearse; generate them first.") % {"slug": study.slug}
        )
    people = Assignment.objects.filter(study=study).exclude(worker__source=Worker.Source.REHEARSAL)
    if people.filter(state__in=LIVE_STATES).exists():
        raise WrongState(
            _(
                "Study %(slug)r holds judgments of people or waits for some; duplicate it and "
                "rehearse the copy."
            )
            % {"slug": study.slug}
        )
    copy_rules(study=locked)
    if crowd.rules:
        recommend_rules(study=locked)
    before = locked.notes.get("rehearsal", {})
    if before and {field.name: before.get(field.name, field.default) for field in fields(crowd)} != asdict(
        crowd
    ):
        settings_before = ", ".join(
            f"{name} {_format_setting(before[name])}" for name in asdict(crowd) if name in before
        )
        raise WrongState(
            _(
                "Study %(slug)r was rehearsed with %(said)s; say the same to go on, or duplicate "
                "it and rehearse the copy."
            )
            % {"slug": study.slug, "said": settings_before}
        )
    locked.notes = {**locked.notes, "rehearsal": asdict(crowd)}
    locked.simulated, locked.state = True, Study.State.OPEN
    locked.opened_at = locked.opened_at or timezone.now()
    locked.save(update_fields=["notes", "simulated", "state", "opened_at"])
    study.refresh_from_db()


@transaction.atomic
def _end(study: Study, crowd: Crowd, *, state: Study.State) -> None:
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    locked.notes = {**locked.notes, "rehearsal": asdict(crowd)}
    locked.state = state
    locked.closed_at = timezone.now() if state == Study.State.CLOSED else None
    locked.save(update_fields=["notes", "state", "closed_at"])
    study.refresh_from_db()
    if state == Study.State.CLOSED:
        sentence = f"Rehearsed: {crowd.workers} simulated workers began to answer it."
        note_event(study=study, what="rehearsed", sentence=sentence, crowd=asdict(crowd))


def _format_setting(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _answer_all(
    study: Study, people: list[Person], truth: dict[int, Any], crowd: Crowd, progress: Progress
) -> list[Person]:
    """Let workers take turns until no work is left; return all, including newcomers."""
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
                people.append(create_newcomer(study, crowd, len(people)))
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
        except AlreadyEnded:  # only another process can have ended this assignment
            raise WrongState(
                _("Study %(slug)r is rehearsed by another process at the same time; rehearse a copy instead.")
                % {"slug": study.slug}
            ) from None
        done += 1
        progress(min(1.0, done / total), f"{done:,} of {total:,} pages of work")
    return people


def _answer(assignment: Assignment, person: Person, truth: dict[int, Any], seed: int) -> None:
    """Submit the person's answers; a careful one repeats an answer to a repeated unit as often as they are right."""
    hit = assignment.hit
    rng = rng_for(seed, f"answers {hit.key if hit else ''} {person.worker.name}")
    kind, rehearsal = kind_of(assignment.study), rehearsal_of(assignment.study)
    answers = []
    answers_by_unit: dict[str, Any] = {}
    for page_unit in sorted(
        page_units_of(assignment), key=lambda page_unit: page_unit.unit.control_kind == REPEATED
    ):
        right = None if person.accuracy is None else bool(rng.random() < person.accuracy)
        wanted = answers_by_unit.get(page_unit.unit.content.get(REPEATS, ""), truth[page_unit.unit.pk])
        canonical = answers_by_unit[page_unit.unit.key] = rehearsal.draw_answer(
            page_unit.unit, wanted, right=right, rng=rng
        )
        seconds = max(0.3, person.seconds * pace_of(rng))
        answer = person.ticks(
            kind, page_unit.position, kind.sides.from_canonical(canonical, side=page_unit.side)
        )
        about = {"position": page_unit.position, answer_key(kind): answer, "seconds": round(seconds, 1)}
        if kind.writes_captions:
            about |= _writing(assignment, person, answer, seed)
        answers.append(about)
    submit_assignment(assignment=assignment, answers=answers)


def _writing(assignment: Assignment, person: Person, text: str, seed: int) -> dict[str, Any]:
    """Return the text as the person writes it, and the page's counts, from a random stream of its own."""
    design, hit, name = design_of(assignment.study), assignment.hit, person.worker.name
    key = hit.key if hit else ""
    if design.writing.hidden_line and person.sort == "pasting":  # the program read the page
        text = f"{text}, {hidden_word(seed=design.seed, hit=key, worker=name)} so"
    rng = rng_for(seed, f"writing {key} {name} {text}")
    signals = signals_of(person, text, record=design.writing.record, rng=rng)
    return {"answer": text} | ({"signals": signals} if signals else {})
