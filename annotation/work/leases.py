"""The lease of an assignment, the time for which it holds its slot: reserve the next HIT, extend or renew the lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AddressFull, AlreadyEnded, NoMoreTime, SlotTaken, TooLate
from annotation.models import Assignment, CrowdSession, Participation, Seat
from annotation.models.assignments import LIVE_STATES
from annotation.quality.exclusions import refuse_paused_study, refuse_stopped_worker
from annotation.work.claims import MAX_ATTEMPTS
from annotation.work.seats import may_take_seat, note_seat, share_pause_lock
from annotation.work.slots.acceptance import SlotLost, claim_slot, instructions_version
from annotation.work.slots.candidates import CandidateHIT, Claim, prepare_candidate
from annotation.work.stopping import free_slot, lock_for_settling, update_outcomes
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

# a second extension within this time, or within a tenth of the lease if that is shorter, is the same request
REPEAT_PERIOD = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Lease:
    """The end of a lease, and how many times the worker can still extend it."""

    expires_at: datetime
    extensions_left: int


def reserve_next(*, assignment: Assignment) -> Claim | None:
    """Reserve the HIT after ``assignment``, so that its page can be prefetched.

    A repeated call returns the same HIT. Return None if no HIT can be reserved, or if ``assignment`` is no longer in
    progress.
    """
    if not Assignment.objects.with_lease(timezone.now()).filter(pk=assignment.pk).exists():
        return None
    for attempt in range(MAX_ATTEMPTS):
        candidate = prepare_candidate(
            assignment.study, assignment.worker, attempt=attempt, ignored_assignment=assignment
        )
        if not isinstance(candidate, CandidateHIT):  # a HIT that the worker holds already, or None
            is_reserved = candidate is not None and candidate.assignment.state == Assignment.State.RESERVED
            return candidate if is_reserved else None
        try:
            with transaction.atomic():
                share_pause_lock(candidate.study)
                return claim_slot(candidate, reserve=True)
        except AddressFull:
            return None
        except (SlotLost, IntegrityError):  # another worker or window was faster
            continue
    return None


def lease_of(assignment: Assignment) -> Lease:
    """Return the lease of an assignment in progress."""
    assert assignment.expires_at is not None  # imported assignments have no lease
    max_extensions = design_of(assignment.study).crowd.extensions
    extensions_left = max(0, max_extensions - assignment.extended)
    return Lease(expires_at=assignment.expires_at, extensions_left=extensions_left)


def extend_lease(*, assignment: Assignment) -> Lease:
    """Give an assignment in progress a full lease from now on, at most ``crowd.extensions`` times.

    A call soon after another one changes nothing.

    Raises:
        NoMoreTime: the worker gave no answer within half a lease's time before now, or used all extensions.
        TooLate: the lease had ended.
        AlreadyEnded: the assignment was submitted or returned.
    """
    crowd = design_of(assignment.study).crowd
    now = timezone.now()
    lease = timedelta(minutes=crowd.lease_minutes)
    new_end = now + lease
    # queries of the assignment that match only under these conditions
    if_in_progress = Assignment.objects.with_lease(now).filter(pk=assignment.pk)
    if_worth_extending = if_in_progress.filter(expires_at__lt=new_end - min(REPEAT_PERIOD, lease / 10))
    if_entitled = if_worth_extending.filter(extended__lt=crowd.extensions, answered_at__gt=now - lease / 2)
    was_extended = if_entitled.update(extended=F("extended") + 1, expires_at=new_end)
    assignment.refresh_from_db(fields=["state", "expires_at", "extended"])
    # the lease was just claimed or extended, so an extension would add almost no time
    gains_nothing = if_in_progress.exists() and not if_worth_extending.exists()
    if was_extended or (crowd.extensions and gains_nothing):
        return lease_of(assignment)
    if if_in_progress.exists() and assignment.extended < crowd.extensions:
        raise NoMoreTime(_("Your answers are saved. You can get more time after you answer the next item."))
    if if_in_progress.exists():
        raise NoMoreTime(_("Your answers are saved. You cannot get more time for this page of work."))
    if assignment.state in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise TooLate(_("The time for this page of work is already over. Your saved answers are kept."))
    raise AlreadyEnded(_("Nothing was changed: you have already submitted or returned this page of work."))


def retake_assignment(*, assignment: Assignment) -> Assignment:
    """Give a worker their HIT back after its lease expired, with its draft, if a slot is open.

    If the slot was not released, the row of the assignment is used again, else a new one is created. The order of the
    units and their sides stay the same.

    Raises:
        SlotTaken: the study takes no more work, no slot is open, or the worker has another HIT.
        WorkPaused, WorkerExcluded, StudyPaused, AddressFull: the worker gets no work now.
        AlreadyEnded: the assignment was submitted or returned.
    """
    try:
        with transaction.atomic():
            return _retake_assignment(assignment)
    except IntegrityError:  # the worker took it back in another window at the same moment
        raise SlotTaken(_other_work_message()) from None


def _retake_assignment(assignment: Assignment) -> Assignment:
    study = assignment.study
    now = timezone.now()
    share_pause_lock(study)
    old_assignment = Assignment.objects.select_for_update().get(pk=assignment.pk)
    old_assignment.study = study
    has_time = old_assignment.expires_at is not None and old_assignment.expires_at > now
    if old_assignment.state == Assignment.State.ACCEPTED and has_time:
        return old_assignment
    if old_assignment.state not in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise AlreadyEnded(
            _("Nothing was changed: you have already submitted or returned this page of work.")
        )
    own_assignments = Assignment.objects.filter(study=study, worker=old_assignment.worker_id)
    for other_work in own_assignments.filter(state=Assignment.State.ACCEPTED).exclude(pk=old_assignment.pk):
        if other_work.hit_id == old_assignment.hit_id:  # taken back in another window
            return other_work
        raise SlotTaken(_other_work_message())
    _refuse_ended_work(old_assignment)
    expires_at = now + timedelta(minutes=design_of(study).crowd.lease_minutes)
    Seat.objects.filter(assignment=old_assignment).delete()  # so that ``may_take_seat`` does not count it
    if old_assignment.state == Assignment.State.ACCEPTED:  # its slot was not released
        old_assignment.renew_lease(now=now, expires_at=expires_at)
        new_assignment = old_assignment
    else:
        new_assignment = _claim_again(old_assignment, now=now, expires_at=expires_at)
    if old_assignment.session_id is None:  # the session at a panel holds a seat of its own
        if not may_take_seat(study):
            raise AddressFull
        note_seat(study, new_assignment)
    return new_assignment


def _refuse_ended_work(old_assignment: Assignment) -> None:
    """Raise SlotTaken, or the error of a pause or exclusion, if the worker may not continue in this study."""
    participation = Participation.objects.get(study=old_assignment.study_id, worker=old_assignment.worker_id)
    refuse_stopped_worker(participation.standing)
    if old_assignment.session is not None and old_assignment.session.status != CrowdSession.Status.WORKING:
        raise SlotTaken(
            _("Your answers are kept, but you have already finished or stopped your work in this study.")
        )
    study = Study.objects.filter(pk=old_assignment.study_id, state=Study.State.OPEN).first()
    if study is None:
        raise SlotTaken(_("Your answers are kept, but this study accepts no more work."))
    if old_assignment.state == Assignment.State.EXPIRED:  # its slot was released, so this is a new claim
        refuse_paused_study(study)


def _claim_again(old_assignment: Assignment, *, now: datetime, expires_at: datetime) -> Assignment:
    """Take a new slot of the HIT, with the old assignment's draft, and its order and sides of units (the layout)."""
    # an assignment without a HIT was imported, and never had a lease
    assert old_assignment.hit_id is not None
    lock_for_settling(study=old_assignment.study, hits=[old_assignment.hit_id])
    own_assignments = Assignment.objects.filter(study=old_assignment.study, worker=old_assignment.worker_id)
    if own_assignments.filter(state=Assignment.State.ACCEPTED).exists():
        # The worker may have taken the HIT back in another window while this call waited in `lock_for_settling`. If
        # that assignment is being submitted now, the submission waits for the same lock, and creating a row below would
        # wait for the submission: a deadlock.
        raise SlotTaken(_other_work_message())
    live_assignments = own_assignments.filter(hit=old_assignment.hit_id, state__in=LIVE_STATES)
    hit_with_open_slot = HIT.objects.filter(pk=old_assignment.hit_id, open_slots__gt=0)
    if live_assignments.exists() or not hit_with_open_slot.update(open_slots=F("open_slots") - 1):
        raise SlotTaken(_("Your answers are kept, but somebody else has this page of work now."))
    new_assignment = Assignment.objects.create(
        study=old_assignment.study,
        hit_id=old_assignment.hit_id,
        worker_id=old_assignment.worker_id,
        session_id=old_assignment.session_id,
        external_id=old_assignment.external_id,
        slot=free_slot(old_assignment.hit_id),
        accepted_at=now,
        expires_at=expires_at,
        order=old_assignment.order,
        flips=old_assignment.flips,
        answers=old_assignment.answers,
        consent_version=old_assignment.consent_version,
        instructions_version=instructions_version(design_of(old_assignment.study)),
        simulated=old_assignment.simulated,
    )
    # the old layout may lack a unit that needs votes again
    update_outcomes(study=old_assignment.study, hits=[old_assignment.hit_id])
    return new_assignment


def _other_work_message() -> str:
    return _(
        "Your answers are kept, but you have another page of work now. Submit or return that page first."
    )
