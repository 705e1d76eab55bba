"""The time that a worker has: the next HIT fetched ahead, a lease made longer, work taken up again after its end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AlreadyEnded, NoMoreTime, SeatTaken, TooLate
from annotation.models import Assignment, CrowdSession, Participation
from annotation.models.assignments import LIVE
from annotation.services.claims import ATTEMPTS, Beaten, Claim, Offer, look_for_hit, take
from annotation.services.gate import pass_gate
from annotation.services.stopping import lock_for_settling, settle_hits
from annotation.standing import refuse_stopped, refuse_while_paused
from annotation.terms import instructions_version
from judgments.models import HIT, Study
from judgments.services.studies import design_of

TWICE = timedelta(minutes=1)  # asked again within it, an extension is the one that was given


@dataclass(frozen=True, slots=True)
class Lease:
    """How long a worker may hold a HIT, and how often that can still be made longer."""

    expires_at: datetime
    more: int


def reserve_next(*, assignment: Assignment) -> Claim | None:
    """Hold a seat of the HIT that comes after ``assignment``, so that its page can be fetched while this one is worked
    on; the same one when asked again. None where nothing is left, or ``assignment`` is not being worked on.

    Raises:
        NotJoined: as ``claim_assignment``.
    """
    if not Assignment.objects.holding(timezone.now()).filter(pk=assignment.pk).exists():
        return None
    for attempt in range(ATTEMPTS):
        found = look_for_hit(assignment.study, assignment.worker, attempt=attempt, besides=assignment)
        if not isinstance(found, Offer):
            reserved = found is not None and found.assignment.state == Assignment.State.RESERVED
            return found if reserved else None
        try:
            with transaction.atomic():
                return take(found, ahead=True)
        except (Beaten, IntegrityError):
            continue  # nothing of the attempt was kept; look again
    return None


def lease_of(assignment: Assignment) -> Lease:
    """As it stands in ``assignment``."""
    assert assignment.expires_at is not None  # imported work is held by nobody
    allowed = design_of(assignment.study).crowd.extensions
    return Lease(expires_at=assignment.expires_at, more=max(0, allowed - assignment.extended))


def extend_lease(*, assignment: Assignment) -> Lease:
    """A whole lease from now on, as often as the study's ``crowd.extensions`` says. A call repeated at once changes
    nothing.

    Raises:
        NoMoreTime: it was extended as often as allowed; it ends when it would have.
        TooLate, AlreadyEnded: it is over.
    """
    crowd = design_of(assignment.study).crowd
    now = timezone.now()
    wanted = now + timedelta(minutes=crowd.lease_minutes)
    held = Assignment.objects.holding(now).filter(pk=assignment.pk)
    gains = held.filter(expires_at__lt=wanted - min(TWICE, timedelta(minutes=crowd.lease_minutes) / 10))
    moved = gains.filter(extended__lt=crowd.extensions).update(extended=F("extended") + 1, expires_at=wanted)
    assignment.refresh_from_db(fields=["state", "expires_at", "extended"])
    fresh = (
        crowd.extensions and held.exists() and not gains.exists()
    )  # no time to gain: just taken, or called twice
    if moved or fresh:
        return lease_of(assignment)
    if held.exists():
        raise NoMoreTime(
            _("Your answers are saved; the time for this page of work cannot be made longer any more.")
        )
    if assignment.state in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise TooLate(_("What you had saved is kept; the time for this page of work was over before."))
    raise AlreadyEnded(_("Nothing was changed: you submitted or returned this page of work."))


def retake_assignment(*, assignment: Assignment) -> Assignment:
    """Take up a HIT again whose lease ended, with the answers saved on it, if a seat is free: in the same row where
    nobody asked for its seat, else in a new one. The order and the sides are as they were.

    Raises:
        SeatTaken: others have all of its seats, the study takes no more work, or another HIT is held.
        WorkPaused, WorkerExcluded: the worker gets no work.
        AlreadyEnded: it was submitted or returned.
        StudyPaused: its seat was given back, and nothing is handed out for a while.
    """
    try:
        with transaction.atomic():
            return _retake(assignment)
    except IntegrityError:  # in another window, at the same moment
        raise SeatTaken(_holds_another()) from None


def _retake(assignment: Assignment) -> Assignment:
    study, now = assignment.study, timezone.now()
    pass_gate(study)
    lost = Assignment.objects.select_for_update().get(pk=assignment.pk)
    lost.study = study
    if lost.state == Assignment.State.ACCEPTED and lost.expires_at is not None and lost.expires_at > now:
        return lost
    if lost.state not in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise AlreadyEnded(_("Nothing was changed: you submitted or returned this page of work."))
    mine = Assignment.objects.filter(study=study, worker=lost.worker_id)
    for other in mine.filter(state=Assignment.State.ACCEPTED).exclude(pk=lost.pk):
        if other.hit_id == lost.hit_id:
            return other
        raise SeatTaken(_holds_another())
    _refuse_shut(lost)
    until = now + timedelta(minutes=design_of(study).crowd.lease_minutes)
    if lost.state == Assignment.State.ACCEPTED:  # nobody asked for its seat
        lost.renew_lease(now=now, until=until)
        return lost
    return _new_row(lost, now=now, until=until)


def _refuse_shut(lost: Assignment) -> None:
    refuse_stopped(Participation.objects.get(study=lost.study_id, worker=lost.worker_id).standing)
    if lost.session is not None and lost.session.status != CrowdSession.Status.WORKING:
        raise SeatTaken(_("Your answers are kept, but your submission to this study is over."))
    study = Study.objects.filter(pk=lost.study_id, state=Study.State.OPEN).first()
    if study is None:
        raise SeatTaken(_("Your answers are kept, but this study takes no more work."))
    if lost.state == Assignment.State.EXPIRED:  # its seat was given back: it would be handed out anew
        refuse_while_paused(study)


def _new_row(lost: Assignment, *, now: datetime, until: datetime) -> Assignment:
    assert lost.hit_id is not None  # whose HIT is not known was imported, and never had a lease
    lock_for_settling(study=lost.study, hits=[lost.hit_id])
    mine = Assignment.objects.filter(study=lost.study, worker=lost.worker_id)
    if mine.filter(state=Assignment.State.ACCEPTED).exists():
        # taken in another window while this one waited for the pairs; if it is being submitted just now, that waits
        # for the same pairs, and the row below would wait for it: in a circle
        raise SeatTaken(_holds_another())
    live = Assignment.objects.filter(hit=lost.hit_id, state__in=LIVE)
    if live.filter(worker=lost.worker_id).exists() or not _seat(lost.hit_id):
        raise SeatTaken(_("Your answers are kept, but somebody else has this page of work now."))
    seats = set(live.values_list("seat", flat=True))
    taken = Assignment.objects.create(
        study=lost.study,
        hit_id=lost.hit_id,
        worker_id=lost.worker_id,
        session_id=lost.session_id,
        external_id=lost.external_id,
        seat=next(seat for seat in count() if seat not in seats),
        accepted_at=now,
        expires_at=until,
        order=lost.order,
        flips=lost.flips,
        answers=lost.answers,
        consent_version=lost.consent_version,
        instructions_version=instructions_version(design_of(lost.study)),
        simulated=lost.simulated,
    )
    # a copy as it was may lack a unit that is wanted again by now
    settle_hits(study=lost.study, hits=[lost.hit_id])
    return taken


def _seat(hit: int) -> int:
    """Takes a slot of the HIT; 0 where there was none."""
    return HIT.objects.filter(pk=hit, open_slots__gt=0).update(open_slots=F("open_slots") - 1)


def _holds_another() -> str:
    return _("Your answers are kept, but you hold another page of work now: finish or return that one first.")
