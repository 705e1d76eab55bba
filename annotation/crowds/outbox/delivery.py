"""Deliver outbox messages to a crowd exactly once, with back-off, as long as the crowd responds.

An outbox message (``CrowdCall``) is a call that the database asks a crowd to carry out. A call that failed is not sent
again until a member of staff decides so. A failed call whose outcome is unknown is indeterminate ("unsure"): the money
that is reserved for it stays reserved.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.crowds import CrowdBackend, backend_of
from annotation.crowds.base import Ability, CrowdRefusal, OutOfFunds, RetryLater, UnknownOutcome
from annotation.crowds.outbox.effects import apply_failure, apply_success
from annotation.crowds.raw_ids import remove_ids_from_error
from annotation.models import CrowdCall, at_crowd
from annotation.money.ledger import OverBudget
from annotation.money.limits import NeedsConfirmation, OverLimit
from common.amounts import spell_cents
from common.errors import QuorumError
from judgments.jobs.runs import Progress
from judgments.models import Study
from judgments.studies.designs import design_of

ATTEMPTS_PER_RUN = 6  # maximum number of attempts of one call in one run
MAX_ATTEMPTS = 60  # number of attempts of one call, after which it fails
MAX_UNANSWERED = 25  # number of consecutive attempts without an answer, after which a run ends
MAX_WAIT_SECONDS = 30.0  # maximum seconds that a run waits for a call; later calls are left to the next run
MAX_BACKOFF_SECONDS = 60.0
# calls that are skipped if the account lacks money
PAID_ABILITIES = (Ability.PUBLISH, Ability.EXTEND, Ability.BONUS)
UNFINISHED_STATES = (CrowdCall.State.WAITING, CrowdCall.State.STARTED)
UNDECIDED_STATES = (*UNFINISHED_STATES, CrowdCall.State.FAILED)  # a slower runner may complete a failed call


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The result of a run.

    Attributes:
        done_count: number of calls that the crowd carried out.
        failed_count: number of calls that failed, or whose outcome is unknown.
        unsent_count: number of calls that are left for the next run.
        stop_reason: why the run stopped, or sent no calls that cost money; "" if there is no such reason.
    """

    done_count: int = 0
    failed_count: int = 0
    unsent_count: int = 0
    stop_reason: str = ""


def carry_out_calls(
    *,
    study: Study,
    rng: random.Random | None = None,
    wait: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> DeliveryResult:
    """Send the study's outbox messages, oldest first, with back-off and jitter, until none is due."""
    backend = backend_of(study)
    run = _Run(backend, rng or random.Random(), stop_reason=_describe_missing_funds(study, backend))
    if run.stop_reason:
        run.skipped_abilities = PAID_ABILITIES
    while run.unanswered_count < MAX_UNANSWERED:
        call = _next_call(study, run.attempts, run.skipped_abilities)
        if call is None:
            break
        now = timezone.now()
        if call.next_at > now:
            wait((call.next_at - now).total_seconds())
            continue
        if not _start_call(call):
            continue
        run.send(call)
        if run.must_stop:
            break
        if progress is not None:
            unsent_count = _count_unfinished(study)
            share = run.done_count / max(1, run.done_count + unsent_count)
            progress(share, f"{run.done_count} done, {unsent_count} to go")
    return DeliveryResult(
        done_count=run.done_count,
        failed_count=run.failed_count,
        unsent_count=_count_unfinished(study),
        stop_reason=run.stop_reason,
    )


def _count_unfinished(study: Study) -> int:
    return CrowdCall.objects.filter(study=study, state__in=UNFINISHED_STATES).count()


@dataclass(slots=True)
class _Run:
    """The state of a run of ``carry_out_calls``.

    Attributes:
        stop_reason: as in ``DeliveryResult``.
        skipped_abilities: kinds of calls that are not sent, since the account lacks money.
        attempts: number of attempts of each call, by its row id.
        unanswered_count: number of consecutive attempts without an answer, or not covered by account, budget or limits.
        must_stop: whether no further call would succeed.
    """

    backend: CrowdBackend
    rng: random.Random
    stop_reason: str = ""
    skipped_abilities: tuple[Ability, ...] = ()
    attempts: Counter[int] = field(default_factory=Counter)
    done_count: int = 0
    failed_count: int = 0
    unanswered_count: int = 0
    must_stop: bool = False

    def send(self, call: CrowdCall) -> None:
        """Send a started call, and store the outcome of the attempt."""
        self.attempts[call.pk] += 1
        self.unanswered_count += 1  # until the crowd has answered
        try:
            answer = self.backend.carry_out(call)
            self.done_count += finish_call(call=call, answer=answer)
            self.unanswered_count = 0
        # the crowd carried out the call, but the budget cannot cover it
        except (OverBudget, OverLimit, NeedsConfirmation) as problem:
            message = f"The crowd did it, but it is not booked: {problem}"
            self.failed_count += _fail_call(call, message, unsure=True)
        except (CrowdRefusal, QuorumError) as problem:
            self.failed_count += _fail_call(call, remove_ids_from_error(call, str(problem)))
            self.unanswered_count = 0
        except UnknownOutcome as problem:
            self.failed_count += _fail_call(call, remove_ids_from_error(call, str(problem)), unsure=True)
            self.unanswered_count = 0
        except OutOfFunds as problem:
            self.stop_reason = remove_ids_from_error(call, str(problem))
            _postpone_call(call, self.stop_reason, after=0.0, had_no_effect=True)
            self.skipped_abilities = PAID_ABILITIES
        except RetryLater as problem:
            message = remove_ids_from_error(call, str(problem))
            pause = _draw_pause(self.rng, self.attempts[call.pk], problem.after)
            self.failed_count += _postpone_or_fail_call(
                call, message, after=pause, had_no_effect=problem.had_no_effect
            )
            if problem.final:
                self.stop_reason, self.must_stop = message, True


def _describe_missing_funds(study: Study, backend: CrowdBackend) -> str:
    """Return why calls that cost money cannot be sent: the account's balance is too low, or cannot be read.

    Return "" if they can be sent; this includes crowds without a balance.
    """
    calls = at_crowd(CrowdCall, study).filter(kind__in=PAID_ABILITIES)
    unsent_calls = calls.filter(state=CrowdCall.State.WAITING, first_started_at__isnull=True)
    cents_needed = unsent_calls.aggregate(cents=Sum("reserved_cents"))["cents"] or 0
    if not cents_needed:
        return ""
    try:
        balance = backend.fetch_balance(study.platform)
    except RetryLater as problem:
        return f"The account's balance could not be asked: {problem}"
    if balance is None or balance >= cents_needed:
        return ""
    currency = design_of(study).currency
    return (
        f"The account at {backend.title} holds {spell_cents(balance, currency)}, and what waits costs "
        f"{spell_cents(cents_needed, currency)}: none "
        "of it was begun."
    )


def _next_call(
    study: Study, attempts: Counter[int], skipped_abilities: tuple[Ability, ...]
) -> CrowdCall | None:
    """Return the oldest call that is due, else the call that is due soonest, if the run can wait for it."""
    now = timezone.now()
    exhausted_ids = [pk for pk, count in attempts.items() if count >= ATTEMPTS_PER_RUN]
    all_calls = CrowdCall.objects.select_related("publication", "session")
    calls = all_calls.filter(_open_calls(now), study=study, platform=study.platform)
    calls = calls.exclude(pk__in=exhausted_ids).exclude(kind__in=skipped_abilities)
    due_call = calls.filter(next_at__lte=now).order_by("pk").first()
    if due_call is not None:
        return due_call
    return calls.filter(next_at__lte=now + timedelta(seconds=MAX_WAIT_SECONDS)).order_by("next_at").first()


def _open_calls(now: datetime) -> Q:
    """Return a filter for calls to send: waiting ones, and started ones whose runner has probably died.

    A runner counts as dead ``CROWD_CALL_SECONDS`` after it started the call.
    """
    latest_start = now - timedelta(seconds=settings.CROWD_CALL_SECONDS)
    return Q(state=CrowdCall.State.WAITING) | Q(state=CrowdCall.State.STARTED, started_at__lte=latest_start)


def _start_call(call: CrowdCall) -> bool:
    """Mark the call as started before it is sent, so that each attempt is recorded.

    Return False if another runner has taken the call.
    """
    now = timezone.now()
    row_count = CrowdCall.objects.filter(_open_calls(now), pk=call.pk).update(
        state=CrowdCall.State.STARTED,
        started_at=now,
        first_started_at=Coalesce("first_started_at", now),
        attempts=F("attempts") + 1,
    )
    if row_count:
        call.refresh_from_db()
    return bool(row_count)


def _postpone_or_fail_call(call: CrowdCall, problem: str, *, after: float, had_no_effect: bool) -> int:
    """Postpone a call or, after ``MAX_ATTEMPTS`` attempts, let it fail. Return the number of failed calls, 0 or 1."""
    if call.attempts < MAX_ATTEMPTS:
        _postpone_call(call, problem, after=after, had_no_effect=had_no_effect)
        return 0
    return _fail_call(
        call,
        f"Given up after {call.attempts} attempts: {problem}",
        unsure=_may_have_succeeded_before(call) or not had_no_effect,
    )


def _postpone_call(call: CrowdCall, problem: str, *, after: float, had_no_effect: bool) -> None:
    """Let a call wait for another attempt, in ``after`` seconds at the earliest.

    If no attempt so far can have had an effect, the call counts as never started.
    """
    may_have_effect = _may_have_succeeded_before(call) or not had_no_effect
    _current_attempt(call).update(
        state=CrowdCall.State.WAITING,
        problem=problem[:1000],
        next_at=timezone.now() + timedelta(seconds=after),
        first_started_at=call.first_started_at if may_have_effect else None,
    )


def _current_attempt(call: CrowdCall) -> QuerySet[CrowdCall]:
    """Return a queryset with the call; it is empty if another runner has taken the call."""
    return CrowdCall.objects.filter(pk=call.pk, state=CrowdCall.State.STARTED, started_at=call.started_at)


def _may_have_succeeded_before(call: CrowdCall) -> bool:
    """Return whether an attempt before the current one may have had an effect.

    ``_postpone_call`` clears ``first_started_at`` after attempts that had none.
    """
    return call.first_started_at != call.started_at


def _draw_pause(rng: random.Random, attempt: int, requested_seconds: float) -> float:
    """Draw the seconds until the next attempt: below a bound that doubles, but at least what the crowd requested."""
    max_pause = min(MAX_BACKOFF_SECONDS, settings.CROWD_BACKOFF_SECONDS * 2.0**attempt)
    return max(requested_seconds, rng.uniform(0.0, max_pause))


@transaction.atomic
def finish_call(*, call: CrowdCall, answer: dict[str, Any]) -> bool:
    """Mark a call as done after the crowd carried it out, even if the call had failed before.

    Return False if another runner has marked it as done.

    Raises:
        OverBudget: the call's reservation was released when it failed, and the budget cannot cover it now; nothing
            changes.
    """
    # the effect moves the reserved money first: a database constraint demands that a call that is done reserves none
    locked_call = CrowdCall.objects.select_for_update().filter(pk=call.pk, state__in=UNDECIDED_STATES).first()
    if locked_call is None:
        return False
    locked_call.answer = answer
    apply_success(locked_call)
    row_count = CrowdCall.objects.filter(pk=call.pk).update(
        state=CrowdCall.State.DONE, done_at=timezone.now(), answer=answer, problem="", reserved_cents=0
    )
    return bool(row_count)


@transaction.atomic
def _fail_call(call: CrowdCall, problem: str, *, unsure: bool = False) -> int:
    """Mark a call as failed, and release its reservation unless its outcome is unknown (``unsure``).

    Return 0 if another runner has taken the call, else 1.
    """
    row_count = _current_attempt(call).update(
        state=CrowdCall.State.FAILED,
        problem=problem[:1000] or "The crowd gave no reason.",
        answer=call.answer | {"unsure": True} if unsure else call.answer,
    )
    if row_count and not unsure:
        apply_failure(call)
    return row_count
