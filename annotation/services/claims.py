"""Taking and giving back HITs.

A seat is taken by a guarded update of the HIT's open slots, so that SQLite and PostgreSQL agree on who got the
last one, and held by unique constraints: one seat, one live assignment. Whoever frees a seat gives the slot back in
the same transaction. Expiry is looked at when work is asked for and when a study closes, never by a clock of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from annotation.errors import AlreadyEnded, NotJoined
from annotation.models import Assignment, Participation, Worker
from annotation.models.assignments import LIVE, AssignmentQuerySet
from annotation.presentation import Place, draw_layout, placed, places_of, units_of_hit
from annotation.services.admission import has_done_all, refuse_unqualified
from annotation.services.own_captions import own_captions, without_own_captions
from annotation.terms import instructions_version
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
        NotAdmitted: they hold nothing, and a quiz or a requirement comes before more work.
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

    It reads outside of a transaction, so that on SQLite nobody waits for it; it writes only to free seats whose
    lease ended, when nothing else is left.

    Raises:
        NotJoined: the worker did not join the study.
        NotAdmitted: they hold nothing, and a quiz or a requirement comes before more work.
    """
    now = timezone.now()
    part = Participation.objects.filter(study=study, worker=worker)
    participation = part.annotate(wrote=Exists(own_captions(study, worker))).first()
    if participation is None:
        raise NotJoined("You have not joined this study.")
    accepted = Assignment.objects.filter(study=study, state=Assignment.State.ACCEPTED)
    found = list(accepted.filter(Q(worker=worker) | Q(expires_at__lte=now)))
    overdue = [one for one in found if one.expires_at is not None and one.expires_at <= now]
    for held in found:
        if held not in overdue and (besides is None or held.pk != besides.pk):
            return Claim(assignment=held, created=False, places=places_of(held))
    design = design_of(study)
    refuse_unqualified(study=study, design=design, worker=worker)
    if has_done_all(study=study, design=design, worker=worker):
        return None
    window = (
        [] if any(one.worker_id == worker.pk for one in overdue) else _next_hits(study, worker, participation)
    )
    if not window and overdue:
        # seats of others are freed only once they are needed: most pages need not pay for it
        wanted = Assignment.objects.overdue(now).filter(pk__in=[one.pk for one in overdue])
        _free(wanted, Assignment.State.EXPIRED)
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
    """The next open HITs that the worker has not done; the search starts where the last one ended.

    What the worker gave back or let expire comes again only when nothing else is left.
    """
    mine = Assignment.objects.filter(hit=OuterRef("pk"), worker=worker)
    open_hits = HIT.objects.filter(study=study, open_slots__gt=0).order_by("position")
    if getattr(participation, "wrote", True):  # hardly anybody: the others are not made to pay for it
        open_hits = without_own_captions(open_hits, study=study, worker=worker)
    fresh = open_hits.filter(~Exists(mine))
    window = list(fresh.filter(position__gte=participation.cursor)[:WINDOW])
    if not window and participation.cursor:
        window = list(fresh[:WINDOW])  # seats that were given back behind the cursor
    return window or list(open_hits.filter(~Exists(mine.filter(state__in=LIVE)))[:WINDOW])


def take(offer: Offer) -> Claim | None:
    """Take a seat of the HIT, within the caller's transaction; None where the study takes no more work of this worker:
    it was closed meanwhile, or is rehearsed (a person may have joined before), or is not (and this one is simulated).

    Raises:
        Beaten: another worker was faster; undo the transaction and look again.
        IntegrityError: this worker took a HIT in another window; likewise.
    """
    study, hit, worker = offer.study, offer.hit, offer.worker
    simulated = worker.source == Worker.Source.REHEARSAL
    if not Study.objects.filter(pk=study.pk, state=Study.State.OPEN, simulated=simulated).exists():
        return None
    if not HIT.objects.filter(pk=hit.pk, open_slots__gt=0).update(open_slots=F("open_slots") - 1):
        raise Beaten
    if offer.participation.cursor != offer.cursor:
        Participation.objects.filter(pk=offer.participation.pk).update(cursor=offer.cursor)
    taken = set(Assignment.objects.filter(hit=hit, state__in=LIVE).values_list("seat", flat=True))
    design, now = design_of(study), timezone.now()
    layout = draw_layout(design=design, hit=hit, worker=worker, units=offer.units)
    assignment = Assignment.objects.create(
        study=study,
        hit=hit,
        worker=worker,
        seat=min(set(range(hit.required)) - taken),
        accepted_at=now,
        expires_at=now + timedelta(minutes=design.crowd.lease_minutes),
        order=layout.order,
        flips=layout.sides,
        consent_version=offer.participation.consent_version,
        instructions_version=instructions_version(design),
        simulated=simulated,
    )
    return Claim(assignment=assignment, created=True, places=placed(offer.units, layout.order, layout.sides))


def return_assignment(*, assignment: Assignment) -> None:
    """Give a HIT back; what was answered stays in the row. Doing it twice changes nothing.

    Raises:
        AlreadyEnded: it was submitted.
    """
    if _free(Assignment.objects.filter(pk=assignment.pk), Assignment.State.RETURNED):
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
    return _free(overdue, Assignment.State.EXPIRED)


@transaction.atomic
def _free(wanted: AssignmentQuerySet, state: Assignment.State) -> int:
    """Accepted -> ``state``, and the slots back, in one transaction and few queries for any number; how many of
    ``wanted`` were accepted still.

    Everybody locks assignments, in the order of their ids, before HITs: nobody waits in a circle.
    """
    accepted = wanted.filter(state=Assignment.State.ACCEPTED).select_for_update().order_by("pk")
    hits = dict(accepted.values_list("pk", "hit_id"))
    Assignment.objects.filter(pk__in=hits).update(state=state)
    freed = Counter(hit for hit in hits.values() if hit is not None)
    for slots in set(freed.values()):
        same = [hit for hit, count in freed.items() if count == slots]
        HIT.objects.filter(pk__in=same).update(open_slots=F("open_slots") + slots)
    return len(hits)
