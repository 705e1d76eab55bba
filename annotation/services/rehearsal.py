"""The rehearsal crowd: a design tried out before it costs money.

Simulated workers join, take HITs, answer, return and submit through the services that people use. Each unit has a
truth, and each worker gets it right with a chance of their own. Afterwards the truth is compared with what the answers
say together. Nothing here is a judgment of a person: study, workers and assignments are marked as simulated, and a
study that holds people's judgments is refused.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.answers import answer_key
from annotation.errors import AlreadyEnded, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Worker
from annotation.models.assignments import LIVE
from annotation.presentation import places_of
from annotation.services.claims import claim_assignment, expire_overdue, return_assignment
from annotation.services.rehearsed_people import Crowd, Person, newcomer, pace_of, people_of
from annotation.services.rehearsed_report import RehearsalReport, report_of
from annotation.services.rehearsed_truths import truths_of
from annotation.services.rules import copy_rules, recommend_rules
from annotation.services.submissions import submit_assignment
from judgments.controls import REPEATED, REPEATS
from judgments.draws import rng_for
from judgments.errors import WrongState
from judgments.models import HIT, Study
from judgments.owners import let_go, new_owner, owner_lives
from judgments.services.events import note_event
from judgments.services.generation import Progress, no_progress
from judgments.services.studies import kind_of

NEWCOMERS = 5  # at most so many times as many people come in place of those who were stopped


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
        truth = truths_of(study, crowd.seed)
        people = _answer_all(study, people, truth, crowd, progress)
        reached = Study.State.CLOSED
    finally:
        let_go(owner)
        _end(study, crowd, state=reached)
    return report_of(study, people, truth, crowd.seed)


@transaction.atomic
def _begin(study: Study, crowd: Crowd) -> str:
    """Mark the study as simulated, so that no person can join, and open it for the rehearsal's own workers; the
    name it is held under."""
    expire_overdue(study=study)
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
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
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    locked.notes = {**locked.notes, "rehearsal": asdict(crowd)}
    locked.state = state
    locked.closed_at = timezone.now() if state == Study.State.CLOSED else None
    locked.save(update_fields=["notes", "state", "closed_at"])
    study.refresh_from_db()
    if state == Study.State.CLOSED:
        words = f"Rehearsed: {crowd.workers} simulated workers began to answer it."
        note_event(study=study, what="rehearsed", words=words, crowd=asdict(crowd))


def _said(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


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
                people.append(newcomer(study, crowd, len(people)))
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


def _answer(assignment: Assignment, person: Person, truth: dict[int, Any], seed: int) -> None:
    """Submit one HIT, with the time it would have taken.

    A careful worker says of a unit that is shown again what they said before, as often as they are right otherwise.
    """
    hit = assignment.hit
    rng = rng_for(seed, f"answers {hit.key if hit else ''} {person.worker.name}")
    kind = kind_of(assignment.study)
    answers = []
    said: dict[str, Any] = {}
    for place in sorted(places_of(assignment), key=lambda place: place.unit.control_kind == REPEATED):
        right = None if person.accuracy is None else bool(rng.random() < person.accuracy)
        wanted = said.get(place.unit.content.get(REPEATS, ""), truth[place.unit.pk])
        given = said[place.unit.key] = kind.draw_answer(place.unit, wanted, right=right, rng=rng)
        seconds = max(0.3, person.seconds * pace_of(rng))
        answers.append(
            {
                "position": place.position,
                answer_key(kind): person.ticks(kind, place.position, kind.seen(given, side=place.side)),
                "seconds": round(seconds, 1),
            }
        )
    submit_assignment(assignment=assignment, answers=answers)
