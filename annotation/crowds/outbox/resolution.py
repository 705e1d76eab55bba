"""Resolve failed calls to a crowd. Staff try a call again or, if its outcome is unknown, say whether it was done."""

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
def retry_call(*, call: CrowdCall, by: User | None = None, why: str = "") -> CrowdCall:
    """Let a failed call be sent again, and reserve its cost again.

    The key of the call stays the same, so the crowd does not carry it out twice. A publish call whose publication was
    withdrawn is retried only while the study is open; reopening the study publishes what is missing.
    """
    is_withdrawn = call.publication is not None and call.publication.state == Publication.State.WITHDRAWN
    if is_withdrawn and call.study.state != Study.State.OPEN:
        raise WrongState(
            "Nothing was changed: the study is not open; open it, which publishes what is missing."
        )
    _reset_failed_call(call, "Nothing was changed: only a failed call can be tried again.", by)
    message = f"A failed call is tried again: {call.kind}."
    note_event(study=call.study, what="call-retried", sentence=message, by=by, why=why, call=call.pk)
    return call


@transaction.atomic
def resolve_as_done(*, call: CrowdCall, by: User | None = None, why: str = "") -> CrowdCall:
    """Mark a failed call as done and spend its reservation, since a person found at the crowd that it was done.

    Publish calls are refused: if such a call is tried again, it finds the existing publication.
    """
    if call.kind == Ability.PUBLISH:
        raise WrongState(
            "Nothing was changed: ask for the publication again; what stands there already is found."
        )
    # the effect moves the reserved money first: a database constraint demands that a call that is done reserves none
    call_row = CrowdCall.objects.select_for_update().filter(pk=call.pk, state=CrowdCall.State.FAILED).first()
    if call_row is None:
        raise WrongState("Nothing was changed: only a failed call can be marked as done.")
    apply_success(call_row)
    CrowdCall.objects.filter(pk=call.pk).update(
        state=CrowdCall.State.DONE, done_at=timezone.now(), reserved_cents=0
    )
    _note_resolution(call_row, "it was done", by, why)
    call_row.refresh_from_db()
    return call_row


@transaction.atomic
def resolve_as_not_done(*, call: CrowdCall, by: User | None = None, why: str = "") -> CrowdCall:
    """Let a failed call be sent again, since a person found at the crowd that it had no effect."""
    refusal = "Nothing was changed: only a failed call can be marked as not done."
    _reset_failed_call(call, refusal, by, answer={})  # without notes on the steps of the failed attempt
    _note_resolution(call, "it was not done, so it is asked for again", by, why)
    return call


def _reset_failed_call(call: CrowdCall, refusal: str, by: User | None, **changes: object) -> None:
    """Let a failed call wait to be sent again, with ``changes`` of further fields, and reserve its cost again."""
    row_count = CrowdCall.objects.filter(pk=call.pk, state=CrowdCall.State.FAILED).update(
        state=CrowdCall.State.WAITING, next_at=timezone.now(), attempts=0, **changes
    )
    if not row_count:
        raise WrongState(refusal)
    call.refresh_from_db()
    cents = int(call.payload.get("cents", 0))  # the cost of the call, if it has one
    if cents and not call.reserved_cents:
        reserve_for_call(call=call, cents=cents, by=by)


def _note_resolution(call: CrowdCall, outcome: str, by: User | None, why: str) -> None:
    note_event(
        study=call.study,
        what="looked",
        sentence=f"Somebody looked at {call.platform} after the call {call.key}: {outcome}.",
        by=by,
        why=why,
        call=call.pk,
    )
