"""Claim a HIT for a worker: find a candidate, then take its slot under the pause lock."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from annotation.models import Assignment, Worker
from annotation.work.seats import share_pause_lock
from annotation.work.slots.acceptance import SlotLost, accept_reservation, claim_slot
from annotation.work.slots.candidates import CandidateHIT, Claim, find_candidate
from judgments.models import Study

MAX_ATTEMPTS = 20  # HITs to try, since other workers may take the last slot of each first


def claim_assignment(*, study: Study, worker: Worker) -> Claim | None:
    """Return the worker's current, prefetched or next HIT; None if no HIT is left.

    Raises:
        NotJoined, NotAdmitted, WorkPaused, WorkerExcluded, StudyPaused, AddressFull: the worker gets no work now.
    """
    for attempt in range(MAX_ATTEMPTS):
        candidate = find_candidate(study, worker, attempt=attempt)
        try:
            with transaction.atomic():
                if candidate is not None:
                    share_pause_lock(study)
                return commit_claim(candidate)
        except (SlotLost, IntegrityError):
            continue  # the attempt was rolled back; try again
    return None


def commit_claim(candidate: Claim | CandidateHIT | None) -> Claim | None:
    """Take the slot of a candidate, or accept a reservation. Return the claim; None if the worker gets no HIT.

    Call it in a transaction that holds the pause lock.

    Raises:
        SlotLost, IntegrityError: another worker was faster. The caller must find a candidate again.
    """
    if isinstance(candidate, CandidateHIT):
        return claim_slot(candidate)
    if candidate is not None and candidate.assignment.state == Assignment.State.RESERVED:
        return accept_reservation(candidate)
    return candidate
