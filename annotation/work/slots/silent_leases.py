"""End the lease of a worker who has sent no answer for long, if another worker waits for a page."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import Assignment, Participation, Worker
from annotation.models.assignments import LEASED_STATES, LIVE_STATES
from annotation.work.seats import SEATS_ALWAYS_ALLOWED, may_take_seat, people_at_same_address
from annotation.work.sheet.units import cached_units_of
from annotation.work.slots.open_hits import hits_without_own_captions
from annotation.work.slots.release import release_slots
from judgments.models import Study
from judgments.studies.designs import design_of, stops_early

# A lease without an answer may end after the duration of a page. If the worker answered other pages, and nobody else
# works at the same address, it lasts at least this long.
MIN_UNANSWERED_TIME = timedelta(minutes=5)
# Answers count as stopped after this time or, if that is longer, after the duration of this many items.
MIN_PAUSE = timedelta(minutes=1)
ITEMS_IN_PAUSE = 3


def end_silent_lease(study: Study, worker: Worker, participation: Participation) -> int:
    """End one lease whose worker has sent no answer for long, so that ``worker`` gets a HIT. Return 1, or 0 for none.

    A lease with answers is due if they have stopped; one without, if the worker has had time for the whole page, since
    without scripts all answers come at its end. Of due leases, one is chosen in this order, and then by the number of
    people at its address, and by how long it has been silent:

    1. at an address (for IPv6 the /64) where more people hold seats than in a household;
    2. without an answer;
    3. with answers, at an address where several people hold seats.
    """
    if worker.source != Worker.Source.LOCAL:
        return 0  # a crowd has promised the slots to its workers
    if study.state != Study.State.OPEN or stops_early(study):
        return 0  # nobody could take the slot; with early stopping, perhaps nobody needs its votes
    if not may_take_seat(study):
        return 0  # the address of the current request holds its share of seats
    now = timezone.now()
    due_leases = (
        lease
        for lease in _silent_leases(study, worker, participation, now)
        if lease.silent_since <= now - _silence_limit(lease, study)
    )
    chosen_lease = next(due_leases, None)
    if chosen_lease is None:
        return 0
    # an answer that arrives now keeps the slot
    still_silent_lease = Assignment.objects.filter(pk=chosen_lease.pk, answered_at=chosen_lease.answered_at)
    return release_slots(still_silent_lease, Assignment.State.EXPIRED)


def _silent_leases(
    study: Study, worker: Worker, participation: Participation, now: datetime
) -> QuerySet[Any]:
    """Return the leases that may be due to end for ``worker``, most urgent first, annotated with:

    - ``silent_since``: when the last answer was saved, or the HIT was accepted
    - ``people_at_address``: the number of people who hold seats at the worker's address; None if it is not stored
    - ``worker_answered``: whether the worker of the lease has answered any page of the study
    """
    answered_assignments = Assignment.objects.filter(study=study).exclude(answers={}, submitted_at=None)
    leases = Assignment.objects.annotate(
        silent_since=Coalesce("answered_at", "accepted_at"),
        people_at_address=people_at_same_address(relation="assignment"),
        worker_answered=Exists(answered_assignments.filter(worker=OuterRef("worker"))),
    )
    silent_leases = leases.select_related("hit").filter(
        Q(people_at_address__gt=1) | Q(answers={}),
        silent_since__lte=now - longest_pause(study),
        study=study,
        state__in=LEASED_STATES,
        worker__source=Worker.Source.LOCAL,
        hit__in=hits_without_own_captions(study, worker, participation).filter(
            ~Exists(Assignment.objects.filter(hit=OuterRef("pk"), worker=worker, state__in=LIVE_STATES))
        ),
    )
    is_crowded = Q(people_at_address__gt=SEATS_ALWAYS_ALLOWED)
    urgency = Case(When(is_crowded, then=0), When(answers={}, then=1), default=2)
    most_people_first = F("people_at_address").desc(nulls_last=True)
    return silent_leases.order_by(urgency, most_people_first, "silent_since")


def _silence_limit(lease: Any, study: Study) -> timedelta:
    """Return the time without an answer after which a lease (of ``_silent_leases``) may be ended for another worker."""
    if lease.answers:
        return longest_pause(study)
    item_count = len(lease.order) or len(cached_units_of(lease.hit))  # an empty order is the HIT's own
    page_time = max(longest_pause(study), item_count * timedelta(seconds=design_of(study).seconds_per_unit))
    is_alone = lease.people_at_address in (None, 1)  # None: no address is stored
    is_trusted = lease.worker_answered and is_alone
    return max(page_time, MIN_UNANSWERED_TIME) if is_trusted else page_time


def longest_pause(study: Study) -> timedelta:
    """Return the time without an answer after which a person counts as no longer at work."""
    return max(MIN_PAUSE, ITEMS_IN_PAUSE * timedelta(seconds=design_of(study).seconds_per_unit))
