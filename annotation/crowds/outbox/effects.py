"""Store the effects of outbox messages that a crowd carried out: on publications, sessions and money.

``settle_session`` books a decision on a session, whether an outbox message asked for it or the crowd reported it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.crowds import backend_of
from annotation.crowds.base import Ability
from annotation.crowds.outbox.messages import ask_to_take_down
from annotation.models import Assignment, CrowdCall, CrowdSession, Publication
from annotation.money.bookings import (
    hold_places,
    pay_session,
    release_places,
    release_rejected_session,
    release_reservation,
    reserve_again,
    spend_bonus,
)
from judgments.models import Study

Status = CrowdSession.Status
UNDECIDED_STATUSES = (Status.WORKING, Status.SUBMITTED)
DECIDED_STATUSES = (Status.APPROVED, Status.REJECTED)


@transaction.atomic
def release_unfilled(*, publication: Publication) -> int:
    """Release the money for the free places of a publication that is closed to new workers; return their number.

    At crowds that list their work (``Ability.LIST``), this function does nothing: a sync releases the places.
    """
    closed_publications = Publication.objects.filter(pk=publication.pk, state=Publication.State.EXPIRED)
    locked_publication = closed_publications.select_for_update(of=("self",)).select_related("study").first()
    if locked_publication is None or Ability.LIST in backend_of(locked_publication.study).can:
        return 0
    # these sessions keep their places: neither a payment nor a rejection of them is booked
    undecided_count = CrowdSession.objects.filter(
        publication=locked_publication, status__in=UNDECIDED_STATUSES, booked=""
    ).count()
    free_count = max(0, locked_publication.held_slots - undecided_count)
    is_released = release_places(publication=locked_publication, places=free_count)
    if not undecided_count:
        Publication.objects.filter(pk=locked_publication.pk).update(state=Publication.State.FINISHED)
    return free_count if is_released else 0


def apply_success(call: CrowdCall) -> None:
    """Store the effect of a call that the crowd carried out."""
    effect = EFFECTS.get(call.kind)
    if effect is not None:
        effect(call)


def apply_failure(call: CrowdCall) -> None:
    """Release the reservation of a call that had no effect. Withdraw the publication of a publish call."""
    release_reservation(call=call)
    if call.kind == Ability.PUBLISH and call.publication is not None:
        Publication.objects.filter(pk=call.publication.pk, state=Publication.State.PLANNED).update(
            state=Publication.State.WITHDRAWN
        )


def _apply_publishing(call: CrowdCall) -> None:
    """Store the publication's id at the crowd, and hold the money for its places.

    The crowd's answer is stored in the call, such as ``{"external_id": "3XYZ", "group_id": "3ABC"}``.
    """
    publication = call.current_publication()
    expires_at = parse_datetime(call.answer.get("expires_at", "") or "")
    # the publication is withdrawn if the call had failed before, and was then retried or found to be done
    Publication.objects.filter(
        pk=publication.pk, state__in=[Publication.State.PLANNED, Publication.State.WITHDRAWN]
    ).update(
        state=Publication.State.PUBLISHED,
        external_id=call.answer["external_id"],
        group_id=call.answer.get("group_id", ""),
        expires_at=expires_at or publication.expires_at,
    )
    reserve_again(call=call, cents=int(call.payload.get("cents", 0)))  # if a failure had released it
    hold_places(
        call=call, publication=publication, places=publication.places, screen_outs=publication.screen_outs
    )
    if Study.objects.filter(pk=publication.study_id, state=Study.State.CLOSED).exists():
        ask_to_take_down(publication=publication, by=call.made_by)


def _apply_extension(call: CrowdCall) -> None:
    """Store the added places, screen-outs or time of a publication, which is open again.

    Money is held for added places and for reopened ones, whose money was released, but for no more than are free. A
    payload is such as ``{"places": 2, "reopened": 1, "screen_outs": 0, "screen_outs_again": 0, "cents": 180}``.
    """
    publication = Publication.objects.select_for_update().get(pk=call.current_publication().pk)
    places, reopened_places = int(call.payload.get("places", 0)), int(call.payload.get("reopened", 0))
    added_screen_outs = int(call.payload.get("screen_outs", 0))
    reopened_screen_outs = int(call.payload.get("screen_outs_again", 0))
    expires_at = parse_datetime(call.payload.get("expires_at", "") or "")
    decided_count = publication.sessions.exclude(booked="").count()
    # free of held money and of decided sessions; another extension may hold money for the same places already
    free_count = max(0, publication.places + places - publication.held_slots - decided_count)
    Publication.objects.filter(pk=publication.pk).update(
        places=F("places") + places,
        screen_outs=F("screen_outs") + added_screen_outs,
        expires_at=expires_at or publication.expires_at,
        state=Publication.State.PUBLISHED,
    )
    if places + reopened_places + added_screen_outs + reopened_screen_outs:
        reserve_again(call=call, cents=int(call.payload.get("cents", 0)))
        paid_count = publication.entries.filter(what="screened-out").count()
        screen_outs = publication.screen_outs + added_screen_outs
        unpaid_count = max(0, screen_outs - publication.screen_outs_held - paid_count)
        hold_places(
            call=call,
            publication=publication,
            places=min(places + reopened_places, free_count),
            screen_outs=min(added_screen_outs + reopened_screen_outs, unpaid_count),
        )


def _apply_expiry(call: CrowdCall) -> None:
    """Store that the HIT is closed to new workers, and release its free places if no sync does so later."""
    publication = call.current_publication()
    Publication.objects.filter(pk=publication.pk, state=Publication.State.PUBLISHED).update(
        state=Publication.State.EXPIRED, expires_at=timezone.now()
    )
    release_unfilled(publication=publication)


def _apply_decision(call: CrowdCall) -> None:
    """Store the crowd's decision. It differs from the requested one if another person had decided before."""
    # an approval after a rejection has reserved money; release it, since the payment below takes it from the budget
    release_reservation(call=call)
    requested_status = Status.APPROVED if call.kind == Ability.APPROVE else Status.REJECTED
    status = call.answer.get("status", requested_status)
    feedback = call.why if status == requested_status else ""
    settle_session(session=call.current_session(), status=status, feedback=feedback)


def _apply_bonus(call: CrowdCall) -> None:
    reserve_again(call=call, cents=int(call.payload.get("cents", 0)))
    spend_bonus(call=call)


EFFECTS: dict[str, Callable[[CrowdCall], None]] = {
    Ability.PUBLISH: _apply_publishing,
    Ability.EXTEND: _apply_extension,
    Ability.EXPIRE: _apply_expiry,
    Ability.APPROVE: _apply_decision,
    Ability.REJECT: _apply_decision,
    Ability.BONUS: _apply_bonus,
}


@transaction.atomic
def settle_session(
    *,
    session: CrowdSession,
    status: str,
    decided_at: datetime | None = None,
    feedback: str = "",
    is_fact: bool = False,
) -> bool:
    """Book that the crowd paid or rejected a session, and update its assignments. Return False if nothing changed.

    ``status`` replaces the stored one if it is one of DECIDED_STATUSES, except that a paid session stays paid.

    Args:
        decided_at: when the crowd decided; default: now.
        feedback: the message to the worker.
        is_fact: whether the crowd has decided already. The payment is then booked even beyond the budget.

    Raises:
        OverBudget: rejected work is approved, and the budget has nothing left; nothing changes.
    """
    # lock assignments before sessions, as a submission does, to avoid deadlocks
    work = Assignment.objects.filter(session=session)
    assignment_ids = list(work.select_for_update().order_by("pk").values_list("pk", flat=True))
    # Do not lock the study's row. A transaction that holds the budget would wait for the study, while this one
    # waits for the budget.
    rows = CrowdSession.objects.select_for_update(of=("self", "publication"))
    locked_session = rows.select_related("publication", "study").get(pk=session.pk)
    if (
        status not in DECIDED_STATUSES
        or locked_session.status == status
        or locked_session.booked == CrowdSession.Booked.SPENT
    ):
        return False
    locked_session.status = status
    if status == Status.APPROVED:
        pay_session(session=locked_session, is_fact=is_fact)
        locked_session.booked = CrowdSession.Booked.SPENT
        state, reason = Assignment.State.APPROVED, ""
        changed_states = [Assignment.State.SUBMITTED, Assignment.State.REJECTED]
    else:
        release_rejected_session(session=locked_session)
        locked_session.booked = CrowdSession.Booked.RELEASED
        state, reason = Assignment.State.REJECTED, feedback[:500]
        changed_states = [Assignment.State.SUBMITTED, Assignment.State.APPROVED]
    locked_session.decided_at = decided_at or timezone.now()
    locked_session.feedback = feedback[:1024]
    locked_session.save(update_fields=["status", "booked", "decided_at", "feedback"])
    assignments = Assignment.objects.filter(pk__in=assignment_ids, state__in=changed_states)
    assignments.update(state=state, reason=reason)
    return True
