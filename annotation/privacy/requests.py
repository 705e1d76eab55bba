"""A participant leaves a study and asks to be erased, from their own page."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.models import Assignment, Case, ErasureRequest, Participation, QualityRule, Worker
from annotation.privacy.erasing import Erased, erase_person, why_not_erasable
from annotation.quality.flags import unpause_worker
from annotation.work.claims import release_slots
from annotation.work.joining import find_worker, require_participation
from common.errors import WrongState
from judgments.models import Study
from judgments.studies.log import note_event
from judgments.studies.studies import design_of

NOT_OFFERED, ON_REQUEST, AT_ONCE = "no", "on-request", "at-once"


def leave(*, study: Study, worker: Worker) -> Erased | ErasureRequest:
    """Let a participant leave: erase them at once, or store their request. Asking twice changes nothing.

    If they are still to be paid, an erasure that the design offers at once becomes a request.
    """
    offered = design_of(study).erasure
    if offered.offered == NOT_OFFERED or not worker.is_person:
        raise WrongState(_("Nothing was changed: please write to the researchers of this study."))
    require_participation(study=study, worker=worker)
    if offered.offered == AT_ONCE and not why_not_erasable(study, worker):
        return erase_person(study=study, worker=worker, way=offered.way, asked_at=timezone.now())
    return _ask(study, worker)


@transaction.atomic
def _ask(study: Study, worker: Worker) -> ErasureRequest:
    request, created = ErasureRequest.objects.get_or_create(study=study, worker=worker)
    if not created and request.state == ErasureRequest.State.WAITING:
        return request
    if not created:
        request.state, request.answer, request.decided_at = ErasureRequest.State.WAITING, "", None
        request.asked_at = timezone.now()
        request.save()
    release_slots(
        Assignment.objects.filter(study=study, worker=worker, session=None), Assignment.State.RETURNED
    )
    Participation.objects.filter(study=study, worker=worker, standing=Participation.Standing.ACTIVE).update(
        standing=Participation.Standing.PAUSED
    )
    note_event(study=study, what="erasure-asked", sentence="A participant asks to be erased.")
    return request


def request_of(study: Study, worker: Worker) -> ErasureRequest | None:
    return ErasureRequest.objects.filter(study=study, worker=worker).first()


@transaction.atomic
def decline(*, study: Study, name: str, why: str, by: User | None) -> None:
    """Decline a waiting request, and let the person work again."""
    worker = find_worker(study, name)
    waiting = ErasureRequest.objects.filter(study=study, worker=worker, state=ErasureRequest.State.WAITING)
    if not waiting.update(state=ErasureRequest.State.DECLINED, answer=why, decided_at=timezone.now()):
        raise WrongState(
            pgettext("staff", "Nothing was changed: %(name)s has no request that waits.")
            % {"name": worker.name}
        )
    flags = Case.objects.filter(study=study, worker=worker, state=Case.State.OPEN)
    if not flags.filter(action=QualityRule.Action.PAUSE).exists():  # another pause is not ours to end
        unpause_worker(study=study, worker=worker)
    note_event(
        study=study, what="erasure-declined", sentence="A request to be erased was declined.", why=why, by=by
    )
