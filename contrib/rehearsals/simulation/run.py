"""Run a rehearsal: simulated workers take turns until no work is left in the study."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.quality.rules import copy_rules, recommend_rules
from annotation.work.answers.checks import answer_key
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import page_units_of
from annotation.work.slots.release import expire_overdue, return_assignment
from annotation.work.submissions import submit_assignment
from common.errors import ServiceBusy, WrongState
from contrib.rehearsals.simulation.crowd import (
    Person,
    RehearsalCrowd,
    create_newcomer,
    create_people,
    draw_pace,
)
from contrib.rehearsals.simulation.reports import RehearsalReport, report_of_rehearsal
from contrib.rehearsals.simulation.truths import rehearsal_of, truths_of
from contrib.rehearsals.simulation.writing import write_answer
from judgments.access.study_log import note_event
from judgments.drawing.controls.dealing import ORIGINAL_UNIT
from judgments.drawing.controls.makers import REPEATED
from judgments.drawing.draws import rng_for
from judgments.models import HIT, Study
from judgments.studies.designs import kind_of
from judgments.studies.generation.progress import Progress, no_progress

MAX_PEOPLE_RATIO = 5  # the largest number of workers, with replacements, as a multiple of the planned number
MIN_ANSWER_SECONDS = 0.3  # shortest time for an answer


def rehearse(*, study: Study, crowd: RehearsalCrowd, progress: Progress = no_progress) -> RehearsalReport:
    """Fill every HIT of the study with simulated answers, or continue an interrupted run.

    Raises:
        ServiceBusy: another process rehearses the study.
        WrongState: the study cannot be rehearsed, or not by this crowd.
    """
    with _rehearsal_lock(study):
        _begin_rehearsal(study, crowd)
        final_state = Study.State.OPEN  # after an interruption, so that a repeated call continues
        try:
            people = create_people(study, crowd)
            truths = truths_of(study, crowd.seed)
            people = _answer_all(study, people, truths, crowd, progress)
            final_state = Study.State.CLOSED
        finally:
            _end_rehearsal(study, crowd, state=final_state)
    return report_of_rehearsal(study, people, truths, crowd.seed)


@contextmanager
def _rehearsal_lock(study: Study) -> Iterator[None]:
    """Hold a lock in the block; raise ServiceBusy if another process rehearses the study.

    The kernel releases the lock even if the process is killed.
    """
    folder = settings.DATA_DIR / "locks"
    folder.mkdir(exist_ok=True)
    with open(folder / f"rehearsal-{study.pk}", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceBusy(f"Study {study.slug!r} is being rehearsed at this moment.") from None
        yield


@transaction.atomic
def _begin_rehearsal(study: Study, crowd: RehearsalCrowd) -> None:
    """Mark the study as a rehearsal, and open it. Raise WrongState if this crowd cannot rehearse it."""
    rehearsal_of(study)  # raises WrongState if the kind cannot be rehearsed
    expire_overdue(study=study)  # overdue work of people does not prevent a rehearsal
    locked_study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if locked_study.source != Study.Source.DESIGNED or locked_study.state == Study.State.DRAFT:
        raise WrongState(
            _("Study %(slug)r has no pages of work to rehearse; generate them first.") % {"slug": study.slug}
        )
    human_work = Assignment.objects.filter(study=study).exclude(worker__source=Worker.Source.REHEARSAL)
    if human_work.filter(state__in=LIVE_STATES).exists():
        raise WrongState(
            _(
                "Study %(slug)r has judgments of people, or is open to people. Duplicate it, and rehearse the "
                "copy."
            )
            % {"slug": study.slug}
        )
    copy_rules(study=locked_study)  # the detectors of the design
    if crowd.rules:  # if the design has none, those that are recommended
        recommend_rules(study=locked_study)
    # A rehearsal that an earlier release began may lack newer fields, and had what are their defaults now.
    earlier_rehearsal = locked_study.notes.get("rehearsal", {})
    earlier_crowd = {field.name: earlier_rehearsal.get(field.name, field.default) for field in fields(crowd)}
    if earlier_rehearsal and earlier_crowd != asdict(crowd):
        earlier_settings = ", ".join(
            f"{name} {_format_setting(earlier_rehearsal[name])}"
            for name in asdict(crowd)
            if name in earlier_rehearsal
        )
        raise WrongState(
            _(
                "Study %(slug)r was rehearsed with %(said)s. To continue, give the same values. To use other "
                "values, duplicate the study and rehearse the copy."
            )
            % {"slug": study.slug, "said": earlier_settings}
        )
    locked_study.notes = {**locked_study.notes, "rehearsal": asdict(crowd)}
    locked_study.simulated, locked_study.state = True, Study.State.OPEN
    locked_study.opened_at = locked_study.opened_at or timezone.now()
    locked_study.save(update_fields=["notes", "simulated", "state", "opened_at"])
    study.refresh_from_db()


@transaction.atomic
def _end_rehearsal(study: Study, crowd: RehearsalCrowd, *, state: Study.State) -> None:
    """Store the study's state after the run, and log a rehearsal that is complete."""
    locked_study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    locked_study.notes = {**locked_study.notes, "rehearsal": asdict(crowd)}
    locked_study.state = state
    locked_study.closed_at = timezone.now() if state == Study.State.CLOSED else None
    locked_study.save(update_fields=["notes", "state", "closed_at"])
    study.refresh_from_db()
    if state == Study.State.CLOSED:
        sentence = f"Rehearsed: {crowd.workers} simulated participants began to answer it."
        note_event(study=study, what="rehearsed", sentence=sentence, crowd=asdict(crowd))


def _format_setting(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _answer_all(
    study: Study, people: list[Person], truths: dict[int, Any], crowd: RehearsalCrowd, progress: Progress
) -> list[Person]:
    """Let workers take turns until no work is left. Return all workers, including replacements."""
    page_count = sum(HIT.objects.filter(study=study).values_list("required", flat=True))
    rng = rng_for(crowd.seed, "rehearsal turns")
    people, working_people = list(people), list(people)
    max_people = MAX_PEOPLE_RATIO * len(people)
    finished_count = Assignment.objects.filter(study=study).finished().count()
    while working_people:
        person = working_people[int(rng.integers(len(working_people)))]
        try:
            claim = claim_assignment(study=study, worker=person.worker)
        except (WorkPaused, WorkerExcluded):
            working_people.remove(person)
            if len(people) < max_people:
                people.append(create_newcomer(study, crowd, len(people)))
                working_people.append(people[-1])
            continue
        if claim is None:  # no work is left for this worker
            working_people.remove(person)
            continue
        try:
            if rng.random() < crowd.drop_outs:
                return_assignment(assignment=claim.assignment)
                continue
            _answer_page(claim.assignment, person, truths, crowd.seed)
        except AlreadyEnded:  # only another process can have ended this assignment
            raise WrongState(
                _("Another process is rehearsing study %(slug)r. Rehearse a copy of the study instead.")
                % {"slug": study.slug}
            ) from None
        finished_count += 1
        progress(min(1.0, finished_count / page_count), f"{finished_count:,} of {page_count:,} pages of work")
    return people


def _answer_page(assignment: Assignment, person: Person, truths: dict[int, Any], seed: int) -> None:
    """Submit the person's answers to a page.

    The true answer to a repeated unit is the person's own answer to the original, which is therefore given first.
    """
    hit = assignment.hit  # None only for imported judgments
    rng = rng_for(seed, f"answers {hit.key if hit else ''} {person.worker.name}")
    kind, rehearsal = kind_of(assignment.study), rehearsal_of(assignment.study)
    page_answers = []
    drawn_answers: dict[str, Any] = {}  # by unit key
    originals_first = sorted(
        page_units_of(assignment), key=lambda page_unit: page_unit.unit.control_kind == REPEATED
    )
    for page_unit in originals_first:
        unit = page_unit.unit
        # None: the kind draws the answer of a careless worker at random
        is_right = None if person.accuracy is None else bool(rng.random() < person.accuracy)
        true_answer = drawn_answers.get(unit.content.get(ORIGINAL_UNIT, ""), truths[unit.pk])
        drawn_answer = rehearsal.draw_answer(unit, true_answer, right=is_right, rng=rng)
        drawn_answers[unit.key] = drawn_answer
        seconds = max(MIN_ANSWER_SECONDS, person.seconds * draw_pace(rng))
        shown_answer = kind.sides.from_canonical(drawn_answer, side=page_unit.side)
        answer = person.choose_answer(kind, page_unit.position, shown_answer)
        page_answer = {"position": page_unit.position, answer_key(kind): answer, "seconds": round(seconds, 1)}
        if kind.writes_captions:
            page_answer |= write_answer(assignment, person, answer, seed)
        page_answers.append(page_answer)
    submit_assignment(assignment=assignment, answers=page_answers)
