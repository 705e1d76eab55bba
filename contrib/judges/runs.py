"""Send the waiting questions of a judge to its model, a batch of parallel calls at a time, within the budget.

The largest possible cost of a call is reserved before it is made, and the actual cost is booked afterwards. So the
budget is never exceeded, not even by several runs at the same time or by a run that is killed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from common.amounts import with_noun
from contrib.judges.endpoint import CALL_SECONDS, MAX_DETAIL_LENGTH, AskLater, Endpoint, Reply
from contrib.judges.models import Judge, JudgeAnswer, answer_fields
from contrib.judges.prompts import (
    CALL_OPTIONS,
    ChatPrompt,
    order_of,
    picture_url_of,
    prompt_for_unit,
    read_reply,
)
from evaluation.errors import EvaluationError
from judgments.models import Study
from judgments.studies.designs import design_of, kind_of

MAX_TRIES = 3  # attempts for a unit whose replies cannot be parsed
MAX_UNREADABLE = 10  # number of questions with a reply after which a run stops if no reply could be parsed
MAX_WAITS = 5  # consecutive failures of a busy endpoint after which a run stops
MAX_WAIT_SECONDS = 60.0
PARALLEL_CALLS = 4
# Connecting, sending, and waiting for the first byte, for further bytes and for the last byte take CALL_SECONDS each at
# most. If a call that is older has no reply, the process that made it has ended.
STALE_AFTER = timedelta(seconds=5 * CALL_SECONDS)

CallResult = Reply | AskLater | EvaluationError


class _ClaimedCall(NamedTuple):
    """A call to make: the row of the answer, which this run has claimed, the prompt, and the cost that is reserved."""

    row: JudgeAnswer
    chat_prompt: ChatPrompt
    max_cost: int


class JudgeRun:
    """A run that asks the model for all waiting answers of a judge, with a unit's texts in either order (``swapped``).

    Args:
        progress: a function to call with the share that is done, and with what is done next.
    """

    def __init__(
        self, study: Study, judge: Judge, endpoint: Endpoint, progress: Callable[[float, str], object]
    ) -> None:
        self.study, self.judge, self.endpoint, self.progress = study, judge, endpoint, progress
        self.kind, self.design = kind_of(study), design_of(study)
        self.price_in = Decimal(judge.options["price_in"])
        self.price_out = Decimal(judge.options["price_out"])
        self.options = {"model": judge.model} | {key: judge.options[key] for key in CALL_OPTIONS}
        self.consecutive_waits = 0

    def ask_until_done(self) -> str:
        """Ask until no answer is waiting. Return why the run ended early, or ""."""
        self._requeue_stale_calls()
        total = max(self.judge.answers.count(), 1)
        with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
            while True:
                rows = list(
                    self.judge.answers.filter(state=JudgeAnswer.State.WAITING)
                    .select_related("unit__item", "unit__first", "unit__second", "unit__reference")
                    .order_by("attempts", "unit__position", "swapped")[:PARALLEL_CALLS]
                )
                if not rows:
                    return self._describe_pending_calls()
                done_count = self.judge.answers.filter(state__in=["answered", "failed"]).count()
                # Progress is reported before any call is claimed, since this raises an error if the run was stopped.
                self.progress(done_count / total, "asking the model")
                claimed_calls, has_copied_reply = self._claim_calls(rows)
                futures = [pool.submit(self._call_model, call) for call in claimed_calls]
                reason = ""
                for call, future in zip(claimed_calls, futures, strict=True):
                    reason = self._store_result(call, future.result()) or reason
                results = [future.result() for future in futures]
                reason = reason or self._why_unreadable() or self._pause(results)
                if reason:
                    return reason
                if not claimed_calls and not has_copied_reply and self._lacks_budget(rows):
                    return "The budget does not cover another call."

    def _claim_calls(self, rows: Sequence[JudgeAnswer]) -> tuple[list[_ClaimedCall], bool]:
        """Return the calls to make for waiting rows, and whether an earlier reply was copied to a row instead."""
        claimed_calls, has_copied_reply = [], False
        for row in rows:
            chat_prompt = self._make_prompt(row)
            max_cost = self._cost(chat_prompt.max_prompt_tokens, self.options["max_tokens"])
            if self._copy_earlier_reply(row, chat_prompt):
                has_copied_reply = True
            elif self._claim_row(row, chat_prompt, max_cost):
                claimed_calls.append(_ClaimedCall(row, chat_prompt, max_cost))
        return claimed_calls, has_copied_reply

    def _make_prompt(self, row: JudgeAnswer) -> ChatPrompt:
        unit = row.unit
        picture = (
            picture_url_of(unit.item) if self.kind.page.shows_picture and self.design.about_pictures else ""
        )
        presented_unit = self.kind.present_unit(
            unit, side=order_of(self.kind, unit, swapped=row.swapped), picture_url=picture
        )
        source = unit.source_text if self.design.source.show else ""
        return prompt_for_unit(self.judge.prompt, presented_unit, source=source, picture=picture)

    def _cost(self, tokens_in: int, tokens_out: int) -> int:
        """Return the cost of a call in millionths of the currency.

        Prices are of a million tokens, so that they are also the prices of a token in millionths.
        """
        return math.ceil(tokens_in * self.price_in + tokens_out * self.price_out)

    def _claim_row(self, row: JudgeAnswer, chat_prompt: ChatPrompt, max_cost: int) -> bool:
        """Reserve the largest possible cost of the call, and mark the row as asked.

        Return whether this was possible: the budget suffices, and no other run has claimed the row.
        """
        with transaction.atomic():
            judge = Judge.objects.filter(pk=self.judge.pk)
            affordable_judge = judge.filter(spent__lte=F("budget") - F("reserved") - max_cost)
            if not affordable_judge.update(reserved=F("reserved") + max_cost):
                return False
            claimed_rows = JudgeAnswer.objects.filter(
                pk=row.pk, state=JudgeAnswer.State.WAITING, attempts=row.attempts
            ).update(
                state=JudgeAnswer.State.ASKED,
                attempts=F("attempts") + 1,
                reserved=max_cost,
                request=self._digest(chat_prompt),
                asked_at=timezone.now(),
            )
            if not claimed_rows:
                judge.update(reserved=F("reserved") - max_cost)
                return False
        row.attempts += 1
        return True

    def _lacks_budget(self, rows: Sequence[JudgeAnswer]) -> bool:
        """Return whether rows could not be claimed for lack of budget: they still wait.

        Otherwise, another run has claimed them.
        """
        pks = [row.pk for row in rows]
        return JudgeAnswer.objects.filter(pk__in=pks, state=JudgeAnswer.State.WAITING).exists()

    def _digest(self, chat_prompt: ChatPrompt) -> str:
        return chat_prompt.digest({**self.options, "endpoint": self.endpoint.host})

    def _copy_earlier_reply(self, row: JudgeAnswer, chat_prompt: ChatPrompt) -> bool:
        """Copy an earlier reply to the same request in the study to the row. Return whether there is one."""
        answered_rows = JudgeAnswer.objects.filter(judge__study=self.study, state=JudgeAnswer.State.ANSWERED)
        earlier_row = answered_rows.filter(request=self._digest(chat_prompt)).order_by("pk").first()
        if earlier_row is None:
            return False
        answer = read_reply(self.kind, earlier_row.reply, swapped=row.swapped, unit=row.unit)
        waiting_row = JudgeAnswer.objects.filter(
            pk=row.pk, state=JudgeAnswer.State.WAITING, attempts=row.attempts
        )
        waiting_row.update(
            state=JudgeAnswer.State.ANSWERED,
            **answer_fields(answer),
            reply=earlier_row.reply,
            answered_by=earlier_row.answered_by,
            request=earlier_row.request,
            cached=True,
            answered_at=timezone.now(),
        )
        return True

    def _call_model(self, call: _ClaimedCall) -> CallResult:
        """Return the reply or the error. This runs in a thread, so it does not use the database."""
        call_id = f"quorum-{self.study.slug}-{call.row.pk}-{call.row.attempts}"
        try:
            return self.endpoint.ask(call.chat_prompt, options=self.options, call_id=call_id)
        except (AskLater, EvaluationError) as error:
            return error

    def _store_result(self, call: _ClaimedCall, result: CallResult) -> str:
        """Store the result of a call, and book its cost. Return why the run must stop, or ""."""
        cost, reason = 0, ""
        fields: dict[str, Any] = {"state": JudgeAnswer.State.WAITING}
        if isinstance(result, Reply):
            has_counts = result.tokens_in >= 0 and result.tokens_out >= 0  # -1: not stated
            cost = self._cost(result.tokens_in, result.tokens_out) if has_counts else call.max_cost
            fields = self._reply_fields(call.row, result)
            if cost > call.max_cost:
                host = self.endpoint.host
                reason = f"{host} charged more than a call can cost by these prices; nothing more was asked."
                # Only the reserved cost is booked, since the budget may not cover more.
                cost = call.max_cost
        elif isinstance(result, AskLater):
            cost = call.max_cost if result.may_have_charged else 0
        else:
            reason = str(result)
        self._record_attempt(call.row, call.max_cost, cost, fields)
        return reason

    def _pause(self, results: Sequence[CallResult]) -> str:
        """Wait once for all calls of a batch that must be repeated later. Return why the run must stop, or ""."""
        if any(isinstance(result, Reply) for result in results):
            self.consecutive_waits = 0
        delayed_calls = [result for result in results if isinstance(result, AskLater)]
        if not delayed_calls:
            return ""
        self.consecutive_waits += 1
        if self.consecutive_waits >= MAX_WAITS:
            return f"{self.endpoint.host} does not answer: {delayed_calls[-1]}. Ask again later; what is there is kept."
        backoff = getattr(settings, "JUDGE_BACKOFF_SECONDS", 0.5) * 2 ** (self.consecutive_waits - 1)
        time.sleep(min(max(backoff, *(call.wait_seconds for call in delayed_calls)), MAX_WAIT_SECONDS))
        return ""

    def _why_unreadable(self) -> str:
        """Return why the run must stop if none of many replies could be parsed, or else ""."""
        replies = self.judge.answers.filter(answered_at__isnull=False)
        reply_count = replies.count()
        if reply_count < MAX_UNREADABLE or replies.filter(state=JudgeAnswer.State.ANSWERED).exists():
            return ""
        last_reply = replies.order_by("-answered_at").values_list("reply", flat=True)[0][:MAX_DETAIL_LENGTH]
        return (
            f"None of the replies to {reply_count:,} questions could be read, "
            f"the last of which is {last_reply!r}; expected another name with another --prompt, or "
            "larger --max-tokens where it thinks aloud."
        )

    def _reply_fields(self, row: JudgeAnswer, reply: Reply) -> dict[str, Any]:
        """Return the fields that store a reply. The row waits for another attempt if the reply cannot be parsed."""
        answer = read_reply(self.kind, reply.text, swapped=row.swapped, unit=row.unit)
        fields = {
            "reply": reply.text,
            "answered_by": reply.model,
            **answer_fields(answer),
            "answered_at": timezone.now(),
            "state": JudgeAnswer.State.ANSWERED,
        }
        if answer is None:
            may_retry = row.attempts < MAX_TRIES
            fields["state"] = JudgeAnswer.State.WAITING if may_retry else JudgeAnswer.State.FAILED
        return fields

    def _record_attempt(self, row: JudgeAnswer, max_cost: int, cost: int, fields: Mapping[str, Any]) -> None:
        """Store the fields of a row and book the cost of its call, unless another run has claimed the row since."""
        with transaction.atomic():
            rows_of_attempt = JudgeAnswer.objects.filter(state=JudgeAnswer.State.ASKED, attempts=row.attempts)
            if rows_of_attempt.filter(pk=row.pk).update(reserved=0, cost=F("cost") + cost, **fields):
                Judge.objects.filter(pk=self.judge.pk).update(
                    reserved=F("reserved") - max_cost, spent=F("spent") + cost
                )

    def _requeue_stale_calls(self) -> None:
        """Let the rows wait again whose calls belong to killed runs. The reserved costs of these calls are booked."""
        stale_rows = self.judge.answers.filter(
            state=JudgeAnswer.State.ASKED, asked_at__lt=timezone.now() - STALE_AFTER
        )
        for row in stale_rows:
            self._record_attempt(row, row.reserved, row.reserved, {"state": JudgeAnswer.State.WAITING})

    def _describe_pending_calls(self) -> str:
        """Return a sentence about calls that have no reply yet and may be of another run; "" if there are none."""
        count = self.judge.answers.filter(state=JudgeAnswer.State.ASKED).count()
        if not count:
            return ""
        minutes = int(STALE_AFTER.total_seconds() // 60)
        return f"{with_noun(count, 'call')} of another run may be in progress; ask again after {minutes} minutes."
