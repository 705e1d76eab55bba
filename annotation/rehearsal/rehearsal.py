"""Rehearse a design: simulated workers answer a study or a copy of it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ProtectedError, QuerySet
from django.utils import timezone

from annotation.errors import AlreadyEnded, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Case, Exclusion, Worker
from annotation.models.assignments import LIVE
from annotation.quality.rules import copy_rules, recommend_rules
from annotation.rehearsal.people import Crowd, Person, newcomer, pace_of, people_of
from annotation.rehearsal.report import RehearsalReport, rehearsal_of, report_of, truths_of
from annotation.work.answers import answer_key
from annotation.work.claims import claim_assignment, expire_overdue, return_assignment
from annotation.work.presentation import places_of
from annotation.work.submissions import submit_assignment
from common.errors import WrongState
from judgments.drawing.controls import REPEATED, REPEATS
from judgments.drawing.draws import rng_for
from judgments.models import HIT, Job, Study
from judgments.studies.generation import Progress, no_progress
from judgments.studies.log import note_event
from judgments.studies.studies import duplicate_study, kind_of

NEWCOMERS = 5  # limit of newcomers, as a multiple of the workers


def rehearse(*, study: Study, crowd: Crowd, progress: Progress = no_progress) -> RehearsalReport:
    """Fill every HIT of the study with simulated answers, or continue an interrupted run.

    Raises:
        WrongState: there are no HITs, people's judgments exist, or another crowd rehearsed the study, whose truth
            differs.
    """
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
    return report_of(study, people, truth, crowd.seed)


@contextmanager
def _locked(study: Study) -> Iterator[None]:
    """Refuse a second rehearsal at the same time. The kernel drops the lock of a process that is killed."""
    folder = settings.DATA_DIR / "locks"
    folder.mkdir(exist_ok=True)
    with open(folder / f"rehearsal-{study.pk}", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WrongState(f"Study {study.slug!r} is being rehearsed at this moment.") from None
        yield


@transaction.atomic
def _begin(study: Study, crowd: Crowd) -> None:
    """Mark the study as simulated, and open it to the rehearsal's workers only."""
    rehearsal_of(study)
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
    if before and {one.name: before.get(one.name, one.default) for one in fields(crowd)} != asdict(crowd):
        said = ", ".join(f"{name} {_said(before[name])}" for name in asdict(crowd) if name in before)
        raise WrongState(
            f"Study {study.slug!r} was rehearsed with {said}; say the same to go on, "
            "or duplicate it and rehearse the copy."
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
        words = f"Rehearsed: {crowd.workers} simulated workers began to answer it."
        note_event(study=study, what="rehearsed", words=words, crowd=asdict(crowd))


def _said(value: float | str) -> str:
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
        except AlreadyEnded:  # only another process can have ended this assignment
            raise WrongState(
                f"Study {study.slug!r} is rehearsed by another process at the same time; rehearse a copy instead."
            ) from None
        done += 1
        progress(min(1.0, done / total), f"{done:,} of {total:,} pages of work")
    return people


def _answer(assignment: Assignment, person: Person, truth: dict[int, Any], seed: int) -> None:
    """Submit one HIT with its simulated time.

    A careful worker repeats an answer to a repeated unit as often as they are right.
    """
    hit = assignment.hit
    rng = rng_for(seed, f"answers {hit.key if hit else ''} {person.worker.name}")
    kind, rehearsal = kind_of(assignment.study), rehearsal_of(assignment.study)
    answers = []
    said: dict[str, Any] = {}
    for place in sorted(places_of(assignment), key=lambda place: place.unit.control_kind == REPEATED):
        right = None if person.accuracy is None else bool(rng.random() < person.accuracy)
        wanted = said.get(place.unit.content.get(REPEATS, ""), truth[place.unit.pk])
        given = said[place.unit.key] = rehearsal.draw_answer(place.unit, wanted, right=right, rng=rng)
        seconds = max(0.3, person.seconds * pace_of(rng))
        answers.append(
            {
                "position": place.position,
                answer_key(kind): person.ticks(kind, place.position, kind.sides.seen(given, side=place.side)),
                "seconds": round(seconds, 1),
            }
        )
    submit_assignment(assignment=assignment, answers=answers)


OF = "rehearsal_of"  # the copy's note with its study's row id
UNDER_WAY = (Job.State.QUEUED, Job.State.RUNNING)


@transaction.atomic
def copy_for_rehearsal(*, study: Study, user: User | None = None) -> Study:
    """Create a simulated draft with the same design, linked to the study.

    Raises:
        WrongState: the study is itself a copy, or has imported judgments.
    """
    if study.source == Study.Source.IMPORTED:
        raise WrongState(f"Study {study.slug!r} holds imported judgments; there is nothing to rehearse.")
    if study.simulated:
        raise WrongState(f"Study {study.slug!r} is a rehearsal; rehearse the study it is a copy of.")
    stem = f"{study.slug[:64]}-rehearsal-"
    taken = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    number = next(number for number in range(1, len(taken) + 2) if f"{stem}{number}" not in taken)
    copy = duplicate_study(
        study=study, name=f"{study.name[:180]} (rehearsal {number})", slug=f"{stem}{number}", user=user
    )
    copy.simulated, copy.notes = True, copy.notes | {OF: study.pk}
    copy.save(update_fields=["simulated", "notes"])
    note_event(study=study, what="rehearsed", words=f"A rehearsal of a copy, {copy.slug}, was asked for.")
    return copy


def rehearsals_of(study: Study) -> QuerySet[Study]:
    return Study.objects.filter(**{f"notes__{OF}": study.pk}, simulated=True).order_by("-pk")


def study_rehearsed(copy: Study) -> Study | None:
    number = copy.notes.get(OF)
    return Study.objects.filter(pk=number).first() if number else None


@transaction.atomic
def delete_rehearsal(*, copy: Study) -> None:
    """Delete a copy with its simulated answers; people's answers are never deleted.

    Raises:
        WrongState: it is not a copy, is being rehearsed, has a person's answer, or is in use elsewhere.
    """
    locked = Study.objects.select_for_update().get(pk=copy.pk)
    if not locked.simulated or OF not in locked.notes:
        raise WrongState(
            f"Study {copy.slug!r} is no rehearsed copy; only such copies are deleted with answers."
        )
    if Job.objects.filter(kind="rehearse", args__study=copy.slug, state__in=UNDER_WAY).exists():
        raise WrongState(f"Study {copy.slug!r} is being rehearsed; wait until that is done.")
    work = Assignment.objects.filter(study=locked)
    if work.exclude(worker__source=Worker.Source.REHEARSAL).exists():
        raise WrongState(f"Study {copy.slug!r} holds answers of people and cannot be deleted.")
    note_event(
        study=locked, what="deleted", words="Deleted with its simulated answers.", design=locked.design
    )
    of_whom = study_rehearsed(locked)
    if of_whom is not None:
        note_event(study=of_whom, what="rehearsal-deleted", words=f"The rehearsal {copy.slug} was deleted.")
    try:
        Case.objects.filter(study=locked).delete()
        work.delete()
        Exclusion.objects.filter(study=locked).delete()
        Worker.objects.filter(study=locked, source=Worker.Source.REHEARSAL).delete()
        locked.delete()
    except ProtectedError:
        raise WrongState(f"Something rests on study {copy.slug!r}; it cannot be deleted.") from None
