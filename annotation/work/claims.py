"""Claim a HIT: choose a candidate, commit it under the pause lock, return it; its lease; and seats by address.

No worker gets a HIT that shows a caption of their own. Control items that a worker has met are left out; HITs with
new ones come first.

A seat is a page of work that somebody holds, or a place at a panel. One address may hold a share of a study's seats. Of
the address a keyed hash is stored, another one in each study, apart from the answers; ``forget_addresses`` deletes it
minutes after the seat is free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Count,
    DateTimeField,
    Exists,
    F,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.panel.backend import session_with_room
from annotation.crowds.people import installation_mark
from annotation.errors import AddressFull, AlreadyEnded, NoMoreTime, NotJoined, SlotTaken, TooLate
from annotation.models import (
    Assignment,
    CrowdSession,
    Participation,
    Seat,
    StudyAlarm,
    Worker,
    WrittenCaption,
)
from annotation.models.assignments import (
    LEASED_STATES,
    LIVE_STATES,
    AssignmentQuerySet,
    WrittenCaptionQuerySet,
)
from annotation.privacy.consent import refuse_old_consent
from annotation.quality.flags import refuse_paused_study, refuse_stopped_worker
from annotation.work.arena import draw_missing_units
from annotation.work.joining import check_may_work, has_reached_limit, instructions_version
from annotation.work.stopping import (
    count_in_work_by_hit,
    decided_units,
    free_slot,
    lock_for_settling,
    reopen_slots,
    update_outcomes,
)
from annotation.work.worksheet import (
    PageUnit,
    arrange_units,
    cached_units_of,
    draw_layout,
    page_units_of,
    units_of_hit,
)
from common import rate_limits
from common.rows import PreparedQuery, PreparedUpdate, insert_object, insert_rows, query_parameter
from judgments.drawing.controls import REPEATED, Mark, mark_of
from judgments.drawing.material import rng_for
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study, Unit
from judgments.studies.studies import design_of, draws_at_claim, stops_early

PAUSE_LOCK = 0x51D0  # first key of our advisory locks; the second is the study's id
LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
LOCK_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s, %s)"

RESERVED_MINUTES = 10  # a prefetched HIT is needed soon
WINDOW = 8  # draw from this many next HITs, so that simultaneous workers do not wait for one row
WIDE_WINDOW = 40  # the window with early stopping, where workers should work on different HITs
ATTEMPTS = 20
# after which an unanswered page of somebody who answered others makes room, or later if it takes longer
LONGEST_UNANSWERED = timedelta(minutes=5)
LOOK_AGAIN = 15  # seconds after which who waits for a page looks again
HITS_SEARCHED = 64  # HITs to search for new control items before old ones are left out
REPEATED_WITHIN = timedelta(minutes=1)  # a repeated extension within this time is the same request
SEAT_LOCK = 0x5EA7  # first key of the advisory locks; the second is the address's
FEWEST_SEATS = 5  # of an address in any study: a household, a small office
# a seat that was given up counts so long, or it could be taken again and again
COOLING = timedelta(minutes=5)
MARK_DIGITS = 32  # of an address
# the server's own address: a trial, or a proxy that names no visitors; never refused, but it makes room as others do
HERE = ("127.", "::/48")
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
        settled = draw_missing_units(study=study, hit=hit, worker=worker, own_captions=set(written))
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
    insert_object(assignment)
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


def own_captions(study: Study, worker: Worker) -> WrittenCaptionQuerySet:
    return WrittenCaption.objects.written_by(worker, dataset_id=study.dataset_id)


def without_own_captions(hits: QuerySet[HIT], *, study: Study, worker: Worker) -> QuerySet[HIT]:
    """Exclude HITs that show a caption by this worker: as candidate, reference, or option."""
    captions_written = own_captions(study, worker)
    rows = list(
        captions_written.values_list(
            "caption__key", "caption__text", "caption__item_id", "judgment__unit__item_id"
        ).distinct()
    )
    if not rows:
        return hits
    captions = captions_written.values("caption")
    shows = (
        Q(unit__first__in=captions)
        | Q(unit__second__in=captions)
        | Q(unit__reference__in=captions)
        | Q(unit__in=_units_containing(rows, study))
    )
    return hits.filter(~Exists(HITUnit.objects.filter(shows, hit=OuterRef("pk"))))


def _units_containing(rows: Iterable[tuple[Any, ...]], study: Study) -> list[int]:
    known: set[str] = set()
    images: set[int] = set()
    for key, text, of_caption, of_unit in rows:
        known |= {key, text}
        images |= {image for image in (of_caption, of_unit) if image is not None}
    units = Unit.objects.filter(study=study, item__in=images).exclude(content={})
    return [
        pk for pk, content in units.values_list("pk", "content") if not known.isdisjoint(_texts_in(content))
    ]


def _texts_in(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts_in(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts_in(value)


def may_repeat_controls(study: Study) -> bool:
    """Return whether a control item may be in two HITs. Make no query."""
    pool = study.notes.get("control_pool")
    return bool(pool["comes_again"]) if pool else False


def control_items_met(study: Study, worker: Worker) -> dict[int, set[Mark]]:
    """Return the control items of each HIT that the worker ever claimed, by HIT id."""
    taken = Assignment.objects.filter(study=study, worker=worker, hit__isnull=False)
    return _control_items_by_hit(study, HITUnit.objects.filter(hit__in=taken.values("hit")))


def controls_met_before(study: Study, units: Sequence[Unit], met: Collection[Mark]) -> frozenset[int]:
    grouped = KINDS[study.protocol].grouped
    return frozenset(
        unit.pk
        for unit in units
        if unit.control
        and unit.control_kind != REPEATED
        and mark_of(unit.item_id, unit.first_id, unit.second_id, grouped=grouped) in met
    )


def units_left_out(hit: HIT, worker: Worker, units: Sequence[Unit]) -> frozenset[int]:
    """Return the units that the worker's previous assignment left out, so that the HIT looks the same again."""
    before = Assignment.objects.filter(hit=hit, worker=worker).order_by("-accepted_at").first()
    if before is None or not before.order:
        return frozenset()
    return frozenset(
        unit.pk for index, unit in enumerate(units) if index not in before.order and unit.control
    )


def hits_with_new_controls(study: Study, hits: Sequence[HIT], met: Collection[Mark]) -> list[HIT]:
    items = _control_items_by_hit(study, HITUnit.objects.filter(hit__in=[hit.pk for hit in hits]))
    return [hit for hit in hits if items.get(hit.pk, set()).isdisjoint(met)]


def used_up_alarms(study: Study, worker: Worker) -> QuerySet[StudyAlarm]:
    return StudyAlarm.objects.filter(study=study, worker=worker, what=StudyAlarm.What.CONTROLS_USED_UP)


def _control_items_by_hit(study: Study, places: Any) -> dict[int, set[Mark]]:
    grouped = KINDS[study.protocol].grouped
    controls = places.filter(unit__control=True, unit__withdrawn=False).exclude(unit__control_kind=REPEATED)
    names = (
        ("hit_id", "unit__item_id")
        if grouped
        else ("hit_id", "unit__item_id", "unit__first_id", "unit__second_id")
    )
    items: dict[int, set[Mark]] = {}
    for hit, item, *texts in controls.values_list(*names).distinct():
        items.setdefault(hit, set()).add(mark_of(item, *texts, grouped=grouped))
    return items


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
        candidate = find_candidate(assignment.study, assignment.worker, attempt=attempt, ignored=assignment)
        if not isinstance(candidate, Candidate):
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
    """Grant a full lease from now on, at most ``crowd.extensions`` times. Ignore an immediate repetition.

    Answers must go on coming: one at least in the last half of a lease.
    """
    crowd = design_of(assignment.study).crowd
    now = timezone.now()
    lease = timedelta(minutes=crowd.lease_minutes)
    wanted = now + lease
    current = Assignment.objects.with_lease(now).filter(pk=assignment.pk)
    gains = current.filter(expires_at__lt=wanted - min(REPEATED_WITHIN, lease / 10))
    working = gains.filter(extended__lt=crowd.extensions, answered_at__gt=now - lease / 2)
    moved = working.update(extended=F("extended") + 1, expires_at=wanted)
    assignment.refresh_from_db(fields=["state", "expires_at", "extended"])
    nothing_to_gain = current.exists() and not gains.exists()  # just claimed, or called twice
    if moved or (crowd.extensions and nothing_to_gain):
        return lease_of(assignment)
    if current.exists() and assignment.extended < crowd.extensions:
        raise NoMoreTime(_("Your answers are saved; there is more time once you answer the next item."))
    if current.exists():
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
    slot = HIT.objects.filter(pk=lost.hit_id, open_slots__gt=0)
    if live.filter(worker=lost.worker_id).exists() or not slot.update(open_slots=F("open_slots") - 1):
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


def _other_work_message() -> str:
    return _("Your answers are kept, but you hold another page of work now: finish or return that one first.")


def share_pause_lock(study: Study) -> None:
    """Share the pause lock, and lock the visitor's address. Call it before checking whether the study is open."""
    _advisory_lock(LOCK_SHARED, PAUSE_LOCK, study.pk % 2**31)
    lock_address(study)


def take_pause_lock(study: Study) -> None:
    _advisory_lock(LOCK_EXCLUSIVE, PAUSE_LOCK, study.pk % 2**31)


def _advisory_lock(statement: str, kind: int, number: int) -> None:
    """Take a lock of PostgreSQL until the transaction ends. Two studies with one number only wait for each other."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(statement, [kind, number])


def longest_pause(study: Study) -> timedelta:
    """Return the time without an answer after which somebody is no longer at work."""
    return max(SHORTEST_PAUSE, ITEMS_IN_A_PAUSE * timedelta(seconds=design_of(study).seconds_per_unit))


def lock_address(study: Study) -> None:
    """Let one transaction at a time take seats from an address. Call it before rows are locked."""
    if connection.vendor == "postgresql" and (mark := _mark(study, besides=HERE)):
        _advisory_lock(LOCK_EXCLUSIVE, SEAT_LOCK, int(mark[:7], 16))


def may_take_seat(study: Study, *, unfinished: int | None = None) -> bool:
    """Return whether the visitor's address holds less than its share.

    Args:
        unfinished: the seats that are open or held; if None, those of pages of work.
    """
    mark = _mark(study, besides=HERE)
    if not mark:
        return True
    now = timezone.now()
    site = mark[: MARK_DIGITS // 2]
    least, most = site.ljust(MARK_DIGITS, "0"), site.ljust(MARK_DIGITS, "f")
    taken = _TAKEN.first(study=study.pk, least=least, most=most, now=now, recently=now - COOLING) or 0
    if taken < FEWEST_SEATS:
        return True
    seats = _unfinished_pages(study) if unfinished is None else unfinished
    return taken < design_of(study).access.address_share * seats


def note_seat(study: Study, seat: Assignment | CrowdSession) -> None:
    """Note that the visitor's address took a seat."""
    if mark := _mark(study):
        holder = "assignment_id" if isinstance(seat, Assignment) else "session_id"
        row = (study.pk, mark, seat.pk, timezone.now())
        insert_rows(Seat, ("study_id", "address", holder, "taken_at"), [row])


def people_beside(holder: str) -> Subquery:
    """Count the people with seats at the address of a row's seat, of IPv6 the /64; null if no address is known.

    Args:
        holder: what the row is: "assignment" or "session".
    """
    now = timezone.now()
    address = Seat.objects.filter(**{holder: OuterRef(OuterRef("pk"))}).values("address")[:1]
    beside = Seat.objects.filter(_counts(now, now - COOLING), study=OuterRef("study"), address=address)
    people = beside.order_by().values("address").annotate(n=Count(f"{holder}__worker", distinct=True))
    return Subquery(people.values("n"))


def forget_addresses() -> int:
    """Delete the marks of seats that no longer count; return how many."""
    now = timezone.now()
    counting = Seat.objects.filter(_counts(now, now - COOLING))
    return Seat.objects.exclude(pk__in=counting.values("pk")).delete()[0]


def _mark(study: Study, *, besides: tuple[str, ...] = ()) -> str:
    """Return the mark of the visitor's address in a study; "" if it may hold all seats, or begins as ``besides``.

    It begins with the mark of the /48, where IPv6 has one.
    """
    networks = rate_limits.visitor()
    if not networks or networks[-1].startswith(besides) or design_of(study).access.address_share == 1:
        return ""
    marks = (installation_mark("seat", str(study.pk), network) for network in reversed(networks))
    return "".join(mark[: MARK_DIGITS // len(networks)] for mark in marks)


def _counts(now: datetime, recently: datetime) -> Q:
    leased = Q(assignment__state__in=LEASED_STATES, assignment__expires_at__gt=now)
    ended = ["returned", "expired", "timed-out"]
    given_up = Q(assignment__state__in=ended) | Q(session__status__in=ended)
    return leased | Q(session__status="working") | (given_up & Q(taken_at__gt=recently))


def _taken_seats() -> QuerySet[Seat, int]:
    now, recently = (query_parameter(name, DateTimeField()) for name in ("now", "recently"))
    site = tuple(query_parameter(name, CharField()) for name in ("least", "most"))
    taken = Seat.objects.filter(_counts(now, recently), study=_STUDY, address__range=site).order_by()
    return taken.values("study").annotate(n=Count("pk")).values_list("n", flat=True)


_TAKEN: PreparedQuery[int] = PreparedQuery(_taken_seats)


def _unfinished_pages(study: Study) -> int:
    slots = HIT.objects.filter(study=study).aggregate(n=Sum("open_slots"))["n"] or 0
    return slots + Assignment.objects.filter(study=study, state__in=LEASED_STATES).count()
