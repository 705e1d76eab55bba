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
from judgments.models import HIT, Study
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
        try:
            with transaction.atomic():
                return _claim(study, worker, attempt)
        except _Beaten:
            continue  # nothing of the attempt was kept; look again
        except IntegrityError:
            continue  # the same worker in another window took a HIT between our look and our insert
    return None


class _Beaten(Exception):
    """Another worker took the HIT's last seat first."""


def _claim(study: Study, worker: Worker, attempt: int) -> Claim | None:
    now = timezone.now()
    participation = (
        Participation.objects.filter(study=study, worker=worker)
        .annotate(study_state=F("study__state"))  # as it is now, not as it was when the request began
        .first()
    )
    if participation is None:
        raise NotJoined("You have not joined this study.")
    held, overdue = None, []
    for assignment in Assignment.objects.filter(study=study, state=Assignment.State.ACCEPTED).filter(
        Q(worker=worker) | Q(expires_at__lte=now)
    ):
        if assignment.expires_at is not None and assignment.expires_at <= now:
            overdue.append(assignment)
        else:
            held = assignment
    if held is not None:
        return Claim(assignment=held, created=False, places=places_of(held))
    for assignment in overdue:
        _free(assignment, Assignment.State.EXPIRED)
    if participation.study_state != Study.State.OPEN:
        return None
    hit = _next_hit(study, worker, participation, attempt)
    return _take(hit, study, worker, now) if hit is not None else None


def _next_hit(study: Study, worker: Worker, participation: Participation, attempt: int) -> HIT | None:
    """One of the next open HITs that the worker has not done; the search starts where the last one ended."""
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, state__in=LIVE)
    open_hits = HIT.objects.filter(study=study, open_slots__gt=0).filter(~Exists(mine)).order_by("position")
    window = list(open_hits.filter(position__gte=participation.cursor)[:WINDOW])
    if not window and participation.cursor:
        window = list(open_hits[:WINDOW])  # seats that were given back behind the cursor
    if not window:
        return None
    if window[0].position != participation.cursor:
        participation.cursor = window[0].position
        participation.save(update_fields=["cursor"])
    rng = rng_for(attempt, f"hit {worker.name} {window[0].key}")
    return window[int(rng.integers(len(window)))]


def _take(hit: HIT, study: Study, worker: Worker, now: datetime) -> Claim:
    """Take a seat.

    Raises:
        _Beaten: another worker was faster.
        IntegrityError: this worker took a HIT in another window.
    """
    if not HIT.objects.filter(pk=hit.pk, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        raise _Beaten
    taken = set(Assignment.objects.filter(hit=hit, state__in=LIVE).values_list("seat", flat=True))
    design = design_of(study)
    units = units_of_hit(hit.pk)
    flips = draw_flips(design=design, hit=hit, worker=worker, count=len(units))
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
    return Claim(assignment=assignment, created=True, places=placed(units, flips))


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
