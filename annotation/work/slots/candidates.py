"""Find the HIT that a worker holds or may take next, before the transaction that takes its slot begins.

If no slot is open, slots are first freed for the worker: expired leases are released, and a silent lease, whose worker
has not answered for long, is ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db.models import DateTimeField, Exists, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.crowds.panel.sessions import session_for_next_hit
from annotation.errors import NotJoined
from annotation.models import Assignment, CrowdSession, Participation, Worker, WrittenCaption
from annotation.models.assignments import LEASED_STATES
from annotation.privacy.consent import refuse_old_consent
from annotation.quality.exclusions import refuse_paused_study, refuse_stopped_worker
from annotation.work.requirements import check_may_work, has_reached_limit
from annotation.work.sheet.units import PageUnit, cached_units_of, page_units_of
from annotation.work.slots.admission import STUDY_OF_CLAIM, WORKER_OF_CLAIM
from annotation.work.slots.open_hits import next_open_hits, prefer_new_controls
from annotation.work.slots.release import release_slots
from annotation.work.slots.silent_leases import end_silent_lease
from annotation.work.slots.suitability import (
    controls_left_out_before,
    controls_seen_before,
    may_repeat_controls,
    seen_control_items,
    used_up_alarms,
    without_own_captions,
)
from annotation.work.stopping import count_leases_by_hit
from common.rows.prepared import PreparedQuery, query_parameter
from judgments.drawing.draws import rng_for
from judgments.models import HIT, Study, Unit
from judgments.studies.designs import design_of, stops_early

RETRY_SECONDS = 15  # the page of a waiting worker reloads after this many seconds

_NOW_PARAMETER = query_parameter("now", DateTimeField())
_PARTICIPATION_QUERY: PreparedQuery[Any] = PreparedQuery(
    lambda: Participation.objects.filter(study=STUDY_OF_CLAIM, worker=WORKER_OF_CLAIM).annotate(
        wrote_captions=Exists(
            WrittenCaption.objects.written_by(WORKER_OF_CLAIM, dataset_id=query_parameter("dataset"))
        ),
        # A StudyAlarm is stored when a HIT of the worker first lacks control items, because they have seen them before.
        used_up_controls=Exists(used_up_alarms(STUDY_OF_CLAIM, WORKER_OF_CLAIM)),
        has_begun=Exists(Assignment.objects.filter(study=STUDY_OF_CLAIM, worker=WORKER_OF_CLAIM)),
    )
)
_LEASES_QUERY = PreparedQuery(
    lambda: (
        Assignment.objects.filter(
            Q(worker=WORKER_OF_CLAIM) | Q(expires_at__lte=_NOW_PARAMETER),
            study=STUDY_OF_CLAIM,
            state__in=LEASED_STATES,
        )
        .select_related("hit")
        .order_by("state", "accepted_at")
    )
)


@dataclass(frozen=True, slots=True)
class Claim:
    """An assignment that the worker holds, with the units of its page. ``is_new`` is false if they held it before."""

    assignment: Assignment
    is_new: bool
    page_units: list[PageUnit]


@dataclass(frozen=True, slots=True)
class CandidateHIT:
    """A HIT that the worker may take, with all data that can be read before the transaction.

    Attributes:
        cursor: the position from which the worker's next search for a HIT begins.
        units: the units of the HIT. Requests share the list, so it may not be changed.
        excluded_units: row ids of units that the worker does not get, since they are control items that the worker has
            seen in another HIT.
        session: the session of a worker sent by a panel; None for others.
    """

    study: Study
    worker: Worker
    participation: Participation
    hit: HIT
    cursor: int
    units: list[Unit]
    excluded_units: frozenset[int]
    session: CrowdSession | None = None


def prepare_candidate(
    study: Study, worker: Worker, *, attempt: int = 0, ignored_assignment: Assignment | None = None
) -> Claim | CandidateHIT | None:
    """Return the claim of the HIT that the worker holds, else a candidate for a new claim; None if no HIT is left.

    Call it outside a transaction, so that nobody waits for its reads on SQLite. A HIT in progress may be finished while
    the worker or the study is paused.

    Args:
        attempt: the number of candidates that other workers took before the caller. It changes which HIT is chosen.
            Silent leases are ended only at the first attempt.
        ignored_assignment: an assignment that the worker holds, if the HIT after it is wanted.
    """
    participation = _find_participation(study, worker)
    leases, expired_leases = _find_leases(study, worker)
    ignored_id = None if ignored_assignment is None else ignored_assignment.pk
    current_lease = next((lease for lease in leases if lease.pk != ignored_id), None)
    if current_lease is None or current_lease.state == Assignment.State.RESERVED:  # no HIT is begun
        refuse_stopped_worker(participation.standing)
        refuse_paused_study(study)
        refuse_old_consent(study=study, worker=worker, agreed_to=participation.consent_version)
    if current_lease is not None:
        return Claim(assignment=current_lease, is_new=False, page_units=page_units_of(current_lease))
    design = design_of(study)
    check_may_work(study=study, design=design, worker=worker)
    session = None
    if worker.source == Worker.Source.CROWD:
        session = session_for_next_hit(study=study, design=design, worker=worker)
        if session is None:
            return None
    if has_reached_limit(study=study, design=design, worker=worker):
        return None
    may_end_silent = ignored_assignment is None and not attempt  # not while the worker holds a HIT
    hits = _find_or_free_hits(study, worker, participation, expired_leases, end_silent=may_end_silent)
    if not hits:
        return None
    may_repeat = participation.has_begun and may_repeat_controls(study)
    items_by_hit = seen_control_items(study, worker) if may_repeat else {}
    seen_items = set(chain.from_iterable(items_by_hit.values()))
    if seen_items and not participation.used_up_controls:  # the worker may find a HIT whose controls are new
        hits = prefer_new_controls(study, worker, participation, hits, seen_items)
    hit = _choose_hit(study, worker, hits, attempt)
    units = cached_units_of(hit)
    if hit.pk in items_by_hit:  # a HIT that the worker had before looks as it did then
        excluded_units = controls_left_out_before(hit, worker, units)
    else:
        excluded_units = controls_seen_before(study, units, seen_items)
    return CandidateHIT(
        study=study,
        worker=worker,
        participation=participation,
        hit=hit,
        cursor=hits[0].position,
        units=units,
        excluded_units=excluded_units,
        session=session,
    )


def _find_participation(study: Study, worker: Worker) -> Any:
    """Return the worker's participation, with the annotations of ``_PARTICIPATION_QUERY``.

    Most claims need no other query about captions, control items and assignments of the worker.
    """
    participation = _PARTICIPATION_QUERY.first(study=study.pk, worker=worker.pk, dataset=study.dataset_id)
    if participation is None:
        raise NotJoined(_("You have not joined this study."))
    return participation


def _find_leases(study: Study, worker: Worker) -> tuple[list[Assignment], list[Assignment]]:
    """Return the leases that the worker still holds, accepted before reserved ones, and the study's expired leases.

    The worker's own reservation is held even after it expired, until another worker needs its slot.
    """
    now = timezone.now()
    held_leases: list[Assignment] = []
    expired_leases: list[Assignment] = []
    for lease in _LEASES_QUERY.all_rows(study=study.pk, worker=worker.pk, now=now):
        lease.study = study
        is_own_reservation = lease.worker_id == worker.pk and lease.state == Assignment.State.RESERVED
        is_expired = lease.expires_at is not None and lease.expires_at <= now
        if is_expired and not is_own_reservation:
            expired_leases.append(lease)
        else:
            held_leases.append(lease)
    return held_leases, expired_leases


def _find_or_free_hits(
    study: Study, worker: Worker, participation: Any, expired_leases: list[Assignment], *, end_silent: bool
) -> list[HIT]:
    """Return HITs with an open slot. If there is none, release expired leases, then end a silent one.

    If the worker has one of the expired leases, these are released first, since a worker may hold only one HIT at a
    time.
    """
    hits: list[HIT] = []
    if not any(lease.worker_id == worker.pk for lease in expired_leases):
        hits = next_open_hits(study, worker, participation)
    if not hits and expired_leases:
        ids = [lease.pk for lease in expired_leases]
        overdue_leases = Assignment.objects.overdue(timezone.now()).filter(pk__in=ids)
        release_slots(overdue_leases, Assignment.State.EXPIRED)
        hits = next_open_hits(study, worker, participation)
    if not hits and end_silent and end_silent_lease(study, worker, participation):
        hits = next_open_hits(study, worker, participation)
    return hits


def free_hit_for(*, study: Study, worker: Worker) -> bool:
    """Return whether there is a HIT for a worker who holds none. If no slot is open, free one, as a claim would.

    Nothing is freed while the worker or the study is paused.
    """
    participation = _find_participation(study, worker)
    _held_leases, expired_leases = _find_leases(study, worker)
    may_claim = participation.standing == Participation.Standing.ACTIVE and study.paused_at is None
    releasable_leases = expired_leases if may_claim else []
    return bool(_find_or_free_hits(study, worker, participation, releasable_leases, end_silent=may_claim))


def may_get_a_hit_later(*, study: Study, worker: Worker) -> bool:
    """Return whether a worker for whom no HIT is left may get one that somebody holds now, if its lease ends."""
    if study.state != Study.State.OPEN:
        return False
    if has_reached_limit(study=study, design=design_of(study), worker=worker):
        return False
    own_assignments = Assignment.objects.filter(study=study, worker=worker)
    other_hits = HIT.objects.filter(study=study).exclude(assignments__in=own_assignments.finished())
    leases = Assignment.objects.filter(study=study, state__in=LEASED_STATES)
    held_hits = other_hits.filter(assignments__in=leases)
    return without_own_captions(held_hits, study=study, worker=worker).exists()


def _choose_hit(study: Study, worker: Worker, hits: list[HIT], attempt: int) -> HIT:
    """Draw a HIT from ``hits``, so that simultaneous workers do not all wait for the first one.

    With early stopping, choose a HIT with few assignments in progress, so that votes arrive one after the other.
    """
    if stops_early(study):
        lease_counts = count_leases_by_hit([hit.pk for hit in hits])
        hits_by_load = sorted(hits, key=lambda hit: (lease_counts[hit.pk], hit.position))
        return hits_by_load[attempt % len(hits_by_load)]
    rng = rng_for(attempt, f"hit {worker.name} {hits[0].key}")  # the attempt is the seed
    return hits[int(rng.integers(len(hits)))]
