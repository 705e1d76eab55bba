"""Exclude or pause a worker, and undo it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from annotation.errors import StudyPaused, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Exclusion, Participation, Worker
from annotation.models.assignments import LIVE
from annotation.webhooks.webhooks import note_exclusion
from annotation.work.stopping import free_seat, lock_for_settling, reopen_slots, settle_hits
from common.errors import WrongState
from judgments.models import HIT, Study
from judgments.studies.log import note_event


def refuse_while_paused(study: Study) -> None:
    if study.paused_at is not None:
        raise StudyPaused(
            gettext(
                "Everything you did is kept. This study hands out no work for a while; please come back later. If a "
                "page of work opened for you elsewhere a moment ago, you can return it there without harm."
            )
        )


def refuse_stopped(standing: str) -> None:
    """Raise WorkPaused or WorkerExcluded unless the worker is active."""
    if standing == Participation.Standing.PAUSED:
        raise WorkPaused(
            gettext(
                "All your answers are kept. A check of your latest pages has paused your work in this study until "
                "somebody has looked at it; there is nothing you need to do."
            )
        )
    if standing == Participation.Standing.EXCLUDED:
        raise WorkerExcluded(
            gettext(
                "All your answers are kept, but they are not used in this study any more, and there is no more work "
                "for you in it. If you think that this is a mistake, write to the people who run the study."
            )
        )


Standing = Participation.Standing
FINISHED = (Assignment.State.SUBMITTED, Assignment.State.APPROVED, Assignment.State.REJECTED)
LONGEST_WHY = 500


def standing_exclusion(study: Study, worker: Worker) -> Exclusion | None:
    return Exclusion.objects.filter(study=study, worker=worker, lifted_at=None).first()


def exclude_worker(
    *,
    study: Study,
    worker: Worker,
    why: str,
    rule: str = "",
    evidence: Mapping[str, Any] | None = None,
    by: User | None = None,
) -> Exclusion:
    """Exclude ``worker`` from ``study``: invalidate their answers and reopen their slots.

    A repeated call returns the first exclusion and changes nothing.

    Args:
        why: one sentence, for the review and the export.
        rule: the detector that excluded the worker, '' for a person.
        by: the person, None for a detector.
    """
    if study.source != Study.Source.DESIGNED:
        raise WrongState(f"Nothing was changed: the judgments of study {study.slug!r} were imported.")
    try:
        with transaction.atomic():
            made = Exclusion.objects.create(
                study=study,
                worker=worker,
                rule=rule,
                why=why[:LONGEST_WHY],
                evidence=dict(evidence or {}),
                made_by=by,
            )
            _invalidate(made)
            note_event(
                study=study,
                what="excluded",
                words=f"{worker.name} was excluded{f' by the detector {rule}' if rule else ''}.",
                why=why,
                by=by,
                worker=worker.name,
                rule=rule,
            )
            note_exclusion(exclusion=made)
    except IntegrityError:  # the database allows one exclusion at a time
        made = Exclusion.objects.get(study=study, worker=worker, lifted_at=None)
    return made


def _invalidate(exclusion: Exclusion) -> None:
    """Invalidate within the caller's transaction: assignments first, then HITs, then the worker's status."""
    own = Assignment.objects.filter(
        study_id=exclusion.study_id, worker_id=exclusion.worker_id, state__in=LIVE
    )
    held = list(own.select_for_update().order_by("pk").values_list("pk", "hit_id", "state"))
    for state in {state for _, _, state in held}:
        Assignment.objects.filter(pk__in=[pk for pk, _, one in held if one == state]).update(
            state=Assignment.State.INVALIDATED, before_exclusion=state, exclusion=exclusion
        )
    reopen_slots(study=exclusion.study, freed=Counter(hit for _, hit, _ in held if hit is not None))
    Participation.objects.filter(study_id=exclusion.study_id, worker_id=exclusion.worker_id).update(
        standing=Standing.EXCLUDED
    )


@transaction.atomic
def lift_exclusion(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Lift an exclusion. A repeated call changes nothing.

    Finished work gets its state back, in an open or saved slot of its HIT, or else in an added one. Unfinished
    work ends as returned.
    """
    locked = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if locked.lifted_at is not None:
        return locked
    locked.lifted_by, locked.lifted_at, locked.lifted_why = by, timezone.now(), why[:LONGEST_WHY]
    locked.save(update_fields=["lifted_by", "lifted_at", "lifted_why"])
    invalid = Assignment.objects.filter(exclusion=locked, state=Assignment.State.INVALIDATED)
    work = list(invalid.select_for_update().order_by("pk"))
    lock_for_settling(study=locked.study, hits={one.hit_id for one in work if one.hit_id is not None})
    hits = {
        hit.pk: hit
        for hit in HIT.objects.filter(pk__in={one.hit_id for one in work}).select_for_update().order_by("pk")
    }
    for assignment in work:
        _restore(assignment, hits.get(assignment.hit_id or 0))
    settle_hits(study=locked.study, hits=hits)
    Participation.objects.filter(
        study_id=locked.study_id, worker_id=locked.worker_id, standing=Standing.EXCLUDED
    ).update(standing=Standing.ACTIVE)
    note_event(
        study=locked.study,
        what="re-admitted",
        words=f"The exclusion of {locked.worker.name} was lifted.",
        why=why,
        by=by,
        worker=locked.worker.name,
    )
    return locked


def _restore(assignment: Assignment, hit: HIT | None) -> None:
    """Restore the assignment's state, and its slot if it was finished."""
    if assignment.before_exclusion in FINISHED:
        assignment.state = Assignment.State(assignment.before_exclusion)
        if hit is not None:
            assignment.seat = _take_slot(hit)
    else:
        assignment.state = Assignment.State.RETURNED
    assignment.before_exclusion = ""
    assignment.save(update_fields=["state", "seat", "before_exclusion"])


def _take_slot(hit: HIT) -> int:
    """Take a slot of a locked HIT. If all are taken, add one, so that live + open + saved is still what it asks
    for."""
    if hit.open_slots:
        hit.open_slots -= 1
    elif hit.spared:
        hit.spared -= 1
    else:
        hit.required += 1
    hit.save(update_fields=["open_slots", "spared", "required"])
    return free_seat(hit.pk)


@transaction.atomic
def pause_worker(*, study: Study, worker: Worker) -> None:
    """Give the worker no more work until a person decides.

    Their answers count. HITs without an answer are returned; one in work may be finished.
    """
    waiting = Assignment.objects.filter(study=study, worker=worker, state__in=["reserved", "accepted"])
    held = list(waiting.select_for_update().order_by("pk").values_list("pk", "hit_id", "answers"))
    back = {pk: hit for pk, hit, answers in held if not answers}
    Assignment.objects.filter(pk__in=back).update(state=Assignment.State.RETURNED)
    reopen_slots(study=study, freed=Counter(hit for hit in back.values() if hit is not None))
    # last, as everywhere: a claim locks the HIT before the participation
    Participation.objects.filter(study=study, worker=worker, standing=Standing.ACTIVE).update(
        standing=Standing.PAUSED
    )


def resume_worker(*, study: Study, worker: Worker) -> None:
    Participation.objects.filter(study=study, worker=worker, standing=Standing.PAUSED).update(
        standing=Standing.ACTIVE
    )
