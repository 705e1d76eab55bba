"""Calls of which nobody can tell whether the crowd carried them out: a person looks there, and says."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.backends.base import Ability
from annotation.models import CrowdCall
from annotation.services.effects import note_done
from annotation.services.money import reserve_for_call
from judgments.errors import WrongState
from judgments.services.events import note_event


@transaction.atomic
def say_it_was_done(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """The person found at the crowd that it was carried out: it ends as done, and its money is spent.

    Raises:
        WrongState: the call is not parked, or is to publish: that it was is found by looking for it (say it was not).
    """
    if call.kind == Ability.PUBLISH:
        raise WrongState(
            "Nothing was changed: ask for the publication again; what stands there already is found."
        )
    now = timezone.now()
    # What it kept is moved by its effect, before the row may say done (a_call_that_is_done_keeps_no_money).
    parked = CrowdCall.objects.select_for_update().filter(pk=call.pk, state=CrowdCall.State.PARKED).first()
    if parked is None:
        raise WrongState("Nothing was changed: only of what is parked can it be said that it was done.")
    note_done(parked)
    CrowdCall.objects.filter(pk=call.pk).update(state=CrowdCall.State.DONE, done_at=now, reserved_cents=0)
    _note(parked, "it was done", by)
    parked.refresh_from_db()
    return parked


@transaction.atomic
def say_it_was_not(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """The person found at the crowd that it was not carried out: it is asked for again from the start.

    Raises:
        WrongState: the call is not parked.
        OverBudget: its money was given back, and is not there any more.
    """
    moved = CrowdCall.objects.filter(pk=call.pk, state=CrowdCall.State.PARKED).update(
        state=CrowdCall.State.WAITING, next_at=timezone.now(), attempts=0, answer={}
    )
    if not moved:
        raise WrongState("Nothing was changed: only of what is parked can it be said that it was not done.")
    call.refresh_from_db()
    cents = int(call.payload.get("cents", 0))
    if cents and not call.reserved_cents:
        reserve_for_call(call=call, cents=cents)
    _note(call, "it was not done, so it is asked for again", by)
    return call


def _note(call: CrowdCall, said: str, by: User | None) -> None:
    note_event(
        study=call.study,
        what="looked",
        words=f"Somebody looked at {call.place} after the call {call.key}: {said}.",
        by=by,
        call=call.pk,
    )
