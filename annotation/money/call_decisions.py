"""The operations by which staff resolve failed calls to a crowd, for pages, API and commands.

They are "retry", "was-done" and "was-not-done". They differ only in what they do with the call, so ``_make_operation``
makes each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotation.crowds.outbox.resolution import resolve_as_done, resolve_as_not_done, retry_call
from annotation.crowds.sync.schedule import SYNC_LATER
from annotation.models import CrowdCall
from annotation.money.orders import with_confirmation
from annotation.money.parameters import ConfirmRequest
from annotation.money.previews import Preview, check_confirmed, figures_after_operation, preview_call
from judgments.models import Study
from judgments.operations import Operation, Outcome, find_row, operation


def _make_operation(
    step: str, summary: str, resolve: Callable[..., Any], message: str, description: str
) -> Operation:
    """Return an operation that resolves a failed call.

    All these operations except "was-done" call the crowd again, and reserve the cost of the call unless it is still
    reserved. So they are orders, which may have to wait for a second person.

    Args:
        resolve: the function that resolves the call, with the arguments ``call``, ``by`` and ``why``.
        description: the docstring of the operation, which the API's schema shows.
    """
    is_order = step != "was-done"

    def preview(*, study: Study, call: str) -> Preview:
        return preview_call(call=_find_call(study, call), step=step)

    @transaction.atomic
    def carry_out(
        *, study: Study, by: User | None, call: str, why: str = "", confirm: str | None = None
    ) -> Outcome:
        calls = CrowdCall.objects.select_for_update(of=("self",)).select_related("study")
        locked_call = calls.get(pk=_find_call(study, call).pk)
        current_preview = preview_call(call=locked_call, step=step)
        check_confirmed(current_preview, confirm)  # the digest of the preview that the person saw
        resolve(call=locked_call, by=by, why=why)
        return Outcome(_(message), figures_after_operation(current_preview, [locked_call]))

    carry_out.__doc__ = description
    make_operation = operation(
        step,
        summary,
        parameters=ConfirmRequest,
        scope="money",
        row="call",
        follow_up=SYNC_LATER if is_order else None,
        preview=preview,
        is_order=is_order,
    )
    if is_order:
        return make_operation(with_confirmation(step, preview=preview)(carry_out))
    return make_operation(carry_out)


retry = _make_operation(
    "retry",
    "Try a call again",
    retry_call,
    gettext_noop("The request will be tried again."),
    "Try a failed call again. Its money is reserved anew; the crowd is asked in the background.",
)
mark_as_done = _make_operation(
    "was-done",
    "Say that a call was done",
    resolve_as_done,
    gettext_noop("The request now counts as done."),
    "End a call as done, after somebody looked at the crowd; its money is spent.",
)
mark_as_not_done = _make_operation(
    "was-not-done",
    "Say that a call was not done",
    resolve_as_not_done,
    gettext_noop("The request will be sent again."),
    "Ask for a call again from the start, after somebody looked at the crowd.",
)


def _find_call(study: Study, key: str) -> CrowdCall:
    return find_row(CrowdCall.objects.filter(study=study).select_related("study"), key)
