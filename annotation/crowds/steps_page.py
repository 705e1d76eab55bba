"""Operations that the crowd page offers, carried out in the background."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest

from annotation.crowds import Ability, backend_of
from annotation.crowds.delivery import retry_call, say_it_was_done, say_it_was_not
from annotation.crowds.outbox import ask_to_block, ask_to_qualify, ask_to_unblock, ask_to_write
from annotation.crowds.publishing import offer_longer
from annotation.crowds.sync import SYNC, ask_to_sync
from annotation.models import CrowdCall, CrowdSession, Worker
from annotation.money.ledger import set_budget
from annotation.money.payments import hold_for_bonus, pay_bonus
from annotation.money.wages import pay_top_ups
from common.errors import WrongState
from judgments.access.roles import Right
from judgments.admin.base import signed_in
from judgments.models import Study
from judgments.studies.study_page import StudyStep, add_step, enqueue_once


def go_on(request: HttpRequest, study: Study) -> None:
    """Where something waits to be asked."""
    if CrowdCall.objects.filter(study=study, state=CrowdCall.State.WAITING).exists():
        ask_to_sync(study=study, by=signed_in(request))


MOST_CENTS = 10**9


def _number(request: HttpRequest, name: str, what: str) -> int:
    text = request.POST.get(name, "").strip()
    if not text.isdecimal() or len(text) > 9:
        raise WrongState(f"Nothing was changed: {what} is {text[:20]!r}; expected a whole number.")
    return int(text)


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


def _sync(request: HttpRequest, study: Study) -> None:
    enqueue_once(request, study, SYNC)
    messages.success(request, "The crowd is being asked; what it says stands here in a moment.")


def _budget(request: HttpRequest, study: Study) -> None:
    if not study.place:
        raise WrongState("Nothing was changed: the budget of a study that was never opened is in its design.")
    cents = _cents(request, "budget", "the budget")
    set_budget(study=study, place=study.place, cents=cents, by=signed_in(request), why=_why(request))
    messages.success(request, "The budget is changed.")


def _why(request: HttpRequest) -> str:
    return request.POST.get("why", "").strip()


def _extend(request: HttpRequest, study: Study) -> None:
    """More time for all that is up, counted from now."""
    hours = _number(request, "hours", "the number of hours")
    offer_longer(study=study, hours=hours, by=signed_in(request), why=_why(request))
    go_on(request, study)
    messages.success(request, f"The crowd is asked to offer the work for {hours} hours from now.")


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


def _block(request: HttpRequest, study: Study) -> None:
    worker = _worker(request, study)
    ask_to_block(study=study, worker=worker, why=_why(request), by=signed_in(request))
    go_on(request, study)
    messages.success(request, f"The crowd is asked to keep {worker} away from all your work.")


def _unblock(request: HttpRequest, study: Study) -> None:
    worker = _worker(request, study)
    ask_to_unblock(study=study, worker=worker, why=_why(request), by=signed_in(request))
    go_on(request, study)
    messages.success(request, f"The crowd is asked to let {worker} come again.")


def _qualify(request: HttpRequest, study: Study) -> None:
    worker = _worker(request, study)
    name, value = request.POST.get("qualification", ""), _number(request, "value", "the value")
    ask_to_qualify(study=study, worker=worker, qualification=name, value=value, by=signed_in(request))
    go_on(request, study)
    messages.success(request, f"The crowd is asked to give {worker} the qualification.")


def _write(request: HttpRequest, study: Study) -> None:
    """To one worker, or to all whose work was decided on: a crowd lets nobody write to strangers."""
    if request.POST.get("worker", "").strip():
        people = [_worker(request, study)]
    else:
        decided = {"study": study, "place": study.place, "status__in": ["approved", "rejected"]}
        people = list(
            Worker.objects.filter(crowd_sessions__in=CrowdSession.objects.filter(**decided)).distinct()
        )
    if not people:
        raise WrongState(
            "Nothing was sent: only workers whose work was approved or rejected can be written to."
        )
    subject, text = request.POST.get("subject", ""), request.POST.get("text", "")
    calls = ask_to_write(study=study, workers=people, subject=subject, text=text, by=signed_in(request))
    go_on(request, study)
    messages.success(
        request,
        "One message is on its way." if len(calls) == 1 else f"{len(calls)} messages are on their way.",
    )


def _call(request: HttpRequest, study: Study) -> CrowdCall:
    key = request.POST.get("call", "")
    call = CrowdCall.objects.filter(study=study, pk=key).first() if key.isdecimal() else None
    if call is None:
        raise WrongState("Nothing was changed: there is no such call in this study.")
    return call


def _retry(request: HttpRequest, study: Study) -> None:
    retry_call(call=_call(request, study), by=signed_in(request))
    go_on(request, study)
    messages.success(request, "It is tried again.")


def _was_done(request: HttpRequest, study: Study) -> None:
    say_it_was_done(call=_call(request, study), by=signed_in(request))
    messages.success(request, "It counts as done.")


def _was_not_done(request: HttpRequest, study: Study) -> None:
    say_it_was_not(call=_call(request, study), by=signed_in(request))
    go_on(request, study)
    messages.success(request, "It is asked for again.")


def _syncs(study: Study) -> bool:
    return bool(study.place) and Ability.LIST in backend_of(study).can


add_step(
    StudyStep(
        name="sync-crowd",
        label="Compare with the crowd",
        run=_sync,
        offered=_syncs,
        job=SYNC,
        primary_on=frozenset({"crowd"}),
    )
)
add_step(StudyStep(name="set-budget", label="Change the budget", run=_budget, beside=True))
add_step(StudyStep(name="extend-crowd", label="Offer longer", run=_extend, beside=True))
add_step(StudyStep(name="top-up", label="Pay top-ups", run=_top_up, beside=True))
add_step(StudyStep(name="bonus", label="Pay a bonus", run=_bonus, beside=True))
add_step(StudyStep(name="block-worker", label="Block", run=_block, beside=True, permission=Right.REVIEW))
add_step(
    StudyStep(
        name="unblock-worker", label="Take the block back", run=_unblock, beside=True, permission=Right.REVIEW
    )
)
add_step(StudyStep(name="qualify-worker", label="Qualify", run=_qualify, beside=True))
add_step(StudyStep(name="write-workers", label="Write", run=_write, beside=True, permission=Right.REVIEW))
add_step(StudyStep(name="retry-call", label="Try again", run=_retry))
add_step(StudyStep(name="call-was-done", label="It was done", run=_was_done))
add_step(StudyStep(name="call-was-not-done", label="It was not done", run=_was_not_done))
