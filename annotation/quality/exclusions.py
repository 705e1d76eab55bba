"""Exclude workers from a study, pause their work, and undo both.

Neither excluded nor paused workers get more work. The answers of an excluded worker are not used, but those of a paused
worker are. Both states are values of ``Participation.standing``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, pgettext

from annotation.errors import StudyPaused, WorkerExcluded, WorkPaused
from annotation.models import Assignment, Exclusion, Participation, Worker
from annotation.models.assignments import FINISHED_STATES, LEASED_STATES, LIVE_STATES
from annotation.models.quality import worker_excluded
from annotation.work.stopping import free_slot, lock_for_settling, reopen_slots, update_outcomes
from annotation.work.system_pairs import recount_system_pairs
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import HIT, Study

Standing = Participation.Standing

MAX_WHY_LENGTH = 500


def refuse_paused_study(study: Study) -> None:
    """Raise StudyPaused if the study is paused."""
    if study.paused_at is not None:
        raise StudyPaused(
            gettext(
                "All your answers are kept. This study is paused and gives out no work. Please come back "
                "later. If you have just accepted a page of work elsewhere, you can return it there. This "
                "has no disadvantage for you."
            )
        )


def refuse_stopped_worker(standing: str) -> None:
    """Raise WorkPaused or WorkerExcluded if the standing of a worker is paused or excluded."""
    if standing == Standing.PAUSED:
        raise WorkPaused(
            gettext(
                "All your answers are kept. Your work in this study is paused after a check of "
                "your latest pages. Somebody will look at your work. You do not need to do anything."
            )
        )
    if standing == Standing.EXCLUDED:
        raise WorkerExcluded(
            gettext(
                "All your answers are kept, but this study does not use them any more. It also has no more "
                "work for you. If you think that this is a mistake, write to the people who run the study."
            )
        )


def active_exclusion(study: Study, worker: Worker) -> Exclusion | None:
    """Return the exclusion that is in force for the worker; None if there is none."""
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
    """Exclude a worker from a study: invalidate their answers and reopen their slots.

    A repeated call returns the first exclusion.

    Args:
        rule: the name of the detector that excludes the worker; "" for a person.
        evidence: the detector's evidence (``evidence_of``).

    Raises:
        WrongState: the judgments of the study were imported.
    """
    if study.source != Study.Source.DESIGNED:
        raise WrongState(
            pgettext(
                "staff",
                "Nothing was changed: participants of the imported study %(slug)r cannot be excluded.",
            )
            % {"slug": study.slug}
        )
    try:
        with transaction.atomic():
            exclusion = Exclusion.objects.create(
                study=study,
                worker=worker,
                rule=rule,
                why=why[:MAX_WHY_LENGTH],
                evidence=dict(evidence or {}),
                made_by=by,
            )
            _invalidate_work(exclusion)
            note_event(
                study=study,
                what="excluded",
                sentence=f"{worker.name} was excluded{f' by the detector {rule}' if rule else ''}.",
                why=why,
                by=by,
                worker=worker.name,
                rule=rule,
            )
            worker_excluded.send(Exclusion, exclusion=exclusion)
    except IntegrityError:  # the database allows only one exclusion at a time
        exclusion = Exclusion.objects.get(study=study, worker=worker, lifted_at=None)
    return exclusion


def _invalidate_work(exclusion: Exclusion) -> None:
    """Invalidate the assignments of the excluded worker, and reopen their slots.

    To avoid deadlocks, assignments are locked first, then HITs, then the participation.
    """
    live_assignments = Assignment.objects.filter(
        study_id=exclusion.study_id, worker_id=exclusion.worker_id, state__in=LIVE_STATES
    )
    # hit is None only in imported studies, in which nobody can be excluded
    rows = list(live_assignments.select_for_update().order_by("pk").values_list("pk", "hit_id", "state"))
    for old_state in {state for _pk, _hit, state in rows}:  # one statement for all rows with the same state
        Assignment.objects.filter(pk__in=[pk for pk, _hit, state in rows if state == old_state]).update(
            state=Assignment.State.INVALIDATED, before_exclusion=old_state, exclusion=exclusion
        )
    reopen_slots(
        study=exclusion.study, counts_by_hit=Counter(hit for _pk, hit, _state in rows if hit is not None)
    )
    recount_system_pairs(exclusion.study)  # by whose counts an arena draws its pairs
    Participation.objects.filter(study_id=exclusion.study_id, worker_id=exclusion.worker_id).update(
        standing=Standing.EXCLUDED
    )


@transaction.atomic
def lift_exclusion(*, exclusion: Exclusion, why: str, by: User | None = None) -> Exclusion:
    """Lift an exclusion. A repeated call changes nothing.

    Finished work gets its previous state again. It takes an open or saved slot of its HIT or, if there is none, an
    additional slot.
    """
    locked_exclusion = Exclusion.objects.select_for_update().get(pk=exclusion.pk)
    if locked_exclusion.lifted_at is not None:
        return locked_exclusion
    locked_exclusion.lifted_by, locked_exclusion.lifted_at = by, timezone.now()
    locked_exclusion.lifted_why = why[:MAX_WHY_LENGTH]
    locked_exclusion.save(update_fields=["lifted_by", "lifted_at", "lifted_why"])
    study, worker = locked_exclusion.study, locked_exclusion.worker
    _restore_work(locked_exclusion)
    recount_system_pairs(study)
    Participation.objects.filter(study=study, worker=worker, standing=Standing.EXCLUDED).update(
        standing=Standing.ACTIVE
    )
    note_event(
        study=study,
        what="re-admitted",
        sentence=f"The exclusion of {worker.name} was lifted.",
        why=why,
        by=by,
        worker=worker.name,
    )
    return locked_exclusion


def _restore_work(exclusion: Exclusion) -> None:
    """Restore the assignments that an exclusion invalidated, with locks in the order of ``_invalidate_work``."""
    invalidated_work = Assignment.objects.filter(exclusion=exclusion, state=Assignment.State.INVALIDATED)
    assignments = list(invalidated_work.select_for_update().order_by("pk"))
    hit_ids = {assignment.hit_id for assignment in assignments if assignment.hit_id is not None}
    lock_for_settling(study=exclusion.study, hits=hit_ids)  # before the HITs, to avoid deadlocks
    hits = {hit.pk: hit for hit in HIT.objects.filter(pk__in=hit_ids).select_for_update().order_by("pk")}
    for assignment in assignments:
        hit = None if assignment.hit_id is None else hits[assignment.hit_id]
        _restore_assignment(assignment, hit)
    update_outcomes(study=exclusion.study, hits=hits)


def _restore_assignment(assignment: Assignment, hit: HIT | None) -> None:
    """Restore an invalidated assignment: finished work gets its state and a slot, other work counts as returned."""
    if assignment.before_exclusion in FINISHED_STATES:
        assignment.state = Assignment.State(assignment.before_exclusion)
        if hit is not None:
            assignment.slot = _take_slot(hit)
    else:
        assignment.state = Assignment.State.RETURNED
    assignment.before_exclusion = ""
    assignment.save(update_fields=["state", "slot", "before_exclusion"])


def _take_slot(hit: HIT) -> int:
    """Take an open or saved slot of a locked HIT, or add a slot; return the number of the slot.

    A saved slot (``spared``) is not offered any more, for example because early stopping made it needless. The
    numbers of live assignments, of open slots and of saved slots always sum to ``required``.
    """
    if hit.open_slots:
        hit.open_slots -= 1
    elif hit.spared:
        hit.spared -= 1
    else:
        hit.required += 1
    hit.save(update_fields=["open_slots", "spared", "required"])
    return free_slot(hit.pk)


@transaction.atomic
def pause_worker(*, study: Study, worker: Worker) -> None:
    """Pause the work of a worker until a person decides about it.

    The worker's answers are still used. HITs in progress are returned unless the worker has begun to answer them.
    """
    leases = Assignment.objects.filter(study=study, worker=worker, state__in=LEASED_STATES)
    rows = list(leases.select_for_update().order_by("pk").values_list("pk", "hit_id", "answers"))
    hits_by_assignment = {pk: hit for pk, hit, answers in rows if not answers}
    Assignment.objects.filter(pk__in=hits_by_assignment).update(state=Assignment.State.RETURNED)
    reopen_slots(
        study=study, counts_by_hit=Counter(hit for hit in hits_by_assignment.values() if hit is not None)
    )
    # update the participation last, since a claim locks the HIT before it
    Participation.objects.filter(study=study, worker=worker, standing=Standing.ACTIVE).update(
        standing=Standing.PAUSED
    )


def unpause_worker(*, study: Study, worker: Worker) -> None:
    """End the pause of a worker. Nothing changes if they are not paused."""
    Participation.objects.filter(study=study, worker=worker, standing=Standing.PAUSED).update(
        standing=Standing.ACTIVE
    )
