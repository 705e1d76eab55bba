"""Taking and giving back HITs.

A seat is taken by a guarded update of the HIT's open slots, so that SQLite and PostgreSQL agree on who got the
last one, and held by unique constraints: one seat, one live assignment. Whoever frees a seat gives the slot back in
the same transaction. Expiry is looked at when work is asked for, never by a clock of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from annotation.errors import AlreadyEnded, NotJoined
from annotation.models import Assignment, Participation, Worker
from annotation.models.assignments import LIVE
from annotation.presentation import Place, draw_flips, placed, places_of, units_of_hit
from judgments.draws import rng_for
from judgments.models import HIT, Study, Unit
from judgments.services.studies import design_of

WINDOW = 8  # of so many next HITs one is drawn, so that workers who come together do not queue for one row
ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Claim:
    """The HIT a worker holds, with its units as placed; ``created`` is False where it was held before."""

    assignment: Assignment
    created: bool
    places: list[Place]


def claim_assignment(*, study: Study, worker: Worker) -> Claim | None:
    """Give the worker the HIT they hold, or the next one; None when nothing is left for them.

    Raises:
        NotJoined: the worker did not join the study.
    """
    for attempt in range(ATTEMPTS):
        found = look_for_hit(study, worker, attempt=attempt)
        if not isinstance(found, Offer):
            return found
        try:
            with transaction.atomic():
                return take(found)
        except (Beaten, IntegrityError):
            continue  # nothing of the attempt was kept; look again
    return None


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


def look_for_hit(
    study: Study, worker: Worker, *, attempt: int = 0, besides: Assignment | None = None
) -> Claim | Offer | None:
    """What the worker holds (``besides`` apart), or a HIT they could take, or None when nothing is left.

    It only reads, outside of a transaction: on SQLite nobody waits for it.

    Raises:
        NotJoined: the worker did not join the study.
    """
    now = timezone.now()
    participation = Participation.objects.filter(study=study, worker=worker).first()
    if participation is None:
        raise NotJoined("You have not joined this study.")
    accepted = Assignment.objects.filter(study=study, state=Assignment.State.ACCEPTED)
    for assignment in accepted.filter(Q(worker=worker) | Q(expires_at__lte=now)):
        if assignment.expires_at is not None and assignment.expires_at <= now:
            _free(assignment, Assignment.State.EXPIRED)
        elif besides is None or assignment.pk != besides.pk:
            return Claim(assignment=assignment, created=False, places=places_of(assignment))
    window = _next_hits(study, worker, participation)
    if not window:
        return None
    rng = rng_for(attempt, f"hit {worker.name} {window[0].key}")
    hit = window[int(rng.integers(len(window)))]
    return Offer(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=window[0].position,
        units=units_of_hit(hit.pk),
    )


def _next_hits(study: Study, worker: Worker, participation: Participation) -> list[HIT]:
    """The next open HITs that the worker has not done; the search starts where the last one ended."""
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, state__in=LIVE)
    open_hits = HIT.objects.filter(study=study, open_slots__gt=0).filter(~Exists(mine)).order_by("position")
    window = list(open_hits.filter(position__gte=participation.cursor)[:WINDOW])
    if not window and participation.cursor:
        window = list(open_hits[:WINDOW])  # seats that were given back behind the cursor
    return window


def take(offer: Offer) -> Claim | None:
    """Take a seat of the HIT, within the caller's transaction; None where the study was closed meanwhile.

    Raises:
        Beaten: another worker was faster; undo the transaction and look again.
        IntegrityError: this worker took a HIT in another window; likewise.
    """
    study, hit, worker = offer.study, offer.hit, offer.worker
    if not Study.objects.filter(pk=study.pk, state=Study.State.OPEN).exists():
        return None
    if not HIT.objects.filter(pk=hit.pk, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        raise Beaten
    if offer.participation.cursor != offer.cursor:
        Participation.objects.filter(pk=offer.participation.pk).update(cursor=offer.cursor)
    taken = set(Assignment.objects.filter(hit=hit, state__in=LIVE).values_list("seat", flat=True))
    design, now = design_of(study), timezone.now()
    flips = draw_flips(design=design, hit=hit, worker=worker, count=len(offer.units))
    assignment = Assignment.objects.create(
        study=study,
        hit=hit,
        worker=worker,
        seat=min(set(range(hit.required)) - taken),
        accepted_at=now,
        expires_at=now + timedelta(minutes=design.crowd.lease_minutes),
        flips=flips,
        simulated=worker.source == Worker.Source.REHEARSAL,
    )
    return Claim(assignment=assignment, created=True, places=placed(offer.units, flips))


@transaction.atomic
def return_assignment(*, assignment: Assignment) -> None:
    """Give a HIT back; what was answered stays in the row. Doing it twice changes nothing.

    Raises:
        AlreadyEnded: it was submitted.
    """
    if _free(assignment, Assignment.State.RETURNED):
        # the next search begins behind this HIT: nobody wants the page they just gave back
        Participation.objects.filter(study_id=assignment.study_id, worker_id=assignment.worker_id).update(
            cursor=F("cursor") + 1
        )
        assignment.state = Assignment.State.RETURNED
        return
    assignment.refresh_from_db(fields=["state"])
    if assignment.state not in (Assignment.State.RETURNED, Assignment.State.EXPIRED):
        raise AlreadyEnded(
            "Your answers were submitted and stay; this page of work cannot be returned any more."
        )


def expire_overdue(*, study: Study, now: datetime | None = None) -> int:
    """Free the seats whose lease ended; how many there were."""
    overdue = Assignment.objects.overdue(now or timezone.now()).filter(study=study)
    return sum(_free(assignment, Assignment.State.EXPIRED) for assignment in overdue)


def _free(assignment: Assignment, state: Assignment.State) -> bool:
    """Accepted -> ``state``, and the slot back, in one transaction; False when it was not accepted any more."""
    with transaction.atomic():
        moved = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.ACCEPTED).update(
            state=state
        )
        if moved and assignment.hit_id is not None:
            HIT.objects.filter(pk=assignment.hit_id).update(open_slots=F("open_slots") + 1)
    return bool(moved)
