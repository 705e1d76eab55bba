"""Orders above the sum that one person may spend. They wait as spending requests until another account confirms them.

An order is one call of an operation that costs money. A request stores the operation's name and arguments, and a digest
of the study's design, state and cost. It is carried out only if the digest is the same at the confirmation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from annotation.crowds.sync.schedule import queue_sync_if_calls_wait
from annotation.models import SpendingRequest
from annotation.money.ledger import OverBudget
from annotation.money.limits import NeedsConfirmation, OverLimit, confirmed_by_second_person
from annotation.money.previews import Preview, left_cents
from common.amounts import spell_cents
from common.audit import acting_as, current_act
from common.errors import ObjectNotFound, QuorumError, WrongState
from judgments.access.rights import Right, has_right
from judgments.access.study_log import note_event
from judgments.drawing.keys import content_key
from judgments.models import Study
from judgments.operations import Outcome

CONFIRM_PERMISSION = "annotation.confirm_spending"
State = SpendingRequest.State
IGNORED_PARAMETERS = ("why", "confirm", "seen")  # parameters that a preview does not take

_confirmable_operations: dict[str, _ConfirmableOperation] = {}


@dataclass(frozen=True, slots=True)
class _ConfirmableOperation:
    """An operation whose orders may wait for a second person. See ``with_confirmation`` for its attributes."""

    carry_out: Callable[..., Outcome]
    preview: Callable[..., Preview] | None
    right: Right


def with_confirmation(
    name: str, *, preview: Callable[..., Preview] | None = None, right: Right = Right.CHANGE
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Return a decorator for operations whose orders wait for a second person if they are too expensive for one.

    The outcome of a waiting order has ``is_pending``.

    Args:
        name: the name of the operation.
        preview: returns the cost that the requester saw; if it changes, the order is void. None if it shows no cost.
        right: the right that the requester must still have when the request is confirmed.
    """

    def decorate(carry_out: Callable[..., Outcome]) -> Callable[..., Outcome]:
        _confirmable_operations[name] = _ConfirmableOperation(carry_out, preview, right)

        @wraps(carry_out)
        def carry_out_or_request(*, study: Study, by: User | None, **arguments: Any) -> Outcome:
            try:
                return carry_out(study=study, by=by, **arguments)
            except NeedsConfirmation as error:
                study.refresh_from_db()  # the operation changed it before it was rolled back
                return _request_confirmation(name, study, by, arguments, error)

        return carry_out_or_request

    return decorate


@transaction.atomic
def _request_confirmation(
    name: str, study: Study, by: User | None, arguments: dict[str, Any], error: NeedsConfirmation
) -> Outcome:
    """Store an order as a spending request, or find the request of an equal order; return its outcome."""
    stored_arguments = json.loads(json.dumps(arguments, default=_storable_value))
    equal_order = {"operation": name, "values": stored_arguments, "asked_by": by, "state": State.WAITING}
    # lock waiting requests before the study, as their confirmation does
    waiting_requests = list(study.spending_requests.select_for_update().filter(**equal_order))
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    situation = _situation_digest(name, study, stored_arguments)
    # Equal orders become one request. If the study has changed since, make a new request instead of changing the old
    # one: a second person must not confirm another sum than the one they read.
    for waiting_request in waiting_requests:
        if (waiting_request.situation, waiting_request.cents) != (situation, error.cents):
            reason = "The same was ordered again after the study had changed."
            _end_request(waiting_request, State.VOID, reason, by)
    defaults = {"currency": error.currency, "door": current_act().origin}
    request, created = study.spending_requests.get_or_create(
        **equal_order, situation=situation, cents=error.cents, defaults=defaults
    )
    amount = spell_cents(error.cents, error.currency)
    if created:
        event = f"{amount} wait for a second person: request {request.pk} ({name})."
        note_event(study=study, what="spending-asked", sentence=event, by=by, request=request.pk)
    value = {
        "step": name,  # the name of the operation, as in previews
        "request": request.pk,
        "total_cents": request.cents,
        "currency": request.currency,
        "left_cents": left_cents(study),
        "calls": [],  # nothing was sent to the crowd
    }
    message = _("A second person must confirm %(sum)s: request %(pk)s (%(operation)s).")
    return Outcome(message % {"sum": amount, "pk": request.pk, "operation": name}, value, is_pending=True)


def _storable_value(value: Any) -> Any:
    """Convert an argument that JSON cannot store: a UUID to a text, any other collection to a list."""
    return str(value) if isinstance(value, UUID) else list(value)


def _situation_digest(name: str, study: Study, arguments: dict[str, Any]) -> str:
    """Return a digest of the facts on which an order was based: the design, the state, and the preview of the cost."""
    preview = _confirmable_operations[name].preview
    preview_arguments = {key: value for key, value in arguments.items() if key not in IGNORED_PARAMETERS}
    preview_key = preview(study=study, **preview_arguments).confirm if preview is not None else ""
    return content_key(
        "situation", study.design, study.state, study.platform, study.paused_at is None, preview_key
    )


def confirm_request(*, request_id: int, by: User) -> SpendingRequest:
    """Carry out the order of another account's spending request, once.

    Raises:
        WrongState: the account made the request itself; or the request was decided before; or the order is not
            possible any more, so that the request becomes void.
        OverLimit, OverBudget: the order exceeds a limit or the budget now; the request is kept.
    """
    problem = ""
    with transaction.atomic():
        request = _lock_waiting_request(request_id)
        if by.pk == request.asked_by_id:
            raise WrongState(
                _(
                    "Nothing was done: you cannot confirm your own spending request; another account must do it."
                )
            )
        try:
            with translation.override("en"):  # the sentence is stored, so it is in English
                outcome = _carry_out(request)
        except (OverLimit, OverBudget):
            raise
        except QuorumError as error:
            problem = str(error)
            _end_request(request, State.VOID, problem, by)
        else:
            _end_request(request, State.DONE, outcome.message, by)
            message = f"{spell_cents(request.cents, request.currency)} of request {request.pk} are confirmed."
            note_event(
                study=request.study, what="spending-confirmed", sentence=message, by=by, request=request.pk
            )
    if problem:
        raise WrongState(_("The request is void, and nothing was done. %(problem)s") % {"problem": problem})
    queue_sync_if_calls_wait(request.study, request.asked_by)
    return request


@transaction.atomic
def refuse_request(*, request_id: int, by: User, why: str = "") -> SpendingRequest:
    """Refuse a spending request. The requester may do this, too, to withdraw the request."""
    request = _lock_waiting_request(request_id)
    _end_request(request, State.REFUSED, why.strip(), by)
    study, amount = request.study, spell_cents(request.cents, request.currency)
    message = f"Request {request.pk} ({request.operation}) for {amount} is refused."
    note_event(study=study, what="spending-refused", sentence=message, why=why, by=by, request=request.pk)
    return request


def _lock_waiting_request(pk: int) -> SpendingRequest:
    request = (
        SpendingRequest.objects.select_for_update(of=("self",)).select_related("study").filter(pk=pk).first()
    )
    if request is None:
        raise ObjectNotFound(_("There is no spending request %(pk)s.") % {"pk": pk})
    if request.state != State.WAITING:
        raise WrongState(
            _("Nothing was done: request %(pk)s is %(state)s.")
            % {"pk": pk, "state": request.get_state_display()}
        )
    return request


def _carry_out(request: SpendingRequest) -> Outcome:
    """Carry out the operation of a request, as an act of the requester.

    Raises:
        WrongState: the requester has lost the right to it, or the design, the state or the cost has changed.
    """
    study, requester, act = request.study, request.asked_by, current_act()
    operation = _confirmable_operations[request.operation]
    if requester is not None and not has_right(requester, operation.right, study):
        raise WrongState(
            _("%(name)s made this request, but is no longer allowed to spend money of study %(slug)r.")
            % {"name": requester.get_username(), "slug": study.slug}
        )
    if _situation_digest(request.operation, study, request.values) != request.situation:
        raise WrongState(
            _("The plan or the state of study %(slug)r has changed since the request was made.")
            % {"slug": study.slug}
        )
    with (
        transaction.atomic(),
        # acting_as takes a function, since it usually finds the account late
        acting_as(lambda: requester, origin=act.origin, origin_detail=act.origin_detail),
        confirmed_by_second_person(request.cents),
    ):
        return operation.carry_out(study=study, by=requester, **request.values)


def _end_request(request: SpendingRequest, state: str, message: str, by: User | None) -> None:
    request.state, request.words = state, message[:1000]
    request.decided_by, request.decided_at = by, timezone.now()
    request.save(update_fields=["state", "words", "decided_by", "decided_at"])
