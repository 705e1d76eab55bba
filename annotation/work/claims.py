"""Claim a HIT: choose a candidate, commit it under the pause lock, return it or let it expire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import (
    BooleanField,
    Case,
    DateTimeField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.panel.backend import session_with_room
from annotation.errors import AddressFull, AlreadyEnded, NotAdmitted, NotJoined
from annotation.models import Assignment, CrowdSession, Participation, StudyAlarm, Worker, WrittenCaption
from annotation.models.assignments import LEASED_STATES, LIVE_STATES, AssignmentQuerySet
from annotation.privacy.consent import refuse_old_consent
from annotation.quality.flags import refuse_paused_study, refuse_stopped_worker
from annotation.work.joining import check_may_work, has_reached_limit, instructions_version
from annotation.work.seats import FEWEST_SEATS, may_take_seat, note_seat, people_beside, share_pause_lock
from annotation.work.stopping import count_in_work_by_hit, decided_units, free_slot, reopen_slots
from annotation.work.suitability import (
    control_items_met,
    controls_met_before,
    hits_with_new_controls,
    may_repeat_controls,
    own_captions,
    units_left_out,
    used_up_alarms,
    without_own_captions,
)
from annotation.work.worksheet import (
    PageUnit,
    arrange_units,
    cached_units_of,
    draw_layout,
    page_units_of,
    units_of_hit,
)
from common.features import of_features
from common.rows import PreparedQuery, PreparedUpdate, query_parameter
from judgments.drawing.controls import Mark
from judgments.drawing.material import rng_for
from judgments.models import HIT, Study, Unit
from judgments.studies.studies import design_of, draws_at_claim, stops_early

RESERVED_MINUTES = 10  # a prefetched HIT is needed soon
WINDOW = 8  # draw from this many next HITs, so that simultaneous workers do not wait for one row
WIDE_WINDOW = 40  # the window with early stopping, where workers should work on different HITs
ATTEMPTS = 20
# after which an unanswered page of somebody who answered others makes room, or later if it takes longer
LONGEST_UNANSWERED = timedelta(minutes=5)
LOOK_AGAIN = 15  # seconds after which who waits for a page looks again
HITS_SEARCHED = 64  # HITs to search for new control items before old ones are left out
SHORTEST_PAUSE = timedelta(minutes=1)
ITEMS_IN_A_PAUSE = 3


@dataclass(frozen=True, slots=True)
class Claim:
    assignment: Assignment
    created: bool
    page_units: list[PageUnit]


def claim_assignment(*, study: Study, worker: Worker) -> Claim | None:
    """Return the worker's current, prefetched or next HIT, or None if nothing is left.

    Raises:
        NotJoined, NotAdmitted, WorkPaused, WorkerExcluded, StudyPaused, AddressFull: no work now.
    """
    for attempt in range(ATTEMPTS):
        candidate = find_candidate(study, worker, attempt=attempt)
        try:
            with transaction.atomic():
                if candidate is not None:
                    share_pause_lock(study)
                return commit_claim(candidate)
        except (SlotLost, IntegrityError):
            continue  # the attempt was rolled back; try again
    return None


def commit_claim(candidate: Claim | Candidate | None) -> Claim | None:
    """Commit a candidate or accept a reservation, in a transaction that holds the pause lock.

    Raises:
        SlotLost, IntegrityError: roll back and look again.
    """
    if isinstance(candidate, Candidate):
        return claim_slot(candidate)
    if candidate is not None and candidate.assignment.state == Assignment.State.RESERVED:
        return _accept_reserved(candidate)
    return candidate


class SlotLost(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate HIT, with all data that can be read before the transaction."""

    study: Study
    worker: Worker
    participation: Participation
    hit: HIT
    cursor: int
    units: list[Unit]
    left_out: frozenset[int]  # control items that the worker met in another HIT
    session: CrowdSession | None = None  # for a worker sent by a panel


def find_candidate(
    study: Study, worker: Worker, *, attempt: int = 0, ignored: Assignment | None = None
) -> Claim | Candidate | None:
    """Return the worker's current or reserved HIT, else a candidate, or None if nothing is left.

    Read outside of a transaction, so that nobody waits on SQLite. A current HIT may be finished while the worker or the
    study is paused. The current assignment ``ignored`` does not count.
    """
    participation = _participation(study, worker)
    leases, overdue = _leases(study, worker)
    current = next((lease for lease in leases if ignored is None or lease.pk != ignored.pk), None)
    if current is None or current.state == Assignment.State.RESERVED:  # nothing is begun
        refuse_stopped_worker(participation.standing)
        refuse_paused_study(study)
        refuse_old_consent(study=study, worker=worker, agreed_to=participation.consent_version)
    if current is not None:
        return Claim(assignment=current, created=False, page_units=page_units_of(current))
    design = design_of(study)
    check_may_work(study=study, design=design, worker=worker)
    session = None
    if worker.source == Worker.Source.CROWD:
        session = session_with_room(study=study, design=design, worker=worker)
        if session is None:
            return None
    if has_reached_limit(study=study, design=design, worker=worker):
        return None
    hits = _candidates(study, worker, participation, overdue, end_silent=ignored is None and not attempt)
    if not hits:
        return None
    met = control_items_met(study, worker) if participation.began and may_repeat_controls(study) else {}
    items = {item for of_hit in met.values() for item in of_hit}
    if items and not participation.used_up:
        hits = _prefer_new_controls(study, worker, participation, hits, items)
    hit = _choose_hit(study, worker, hits, attempt)
    units = cached_units_of(hit)
    return Candidate(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=hits[0].position,
        units=units,
        left_out=units_left_out(hit, worker, units)
        if hit.pk in met
        else controls_met_before(study, units, items),
        session=session,
    )


_STUDY, _WORKER = query_parameter("study"), query_parameter("worker")
_NOW = query_parameter("now", DateTimeField())
_PARTICIPATIONS: PreparedQuery[Any] = PreparedQuery(
    lambda: Participation.objects.filter(study=_STUDY, worker=_WORKER).annotate(
        wrote=Exists(WrittenCaption.objects.written_by(_WORKER, dataset_id=query_parameter("dataset"))),
        used_up=Exists(used_up_alarms(_STUDY, _WORKER)),
        began=Exists(Assignment.objects.filter(study=_STUDY, worker=_WORKER)),
    )
)
_LEASES = PreparedQuery(
    lambda: (
        Assignment.objects.filter(
            Q(worker=_WORKER) | Q(expires_at__lte=_NOW), study=_STUDY, state__in=LEASED_STATES
        )
        .select_related("hit")
        .order_by("state", "accepted_at")
    )
)


def _fresh_hits(size: int) -> QuerySet[HIT]:
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=_WORKER)
    open_hits = HIT.objects.filter(~Exists(mine), study=_STUDY, open_slots__gt=0)
    return open_hits.filter(position__gte=query_parameter("cursor", IntegerField())).order_by("position")[
        :size
    ]


_FRESH_HITS = {size: PreparedQuery(partial(_fresh_hits, size)) for size in (WINDOW, WIDE_WINDOW)}


def _participation(study: Study, worker: Worker) -> Any:
    """Return the worker's participation, with facts that save most claims a query."""
    participation = _PARTICIPATIONS.first(study=study.pk, worker=worker.pk, dataset=study.dataset_id)
    if participation is None:
        raise NotJoined(_("You have not joined this study."))
    return participation


def _leases(study: Study, worker: Worker) -> tuple[list[Assignment], list[Assignment]]:
    """Return the worker's leases, accepted before reserved, and the expired leases of the study.

    An expired reservation is the worker's until another worker needs its slot.
    """
    now = timezone.now()
    leases: list[Assignment] = []
    overdue: list[Assignment] = []
    for lease in _LEASES.all(study=study.pk, worker=worker.pk, now=now):
        lease.study = study
        reserved = lease.worker_id == worker.pk and lease.state == Assignment.State.RESERVED
        expired = lease.expires_at is not None and lease.expires_at <= now
        (overdue if expired and not reserved else leases).append(lease)
    return leases, overdue


def _candidates(
    study: Study, worker: Worker, participation: Any, overdue: Sequence[Assignment], *, end_silent: bool
) -> list[HIT]:
    """Return HITs with an open slot; release expired and silent leases only if there is none, to save writes."""
    hits: list[HIT] = []
    if not any(lease.worker_id == worker.pk for lease in overdue):
        hits = _next_hits(study, worker, participation)
    if not hits and overdue:
        expired = Assignment.objects.overdue(timezone.now()).filter(pk__in=[lease.pk for lease in overdue])
        release_slots(expired, Assignment.State.EXPIRED)
        hits = _next_hits(study, worker, participation)
    if not hits and end_silent and _end_silent_lease(study, worker, participation):
        hits = _next_hits(study, worker, participation)
    return hits


def _end_silent_lease(study: Study, worker: Worker, participation: Any) -> int:
    """End the lease that has been silent longest, for a worker to whom nothing is left; return how many ended.

    First one of an address (of IPv6 the /64) where more people hold seats than a household has, if its answers have
    stopped; then one without an answer whose worker had time for the whole page, as without scripts all answers come
    at its end; then one of an address where several hold seats.
    """
    if worker.source != Worker.Source.LOCAL:
        return 0  # a crowd promised the slots of its workers
    if study.state != Study.State.OPEN or stops_early(study):
        return 0  # nobody could take the slot, or perhaps nobody needs it
    if not may_take_seat(study):
        return 0
    now = timezone.now()
    spoke = Assignment.objects.filter(study=study).exclude(answers={}, submitted_at=None)
    leases = Assignment.objects.annotate(
        since=Coalesce("answered_at", "accepted_at"),
        people=people_beside("assignment"),
        spoke=Exists(spoke.filter(worker=OuterRef("worker"))),
    )
    quiet = leases.select_related("hit").filter(
        Q(people__gt=1) | Q(answers={}),
        since__lte=now - longest_pause(study),
        study=study,
        state__in=LEASED_STATES,
        worker__source=Worker.Source.LOCAL,
        hit__in=_hits_for(study, worker, participation).filter(
            ~Exists(Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, state__in=LIVE_STATES))
        ),
    )
    kind = Case(When(people__gt=FEWEST_SEATS, then=0), When(answers={}, then=1), default=2)
    longest_first = quiet.order_by(kind, F("people").desc(nulls_last=True), "since")
    longest = next((lease for lease in longest_first if lease.since <= now - _patience(lease, study)), None)
    if longest is None:
        return 0
    # an answer that arrives now keeps the slot
    still = Assignment.objects.filter(pk=longest.pk, answered_at=longest.answered_at)
    return release_slots(still, Assignment.State.EXPIRED)


def _patience(lease: Any, study: Study) -> timedelta:
    """Return the time without an answer after which a lease makes room."""
    if lease.answers:
        return longest_pause(study)
    items = len(lease.order) or len(cached_units_of(lease.hit))
    page = max(longest_pause(study), items * timedelta(seconds=design_of(study).seconds_per_unit))
    return max(page, LONGEST_UNANSWERED) if lease.spoke and (lease.people or 1) == 1 else page


def free_a_page(*, study: Study, worker: Worker) -> bool:
    """Release leases for a worker who holds none, as a claim would; return whether a page is there for them."""
    participation = _participation(study, worker)
    _own, overdue = _leases(study, worker)
    goes_on = participation.standing == Participation.Standing.ACTIVE and study.paused_at is None
    return bool(_candidates(study, worker, participation, overdue if goes_on else [], end_silent=goes_on))


def waits_for_a_page(*, study: Study, worker: Worker) -> bool:
    """Return whether a worker to whom nothing is left may get a page that others hold."""
    if study.state != Study.State.OPEN or has_reached_limit(
        study=study, design=design_of(study), worker=worker
    ):
        return False
    mine = Assignment.objects.filter(study=study, worker=worker)
    others = HIT.objects.filter(study=study).exclude(assignments__in=mine.finished())
    held = others.filter(assignments__in=Assignment.objects.filter(study=study, state__in=LEASED_STATES))
    return without_own_captions(held, study=study, worker=worker).exists()


def _choose_hit(study: Study, worker: Worker, hits: list[HIT], attempt: int) -> HIT:
    """Draw a HIT; with early stopping, take one with little in work, so that votes follow one another."""
    if stops_early(study):
        in_work = count_in_work_by_hit([hit.pk for hit in hits])
        ordered = sorted(hits, key=lambda hit: (in_work[hit.pk], hit.position))
        return ordered[attempt % len(ordered)]
    rng = rng_for(attempt, f"hit {worker.name} {hits[0].key}")
    return hits[int(rng.integers(len(hits)))]


def _next_hits(study: Study, worker: Worker, participation: Any) -> list[HIT]:
    """Return the next open HITs from the cursor on; HITs returned or expired come last."""
    size = WIDE_WINDOW if stops_early(study) else WINDOW
    if not participation.wrote:
        window = _FRESH_HITS[size].all(study=study.pk, worker=worker.pk, cursor=participation.cursor)
        if window:
            return window
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    open_hits = _hits_for(study, worker, participation).filter(open_slots__gt=0).order_by("position")
    fresh = open_hits.filter(~Exists(mine))
    window = list(fresh.filter(position__gte=participation.cursor)[:size]) if participation.wrote else []
    if not window and participation.cursor:
        window = list(fresh[:size])  # slots released behind the cursor
    return window or list(open_hits.filter(~Exists(mine.filter(state__in=LIVE_STATES)))[:size])


def _hits_for(study: Study, worker: Worker, participation: Any) -> QuerySet[HIT]:
    hits = HIT.objects.filter(study=study)
    return without_own_captions(hits, study=study, worker=worker) if participation.wrote else hits


def _admission_values(study: Study, worker: Worker) -> dict[str, Any]:
    """Return the values of ``_studies_taking_work``. A rehearsed study is open to simulated workers only."""
    simulated = worker.source == Worker.Source.REHEARSAL
    return {"study": study.pk, "worker": worker.pk, "simulated": simulated}


def _studies_taking_work(allow_closed: bool) -> QuerySet[Study]:
    admitted = Q(participations__worker=_WORKER, participations__standing=Participation.Standing.ACTIVE)
    state = (
        Q(state__in=[Study.State.OPEN, Study.State.CLOSED])
        if allow_closed
        else Q(state=Study.State.OPEN, paused_at=None)
    )
    simulated = query_parameter("simulated", BooleanField())
    return Study.objects.filter(admitted, state, pk=_STUDY, simulated=simulated).order_by()


def _open_hit(allow_closed: bool) -> QuerySet[HIT]:
    taking_work = Exists(_studies_taking_work(allow_closed))
    return HIT.objects.filter(taking_work, pk=query_parameter("hit"), open_slots__gt=0)


# keys: whether a closed study is accepted
_STUDIES_TAKING_WORK = {
    closed: PreparedQuery(partial(_studies_taking_work, closed)) for closed in (False, True)
}
_TAKE_SLOT = {
    closed: PreparedUpdate(partial(_open_hit, closed), open_slots=F("open_slots") - 1)
    for closed in (False, True)
}


def _prefer_new_controls(
    study: Study, worker: Worker, participation: Any, window: list[HIT], met: Collection[Mark]
) -> list[HIT]:
    """Return HITs with only new control items, from ``window`` or further on; else ``window``."""
    fresh = hits_with_new_controls(study, window, met)
    if fresh:
        return fresh
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    further = _hits_for(study, worker, participation).filter(
        open_slots__gt=0, position__gt=window[-1].position
    )
    ahead = list(further.filter(~Exists(mine)).order_by("position")[:HITS_SEARCHED])
    return hits_with_new_controls(study, ahead, met)[:WINDOW] or window


def claim_slot(
    candidate: Candidate,
    *,
    reserve: bool = False,
    session: CrowdSession | None = None,
    allow_closed: bool = False,
) -> Claim | None:
    """Claim a slot of the HIT, in a transaction that holds the pause lock (not needed with ``allow_closed``).

    Return None if the study or the worker was paused or stopped meanwhile, or if only one of the two is simulated.

    Args:
        reserve: keep the HIT for after the current one.
        session: the crowd promised it the HIT, so the worker gets it even if its outcome is decided.
        allow_closed: accept a closed study.

    Raises:
        AddressFull: the visitor's address holds its share of the seats.
        SlotLost, IntegrityError: another worker or window was faster; roll back and look again.
    """
    study, hit, worker = candidate.study, candidate.hit, candidate.worker
    promised, session = session is not None, session or candidate.session
    if session is None and not may_take_seat(study):
        raise AddressFull
    welcoming = _admission_values(study, worker)
    if not _TAKE_SLOT[allow_closed](hit=hit.pk, **welcoming):
        if not _STUDIES_TAKING_WORK[allow_closed].all(**welcoming):
            return None
        raise SlotLost
    if candidate.participation.cursor != candidate.cursor:
        Participation.objects.filter(pk=candidate.participation.pk).update(cursor=candidate.cursor)
    units = candidate.units
    settled = decided_units(hit.pk, units) if stops_early(study) else frozenset()
    if draws_at_claim(study):
        written = own_captions(study, worker).values_list("caption", flat=True)
        drawings = of_features("arena_drawings")
        if not drawings:
            raise NotAdmitted(_("This study is not open for answers."))
        settled = drawings[0](study=study, hit=hit, worker=worker, own_captions=set(written))
        units = units_of_hit(hit.pk)  # not the cached ones: this transaction may be undone
    if all(unit.control or unit.pk in settled for unit in units):
        if not promised:
            raise SlotLost  # decided since it was found
        settled = frozenset()
    design, now = design_of(study), timezone.now()
    layout = draw_layout(
        design=design, hit=hit, worker=worker, units=units, left_out=candidate.left_out | settled
    )
    minutes = min(design.crowd.lease_minutes, RESERVED_MINUTES) if reserve else design.crowd.lease_minutes
    if candidate.left_out:
        _note_used_up_controls(candidate)
    assignment = Assignment(
        study=study,
        hit=hit,
        worker=worker,
        session=session,
        external_id=session.external_id if session is not None else "",
        state=Assignment.State.RESERVED if reserve else Assignment.State.ACCEPTED,
        slot=free_slot(hit.pk),
        accepted_at=now,
        expires_at=now + timedelta(minutes=minutes),
        order=layout.order,
        flips=layout.sides,
        consent_version=candidate.participation.consent_version,
        instructions_version=instructions_version(design),
        simulated=worker.source == Worker.Source.REHEARSAL,
    )
    assignment.save(force_insert=True)
    if session is None:  # a panel's session has the seat, and Mechanical Turk counts its people itself
        note_seat(study, assignment)
    return Claim(
        assignment=assignment, created=True, page_units=arrange_units(units, layout.order, layout.sides)
    )


def _note_used_up_controls(candidate: Candidate) -> None:
    """Count an assignment without control items that the worker has met."""
    # for the designer, all captions of a control image are one control item
    items = len({unit.item_id for unit in candidate.units if unit.pk in candidate.left_out})
    raised = used_up_alarms(candidate.study, candidate.worker).update(
        pages=F("pages") + 1, missing=F("missing") + items, last_at=timezone.now()
    )
    if not raised:  # a worker claims one HIT at a time: nobody else creates this row
        StudyAlarm.objects.create(
            study=candidate.study,
            worker=candidate.worker,
            what=StudyAlarm.What.CONTROLS_USED_UP,
            pages=1,
            missing=items,
        )


def _accept_reserved(claim: Claim) -> Claim | None:
    """Turn a reservation into the current assignment with a full lease; raise as ``claim_slot``."""
    reserved = claim.assignment
    if not _STUDIES_TAKING_WORK[False].all(**_admission_values(reserved.study, reserved.worker)):
        return None
    now = timezone.now()
    expires_at = now + timedelta(minutes=design_of(reserved.study).crowd.lease_minutes)
    waiting = Assignment.objects.filter(pk=reserved.pk, state=Assignment.State.RESERVED)
    if not waiting.update(state=Assignment.State.ACCEPTED, accepted_at=now, expires_at=expires_at):
        raise SlotLost
    reserved.state, reserved.accepted_at, reserved.expires_at = Assignment.State.ACCEPTED, now, expires_at
    return Claim(assignment=reserved, created=True, page_units=claim.page_units)


def return_assignment(*, assignment: Assignment) -> None:
    """Return a HIT and keep its draft. A repeated call changes nothing."""
    if release_slots(Assignment.objects.filter(pk=assignment.pk), Assignment.State.RETURNED):
        assignment.state = Assignment.State.RETURNED
        return
    assignment.refresh_from_db(fields=["state"])
    if assignment.state not in (Assignment.State.RETURNED, Assignment.State.EXPIRED):
        raise AlreadyEnded(
            _("Your answers were submitted and stay; this page of work cannot be returned any more.")
        )


def expire_overdue(*, study: Study) -> int:
    overdue = Assignment.objects.overdue(timezone.now()).filter(study=study)
    return release_slots(overdue, Assignment.State.EXPIRED)


def release_reserved(*, study: Study) -> int:
    reserved = Assignment.objects.filter(study=study, state=Assignment.State.RESERVED)
    return release_slots(reserved, Assignment.State.EXPIRED)


@transaction.atomic
def release_slots(wanted: AssignmentQuerySet, state: Assignment.State) -> int:
    """End accepted or reserved assignments with ``state``, reopen their slots, and return their number.

    Assignments, ordered by id, are locked before HITs, to avoid deadlocks.
    """
    ended = wanted.filter(state__in=LEASED_STATES).select_for_update().order_by("pk")
    rows = list(ended.values_list("pk", "hit_id", "study_id"))
    Assignment.objects.filter(pk__in=[pk for pk, _hit, _study in rows]).update(state=state)
    for study in Study.objects.filter(pk__in={study for _pk, _hit, study in rows}):
        freed = Counter(hit for _pk, hit, owner in rows if owner == study.pk and hit is not None)
        reopen_slots(study=study, freed=freed)
    return len(rows)


def longest_pause(study: Study) -> timedelta:
    """Return the time without an answer after which somebody is no longer at work."""
    return max(SHORTEST_PAUSE, ITEMS_IN_A_PAUSE * timedelta(seconds=design_of(study).seconds_per_unit))
