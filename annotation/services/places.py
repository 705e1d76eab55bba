"""Places of a publication that nobody will fill any more."""

from __future__ import annotations

from django.db import transaction

from annotation.backends import Ability, backend_of
from annotation.models import CrowdSession, LedgerEntry, Publication
from annotation.services.money import release_places

UNDECIDED = (CrowdSession.Status.WORKING, CrowdSession.Status.SUBMITTED)


@transaction.atomic
def release_unfilled(*, publication: Publication) -> int:
    """Free the money of places that nobody took, once nobody new is let in; how many there were. Crowds that tell
    themselves what is left there (``Ability.LIST``) are asked instead."""
    closed = Publication.objects.filter(pk=publication.pk, state=Publication.State.EXPIRED)
    if not closed.exists():
        return 0
    locked = Publication.objects.select_for_update().select_related("study").get(pk=publication.pk)
    if Ability.LIST in backend_of(locked.study).can:
        return 0
    waiting = CrowdSession.objects.filter(publication=locked, status__in=UNDECIDED, booked="").count()
    unfilled = max(0, locked.held - waiting)
    number = LedgerEntry.objects.filter(publication=locked, what="release").count()
    released = release_places(publication=locked, places=unfilled, key=f"unfilled:{locked.token}:{number}")
    if not waiting:
        Publication.objects.filter(pk=locked.pk).update(state=Publication.State.FINISHED)
    return unfilled if released else 0
