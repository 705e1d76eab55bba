"""People who take a HIT, let its lease end, or hand it in; and the books of slots."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.models import Assignment, Worker
from annotation.models.assignments import LIVE_STATES
from annotation.work.claims import claim_assignment
from annotation.work.sheet.units import page_units_of
from annotation.work.slots.candidates import Claim
from annotation.work.submissions import submit_assignment
from judgments.models import HIT, Study
from tests.studies import make_worker


def claimed(study: Study, worker: Worker) -> Claim:
    claim = claim_assignment(study=study, worker=worker)
    assert claim is not None
    return claim


def take(study: Study, worker: Worker) -> Assignment:
    return claimed(study, worker).assignment


def holding(study: Study) -> tuple[Study, Worker, Assignment]:
    """A worker who joined the study, and the HIT that they took."""
    worker, _ = make_worker(study)
    return study, worker, take(study, worker)


def answers_of(assignment: Assignment, value: int = 1) -> list[dict[str, Any]]:
    return [{"position": place.position, "value": value} for place in page_units_of(assignment)]


def hand_in(assignment: Assignment, value: int = 1) -> None:
    submit_assignment(assignment=assignment, answers=answers_of(assignment, value))


def finish_all(study: Study, worker: Worker) -> list[int | None]:
    """Hand in all HITs that the worker gets; return their ids in order."""
    done = []
    while (claim := claim_assignment(study=study, worker=worker)) is not None:
        hand_in(claim.assignment)
        done.append(claim.assignment.hit_id)
    return done


def let_it_end(assignment: Assignment) -> None:
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def slots_add_up(study: Study) -> bool:
    """Live, open and saved slots make up what each HIT asks for."""
    return all(
        hit.open_slots + hit.spared + hit.assignments.filter(state__in=LIVE_STATES).count() == hit.required
        for hit in HIT.objects.filter(study=study)
    )
