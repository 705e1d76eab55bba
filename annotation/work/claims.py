"""Claim a HIT: choose a candidate, commit it under the pause lock, give it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from annotation.crowds.panel.sessions import session_with_room
from annotation.errors import AlreadyEnded, NotJoined
from annotation.models import Assignment, CrowdSession, Participation, StudyAlarm, Worker, WrittenCaption
from annotation.models.assignments import LIVE, AssignmentQuerySet
from annotation.models.written import WrittenCaptionQuerySet
from annotation.quality.exclusions import refuse_stopped, refuse_while_paused
from annotation.quality.flags import raise_used_up
from annotation.work.admission import has_done_all, refuse_unqualified
from annotation.work.joining import instructions_version
from annotation.work.presentation import Place, draw_layout, placed, places_of, units_of_hit
from annotation.work.stopping import in_work_by_hit, reopen_slots, settled_units
from judgments.drawing.controls import REPEATED, Mark, mark_of
from judgments.drawing.draws import rng_for
from judgments.drawing.stopping import stops_early
from judgments.kinds import KINDS
from judgments.models import HIT, HITUnit, Study, Unit
from judgments.studies.studies import design_of

GATE = 0x51D0  # Quorum's own class of advisory locks; the study's id is the other half
SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
ALONE = "SELECT pg_advisory_xact_lock(%s, %s)"


def pass_gate(study: Study) -> None:
    """Within the transaction that is to hand out work, before it looks whether the study takes any."""
    _ask(SHARED, study)


def shut_gate(study: Study) -> None:
    """At the beginning of the transaction that ends the handing out: waits for what is under way."""
    _ask(ALONE, study)


def _ask(how: str, study: Study) -> None:
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(
            how, [GATE, study.pk % 2**31]
        )  # two studies that share a gate only wait for one another


def own_captions(study: Study, worker: Worker) -> WrittenCaptionQuerySet:
    """What the worker wrote that is part of the study's dataset."""
    return WrittenCaption.objects.by(worker, dataset_id=study.dataset_id)


def without_own_captions(hits: QuerySet[HIT], *, study: Study, worker: Worker) -> QuerySet[HIT]:
    """``hits`` of the study but for those that show a caption which the worker wrote: as a candidate, a reference, or
    among the options that a kind keeps in ``Unit.content``.

    One query for whoever wrote none in the study's dataset, which is nearly everybody; else two.
    """
    own = own_captions(study, worker)
    rows = list(
        own.values_list(
            "caption__key", "caption__text", "caption__item_id", "judgment__unit__item_id"
        ).distinct()
    )
    if not rows:
        return hits
    captions = own.values("caption")
    shows = (
        Q(unit__first__in=captions)
        | Q(unit__second__in=captions)
        | Q(unit__reference__in=captions)
        | Q(unit__in=_units_listing(rows, study))
    )
    return hits.filter(~Exists(HITUnit.objects.filter(shows, hit=OuterRef("pk"))))


def _units_listing(rows: Iterable[tuple[Any, ...]], study: Study) -> list[int]:
    """Row ids of the units whose content names one of the captions, by its id in the dataset or by its text."""
    known: set[str] = set()
    images: set[int] = set()
    for key, text, of_caption, of_unit in rows:
        known |= {key, text}
        images |= {image for image in (of_caption, of_unit) if image is not None}
    units = Unit.objects.filter(study=study, item__in=images).exclude(content={})
    return [pk for pk, content in units.values_list("pk", "content") if not known.isdisjoint(_texts(content))]


def _texts(content: Any) -> Iterator[str]:
    """Every text in a value of JSON."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, dict):
        for value in content.values():
            yield from _texts(value)
    elif isinstance(content, list):
        for value in content:
            yield from _texts(value)


AHEAD = 64  # HITs that are looked at for new control items before old ones are left out


def may_come_again(study: Study) -> bool:
    """Whether any control item stands in two HITs; where none does, nothing need be asked of the database."""
    pool = study.notes.get("control_pool")
    return bool(pool["comes_again"]) if pool else False


def items_met(study: Study, worker: Worker) -> dict[int, set[Mark]]:
    """Row id of each HIT that the worker ever took -> its control items; one query."""
    taken = Assignment.objects.filter(study=study, worker=worker, hit__isnull=False)
    return _items_of(study, HITUnit.objects.filter(hit__in=taken.values("hit")))


def stale_units(study: Study, units: Sequence[Unit], met: Collection[Mark]) -> frozenset[int]:
    """Row ids of the control items among ``units`` that are among those that were ``met``."""
    grouped = KINDS[study.protocol].grouped
    return frozenset(
        unit.pk
        for unit in units
        if unit.control
        and unit.control_kind != REPEATED
        and mark_of(unit.item_id, unit.first_id, unit.second_id, grouped=grouped) in met
    )


def left_out_before(hit: HIT, worker: Worker, units: Sequence[Unit]) -> frozenset[int]:
    """Row ids of what the worker did not see of a HIT they take again: they find it as it was."""
    before = Assignment.objects.filter(hit=hit, worker=worker).order_by("-accepted_at").first()
    if before is None or not before.order:
        return frozenset()
    return frozenset(
        unit.pk for index, unit in enumerate(units) if index not in before.order and unit.control
    )


def with_new_items(study: Study, hits: Sequence[HIT], met: Collection[Mark]) -> list[HIT]:
    """Those of ``hits`` of which every control item is new to the worker, in their order; one query."""
    items = _items_of(study, HITUnit.objects.filter(hit__in=[hit.pk for hit in hits]))
    return [hit for hit in hits if items.get(hit.pk, set()).isdisjoint(met)]


def used_up(study: Study, worker: Worker) -> Any:
    """The worker's alarm, as a query to ask for along with another."""
    return StudyAlarm.objects.filter(study=study, worker=worker, what=StudyAlarm.What.CONTROLS_USED_UP)


def _items_of(study: Study, places: Any) -> dict[int, set[Mark]]:
    grouped = KINDS[study.protocol].grouped
    controls = places.filter(unit__control=True, unit__struck=False).exclude(unit__control_kind=REPEATED)
    names = (
        ("hit_id", "unit__item_id")
        if grouped
        else ("hit_id", "unit__item_id", "unit__first_id", "unit__second_id")
    )
    found: dict[int, set[Mark]] = {}
    for hit, item, *texts in controls.values_list(*names).distinct():
        found.setdefault(hit, set()).add(mark_of(item, *texts, grouped=grouped))
    return found


HELD = ("accepted", "reserved")  # states that a lease ends
RESERVED_MINUTES = 10  # what is fetched ahead is wanted soon
WINDOW = 8  # of so many next HITs one is drawn, so that workers who come together do not queue for one row
WIDE_WINDOW = 40  # the same where votes are spared: people had better not work on one HIT at the same time
ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Claim:
    """The HIT a worker holds, with its units as placed; ``created`` is False where it was held before."""

    assignment: Assignment
    created: bool
    places: list[Place]


def claim_assignment(*, study: Study, worker: Worker) -> Claim | None:
    """Give the worker the HIT they hold, the one fetched ahead for them, or the next one; None when nothing is left.

    Raises:
        NotJoined: the worker did not join the study.
        NotAdmitted: they hold nothing, and a quiz or a requirement comes before more work.
        WorkPaused, WorkerExcluded: the worker gets no work.
        StudyPaused: nobody does.
    """
    for attempt in range(ATTEMPTS):
        found = look_for_hit(study, worker, attempt=attempt)
        try:
            with transaction.atomic():
                return settle(found)
        except (Beaten, IntegrityError):
            continue  # nothing of the attempt was kept; look again
    return None


def settle(found: Claim | Offer | None) -> Claim | None:
    """What ``look_for_hit`` found becomes what the worker holds, within the caller's transaction: an offer is taken, a
    reservation accepted.

    Raises:
        Beaten, IntegrityError: undo the transaction and look again.
    """
    if isinstance(found, Offer):
        return take(found)
    if found is not None and found.assignment.state == Assignment.State.RESERVED:
        return _accept_reserved(found)
    return found


class Beaten(Exception):
    """Another worker took the HIT's last seat first."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A HIT that was free when it was looked for, with all that need not be read while others wait."""

    study: Study
    worker: Worker
    participation: Participation
    hit: HIT
    cursor: int
    units: list[Unit]
    left_out: frozenset[int]  # control items that the worker has met in another HIT
    session: CrowdSession | None = None  # of a person whom a panel sent


def look_for_hit(
    study: Study, worker: Worker, *, attempt: int = 0, besides: Assignment | None = None
) -> Claim | Offer | None:
    """What the worker holds (``besides`` apart) or has reserved, or a HIT they could take, or None where nothing
    is left.

    It reads outside of a transaction, so that on SQLite nobody waits for it; it writes only to free seats whose
    lease ended, when nothing else is left.

    Raises:
        NotJoined: the worker did not join the study.
        NotAdmitted: they hold nothing, and a quiz or a requirement comes before more work.
        WorkPaused, WorkerExcluded: the worker gets no work; what a paused one has begun may be finished.
        StudyPaused: nobody does; likewise.
    """
    now = timezone.now()
    part = Participation.objects.filter(study=study, worker=worker)
    participation = part.annotate(
        wrote=Exists(own_captions(study, worker)),
        used_up=Exists(used_up(study, worker)),
        began=Exists(Assignment.objects.filter(study=study, worker=worker)),
    ).first()
    if participation is None:
        raise NotJoined(gettext("You have not joined this study."))
    held = Assignment.objects.filter(study=study, state__in=HELD)
    # "accepted" comes before "reserved"
    found = list(held.filter(Q(worker=worker) | Q(expires_at__lte=now)).order_by("state", "accepted_at"))
    # a reservation of one's own is good until somebody else needs its seat
    own = [one for one in found if one.worker_id == worker.pk and one.state == Assignment.State.RESERVED]
    overdue = [
        one for one in found if one.expires_at is not None and one.expires_at <= now and one not in own
    ]
    for one in found:
        if one.worker_id == worker.pk and one not in overdue and (besides is None or one.pk != besides.pk):
            if one in own:  # not begun
                refuse_stopped(participation.standing)
                refuse_while_paused(study)
            return Claim(assignment=one, created=False, places=places_of(one))
    refuse_stopped(participation.standing)
    refuse_while_paused(study)
    design = design_of(study)
    refuse_unqualified(study=study, design=design, worker=worker)
    session = None
    if worker.source == Worker.Source.CROWD:
        session = session_with_room(study=study, design=design, worker=worker)
    of_nobody = worker.source == Worker.Source.CROWD and session is None
    if of_nobody or has_done_all(study=study, design=design, worker=worker):
        return None
    window = (
        [] if any(one.worker_id == worker.pk for one in overdue) else _next_hits(study, worker, participation)
    )
    if not window and overdue:
        # seats of others are freed only once they are needed: most pages need not pay for it
        wanted = Assignment.objects.overdue(now).filter(pk__in=[one.pk for one in overdue])
        free_seats(wanted, Assignment.State.EXPIRED)
        window = _next_hits(study, worker, participation)
    if not window:
        return None
    began = getattr(participation, "began", True)  # who took nothing yet has met nothing
    met = items_met(study, worker) if began and may_come_again(study) else {}
    if met and not getattr(participation, "used_up", False):
        window = _prefer_new_items(study, worker, window, {item for items in met.values() for item in items})
    if stops_early(study):
        hit = _least_in_work(window, attempt)
    else:
        rng = rng_for(attempt, f"hit {worker.name} {window[0].key}")
        hit = window[int(rng.integers(len(window)))]
    units = units_of_hit(hit.pk)
    if hit.pk in met:
        left_out = left_out_before(hit, worker, units)
    else:
        left_out = stale_units(study, units, {item for items in met.values() for item in items})
    return Offer(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=window[0].position,
        units=units,
        left_out=left_out,
        session=session,
    )


def _next_hits(study: Study, worker: Worker, participation: Participation) -> list[HIT]:
    """The next open HITs that the worker has not done; the search starts where the last one ended.

    What the worker gave back or let expire comes again only when nothing else is left.
    """
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    open_hits = HIT.objects.filter(study=study, open_slots__gt=0).order_by("position")
    if getattr(participation, "wrote", True):  # hardly anybody: the others are not made to pay for it
        open_hits = without_own_captions(open_hits, study=study, worker=worker)
    fresh = open_hits.filter(~Exists(mine))
    size = WIDE_WINDOW if stops_early(study) else WINDOW
    window = list(fresh.filter(position__gte=participation.cursor)[:size])
    if not window and participation.cursor:
        window = list(fresh[:size])  # seats that were given back behind the cursor
    return window or list(open_hits.filter(~Exists(mine.filter(state__in=LIVE)))[:size])


def _least_in_work(window: list[HIT], attempt: int) -> HIT:
    """Where votes are spared, one follows another: the HIT that fewest people work on at the moment, of these the
    first."""
    in_work = in_work_by_hit([hit.pk for hit in window])
    ordered = sorted(window, key=lambda hit: (in_work[hit.pk], hit.position))
    return ordered[attempt % len(ordered)]


def _takes_work(study: Study, worker: Worker, *, late: bool = False) -> bool:
    """Whether the study is open to this worker, who was not stopped: one that is rehearsed is so to simulated workers
    alone."""
    simulated = worker.source == Worker.Source.REHEARSAL
    welcome = Q(participations__worker=worker, participations__standing=Participation.Standing.ACTIVE)
    now = Q(state=Study.State.OPEN, paused_at=None)
    then = Q(state__in=[Study.State.OPEN, Study.State.CLOSED])
    return Study.objects.filter(welcome, then if late else now, pk=study.pk, simulated=simulated).exists()


def _prefer_new_items(study: Study, worker: Worker, window: list[HIT], met: Collection[Mark]) -> list[HIT]:
    """HITs with control items that the worker has not met, of ``window`` or a little further on; else ``window``."""
    fresh = with_new_items(study, window, met)
    if fresh:
        return fresh
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    further = HIT.objects.filter(study=study, open_slots__gt=0, position__gt=window[-1].position)
    ahead = list(further.filter(~Exists(mine)).order_by("position")[:AHEAD])
    return with_new_items(study, ahead, met)[:WINDOW] or window


def take(
    offer: Offer, *, ahead: bool = False, session: CrowdSession | None = None, late: bool = False
) -> Claim | None:
    """Take a seat of the HIT, within the caller's transaction; None where the study takes no more work of this worker:
    it was closed or paused meanwhile, or is rehearsed (a person may have joined before), or is not (and this one is
    simulated), or the worker was paused or excluded meanwhile.

    Args:
        ahead: reserve it, for the time after the HIT that the worker holds now.
        session: the piece of paid work at a crowd that it belongs to; its worker gets the HIT also where its outcome
            is settled, as the crowd promised it.
        late: whether the study may be closed by now.

    Raises:
        Beaten: another worker was faster; undo the transaction and look again.
        IntegrityError: this worker took a HIT in another window; likewise.
    """
    study, hit, worker = offer.study, offer.hit, offer.worker
    promised, session = session is not None, session or offer.session
    if not late:
        pass_gate(study)
    if not _takes_work(study, worker, late=late):
        return None
    if not HIT.objects.filter(pk=hit.pk, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        raise Beaten
    if offer.participation.cursor != offer.cursor:
        Participation.objects.filter(pk=offer.participation.pk).update(cursor=offer.cursor)
    settled = settled_units(hit.pk, offer.units) if stops_early(study) else frozenset()
    if all(unit.control or unit.pk in settled for unit in offer.units):
        if not promised:
            raise Beaten  # it was settled since it was looked for
        settled = frozenset()
    taken = set(Assignment.objects.filter(hit=hit, state__in=LIVE).values_list("seat", flat=True))
    design, now = design_of(study), timezone.now()
    layout = draw_layout(
        design=design, hit=hit, worker=worker, units=offer.units, left_out=offer.left_out | settled
    )
    minutes = min(design.crowd.lease_minutes, RESERVED_MINUTES) if ahead else design.crowd.lease_minutes
    if offer.left_out:
        raise_used_up(study=study, worker=worker, missing=offer.left_out, units=offer.units)
    assignment = Assignment.objects.create(
        study=study,
        hit=hit,
        worker=worker,
        session=session,
        external_id=session.external_id if session is not None else "",
        state=Assignment.State.RESERVED if ahead else Assignment.State.ACCEPTED,
        seat=next(seat for seat in count() if seat not in taken),
        accepted_at=now,
        expires_at=now + timedelta(minutes=minutes),
        order=layout.order,
        flips=layout.sides,
        consent_version=offer.participation.consent_version,
        instructions_version=instructions_version(design),
        simulated=worker.source == Worker.Source.REHEARSAL,
    )
    return Claim(assignment=assignment, created=True, places=placed(offer.units, layout.order, layout.sides))


def _accept_reserved(found: Claim) -> Claim | None:
    """A reservation becomes the HIT that the worker holds, with a whole lease; within the caller's transaction.

    Raises:
        Beaten: its time was over and its seat was given away.
        IntegrityError: the worker took another HIT meanwhile.
    """
    reserved = found.assignment
    pass_gate(reserved.study)
    if not _takes_work(reserved.study, reserved.worker):
        return None
    now = timezone.now()
    expires_at = now + timedelta(minutes=design_of(reserved.study).crowd.lease_minutes)
    waiting = Assignment.objects.filter(pk=reserved.pk, state=Assignment.State.RESERVED)
    if not waiting.update(state=Assignment.State.ACCEPTED, accepted_at=now, expires_at=expires_at):
        raise Beaten
    reserved.state, reserved.accepted_at, reserved.expires_at = Assignment.State.ACCEPTED, now, expires_at
    return Claim(assignment=reserved, created=True, places=found.places)


def return_assignment(*, assignment: Assignment) -> None:
    """Give a HIT back; what was answered stays in the row. Doing it twice changes nothing.

    Raises:
        AlreadyEnded: it was submitted.
    """
    if free_seats(Assignment.objects.filter(pk=assignment.pk), Assignment.State.RETURNED):
        assignment.state = Assignment.State.RETURNED
        return
    assignment.refresh_from_db(fields=["state"])
    if assignment.state not in (Assignment.State.RETURNED, Assignment.State.EXPIRED):
        raise AlreadyEnded(
            gettext("Your answers were submitted and stay; this page of work cannot be returned any more.")
        )


def expire_overdue(*, study: Study, now: datetime | None = None) -> int:
    """Free the seats whose lease ended; how many there were."""
    overdue = Assignment.objects.overdue(now or timezone.now()).filter(study=study)
    return free_seats(overdue, Assignment.State.EXPIRED)


def free_reserved(*, study: Study) -> int:
    """Free the seats of what was fetched ahead and not begun; how many there were."""
    reserved = Assignment.objects.filter(study=study, state=Assignment.State.RESERVED)
    return free_seats(reserved, Assignment.State.EXPIRED)


@transaction.atomic
def free_seats(wanted: AssignmentQuerySet, state: Assignment.State) -> int:
    """Reserved or accepted -> ``state``, and the slots back, in one transaction and few queries for any number; how
    many of ``wanted`` were so still.

    Everybody locks assignments, in the order of their ids, before HITs: nobody waits in a circle.
    """
    ended = wanted.filter(state__in=HELD).select_for_update().order_by("pk")
    held = list(ended.values_list("pk", "hit_id", "study_id"))
    Assignment.objects.filter(pk__in=[pk for pk, _, _ in held]).update(state=state)
    for study in Study.objects.filter(pk__in={study for _, _, study in held}):
        freed = Counter(hit for _, hit, of in held if of == study.pk and hit is not None)
        reopen_slots(study=study, freed=freed)
    return len(held)
