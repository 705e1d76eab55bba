"""Ask a model about a study's units, in each order of the texts, within a budget. Repeating a run continues it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, F
from django.utils import timezone

from common.amounts import with_noun
from common.errors import DataConflict, WrongState
from contrib.judges.endpoint import CALL_SECONDS, MAX_DETAIL_LENGTH, AskLater, Endpoint, Reply
from contrib.judges.material import ROWS_PER_BATCH
from contrib.judges.models import Judge, JudgeAnswer
from contrib.judges.prompts import (
    CALL_OPTIONS,
    MAX_MARKS_TOKENS,
    MAX_REPLY_TOKENS,
    ChatPrompt,
    check_kind,
    has_orders,
    instructions_of,
    order_of,
    picture_of,
    prompt_about,
    read_reply,
)
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from judgments.access.study_log import note_event
from judgments.models import Study, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import no_progress

MAX_TRIES = 3  # attempts for a unit whose replies cannot be parsed
MAX_UNREADABLE = 10  # number of calls after which a run stops if no reply could be parsed
MAX_WAITS = 5  # consecutive failures of a busy endpoint after which a run stops
MAX_WAIT_SECONDS = 60.0
MILLION = 1_000_000  # amounts of money are stored in millionths
PARALLEL_CALLS = 4
# Sending, the first byte, all others and the last of them take CALL_SECONDS each at most, and connecting takes less. So
# a call that was made earlier than this has no running process any more.
STALE_AFTER = timedelta(seconds=5 * CALL_SECONDS)


@dataclass(frozen=True, slots=True)
class AskingResult:
    """The judge after a run, and the numbers of its rows by state.

    Attributes:
        answer_count: number of usable answers.
        failure_count: number of questions without a usable reply.
        remaining_count: number of questions that are not answered yet.
        reason: why the run ended early, or "".
    """

    judge: Judge
    answer_count: int
    failure_count: int
    remaining_count: int
    reason: str

    def describe(self) -> str:
        sentence = f"Judge {self.judge.name!r}: {with_noun(self.answer_count, 'answer')}"
        sentence += f", {self.failure_count:,} without a usable one" if self.failure_count else ""
        sentence += f", {self.remaining_count:,} not asked yet" if self.remaining_count else ""
        spent, budget = Decimal(self.judge.spent) / MILLION, Decimal(self.judge.budget) / MILLION
        return f"{sentence}; spent {spent:f} of {budget:f}.{f' {self.reason}' if self.reason else ''}"


def ask_model(
    *,
    study: Study,
    name: str,
    model: str,
    budget: Decimal,
    price_in: Decimal,
    price_out: Decimal,
    own_systems: Sequence[str] = (),
    prompt: str = "",
    max_tokens: int | None = None,
    by: User | None = None,
    endpoint: Endpoint | None = None,
    progress: Callable[[float, str], object] = no_progress,
) -> AskingResult:
    """Ask a model about every judged unit, in both orders if the unit shows several texts to choose from.

    Args:
        name: name of the judge, which is created if the study has none with this name.
        model: name of the model at the endpoint.
        budget: for all runs together, in the currency of the prices.
        price_in, price_out: prices of a million tokens of prompts, and of replies.
        own_systems: systems of the model's family, which it may favour.
        prompt: text before each item; by default the study's question and the allowed replies.
        max_tokens: length of a reply at most; by default MAX_REPLY_TOKENS, or MAX_MARKS_TOKENS if errors are marked.
        endpoint: by default the one of the settings.

    Raises:
        DataConflict: the judge exists with another model, prompt, family, endpoint or length of replies.
        EvaluationError: the kind of judgment has no judges, the judge has spent more than the budget, or no model
            can be asked.
    """
    kind = kind_of(study)
    check_kind(kind)
    with endpoint or Endpoint() as opened_endpoint:
        options = {
            "endpoint": opened_endpoint.host,
            "temperature": 0,
            "max_tokens": max_tokens or (MAX_REPLY_TOKENS if kind.marks is None else MAX_MARKS_TOKENS),
            "price_in": str(price_in),
            "price_out": str(price_out),
        }
        judge = _find_or_create_judge(
            study=study,
            name=name,
            model=model,
            prompt=prompt,
            own_systems=own_systems,
            options=options,
            budget=int(budget * MILLION),
            by=by,
        )
        _create_waiting_rows(study, judge)
        reason = _Run(study, judge, opened_endpoint, progress).ask_until_done()
    judge.refresh_from_db()
    counts = dict(judge.answers.order_by().values_list("state").annotate(n=Count("pk")))
    remaining_count = counts.get("waiting", 0) + counts.get("asked", 0)
    return AskingResult(judge, counts.get("answered", 0), counts.get("failed", 0), remaining_count, reason)


def answer_field_of(answer: Any) -> dict[str, Any]:
    """Return the field of a row in which an answer is stored, with the answer: ``answer`` or ``value``."""
    return {"answer": answer} if isinstance(answer, Mapping) else {"value": answer}


@transaction.atomic
def _find_or_create_judge(
    *,
    study: Study,
    name: str,
    model: str,
    prompt: str,
    own_systems: Sequence[str],
    options: Mapping[str, Any],
    budget: int,
    by: User | None,
) -> Judge:
    """Return the judge with this name and give it the budget and the prices, or create it.

    Raises:
        DataConflict: the judge has another model, prompt, own systems, endpoint or length of replies.
        EvaluationError: the judge has spent more than the budget.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    prompt = prompt or instructions_of(kind_of(study), design_of(study))
    judge = Judge.objects.filter(study=study, name=name).first()
    if judge is None:
        judge = Judge.objects.create(
            study=study, name=name, model=model, prompt=prompt, options=dict(options),
            own_systems=list(own_systems), budget=budget, made_by=by,
        )  # fmt: skip
        amount = Decimal(budget) / MILLION
        sentence = f"Judge {name!r} is asked: {model} at {options['endpoint']}, for {amount:f} at most."
        note_event(study=study, what="judge-asked", sentence=sentence, by=by)
        return judge
    fixed_options = {key: value for key, value in options.items() if not key.startswith("price")}
    is_same_judge = (judge.model, judge.prompt, judge.own_systems) == (model, prompt, list(own_systems))
    if not is_same_judge or not fixed_options.items() <= judge.options.items():
        raise DataConflict(
            f"Judge {name!r} of this study was asked otherwise (another model, prompt, family, endpoint or length of "
            "reply); expected the same again, or another name."
        )
    if budget < judge.spent + judge.reserved:
        raise EvaluationError(
            f"Judge {name!r} has spent {Decimal(judge.spent + judge.reserved) / MILLION:f} already; "
            "expected a budget of as much or more."
        )
    judge.budget, judge.options = budget, {**judge.options, **options}
    judge.save(update_fields=["budget", "options"])
    return judge


@transaction.atomic
def delete_judge(*, judge: Judge, by: User | None = None) -> str:
    """Delete a judge and its answers, and mark it as removed in stored comparisons. Return a sentence about it.

    Raises:
        WrongState: a call is in progress, whose cost would be lost.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=judge.study_id)
    recent_calls = judge.answers.filter(
        state=JudgeAnswer.State.ASKED, asked_at__gte=timezone.now() - STALE_AFTER
    )
    if recent_calls.exists():
        raise WrongState(
            f"Judge {judge.name!r} is being asked at this moment; expected the run to end or be stopped."
        )
    for analysis in Analysis.objects.filter(study=study, what=Analysis.Kind.JUDGES):
        for entry in analysis.result["judges"]:
            if entry["name"] == judge.name:
                entry["removed_at"] = timezone.now().isoformat()
        Analysis.objects.filter(pk=analysis.pk).update(result=analysis.result)
    count = judge.answers.count()
    spent_words = (
        f"; {Decimal(judge.spent + judge.reserved) / MILLION:f} had been spent on it" if judge.prompt else ""
    )
    sentence = f"Judge {judge.name!r} was removed with {with_noun(count, 'answer')}{spent_words}."
    note_event(study=study, what="judge-removed", sentence=sentence, by=by, judge=judge.name)
    judge.delete()
    return sentence


def _create_waiting_rows(study: Study, judge: Judge) -> None:
    """Create a waiting row for each unit and order of its texts that the judge has none for."""
    orders = (False, True) if has_orders(kind_of(study)) else (False,)
    existing = set(judge.answers.values_list("unit_id", "swapped"))
    units = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    JudgeAnswer.objects.bulk_create(
        (
            JudgeAnswer(judge=judge, unit_id=unit, swapped=swapped)
            for unit in units.values_list("pk", flat=True)
            for swapped in orders
            if (unit, swapped) not in existing
        ),
        batch_size=ROWS_PER_BATCH,
        ignore_conflicts=True,
    )


class _Run:
    """A run that asks the model about all waiting rows of a judge, a batch of parallel calls at a time."""

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
        """Ask until no unit is left. Return why the run ended early, or ""."""
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
                    return self._pending_sentence()
                done_count = self.judge.answers.filter(state__in=["answered", "failed"]).count()
                # this may raise an error, so it comes before any call is claimed
                self.progress(done_count / total, "asking the model")
                claimed_calls, has_copied_reply = [], False
                for row in rows:
                    chat_prompt = self._make_prompt(row)
                    max_cost = self._cost(chat_prompt.max_prompt_tokens, self.options["max_tokens"])
                    if self._copy_earlier_reply(row, chat_prompt):
                        has_copied_reply = True
                    elif self._claim_row(row, chat_prompt, max_cost):
                        claimed_calls.append((row, chat_prompt, max_cost))
                calls = [
                    pool.submit(self._call_model, row, chat_prompt) for row, chat_prompt, _ in claimed_calls
                ]
                reason = ""
                for (row, _, max_cost), call in zip(claimed_calls, calls, strict=True):
                    reason = self._store_reply(row, max_cost, call.result()) or reason
                reason = reason or self._why_unreadable() or self._pause([call.result() for call in calls])
                if reason:
                    return reason
                if not claimed_calls and not has_copied_reply and self._lacks_budget(rows):
                    return "The budget does not cover another call."

    def _make_prompt(self, row: JudgeAnswer) -> ChatPrompt:
        unit = row.unit
        picture = picture_of(unit.item) if self.kind.page.shows_picture and self.design.about_pictures else ""
        presented_unit = self.kind.present_unit(
            unit, side=order_of(self.kind, unit, swapped=row.swapped), picture_url=picture
        )
        source = unit.source_text if self.design.source.show else ""
        return prompt_about(self.judge.prompt, presented_unit, source=source, picture=picture)

    def _cost(self, tokens_in: int, tokens_out: int) -> int:
        """Return the cost in millionths of the currency, which prices of a million tokens give without a factor."""
        return math.ceil(tokens_in * self.price_in + tokens_out * self.price_out)

    def _claim_row(self, row: JudgeAnswer, chat_prompt: ChatPrompt, max_cost: int) -> bool:
        """Reserve the largest possible cost of the call, and mark the row as asked.

        Return False if the budget does not suffice, or another run has the row.
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
            if not claimed_rows:  # another run has the row
                judge.update(reserved=F("reserved") - max_cost)
                return False
        row.attempts += 1
        return True

    def _lacks_budget(self, rows: Sequence[JudgeAnswer]) -> bool:
        """Return whether rows that could not be claimed still wait. Otherwise another run has claimed them."""
        pks = [row.pk for row in rows]
        return JudgeAnswer.objects.filter(pk__in=pks, state=JudgeAnswer.State.WAITING).exists()

    def _digest(self, chat_prompt: ChatPrompt) -> str:
        return chat_prompt.digest({**self.options, "endpoint": self.endpoint.host})

    def _copy_earlier_reply(self, row: JudgeAnswer, chat_prompt: ChatPrompt) -> bool:
        """Copy an earlier reply to the same request in the study. Return whether there is one."""
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
            **answer_field_of(answer),
            reply=earlier_row.reply,
            answered_by=earlier_row.answered_by,
            request=earlier_row.request,
            cached=True,
            answered_at=timezone.now(),
        )
        return True

    def _call_model(self, row: JudgeAnswer, chat_prompt: ChatPrompt) -> Reply | AskLater | EvaluationError:
        """Send the request, in a thread that does not use the database."""
        call_id = f"quorum-{self.study.slug}-{row.pk}-{row.attempts}"
        try:
            return self.endpoint.ask(chat_prompt, options=self.options, call_id=call_id)
        except (AskLater, EvaluationError) as error:
            return error

    def _store_reply(self, row: JudgeAnswer, max_cost: int, reply: Reply | AskLater | EvaluationError) -> str:
        """Store the reply. Return why the run must stop, or ""."""
        cost, reason = 0, ""
        values: dict[str, Any] = {"state": JudgeAnswer.State.WAITING}
        if isinstance(reply, Reply):
            has_counts = reply.tokens_in >= 0 and reply.tokens_out >= 0
            cost = self._cost(reply.tokens_in, reply.tokens_out) if has_counts else max_cost
            values = self._reply_fields(row, reply)
            if cost > max_cost:
                host = self.endpoint.host
                reason = f"{host} charged more than a call can cost by these prices; nothing more was asked."
                # book the largest cost that was promised; the sentence says that it was exceeded
                cost = max_cost
        elif isinstance(reply, AskLater):
            cost = max_cost if reply.may_have_charged else 0
        else:
            reason = str(reply)
        self._record_attempt(row, max_cost, cost, values)
        return reason

    def _pause(self, replies: Sequence[Reply | AskLater | EvaluationError]) -> str:
        """Wait once for all rejected calls of a batch. Return why the run must stop instead, or ""."""
        if any(isinstance(reply, Reply) for reply in replies):
            self.consecutive_waits = 0
        delayed_calls = [reply for reply in replies if isinstance(reply, AskLater)]
        if not delayed_calls:
            return ""
        self.consecutive_waits += 1
        if self.consecutive_waits >= MAX_WAITS:
            return f"{self.endpoint.host} does not answer: {delayed_calls[-1]}. Ask again later; what is there is kept."
        backoff = getattr(settings, "JUDGE_BACKOFF_SECONDS", 0.5) * 2 ** (self.consecutive_waits - 1)
        time.sleep(min(max(backoff, *(reply.wait_seconds for reply in delayed_calls)), MAX_WAIT_SECONDS))
        return ""

    def _why_unreadable(self) -> str:
        """Return why the run must stop: there were many replies, and none could be parsed. Return "" otherwise."""
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
        values = {
            "reply": reply.text,
            "answered_by": reply.model,
            **answer_field_of(answer),
            "answered_at": timezone.now(),
            "state": JudgeAnswer.State.ANSWERED,
        }
        if answer is None:
            may_retry = row.attempts < MAX_TRIES
            values["state"] = JudgeAnswer.State.WAITING if may_retry else JudgeAnswer.State.FAILED
        return values

    def _record_attempt(self, row: JudgeAnswer, max_cost: int, cost: int, values: Mapping[str, Any]) -> None:
        """Store the fields of a row and book the cost of its call, unless another run has taken the row."""
        with transaction.atomic():
            rows_of_attempt = JudgeAnswer.objects.filter(state=JudgeAnswer.State.ASKED, attempts=row.attempts)
            if rows_of_attempt.filter(pk=row.pk).update(reserved=0, cost=F("cost") + cost, **values):
                Judge.objects.filter(pk=self.judge.pk).update(
                    reserved=F("reserved") - max_cost, spent=F("spent") + cost
                )

    def _requeue_stale_calls(self) -> None:
        """Queue the calls of killed runs again. Their largest possible cost counts as spent."""
        stale_rows = self.judge.answers.filter(
            state=JudgeAnswer.State.ASKED, asked_at__lt=timezone.now() - STALE_AFTER
        )
        for row in stale_rows:
            self._record_attempt(row, row.reserved, row.reserved, {"state": JudgeAnswer.State.WAITING})

    def _pending_sentence(self) -> str:
        """Return a sentence about calls without a reply, which another run may have made; "" if there are none."""
        count = self.judge.answers.filter(state=JudgeAnswer.State.ASKED).count()
        if not count:
            return ""
        minutes = int(STALE_AFTER.total_seconds() // 60)
        return f"{with_noun(count, 'call')} of another run may be in progress; ask again after {minutes} minutes."
