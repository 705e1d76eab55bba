"""Operations that move money: bonuses, top-ups, the budget, and failed crowd calls."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from rest_framework import serializers
from rest_framework.utils.html import is_html_input

from annotation.crowds import Ability
from annotation.crowds.operations import SYNC_LATER
from annotation.crowds.outbox import resolve_as_done, resolve_as_not_done, retry_call
from annotation.models import Budget, CrowdCall, CrowdSession
from annotation.money.confirming import (
    Preview,
    approved_session,
    check_confirmed,
    confirmable,
    currency_of,
    left_cents,
    preview_bonus,
    preview_budget,
    preview_call,
    preview_top_ups,
)
from annotation.money.ledger import budget_of, set_budget
from annotation.money.payments import hold_for_bonus, pay_bonus, pay_top_ups
from common.errors import WrongState
from common.parameters import Parameters
from judgments.models import Study
from judgments.study_operations import Operation, Outcome, operation, row_of

MOST_CENTS = 10**9
MOST_LIMIT = 10**14
LONGEST_WHY = 1000


class CentsField(serializers.IntegerField):
    """Whole cents. A form sends an amount such as 12.30 instead, in a field ``amount``."""

    default_error_messages = {"amount": "Expected an amount such as 12.30."}

    def __init__(self, **kwargs: Any) -> None:
        style = {"name": "amount", "kind": "text", "inputmode": "decimal"}
        super().__init__(max_value=MOST_CENTS, style=style, **kwargs)

    def get_value(self, dictionary: Any) -> Any:
        text = dictionary.get("amount") if is_html_input(dictionary) else None
        if text is None:
            return super().get_value(dictionary)
        try:
            return Decimal(text) * 100
        except ArithmeticError:  # no number, or one beyond any
            return Decimal("NaN")

    def to_internal_value(self, data: Any) -> int:
        if isinstance(data, Decimal):
            if not data.is_finite() or not 0 <= data <= MOST_CENTS or data != data.to_integral_value():
                self.fail("amount")
            data = int(data)
        return super().to_internal_value(data)


class ConfirmRequest(Parameters):
    """The preview's word, and the reason."""

    why = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_WHY, help_text="For the log."
    )


class Thanks(Parameters):
    """The reason, which the workers read."""

    why = serializers.CharField(
        max_length=LONGEST_WHY,
        label="What the participant reads with it",
        help_text="What the workers read with it.",
    )


class TopUpRequest(Thanks):
    """The reason, and whose top-ups are paid."""

    worker = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Only this worker's; empty: all."
    )


class BonusRequest(Thanks):
    """A worker, and how much."""

    worker = serializers.CharField(help_text="Whose work was approved.", style={"list": "crowd-workers"})
    cents = CentsField(min_value=1, label="Amount", help_text="Without the crowd's fee.")


class BudgetRequest(ConfirmRequest):
    """All that may be spent."""

    cents = CentsField(min_value=0, label="All that may be spent", help_text="Fees and bonuses included.")


def _limit_field(help_text: str) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, min_value=0, max_value=MOST_LIMIT, help_text=help_text)


class LimitsRequest(Parameters):
    """The limits of an account, or of the whole installation; a sum that is left out limits nothing."""

    account = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Of staff; empty: the whole installation."
    )
    currency = serializers.RegexField(r"^[A-Z]{3}$", help_text="Three letters, such as USD.")
    day_cents = _limit_field("A day, in cents.")
    total_cents = _limit_field("In all: reserved and spent.")
    account_day_cents = _limit_field("Each account without its own, a day.")
    account_total_cents = _limit_field("Each account without its own, in all.")
    confirm_cents = _limit_field("A second person confirms an order above it.")


@operation(
    "bonus",
    "Pay a bonus",
    parameters=BonusRequest,
    scope="money",
    then=SYNC_LATER,
    preview=preview_bonus,
    orders=True,
)
@confirmable("bonus", preview=preview_bonus)
@transaction.atomic
def bonus(
    *,
    study: Study,
    by: User | None,
    worker: str,
    cents: int,
    why: str,
    confirm: str | None = None,
    seen: str | None = None,
) -> Outcome:
    """Ask the crowd to pay a bonus, in the background; /api/crowd-calls/ has the outcome."""
    session = approved_session(study, worker)
    number = hold_for_bonus(session)
    current = preview_bonus(study=study, worker=worker, cents=cents)
    check_confirmed(current, confirm)
    if seen is not None:
        _check_none_since(session, seen)
    call = pay_bonus(session=session, cents=cents, why=why, number=number, by=by)
    return Outcome(
        _("A bonus for %(worker)s is on its way.") % {"worker": session.worker}, _done(current, [call])
    )


def _check_none_since(session: CrowdSession, seen: str) -> None:
    """Raise WrongState if a bonus was asked for after the call that was the newest when the page was loaded."""
    last = int(seen) if seen.isdecimal() and len(seen) < 18 else 0
    if CrowdCall.objects.filter(session=session, kind=Ability.BONUS, pk__gt=last).exists():
        raise WrongState(
            _(
                "Nothing was paid: a bonus for %(worker)s was asked for since this page was "
                "loaded, here or in another window; load it again to pay one more."
            )
            % {"worker": session.worker}
        )


@operation(
    "top-up",
    "Pay top-ups",
    parameters=TopUpRequest,
    scope="money",
    then=SYNC_LATER,
    preview=preview_top_ups,
    orders=True,
)
@confirmable("top-up", preview=preview_top_ups)
@transaction.atomic
def top_up(
    *, study: Study, by: User | None, why: str, worker: str = "", confirm: str | None = None
) -> Outcome:
    """Pay top-ups of all people or of one; the crowd is asked in the background.

    People for whom the budget does not suffice are left out and named.
    """
    approved = CrowdSession.objects.filter(study=study, status="approved").order_by("pk")
    list(approved.select_for_update(no_key=True).values_list("pk", flat=True))
    current = preview_top_ups(study=study, worker=worker)
    check_confirmed(current, confirm)
    calls, left_out = pay_top_ups(study=study, why=why, worker=worker, by=by)
    message = ngettext("One bonus is on its way.", "%(n)s bonuses are on their way.", len(calls))
    message %= {"n": len(calls)}
    if left_out:
        message += " " + _("The budget does not reach for %(people)s.") % {"people": ", ".join(left_out)}
    total = sum(int(call.payload["cents"]) for call in calls)
    return Outcome(message, _done(current, calls) | {"total_cents": total, "left_out": left_out})


@operation("budget", "Set the budget", parameters=BudgetRequest, scope="money", preview=preview_budget)
@transaction.atomic
def budget(
    *, study: Study, by: User | None, cents: int, why: str = "", confirm: str | None = None
) -> Outcome:
    """Set the budget; it cannot fall below spent and reserved money."""
    if study.platform:  # ensures a row to lock
        Budget.objects.select_for_update(no_key=True).get(pk=budget_of(study, study.platform).pk)
    current = preview_budget(study=study, cents=cents)
    check_confirmed(current, confirm)
    set_budget(study=study, platform=study.platform, cents=cents, why=why, by=by)
    return Outcome(_("The budget is changed."), _done(current, []))


def _decision(
    step: str, summary: str, decide: Callable[..., Any], message: str, description: str
) -> Operation:
    """Return the operation that decides on a failed call; it is an order if the crowd is asked again."""
    orders = step != "was-done"

    def preview(*, study: Study, call: str) -> Preview:
        return preview_call(call=_call(study, call), step=step)

    @transaction.atomic
    def carry_out(
        *, study: Study, by: User | None, call: str, why: str = "", confirm: str | None = None
    ) -> Outcome:
        rows = CrowdCall.objects.select_for_update(of=("self",)).select_related("study")
        locked = rows.get(pk=_call(study, call).pk)
        current = preview_call(call=locked, step=step)
        check_confirmed(current, confirm)
        decide(call=locked, by=by)
        return Outcome(_(message), _done(current, [locked]))

    carry_out.__doc__ = description
    return operation(
        step,
        summary,
        parameters=ConfirmRequest,
        scope="money",
        row="call",
        then=SYNC_LATER if orders else None,
        preview=preview,
        orders=orders,
    )(confirmable(step, preview=preview)(carry_out) if orders else carry_out)


retry = _decision(
    "retry",
    "Try a call again",
    retry_call,
    gettext_noop("It is tried again."),
    "Try a failed call again. Its money is reserved anew; the crowd is asked in the background.",
)
confirm_call = _decision(
    "was-done",
    "Say that a call was done",
    resolve_as_done,
    gettext_noop("It counts as done."),
    "End a call as done, after somebody looked at the crowd; its money is spent.",
)
repeat_call = _decision(
    "was-not-done",
    "Say that a call was not done",
    resolve_as_not_done,
    gettext_noop("It is asked for again."),
    "Ask for a call again from the start, after somebody looked at the crowd.",
)


def _call(study: Study, key: str) -> CrowdCall:
    return row_of(CrowdCall.objects.filter(study=study).select_related("study"), key)


def _done(preview: Preview, calls: list[CrowdCall]) -> dict[str, Any]:
    """Return the answer of an HTTP call."""
    return {
        "step": preview.step,
        "total_cents": preview.total_cents,
        "currency": currency_of(preview.study),
        "left_cents": left_cents(preview.study),
        "calls": [call.pk for call in calls],
    }
