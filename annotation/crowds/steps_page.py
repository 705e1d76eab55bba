"""Operations that the crowd page offers, carried out in the background."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest

from annotation.crowds import Ability, backend_of
from annotation.crowds.operations import (
    block,
    qualify,
    retry,
    sync,
    unblock,
    was_done,
    was_not_done,
    write,
)
from annotation.crowds.sync import ask_to_sync
from annotation.models import CrowdCall, CrowdSession, Worker
from annotation.money.ledger import set_budget
from annotation.money.payments import hold_for_bonus, pay_bonus
from annotation.money.wages import pay_top_ups
from annotation.work.operations import extend
from common.errors import WrongState
from judgments.admin.base import signed_in
from judgments.admin.operations import add_operation
from judgments.models import Study
from judgments.studies.study_page import StudyStep, add_step


def go_on(request: HttpRequest, study: Study) -> None:
    """Where something waits to be asked."""
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=signed_in(request))


MOST_CENTS = 10**9


def _cents(request: HttpRequest, name: str, what: str) -> int:
    """An amount as people write it, 12.30, in cents."""
    text = request.POST.get(name, "").strip()
    try:
        amount = Decimal(text) * 100
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0 or amount != amount.to_integral_value() or amount > MOST_CENTS:
        raise WrongState(f"Nothing was changed: {what} is {text[:20]!r}; expected an amount such as 12.30.")
    return int(amount)


def _worker(request: HttpRequest, study: Study) -> Worker:
    name = request.POST.get("worker", "").strip()
    worker = Worker.objects.filter(participations__study=study, name=name).first()
    if worker is None:
        raise WrongState(f"Nothing was changed: no worker {name[:80]!r} takes part in this study.")
    return worker


def _budget(request: HttpRequest, study: Study) -> None:
    if not study.place:
        raise WrongState("Nothing was changed: the budget of a study that was never opened is in its design.")
    cents = _cents(request, "budget", "the budget")
    set_budget(study=study, place=study.place, cents=cents, by=signed_in(request), why=_why(request))
    messages.success(request, "The budget is changed.")


def _why(request: HttpRequest) -> str:
    return request.POST.get("why", "").strip()


def _top_up(request: HttpRequest, study: Study) -> None:
    calls = pay_top_ups(study=study, why=_why(request), by=signed_in(request))
    go_on(request, study)
    messages.success(
        request, "One bonus is on its way." if len(calls) == 1 else f"{len(calls)} bonuses are on their way."
    )


def _bonus(request: HttpRequest, study: Study) -> None:
    worker = _worker(request, study)
    session = (
        CrowdSession.objects.filter(study=study, worker=worker, status="approved").order_by("-pk").first()
    )
    if session is None:
        raise WrongState(
            f"Nothing was paid: no work of {worker} was approved; a bonus belongs to approved work."
        )
    cents = _cents(request, "amount", "the bonus")
    seen = request.POST.get("seen", "")
    last = int(seen) if seen.isdecimal() and len(seen) < 18 else 0
    with transaction.atomic():
        number = hold_for_bonus(session)
        if CrowdCall.objects.filter(session=session, kind=Ability.BONUS, pk__gt=last).exists():
            raise WrongState(
                f"Nothing was paid: a bonus for {worker} was asked for since this page was loaded, here or in another "
                "window; load it again to pay one more."
            )
        pay_bonus(session=session, cents=cents, why=_why(request), number=number, by=signed_in(request))
    go_on(request, study)
    messages.success(request, f"A bonus for {worker} is on its way.")


def _syncs(study: Study) -> bool:
    return bool(study.place) and Ability.LIST in backend_of(study).can


add_operation(sync, label="Compare with the crowd", offered=_syncs, primary_on={"crowd"})
add_step(StudyStep(name="set-budget", label="Change the budget", run=_budget, beside=True))
add_operation(extend, name="extend-crowd", label="Offer longer", fields=("hours", "why"), needed=("hours",))
add_step(StudyStep(name="top-up", label="Pay top-ups", run=_top_up, beside=True))
add_step(StudyStep(name="bonus", label="Pay a bonus", run=_bonus, beside=True))
add_operation(block, label="Block")
add_operation(unblock, label="Take the block back")
add_operation(qualify, label="Qualify")
add_operation(write, label="Write")
add_operation(retry, label="Try again", fields=())
add_operation(was_done, label="It was done", fields=())
add_operation(was_not_done, label="It was not done", fields=())
