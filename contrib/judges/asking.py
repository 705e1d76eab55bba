"""Ask a model about the units of a study as a judge, and remove judges. Asking again continues a stopped run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from common.amounts import with_noun
from common.errors import DataConflict, WrongState
from contrib.judges.endpoint import Endpoint
from contrib.judges.models import Judge, JudgeAnswer
from contrib.judges.prompts import (
    MAX_MARKS_TOKENS,
    MAX_REPLY_TOKENS,
    check_kind,
    has_orders,
    instructions_of,
)
from contrib.judges.runs import STALE_AFTER, JudgeRun
from evaluation.data.judgment_sets.loaders import ROWS_PER_BATCH
from evaluation.errors import EvaluationError
from evaluation.models import Analysis
from judgments.access.study_log import note_event
from judgments.models import Study, Unit
from judgments.studies.designs import design_of, kind_of
from judgments.studies.generation.progress import no_progress

MILLION = 1_000_000  # amounts of money are stored in millionths


@dataclass(frozen=True, slots=True)
class AskingResult:
    """The judge after a run, and the numbers of its answers by state.

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
        budget: the amount that may be spent in all runs together, in the currency of the prices.
        price_in, price_out: prices of a million tokens of prompts, and of replies.
        own_systems: systems of the model's family, which it may favour.
        prompt: instructions before each unit; by default the study's question and the allowed replies.
        max_tokens: length of a reply at most; by default MAX_REPLY_TOKENS, or MAX_MARKS_TOKENS if errors are marked.
        endpoint: by default the one of the settings.

    Raises:
        DataConflict: the judge exists with another model, prompt, family, endpoint or length of replies.
        EvaluationError: judges cannot answer this kind of unit, the judge has spent more than the budget, or no
            endpoint is set.
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
        reason = JudgeRun(study, judge, opened_endpoint, progress).ask_until_done()
    judge.refresh_from_db()
    counts = dict(judge.answers.order_by().values_list("state").annotate(n=Count("pk")))
    remaining_count = counts.get("waiting", 0) + counts.get("asked", 0)
    return AskingResult(judge, counts.get("answered", 0), counts.get("failed", 0), remaining_count, reason)


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
    """Return the judge with this name, with the new budget and prices, or create it.

    Raises:
        DataConflict: the judge has another model, prompt, own systems, endpoint or length of replies.
        EvaluationError: the judge has spent more than the budget.
    """
    # Lock the study, so that two runs do not create the same judge.
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
    if budget < judge.spent + judge.reserved:  # reserved: what calls in progress cost at most
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
    was_asked = bool(judge.prompt)  # imported judges have no prompt and no costs
    spent_words = (
        f"; {Decimal(judge.spent + judge.reserved) / MILLION:f} had been spent on it" if was_asked else ""
    )
    sentence = f"Judge {judge.name!r} was removed with {with_noun(count, 'answer')}{spent_words}."
    note_event(study=study, what="judge-removed", sentence=sentence, by=by, judge=judge.name)
    judge.delete()
    return sentence


def _create_waiting_rows(study: Study, judge: Judge) -> None:
    """Create a waiting answer for each unit and order of its texts for which the judge has no answer yet."""
    swaps = (False, True) if has_orders(kind_of(study)) else (False,)
    existing_answers = set(judge.answers.values_list("unit_id", "swapped"))
    units = Unit.objects.filter(study=study, control=False).order_by("position", "pk")
    JudgeAnswer.objects.bulk_create(
        (
            JudgeAnswer(judge=judge, unit_id=unit, swapped=swapped)
            for unit in units.values_list("pk", flat=True)
            for swapped in swaps
            if (unit, swapped) not in existing_answers
        ),
        batch_size=ROWS_PER_BATCH,
        ignore_conflicts=True,  # another run of the judge may create the same rows
    )
