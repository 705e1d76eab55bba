"""Let participants leave a study. They are erased at once, or their request is stored."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.models import Assignment, ErasureRequest, Participation, Worker
from annotation.privacy.erasing import ErasureResult, erase_person
from annotation.privacy.people import why_not_erasable
from annotation.work.joining import require_participation
from annotation.work.slots.release import release_slots
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study
from judgments.studies.designs import design_of

# the values of ``erasure.offered`` in designs; ``erasure.way`` says whether answers are erased with the identity
NOT_OFFERED, ON_REQUEST, IMMEDIATE = "no", "on-request", "at-once"


def request_erasure(*, study: Study, worker: Worker) -> ErasureResult | ErasureRequest:
    """Erase a participant at once or store their request, as the design says. Repeating changes nothing.

    If the participant is still to be paid, the request is stored in either case.
    """
    rules = design_of(study).erasure
    if rules.offered == NOT_OFFERED or not worker.is_person:
        raise WrongState(
            _(
                "Your data were not erased. To have your data erased, please write to the researchers of "
                "this study."
            )
        )
    require_participation(study=study, worker=worker)
    if rules.offered == IMMEDIATE and not why_not_erasable(study, worker):
        return erase_person(study=study, worker=worker, way=rules.way, asked_at=timezone.now())
    return _create_request(study, worker)


@transaction.atomic
def _create_request(study: Study, worker: Worker) -> ErasureRequest:
    """Store a request, or open a declined one again. The participant gets no more work until it is decided."""
    request, is_new = ErasureRequest.objects.get_or_create(study=study, worker=worker)
    if not is_new and request.state == ErasureRequest.State.WAITING:
        return request
    if not is_new:
        request.state = ErasureRequest.State.WAITING
        request.answer = ""
        request.decided_at = None
        request.asked_at = timezone.now()
        request.save()
    # work of a crowd's session is not released: the participant can submit it, and is paid
    release_slots(
        Assignment.objects.filter(study=study, worker=worker, session=None), Assignment.State.RETURNED
    )
    Participation.objects.filter(study=study, worker=worker, standing=Participation.Standing.ACTIVE).update(
        standing=Participation.Standing.PAUSED
    )
    note_event(study=study, what="erasure-asked", sentence="A participant asks to be erased.")
    return request


def erasure_request_of(study: Study, worker: Worker) -> ErasureRequest | None:
    return ErasureRequest.objects.filter(study=study, worker=worker).first()
