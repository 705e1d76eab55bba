"""Resolve failed calls. A person tries one again or, if its outcome is unknown, says whether it was done."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.crowds.base import Ability
from annotation.crowds.outbox.effects import apply_success
from annotation.models import CrowdCall, Publication
from annotation.money.bookings import reserve_for_call
from common.errors import WrongState
from judgments.access.study_log import note_event
from judgments.models import Study


@transaction.atomic
def retry_call(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """Retry a failed call with a new reservation. This is safe, since the key is unchanged.

    A publish call that was cancelled when the study closed is not retried: reopening the study publishes it.
    """
    is_withdrawn = call.publication is not None and call.publication.state == Publication.State.WITHDRAWN
    if is_withdrawn and call.study.state != Study.State.OPEN:
        raise WrongState(
            "Nothing was changed: the study is not open; open it, which publishes what is missing."
        )
    _reset_failed_call(call, "Nothing was changed: only a failed call can be tried again.", by)
    message = f"A failed call is tried again: {call.kind}."
    note_event(study=call.study, what="call-retried", sentence=message, by=by, call=call.pk)
    return call


@transaction.atomic
def resolve_as_done(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """Mark an indeterminate call as done and spend its reservation. A sync finds the result of a publish call."""
    if call.kind == Ability.PUBLISH:
        raise WrongState(
            "Nothing was changed: ask for the publication again; what stands there already is found."
        )
    # The effect must move the reservation before the row is done (constraint a_call_that_is_done_keeps_no_money).
    failed = CrowdCall.objects.select_for_update().filter(pk=call.pk, state=CrowdCall.State.FAILED).first()
    if failed is None:
        raise WrongState("Nothing was changed: only a failed call can be marked as done.")
    apply_success(failed)
    CrowdCall.objects.filter(pk=call.pk).update(
        state=CrowdCall.State.DONE, done_at=timezone.now(), reserved_cents=0
    )
    _note_resolution(failed, "it was done", by)
    failed.refresh_from_db()
    return failed


@transaction.atomic
def resolve_as_not_done(*, call: CrowdCall, by: User | None = None) -> CrowdCall:
    """Send a call again, since a person found at the crowd that it had no effect."""
    refusal = "Nothing was changed: only a failed call can be marked as not done."
    _reset_failed_call(call, refusal, by, answer={})
    _note_resolution(call, "it was not done, so it is asked for again", by)
    return call


def _reset_failed_call(call: CrowdCall, refusal: str, by: User | None, **changes: object) -> None:
    """Return a failed call to the queue and reserve its cost again.

    Args:
        refusal: the sentence of the WrongState that is raised if the call has not failed.
        changes: further values of fields of the row.
    """
    row_count = CrowdCall.objects.filter(pk=call.pk, state=CrowdCall.State.FAILED).update(
        state=CrowdCall.State.WAITING, next_at=timezone.now(), attempts=0, **changes
    )
    if not row_count:
        raise WrongState(refusal)
    call.refresh_from_db()
    cents = int(call.payload.get("cents", 0))
    if cents and not call.reserved_cents:
        reserve_for_call(call=call, cents=cents, by=by)


def _note_resolution(call: CrowdCall, outcome: str, by: User | None) -> None:
    note_event(
        study=call.study,
        what="looked",
        sentence=f"Somebody looked at {call.platform} after the call {call.key}: {outcome}.",
        by=by,
        call=call.pk,
    )
