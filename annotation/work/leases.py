"""Leases of claimed HITs: prefetch, extend, reclaim; and the active time that is paid."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, FloatField, Q, QuerySet, Sum
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.errors import AddressFull, AlreadyEnded, NoMoreTime, SlotTaken, TooLate
from annotation.models import Assignment, CrowdSession, Judgment, Participation, Seat
from annotation.models.assignments import LIVE_STATES
from annotation.quality.flags import refuse_paused_study, refuse_stopped_worker
from annotation.work.claims import (
    ATTEMPTS,
    Candidate,
    Claim,
    SlotLost,
    claim_slot,
    find_candidate,
    share_pause_lock,
)
from annotation.work.joining import instructions_version
from annotation.work.seats import may_take_seat, note_seat
from annotation.work.stopping import free_slot, lock_for_settling, update_outcomes
from judgments.models import HIT, Study
from judgments.studies.studies import design_of

CLOCK_TOLERANCE = 5.0  # tolerated difference in seconds between browser and server time per assignment
REPEATED_WITHIN = timedelta(minutes=1)  # a repeated extension within this time is the same request

PAYABLE = (CrowdSession.Status.SUBMITTED, CrowdSession.Status.APPROVED)

Span = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Lease:
    expires_at: datetime
    extensions_left: int


def reserve_next(*, assignment: Assignment) -> Claim | None:
    """Reserve the HIT after ``assignment``, so that its page can be prefetched.

    A repeated call returns the same HIT. Return None if nothing is left, or ``assignment`` is not in work.
    """
    if not Assignment.objects.with_lease(timezone.now()).filter(pk=assignment.pk).exists():
        return None
    for attempt in range(ATTEMPTS):
        found = find_candidate(assignment.study, assignment.worker, attempt=attempt, ignored=assignment)
        if not isinstance(found, Candidate):
            reserved = found is not None and found.assignment.state == Assignment.State.RESERVED
            return found if reserved else None
        try:
            with transaction.atomic():
                share_pause_lock(found.study)
                return claim_slot(found, reserve=True)
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
    """Grant a full lease from now on, at most ``crowd.extensions`` times. Ignore an immediate repetition.

    Answers must go on coming: one at least in the last half of a lease.
    """
    crowd = design_of(assignment.study).crowd
    now = timezone.now()
    lease = timedelta(minutes=crowd.lease_minutes)
    wanted = now + lease
    held = Assignment.objects.with_lease(now).filter(pk=assignment.pk)
    gains = held.filter(expires_at__lt=wanted - min(REPEATED_WITHIN, lease / 10))
    working = gains.filter(extended__lt=crowd.extensions, answered_at__gt=now - lease / 2)
    moved = working.update(extended=F("extended") + 1, expires_at=wanted)
    assignment.refresh_from_db(fields=["state", "expires_at", "extended"])
    nothing_to_gain = held.exists() and not gains.exists()  # just claimed, or called twice
    if moved or (crowd.extensions and nothing_to_gain):
        return lease_of(assignment)
    if held.exists() and assignment.extended < crowd.extensions:
        raise NoMoreTime(_("Your answers are saved; there is more time once you answer the next item."))
    if held.exists():
        raise NoMoreTime(
            _("Your answers are saved; the time for this page of work cannot be made longer any more.")
        )
    if assignment.state in (Assignment.State.ACCEPTED, Assignment.State.EXPIRED):
        raise TooLate(_("What you had saved is kept; the time for this page of work was over before."))
    raise AlreadyEnded(_("Nothing was changed: you submitted or returned this page of work."))


def retake_assignment(*, assignment: Assignment) -> Assignment:
    """Reclaim a HIT after its lease expired, with its draft, if a slot is open.

    A row whose slot was not released is reused. Order and sides stay. Raise SlotTaken if the study takes no more work,
    or the worker has another HIT.
    """
    try:
        with transaction.atomic():
            return _retake(assignment)
    except IntegrityError:  # in another window, at the same moment
        raise SlotTaken(_other_work_message()) from None


def _retake(assignment: Assignment) -> Assignment:
    study, now = assignment.study, timezone.now()
    share_pause_lock(study)
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
        raise SlotTaken(_other_work_message())
    _refuse_ended_work(lost)
    until = now + timedelta(minutes=design_of(study).crowd.lease_minutes)
    Seat.objects.filter(assignment=lost).delete()
    if lost.state == Assignment.State.ACCEPTED:  # its slot was not given back
        lost.renew_lease(now=now, expires_at=until)
        taken = lost
    else:
        taken = _claim_again(lost, now=now, until=until)
    if lost.session_id is None:
        if not may_take_seat(study):
            raise AddressFull
        note_seat(study, taken)
    return taken


def _refuse_ended_work(lost: Assignment) -> None:
    refuse_stopped_worker(Participation.objects.get(study=lost.study_id, worker=lost.worker_id).standing)
    if lost.session is not None and lost.session.status != CrowdSession.Status.WORKING:
        raise SlotTaken(_("Your answers are kept, but your submission to this study is over."))
    study = Study.objects.filter(pk=lost.study_id, state=Study.State.OPEN).first()
    if study is None:
        raise SlotTaken(_("Your answers are kept, but this study takes no more work."))
    if lost.state == Assignment.State.EXPIRED:  # its slot was given back: this is a new claim
        refuse_paused_study(study)


def _claim_again(lost: Assignment, *, now: datetime, until: datetime) -> Assignment:
    assert lost.hit_id is not None  # an assignment without a HIT was imported, and never had a lease
    lock_for_settling(study=lost.study, hits=[lost.hit_id])
    mine = Assignment.objects.filter(study=lost.study, worker=lost.worker_id)
    if mine.filter(state=Assignment.State.ACCEPTED).exists():
        # Another window reclaimed it while this one waited for the pairs. If that assignment is being submitted
        # now, the submission waits for the same pairs, and the row below would wait for it: a deadlock.
        raise SlotTaken(_other_work_message())
    live = Assignment.objects.filter(hit=lost.hit_id, state__in=LIVE_STATES)
    if live.filter(worker=lost.worker_id).exists() or not _take_open_slot(lost.hit_id):
        raise SlotTaken(_("Your answers are kept, but somebody else has this page of work now."))
    taken = Assignment.objects.create(
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
    return taken


def _take_open_slot(hit: int) -> int:
    return HIT.objects.filter(pk=hit, open_slots__gt=0).update(open_slots=F("open_slots") - 1)


def _other_work_message() -> str:
    return _("Your answers are kept, but you hold another page of work now: finish or return that one first.")


@dataclass(frozen=True, slots=True)
class PaidTime:
    """A session's active seconds as sent and as paid; ``differs`` if they differ by more than the clocks may."""

    claimed: float
    paid: float
    differs: bool


@dataclass(frozen=True, slots=True)
class _Page:
    session: int
    study: int
    submitted_at: datetime
    claimed: float
    spans: list[Span]


def paid_times(sessions: QuerySet[CrowdSession]) -> dict[int, PaidTime]:
    """Return the active time of each payable session of these sessions' workers, in three queries.

    A worker with several HITs, also of several studies, does not work twice at once: time paid for an earlier
    assignment is not paid again. A HIT reclaimed again and again is paid for one lease with its extensions. Revised
    answers keep the time of the first submission.
    """
    claimed: defaultdict[int, float] = defaultdict(float)
    paid: defaultdict[int, float] = defaultdict(float)
    differs: set[int] = set()
    by_worker = _pages_by_worker(sessions)
    limits = _longest_leases(page.study for pages in by_worker.values() for page in pages)
    for pages in by_worker.values():
        together, given = _SpanUnion(), 0.0
        for page in sorted(pages, key=lambda one: one.submitted_at):
            together.add(page.spans)
            held = _SpanUnion.of(page.spans).seconds
            at_once = max(((end - start).total_seconds() for start, end in page.spans), default=0.0)
            allowed = max(limits[page.study], at_once)  # the study's people can make a lease longer
            seconds = min(page.claimed, held, allowed, together.seconds - given)
            given += seconds
            claimed[page.session] += page.claimed
            paid[page.session] += seconds
            if page.claimed > seconds + CLOCK_TOLERANCE:
                differs.add(page.session)
    return {pk: PaidTime(claimed[pk], paid[pk], pk in differs) for pk in claimed}


def _longest_leases(studies: Iterable[int]) -> dict[int, float]:
    """Return the seconds of a lease with all its extensions, by study."""
    crowds = {pk: design_of(study).crowd for pk, study in Study.objects.in_bulk(set(studies)).items()}
    return {pk: 60.0 * crowd.lease_minutes * (1 + crowd.extensions) for pk, crowd in crowds.items()}


def _pages_by_worker(sessions: QuerySet[CrowdSession]) -> dict[int, list[_Page]]:
    # In other studies, what the crowd has named: a made-up session would take the time of whose id it bears.
    known = Q(pk__in=sessions.values("pk")) | Q(confirmed=True) | Q(status=CrowdSession.Status.APPROVED)
    every = CrowdSession.objects.filter(known, worker__in=sessions.values("worker"), status__in=PAYABLE)
    claims = dict(
        Judgment.objects.filter(assignment__session__in=every, replaces__isnull=True)
        .values("assignment")
        .annotate(seconds=Sum(Cast(F("seconds"), FloatField())))
        .order_by()
        .values_list("assignment", "seconds")
    )
    rows = Assignment.objects.filter(session__in=every).order_by("session", "hit", "accepted_at", "pk")
    pages: defaultdict[int, list[_Page]] = defaultdict(list)
    lapsed: list[Assignment] = []
    for row in rows.only(
        "session", "study", "hit", "worker", "state", "accepted_at", "expires_at", "submitted_at", "gaps"
    ).iterator():
        assert row.session_id is not None  # guaranteed by the query
        lapsed = [one for one in lapsed if (one.session_id, one.hit_id) == (row.session_id, row.hit_id)]
        seconds = claims.get(row.pk) or 0.0
        if seconds:
            assert row.submitted_at is not None  # guaranteed by its judgments
            held = _spans_held([*lapsed, row])
            page = _Page(row.session_id, row.study_id, row.submitted_at, seconds, held)
            pages[row.worker_id].append(page)
        elif row.state == Assignment.State.EXPIRED:
            lapsed.append(row)  # its answers and times moved to the row that replaced it
    return pages


def _spans_held(rows: Sequence[Assignment]) -> list[Span]:
    """Return the spans of a worker's leases on a HIT: expired rows, then the submitted one."""
    ends = [later.accepted_at for later in rows[1:]] + [rows[-1].submitted_at]
    spans: list[Span] = []
    for row, end in zip(rows, ends, strict=True):
        last = min(filter(None, (end, row.expires_at)))
        start = row.accepted_at
        for gap in row.gaps:
            left, back = map(datetime.fromisoformat, gap)
            spans.append((start, min(left, last)))
            start = back
        spans.append((start, last))
    return [(start, end) for start, end in spans if start < end]


@dataclass(slots=True)
class _SpanUnion:
    spans: list[Span] = field(default_factory=list)  # disjoint and ordered
    length: timedelta = timedelta()

    @classmethod
    def of(cls, spans: Iterable[Span]) -> _SpanUnion:
        union = cls()
        union.add(spans)
        return union

    @property
    def seconds(self) -> float:
        return self.length.total_seconds()

    def add(self, spans: Iterable[Span]) -> None:
        for start, end in spans:
            later: list[Span] = []
            while self.spans and self.spans[-1][1] >= start:
                first, last = self.spans.pop()
                if first > end:
                    later.append((first, last))
                    continue
                self.length -= last - first
                start, end = min(start, first), max(end, last)
            self.spans += [(start, end), *reversed(later)]
            self.length += end - start
