"""The lease of an assignment: reserve the next HIT, extend the lease, and reclaim a HIT whose lease expired."""

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
from annotation.quality.flags import refuse_paused_study, refuse_stopped_worker
from annotation.work.claims import ATTEMPTS
from annotation.work.joining import instructions_version
from annotation.work.seats import may_take_seat, note_seat, share_pause_lock
from annotation.work.slots.acceptance import SlotLost, claim_slot
from annotation.work.slots.candidates import CandidateHIT, Claim, find_candidate
from annotation.work.stopping import free_slot, lock_for_settling, update_outcomes
from judgments.models import HIT, Study
from judgments.studies.designs import design_of

REPEAT_PERIOD = timedelta(minutes=1)  # a repeated extension within this time counts as the same request


@dataclass(frozen=True, slots=True)
class Lease:
    expires_at: datetime
    extensions_left: int


def reserve_next(*, assignment: Assignment) -> Claim | None:
    """Reserve the HIT after ``assignment``, so that its page can be prefetched.

    A repeated call returns the same HIT. Return None if no HIT is left, or if ``assignment`` is no longer in
    progress.
    """
    if not Assignment.objects.with_lease(timezone.now()).filter(pk=assignment.pk).exists():
        return None
    for attempt in range(ATTEMPTS):
        candidate = find_candidate(assignment.study, assignment.worker, attempt=attempt, ignored=assignment)
        if not isinstance(candidate, CandidateHIT):
            reserved = candidate is not None and candidate.assignment.state == Assignment.State.RESERVED
            return candidate if reserved else None
        try:
            with transaction.atomic():
                share_pause_lock(candidate.study)
                return claim_slot(candidate, reserve=True)
        except AddressFull:
            return None
        except (SlotLost, IntegrityError):
            continue  # the attempt was rolled back; try again
    return None


def lease_of(assignment: Assignment) -> Lease:
    assert assignment.expires_at is not None  # imported assignments have no lease
    allowed = design_of(assignment.study).crowd.extensions
    return Lease(expires_at=assignment.expires_at, extensions_left=max(0, allowed - assignment.extended))


def extend_lease(*, assignment: Assignment) -> Lease:
    """Grant a full lease from now on, at most ``crowd.extensions`` times. Ignore a call soon after another one.

    Raises:
        NoMoreTime: the worker gave no answer in the last half of the lease, or used all extensions.
        TooLate: the lease had ended.
        AlreadyEnded: the assignment was submitted or returned.
    """
    crowd = design_of(assignment.study).crowd
    now = timezone.now()
    lease = timedelta(minutes=crowd.lease_minutes)
    new_end = now + lease
    current = Assignment.objects.with_lease(now).filter(pk=assignment.pk)
    gains = current.filter(expires_at__lt=new_end - min(REPEAT_PERIOD, lease / 10))
    working = gains.filter(extended__lt=crowd.extensions, answered_at__gt=now - lease / 2)
    moved = working.update(extended=F("extended") + 1, expires_at=new_end)
    assignment.refresh_from_db(fields=["state", "expires_at", "extended"])
    nothing_to_gain = current.exists() and not gains.exists()  # just claimed, or called twice
    if moved or (crowd.extensions and nothing_to_gain):
        return lease_of(assignment)
    if current.exists() and assignment.extended < crowd.extensions:
        raise NoMoreTime(_("Your answers are saved. You can get more time after you answer the next item."))
    if current.exists():
        raise NoMoreTime(_("Your answers are saved. You cannot get more time for this page of work."))
    if assignment.state in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise TooLate(_("The time for this page of work is already over. Your saved answers are kept."))
    raise AlreadyEnded(_("Nothing was changed: you have already submitted or returned this page of work."))


def retake_assignment(*, assignment: Assignment) -> Assignment:
    """Reclaim a HIT after its lease expired, with its draft, if a slot is open.

    If the slot was not released, the row is reused. The order of the units and their sides stay the same.

    Raises:
        SlotTaken: the study takes no more work, or the worker has another HIT.
        AlreadyEnded: the assignment was submitted or returned.
    """
    try:
        with transaction.atomic():
            return _retake_assignment(assignment)
    except IntegrityError:  # reclaimed in another window at the same moment
        raise SlotTaken(_other_work_message()) from None


def _retake_assignment(assignment: Assignment) -> Assignment:
    study, now = assignment.study, timezone.now()
    share_pause_lock(study)
    expired = Assignment.objects.select_for_update().get(pk=assignment.pk)
    expired.study = study
    if (
        expired.state == Assignment.State.ACCEPTED
        and expired.expires_at is not None
        and expired.expires_at > now
    ):
        return expired
    if expired.state not in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise AlreadyEnded(
            _("Nothing was changed: you have already submitted or returned this page of work.")
        )
    own_assignments = Assignment.objects.filter(study=study, worker=expired.worker_id)
    for other in own_assignments.filter(state=Assignment.State.ACCEPTED).exclude(pk=expired.pk):
        if other.hit_id == expired.hit_id:
            return other
        raise SlotTaken(_other_work_message())
    _refuse_ended_work(expired)
    until = now + timedelta(minutes=design_of(study).crowd.lease_minutes)
    Seat.objects.filter(assignment=expired).delete()
    if expired.state == Assignment.State.ACCEPTED:  # its slot was not released
        expired.renew_lease(now=now, expires_at=until)
        reclaimed = expired
    else:
        reclaimed = _claim_again(expired, now=now, until=until)
    if expired.session_id is None:
        if not may_take_seat(study):
            raise AddressFull
        note_seat(study, reclaimed)
    return reclaimed


def _refuse_ended_work(lost: Assignment) -> None:
    refuse_stopped_worker(Participation.objects.get(study=lost.study_id, worker=lost.worker_id).standing)
    if lost.session is not None and lost.session.status != CrowdSession.Status.WORKING:
        raise SlotTaken(
            _("Your answers are kept, but you have already finished or stopped your work in this study.")
        )
    study = Study.objects.filter(pk=lost.study_id, state=Study.State.OPEN).first()
    if study is None:
        raise SlotTaken(_("Your answers are kept, but this study accepts no more work."))
    if lost.state == Assignment.State.EXPIRED:  # its slot was released, so this is a new claim
        refuse_paused_study(study)


def _claim_again(lost: Assignment, *, now: datetime, until: datetime) -> Assignment:
    assert lost.hit_id is not None  # an assignment without a HIT was imported, and never had a lease
    lock_for_settling(study=lost.study, hits=[lost.hit_id])
    own_assignments = Assignment.objects.filter(study=lost.study, worker=lost.worker_id)
    if own_assignments.filter(state=Assignment.State.ACCEPTED).exists():
        # Another window may have reclaimed the HIT while this call waited for the pairs. If that assignment is
        # being submitted now, the submission waits for the same pairs, and locking the row below would wait for the
        # submission: a deadlock.
        raise SlotTaken(_other_work_message())
    live = Assignment.objects.filter(hit=lost.hit_id, state__in=LIVE_STATES)
    slot = HIT.objects.filter(pk=lost.hit_id, open_slots__gt=0)
    if live.filter(worker=lost.worker_id).exists() or not slot.update(open_slots=F("open_slots") - 1):
        raise SlotTaken(_("Your answers are kept, but somebody else has this page of work now."))
    claimed = Assignment.objects.create(
        study=lost.study,
        hit_id=lost.hit_id,
        worker_id=lost.worker_id,
        session_id=lost.session_id,
        external_id=lost.external_id,
        slot=free_slot(lost.hit_id),
        accepted_at=now,
        expires_at=until,
        order=lost.order,
        flips=lost.flips,
        answers=lost.answers,
        consent_version=lost.consent_version,
        instructions_version=instructions_version(design_of(lost.study)),
        simulated=lost.simulated,
    )
    # the old layout may lack a unit that needs votes again
    update_outcomes(study=lost.study, hits=[lost.hit_id])
    return claimed


def _other_work_message() -> str:
    return _(
        "Your answers are kept, but you have another page of work now. Submit or return that page first."
    )
