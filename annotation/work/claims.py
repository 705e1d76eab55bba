"""Claim a HIT for a worker: prepare a candidate outside a transaction, then take its slot under the pause lock.

The pause lock (``annotation.work.seats``) keeps a study from being paused or closed between the check and the claim.
If another worker or browser window is faster, the transaction is rolled back, and another candidate is tried.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction

from annotation.models import Assignment, Worker
from annotation.work.seats import share_pause_lock
from annotation.work.slots.acceptance import SlotLost, accept_reservation, claim_slot
from annotation.work.slots.candidates import CandidateHIT, Claim, prepare_candidate
from judgments.models import Study

MAX_ATTEMPTS = 20  # HITs to try, since other workers may take the last slot of each first


def claim_assignment(*, study: Study, worker: Worker) -> Claim | None:
    """Claim the worker's next HIT, and return the claim. A current or reserved HIT is claimed first.

    Return None if no HIT is left, or if the last attempt lost its slot to others.

    Raises:
        NotJoined, NotAdmitted, WorkPaused, WorkerExcluded, StudyPaused, AddressFull: the worker gets no work now.
        IntegrityError: even the last attempt raised one. Races with others hardly cause that many.
    """
    for attempt in range(MAX_ATTEMPTS):
        candidate = prepare_candidate(study, worker, attempt=attempt)
        try:
            with transaction.atomic():
                if candidate is not None:
                    share_pause_lock(study)
                return commit_claim(candidate)
        except SlotLost:
            continue
        except IntegrityError:
            # another window of the worker was faster; the next attempt finds the HIT that was claimed there
            if attempt == MAX_ATTEMPTS - 1:
                raise
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
    return candidate  # a HIT that is already in progress, or None
