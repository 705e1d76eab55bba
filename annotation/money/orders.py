"""Operations that move money, their previews, and orders above the installation's sum, which another account confirms.

A preview has the cost and a ``confirm`` word derived from all of it: the operation runs only while the same preview
would be given. Every HTTP request has a key chosen by the caller; a repeated one gets the first answer and changes
nothing (draft-ietf-httpapi-idempotency-key-header).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext
from rest_framework import serializers
from rest_framework.utils.html import is_html_input

from annotation.crowds import Ability, backend_of
from annotation.crowds.outbox import resolve_as_done, resolve_as_not_done, retry_call
from annotation.crowds.sync import SYNC_LATER, sync_if_calls_wait
from annotation.models import Budget, CrowdCall, CrowdSession, MoneyRequest, SpendingRequest, at_crowd
from annotation.money.ledger import (
    NeedsConfirmation,
    OverBudget,
    OverLimit,
    budget_of,
    set_budget,
    without_second_person,
)
from annotation.money.payments import (
    Overclaim,
    Pay,
    hold_for_bonus,
    overclaims_of,
    pay_bonus,
    pay_of_sessions,
    pay_top_ups,
)
from annotation.work.joining import find_worker
from common.amounts import spell_cents
from common.audit import acting_as, current_act
from common.errors import NotThere, QuorumError, WrongState
from common.parameters import Parameters
from judgments.access.roles import Right, has_right, note_event
from judgments.drawing.material import content_key
from judgments.models import Study
from judgments.operations import Operation, Outcome, operation, row_of
from judgments.studies.studies import design_of


class KeyUsed(QuorumError):
    """The key was used for another request; nothing was done."""

    status = 422
    title = "The key was used for something else"


class NotConfirmed(QuorumError):
    """The confirmation does not fit the current state; nothing was done."""

    status = 409
    title = "Not what was confirmed"


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of a step.

    Attributes:
        total_cents: its cost with fees.
        left_cents: neither spent nor reserved now.
        facts: further data, as JSON.
    """

    study: Study
    step: str
    total_cents: int
    left_cents: int
    facts: Mapping[str, Any]

    @property
    def confirm(self) -> str:
        """Return the word of this preview, independent of the rest of the budget."""
        return content_key("money", self.study.slug, self.step, self.total_cents, dict(self.facts))

    def as_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "total_cents": self.total_cents,
            "currency": currency_of(self.study),
            "left_cents": self.left_cents,
            "enough": self.total_cents <= self.left_cents,
            **self.facts,
            "confirm": self.confirm,
        }


def preview_bonus(*, study: Study, worker: str, cents: int) -> Preview:
    session = approved_session(study, worker)
    _can_pay(study)
    fee = backend_of(study).bonus_fee(cents)
    bonuses = CrowdCall.objects.filter(session=session, kind=Ability.BONUS).count()
    facts = {
        "worker": worker,
        "session": session.pk,
        "bonus_cents": cents,
        "fee_cents": fee,
        "bonuses_before": bonuses,
    }
    return Preview(study, "bonus", cents + fee, left_cents(study), facts)


def approved_session(study: Study, name: str) -> CrowdSession:
    worker = find_worker(study, name)
    session = (
        CrowdSession.objects.filter(study=study, worker=worker, status="approved").order_by("-pk").first()
    )
    if session is None:
        raise WrongState(
            _("Nothing was paid: no work of %(worker)s was approved; a bonus belongs to approved work.")
            % {"worker": worker}
        )
    return session


def _can_pay(study: Study) -> None:
    backend = backend_of(study)
    if Ability.BONUS not in backend.can:
        raise WrongState(
            _("Nothing was paid: the crowd %(title)s pays no bonuses.") % {"title": backend.title}
        )


def preview_top_ups(*, study: Study, worker: str = "") -> Preview:
    """Preview bonuses for approved sessions below the floor, if any: of all people or of one."""
    _can_pay(study)
    if worker:
        find_worker(study, worker)
    return top_ups_of(study, pay_of_sessions(study), overclaims_of(study), worker)


def top_ups_of(study: Study, pays: Iterable[Pay], claims: Iterable[Overclaim], worker: str = "") -> Preview:
    """Return ``preview_top_ups`` from known figures."""
    backend = backend_of(study)
    wanting = sorted(
        (pay.session, pay.top_up_cents)
        for pay in pays
        if pay.top_up_cents and pay.approved and (not worker or pay.worker == worker)
    )
    cents = sum(missing for _, missing in wanting)
    fees = sum(backend.bonus_fee(missing) for _, missing in wanting)
    facts = {
        "payments": len(wanting),
        "bonus_cents": cents,
        "fee_cents": fees,
        "claims_not_paid": sum(not worker or claim.worker == worker for claim in claims),
        "worker": worker,
        "of": content_key("top-ups", wanting),
    }
    return Preview(study, "top-up", cents + fees, left_cents(study), facts)


def preview_budget(*, study: Study, cents: int) -> Preview:
    """Preview a new budget; ``total_cents`` is the increase."""
    if not study.platform:
        raise WrongState(
            _("Nothing was changed: the budget of a study that was never opened is in its design.")
        )
    budget = at_crowd(Budget, study).first()
    before = budget.budget_cents if budget else 0
    facts = {"place": study.platform, "budget_cents": cents, "budget_cents_before": before}
    return Preview(study, "budget", max(0, cents - before), left_cents(study), facts)


def preview_call(*, call: CrowdCall, step: str) -> Preview:
    """Preview retrying a failed call, or resolving an indeterminate one.

    An indeterminate call cannot be retried, except a publication, which is found if it exists.
    """
    if call.state != CrowdCall.State.FAILED:
        raise WrongState(_("Nothing was changed: only a failed call can be decided on."))
    found_again = call.kind == Ability.PUBLISH and step == "retry"
    if call.unsure != (step != "retry") and not found_again:
        fitting = "was-done or was-not-done" if call.unsure else "retry"
        raise WrongState(_("Nothing was changed: of this call expected %(fitting)s.") % {"fitting": fitting})
    cents = int(call.payload.get("cents", 0))
    new = 0 if call.reserved_cents or step == "was-done" else cents
    facts = {"call": call.pk, "kind": call.kind, "cents": cents, "attempts": call.attempts}
    return Preview(call.study, step, new, left_cents(call.study), facts)


def currency_of(study: Study) -> str:
    """Return the currency of the study's budget, or of its design before there is one."""
    budget = at_crowd(Budget, study).first()
    return budget.currency if budget else design_of(study).currency


def left_cents(study: Study) -> int:
    budget = at_crowd(Budget, study).first()
    return budget.left_cents if budget else 0


def check_confirmed(preview: Preview, confirm: str | None) -> None:
    """Raise NotConfirmed unless this preview was confirmed; a page (None) confirms nothing."""
    if confirm is not None and confirm != preview.confirm:
        total = spell_cents(preview.total_cents, currency_of(preview.study))
        raise NotConfirmed(
            f"Nothing was done: it is not what was confirmed, or no longer; now it would take {total}. Look "
            "at the preview again, and send its confirm."
        )


def run_once(
    *, key: str, study: Study, step: str, request: Mapping[str, Any], by: User, do: Callable[[], Any]
) -> tuple[dict[str, Any], bool]:
    """Run ``do`` once per key, in one transaction with its record. Return the answer, and whether it is a repetition.

    A failure leaves no record and may be repeated with the same key.

    Raises:
        KeyUsed: the key was used for another request.
    """
    digest = content_key(study.slug, step, dict(request))
    with transaction.atomic():
        try:
            with transaction.atomic():  # a concurrent request with the same key waits here
                row = MoneyRequest.objects.create(by=by, key=key, study=study, step=step, digest=digest)
        except IntegrityError:
            row = MoneyRequest.objects.get(by=by, key=key)
            if row.digest != digest:
                raise KeyUsed(
                    f"Nothing was done: the Idempotency-Key {key[:80]!r} came before with another request; expected a "
                    "new key for every new request."
                ) from None
            return dict(row.answer), True
        row.answer = do()
        row.save(update_fields=["answer"])
    sync_if_calls_wait(study, by)
    return dict(row.answer), False


CONFIRM = "annotation.confirm_spending"
State = SpendingRequest.State
NOT_ABOUT = ("why", "confirm", "seen")  # parameters that a preview does not take


@dataclass(frozen=True, slots=True)
class _Confirmable:
    do: Callable[..., Outcome]
    preview: Callable[..., Preview] | None
    right: Right


_confirmable: dict[str, _Confirmable] = {}


def confirmable(
    name: str, *, preview: Callable[..., Preview] | None = None, right: Right = Right.CHANGE
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Let an operation that asks for much money wait for a second person; its outcome then ``waits``.

    Args:
        right: the right that the asker must still have when it is confirmed.
    """

    def declare(do: Callable[..., Outcome]) -> Callable[..., Outcome]:
        _confirmable[name] = _Confirmable(do, preview, right)

        @wraps(do)
        def ask_or_do(*, study: Study, by: User | None, **values: Any) -> Outcome:
            try:
                return do(study=study, by=by, **values)
            except NeedsConfirmation as needed:
                study.refresh_from_db()
                return _ask(name, study, by, values, needed)

        return ask_or_do

    return declare


@transaction.atomic
def _ask(
    name: str, study: Study, by: User | None, values: dict[str, Any], needed: NeedsConfirmation
) -> Outcome:
    # as stored, since the refused service has changed the caller's; the same order asked for twice is one request
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    stored = json.loads(json.dumps(values, default=_stored))
    request, created = SpendingRequest.objects.get_or_create(
        study=study,
        operation=name,
        values=stored,
        asked_by=by,
        state=State.WAITING,
        defaults={
            "cents": needed.cents,
            "currency": needed.currency,
            "situation": _situation(name, study, stored),
            "door": current_act().door,
        },
    )
    event = f"{spell_cents(needed.cents, needed.currency)} wait for a second person: request {request.pk} ({name})."
    if created:
        note_event(study=study, what="spending-asked", sentence=event, by=by, request=request.pk)
    value = {
        "step": name,
        "request": request.pk,
        "total_cents": request.cents,
        "currency": request.currency,
        "left_cents": left_cents(study),
        "calls": [],
    }
    message = _("%(sum)s wait for a second person: request %(pk)s (%(operation)s).")
    amount = spell_cents(needed.cents, needed.currency)
    return Outcome(message % {"sum": amount, "pk": request.pk, "operation": name}, value, waits=True)


def _stored(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else list(value)


def _situation(name: str, study: Study, values: dict[str, Any]) -> str:
    """Return a digest of an order's context: the plan, the study's state, and the order's preview."""
    preview = _confirmable[name].preview
    about = {key: value for key, value in values.items() if key not in NOT_ABOUT}
    shown = preview(study=study, **about).confirm if preview is not None else ""
    return content_key("situation", study.design, study.state, study.platform, study.paused_at is None, shown)


def confirm_request(*, request: int, by: User) -> SpendingRequest:
    """Carry out a request of another account, once.

    Raises:
        WrongState: it is the account's own, is over, or is void, because the situation has changed.
        OverLimit, OverBudget: it does not fit now; it stays.
    """
    problem = ""
    with transaction.atomic():
        order = _waiting(request)
        if by.pk == order.asked_by_id:
            raise WrongState(
                _("Nothing was done: who asks for money cannot confirm it; another account must.")
            )
        try:
            with translation.override("en"):  # what it says is stored
                outcome = _carry_out(order)
        except (OverLimit, OverBudget):
            raise
        except QuorumError as error:
            problem = str(error)
            _end(order, State.VOID, problem, by)
        else:
            _end(order, State.DONE, outcome.message, by)
            message = f"{spell_cents(order.cents, order.currency)} of request {order.pk} are confirmed."
            note_event(
                study=order.study, what="spending-confirmed", sentence=message, by=by, request=order.pk
            )
    if problem:
        raise WrongState(_("The request is void, and nothing was done. %(problem)s") % {"problem": problem})
    sync_if_calls_wait(order.study, order.asked_by)
    return order


@transaction.atomic
def refuse_request(*, request: int, by: User, why: str = "") -> SpendingRequest:
    """End a request without doing it; who asked may do so too."""
    order = _waiting(request)
    _end(order, State.REFUSED, why.strip(), by)
    message = (
        f"Request {order.pk} ({order.operation}) for {spell_cents(order.cents, order.currency)} is refused."
    )
    note_event(study=order.study, what="spending-refused", sentence=message, why=why, by=by, request=order.pk)
    return order


def _waiting(pk: int) -> SpendingRequest:
    order = (
        SpendingRequest.objects.select_for_update(of=("self",)).select_related("study").filter(pk=pk).first()
    )
    if order is None:
        raise NotThere(_("There is no spending request %(pk)s.") % {"pk": pk})
    if order.state != State.WAITING:
        raise WrongState(
            _("Nothing was done: request %(pk)s is %(state)s.")
            % {"pk": pk, "state": order.get_state_display()}
        )
    return order


def _carry_out(order: SpendingRequest) -> Outcome:
    study, asker, act = order.study, order.asked_by, current_act()
    if asker is not None and not has_right(asker, _confirmable[order.operation].right, study):
        raise WrongState(
            _("%(name)s, who asked, may not spend money of study %(slug)r any more.")
            % {"name": asker.get_username(), "slug": study.slug}
        )
    if _situation(order.operation, study, order.values) != order.situation:
        raise WrongState(
            _("The plan or the state of study %(slug)r has changed since it was asked for.")
            % {"slug": study.slug}
        )
    with (
        transaction.atomic(),
        acting_as(lambda: asker, door=act.door, call=act.call),
        without_second_person(order.cents),
    ):
        return _confirmable[order.operation].do(study=study, by=asker, **order.values)


def _end(order: SpendingRequest, state: str, message: str, by: User) -> None:
    order.state, order.words = state, message[:1000]
    order.decided_by, order.decided_at = by, timezone.now()
    order.save(update_fields=["state", "words", "decided_by", "decided_at"])


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

    worker = serializers.CharField(default="", allow_blank=True, help_text="Only this worker's; empty: all.")


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
        default="", allow_blank=True, help_text="Of staff; empty: the whole installation."
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
