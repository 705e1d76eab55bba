"""Apply the results of crowd calls to our rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.crowds import backend_of
from annotation.crowds.base import Ability
from annotation.crowds.outbox import ask_to_take_down
from annotation.models import Assignment, CrowdCall, CrowdSession, LedgerEntry, Publication
from annotation.money.ledger import (
    hold_places,
    pay_session,
    release_call,
    release_places,
    reserve_for_call,
    spend_call,
    unpay_session,
)
from judgments.models import Study

UNDECIDED = (CrowdSession.Status.WORKING, CrowdSession.Status.SUBMITTED)


@transaction.atomic
def release_unfilled(*, publication: Publication) -> int:
    """Release the money of untaken slots once nobody new is admitted; return their number.

    Crowds that report open slots (``Ability.LIST``) are synchronised instead.
    """
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


Status = CrowdSession.Status
DECIDED = (Status.APPROVED, Status.REJECTED)


def note_done(call: CrowdCall) -> None:
    effect = EFFECTS.get(call.kind)
    if effect is not None:
        effect(call)


def note_parked(call: CrowdCall) -> None:
    release_call(call=call)
    if call.kind == Ability.PUBLISH and call.publication is not None:
        Publication.objects.filter(pk=call.publication.pk, state=Publication.State.PLANNED).update(
            state=Publication.State.WITHDRAWN
        )


def _published(call: CrowdCall) -> None:
    publication = _publication(call)
    until = parse_datetime(call.answer.get("expires_at", "") or "")
    Publication.objects.filter(
        pk=publication.pk, state__in=[Publication.State.PLANNED, Publication.State.WITHDRAWN]
    ).update(
        state=Publication.State.PUBLISHED,
        external_id=call.answer["external_id"],
        group_id=call.answer.get("group_id", ""),
        expires_at=until or publication.expires_at,
    )
    _reserve_again(call)
    hold_places(call=call, publication=publication, places=publication.places)
    if Study.objects.filter(pk=publication.study_id, state=Study.State.CLOSED).exists():
        ask_to_take_down(publication=publication, by=call.made_by)


def _reserve_again(call: CrowdCall) -> None:
    reserve_for_call(call=call, cents=int(call.payload.get("cents", 0)))


def _extended(call: CrowdCall) -> None:
    """Apply more slots or time. The external HIT is open again, with the slots that were released."""
    publication = Publication.objects.select_for_update().get(pk=_publication(call).pk)
    places, until = (
        int(call.payload.get("places", 0)),
        parse_datetime(call.payload.get("expires_at", "") or ""),
    )
    reopened = int(call.payload.get("reopened", 0))
    decided = publication.sessions.exclude(booked="").count()
    # a second request before the first was sent finds the slots reserved
    empty = max(0, publication.places + places - publication.held - decided)
    Publication.objects.filter(pk=publication.pk).update(
        places=F("places") + places,
        expires_at=until or publication.expires_at,
        state=Publication.State.PUBLISHED,
    )
    if places + reopened:
        _reserve_again(call)
        hold_places(call=call, publication=publication, places=min(places + reopened, empty))


def _expired(call: CrowdCall) -> None:
    """Close to new workers. A sync releases open slots once nobody is at work."""
    publication = _publication(call)
    Publication.objects.filter(pk=publication.pk, state=Publication.State.PUBLISHED).update(
        state=Publication.State.EXPIRED, expires_at=timezone.now()
    )
    release_unfilled(publication=publication)


def _approved(call: CrowdCall) -> None:
    release_call(
        call=call
    )  # was reserved for an approval that overrides a rejection: the payment reserves it again
    _settled(call, Status.APPROVED)


def _rejected(call: CrowdCall) -> None:
    _settled(call, Status.REJECTED)


def _settled(call: CrowdCall, asked: str) -> None:
    """Take over the crowd's status: somebody else, or the crowd itself, may have decided before."""
    status = call.answer.get("status", asked)
    settle_session(session=_session(call), status=status, feedback=call.why if status == asked else "")


def _paid_bonus(call: CrowdCall) -> None:
    _reserve_again(call)
    spend_call(call=call)


EFFECTS: dict[str, Callable[[CrowdCall], None]] = {
    Ability.PUBLISH: _published,
    Ability.EXTEND: _extended,
    Ability.EXPIRE: _expired,
    Ability.APPROVE: _approved,
    Ability.REJECT: _rejected,
    Ability.BONUS: _paid_bonus,
}


@transaction.atomic
def settle_session(
    *, session: CrowdSession, status: str, decided_at: datetime | None = None, feedback: str = ""
) -> bool:
    """Book that the crowd paid or rejected a session, and update its assignments.

    Return whether anything changed. The crowd's status wins over ours.

    Raises:
        OverBudget: an approval of rejected work for which nothing is left; nothing changes.
    """
    work = Assignment.objects.filter(session=session)
    pages = list(work.select_for_update().order_by("pk").values_list("pk", flat=True))
    locked = (
        CrowdSession.objects.select_for_update().select_related("publication", "study").get(pk=session.pk)
    )
    if status not in DECIDED or locked.status == status or locked.booked == CrowdSession.Booked.SPENT:
        return False
    locked.status = status
    if status == Status.APPROVED:
        pay_session(session=locked)
        locked.booked = CrowdSession.Booked.SPENT
        state, reason = Assignment.State.APPROVED, ""
        changes = Assignment.objects.filter(pk__in=pages, state__in=["submitted", "rejected"])
    else:
        unpay_session(session=locked)
        locked.booked = CrowdSession.Booked.RELEASED
        state, reason = Assignment.State.REJECTED, feedback[:500]
        changes = Assignment.objects.filter(pk__in=pages, state__in=["submitted", "approved"])
    locked.decided_at = decided_at or timezone.now()
    locked.feedback = feedback[:1024]
    locked.save(update_fields=["status", "booked", "decided_at", "feedback"])
    changes.update(state=state, reason=reason)
    return True


def _publication(call: CrowdCall) -> Publication:
    assert call.publication is not None  # set when the call was written
    return Publication.objects.get(pk=call.publication.pk)


def _session(call: CrowdCall) -> CrowdSession:
    assert call.session is not None  # as above
    return call.session


__all__ = ["DECIDED", "note_done", "note_parked", "settle_session"]
