"""The operations that import a judge's answers, ask a model, remove a judge, and compare judges with people."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from rest_framework import serializers

from common.amounts import with_noun
from common.errors import DataConflict
from common.incoming.json_documents import load_json
from common.parameters import FileText, KeysField, Parameters
from contrib.judges.asking import answer_field_of, ask_model, delete_judge
from contrib.judges.endpoint import is_own_host
from contrib.judges.material import ROWS_PER_BATCH
from contrib.judges.models import Judge, JudgeAnswer
from contrib.judges.prompts import MAX_MARKS_TOKENS, MAX_REPLY_TOKENS, check_kind, has_orders
from evaluation.errors import EvaluationError
from judgments.access.rights import Right
from judgments.access.study_log import note_event
from judgments.kinds import Kind
from judgments.models import Study, System, Unit
from judgments.operations import Outcome, background_operation, operation, row_of
from judgments.studies.designs import design_of, kind_of
from quorum.statistics.judges import EPSILON

SWAPPED_BY_ORDER = {"": False, "first-left": False, "second-left": True}
MAX_RATER_LENGTH = 80  # characters
MAX_PROMPT_LENGTH = 10_000  # characters
MAX_SEED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ImportedJudge:
    """The outcome of an import. ``is_new`` is false if the judge was there already, with the same answers."""

    judge: Judge
    answer_count: int
    is_new: bool

    def describe(self) -> str:
        count = with_noun(self.answer_count, "answer")
        outcome = count if self.is_new else "the same answers were there already; nothing changed"
        return f"Judge {self.judge.name!r}: {outcome}."


def store_answers(
    *,
    study: Study,
    name: str,
    answers: str,
    source: str = Judge.Source.MODEL,
    model: str = "",
    own_systems: Sequence[str] = (),
    by: User | None = None,
) -> ImportedJudge:
    """Store a new judge with its answers, all or none, from CSV with a header, or JSON lines.

    Args:
        answers: the file's text, with the columns unit, value, and optionally rater and order. ``value`` 1 is the
            first candidate of the unit, whichever was shown first. Kinds whose exports have a column ``answer`` need
            that column instead of ``value``. ``order`` is "first-left" or "second-left", by the text that was shown
            first.
        own_systems: systems of the model's family, which it may favour.

    Raises:
        EvaluationError: a line is invalid, a system is not of the study, or the kind of judgment has no judges.
        DataConflict: a judge with this name has other answers, or another source, model or family.
    """
    check_kind(kind_of(study))
    check_systems(study, own_systems)
    answers = answers.replace("\r\n", "\n")  # forms send \r\n
    fingerprint = hashlib.sha256(answers.encode()).hexdigest()
    rows = list(_read_answers(study, answers))
    if not rows:
        raise EvaluationError("The answers hold no row, expected lines with unit and value.")
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        judge = Judge.objects.filter(study=study, name=name).first()
        if judge is not None:
            has_same_answers = judge.fingerprint == fingerprint
            origin = (source, model, list(own_systems))
            has_same_origin = (judge.source, judge.model, judge.own_systems) == origin
            if has_same_answers and has_same_origin:
                return ImportedJudge(judge, len(rows), is_new=False)
            difference = "of another source, model or family" if has_same_answers else "with other answers"
            raise DataConflict(f"This study has a judge {name!r} {difference}; expected another name.")
        judge = Judge.objects.create(
            study=study, name=name, source=source, model=model, own_systems=list(own_systems),
            fingerprint=fingerprint, made_by=by,
        )  # fmt: skip
        JudgeAnswer.objects.bulk_create(
            (JudgeAnswer(judge=judge, state=JudgeAnswer.State.ANSWERED, **row) for row in rows),
            batch_size=ROWS_PER_BATCH,
        )
        sentence = f"Judge {name!r} was imported: {with_noun(len(rows), 'answer')}."
        note_event(study=study, what="judge-imported", sentence=sentence, by=by)
    return ImportedJudge(judge, len(rows), is_new=True)


def check_systems(study: Study, names: Sequence[str]) -> None:
    """Raise EvaluationError if a name is not that of a system of the study."""
    systems = sorted(System.objects.of_study(study).values_list("name", flat=True))
    for name in names:
        if name not in systems:
            raise EvaluationError(
                f"own_systems names {name!r}; expected systems of this study: {', '.join(systems) or 'there are none'}."
            )


def _read_answers(study: Study, answers: str) -> Iterator[dict[str, Any]]:
    """Yield the fields of a ``JudgeAnswer`` for each line. Raise EvaluationError for an invalid line."""
    kind, design = kind_of(study), design_of(study)
    units = {unit.key: unit for unit in _units_to_answer(study, kind)}
    column = "answer" if kind.is_open else "value"
    earlier_keys: set[tuple[Any, ...]] = set()
    for line_number, row in _parse_rows(answers, column):
        unit_key = str(row.get("unit", "")).strip()
        if unit_key not in units:
            raise EvaluationError(
                f"Line {line_number} names unit {unit_key[:80]!r}, which is no judged unit of this study."
            )
        unit, cell = units[unit_key], row.get(column)
        try:
            if kind.is_open:
                cell = load_json(cell) if isinstance(cell, str) else cell
                value = kind.exchange.from_file(cell, content=unit.content)
                value = kind.clean_answer(value, unit=unit, design=design)
            else:
                value = kind.clean_answer(_parse_integer(cell), unit=unit, design=design)
        except ValueError as error:
            raise EvaluationError(f"Line {line_number} has {column} {str(cell)[:40]!r}; {error}.") from None
        order = str(row.get("order") or "").strip()
        rater = str(row.get("rater") or "").strip()
        if order not in SWAPPED_BY_ORDER or (order and not has_orders(kind)):
            expected_orders = (
                "first-left or second-left" if has_orders(kind) else "no order, as nothing is beside the text"
            )
            raise EvaluationError(f"Line {line_number} has order {order[:40]!r}; expected {expected_orders}.")
        if len(rater) > MAX_RATER_LENGTH:
            raise EvaluationError(
                f"Line {line_number} names a rater with {len(rater)} characters, expected {MAX_RATER_LENGTH} at most."
            )
        answer_key = {"unit_id": unit.pk, "rater": rater, "swapped": SWAPPED_BY_ORDER[order]}
        if tuple(answer_key.values()) in earlier_keys:
            raise EvaluationError(
                f"Line {line_number} answers unit {unit_key!r} again, by the same rater in the same order."
            )
        earlier_keys.add(tuple(answer_key.values()))
        yield {**answer_key, **answer_field_of(value)}


def _units_to_answer(study: Study, kind: Kind) -> Iterable[Unit]:
    units = Unit.objects.filter(study=study, control=False)
    return units.select_related("first") if kind.is_open else units.only("key")


def _parse_integer(value: Any) -> Any:
    """Return the integer that a cell or a JSON value states, or the value unchanged."""
    text = str(value).strip()
    return int(text) if text.lstrip("-").isdecimal() and text.isascii() else value


def _parse_rows(answers: str, column: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the line number and the row of each answer, from JSON lines if the text begins with "{", or else CSV."""
    text = answers.removeprefix("\ufeff")
    if text.lstrip().startswith("{"):
        for line_number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                row = load_json(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise EvaluationError(
                    f"Line {line_number} is no JSON object, expected one with unit and {column}."
                )
            yield line_number, row
        return
    table = csv.DictReader(io.StringIO(text))
    try:
        missing_columns = [name for name in ("unit", column) if name not in (table.fieldnames or ())]
        if missing_columns:
            raise EvaluationError(
                f"The first line names no column {missing_columns[0]!r}; expected unit and {column}, and "
                "rater and order if known."
            )
        for row in table:
            yield table.line_num, row
    except csv.Error as error:
        raise EvaluationError(f"Line {table.reader.line_num} is no CSV: {error}.") from None


class JudgeDescription(Parameters):
    """The name, the model and the family of a judge that is imported or asked."""

    name = serializers.CharField(
        max_length=80,
        label="Name of the judge",
        help_text="The judge's name in tables, such as small-model-1.",
    )
    model = serializers.CharField(
        max_length=200, required=False, label="Model", help_text="The model's name and version."
    )
    own_systems = KeysField(
        required=False,
        label="Systems of the same model family",
        help_text="Systems of the study from the same model family as the judge. The judge could favour the "
        "texts of these systems.",
    )


class JudgeFile(JudgeDescription):
    """The options of an import, without the file itself. The command takes the file as an argument."""

    source = serializers.ChoiceField(  # type: ignore[assignment]  # a serializer's fields are no attributes of it
        choices=Judge.Source.choices,
        required=False,
        initial=Judge.Source.MODEL.value,
        label="Type",
        help_text="Whether the judge is a model or another crowd (default: model).",
    )


class ImportJudgeRequest(JudgeFile):
    """A judge, and the file of its answers."""

    answers = FileText(
        label="Answers",
        help_text="CSV with a header line, or JSON lines. Required columns: “unit”, and “value” or "
        "“answer”. Optional columns: “rater” and “order”.",
    )


@operation("import-judge", "Import a judge's answers", parameters=ImportJudgeRequest)
def import_judge(*, study: Study, by: User | None, name: str, answers: str, **values: Any) -> Outcome:
    """Store a model's or another crowd's answers in addition to people's. Repeating changes nothing."""
    return Outcome(store_answers(study=study, name=name, answers=answers, by=by, **values).describe())


@operation("remove-judge", "Remove a judge", row="judge")
def remove_judge(*, study: Study, by: User | None, judge: str) -> Outcome:
    """Remove a judge and its answers. Results that were computed with it stay, and say that it was removed."""
    return Outcome(delete_judge(judge=row_of(Judge.objects.filter(study=study), judge), by=by))


def _amount_field(label: Any, help_text: str, **options: Any) -> serializers.DecimalField:
    """Return a field for an amount of money with six decimals, as a ``Judge`` stores millionths."""
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=Decimal(0), label=label, help_text=help_text, **options
    )


class AskJudgeRequest(JudgeDescription):
    """The model to ask, and its budget."""

    model = serializers.CharField(
        max_length=200, label="Model", help_text="The name of the model at the API endpoint."
    )
    budget = _amount_field(
        "Budget", "Maximum amount that can be spent, in the currency of the prices. 0 if the model is free."
    )
    price_in = _amount_field(
        "Price of a million tokens that are sent to the model",
        "Price of a million tokens that are sent to the model.",
        required=False,
    )
    price_out = _amount_field(
        "Price of a million tokens that the model writes",
        "Price of a million tokens that the model writes.",
        required=False,
    )
    prompt = serializers.CharField(
        max_length=MAX_PROMPT_LENGTH,
        required=False,
        style={"base_template": "textarea.html"},
        label="Prompt",
        help_text="Text before each item (default: the study's question and the possible replies).",
    )
    max_tokens = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        label="Maximum length of a reply",
        help_text=f"Maximum number of tokens in a reply (default: {MAX_REPLY_TOKENS}, or {MAX_MARKS_TOKENS:,} if "
        "errors are marked). Reasoning models need more.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        prices = attrs.get("price_in", Decimal(0)), attrs.get("price_out", Decimal(0))
        if attrs["budget"] and not any(prices):
            problem = "A budget needs the prices; expected those of a million tokens, or a budget of 0."
            raise serializers.ValidationError({"price_in": [problem]})
        return super().validate(attrs)


def check_asking(study: Study, own_systems: list[str]) -> None:
    """Raise EvaluationError if a model cannot be asked about the study, or a system is not of the study."""
    check_kind(kind_of(study))
    check_systems(study, own_systems)


@background_operation(
    "ask-judge", "Ask a model", job="ask_judge", parameters=AskJudgeRequest, right=Right.CHANGE, scope="studies",
    once="always",
)  # fmt: skip
def start_judge_run(*, study: Study, **values: Any) -> dict[str, Any]:
    """Ask a model at the installation's endpoint about every unit, in both orders, within the budget."""
    check_asking(study, values.get("own_systems", []))
    if not is_own_host() and not all(values.get(name) for name in ("budget", "price_in", "price_out")):
        raise EvaluationError(
            "The endpoint is another's, and its calls cost money; expected a budget and both prices above 0."
        )
    # amounts are stored in the job as text, since JSON has no decimals
    amounts: dict[str, Any] = {
        name: str(values.pop(name)) for name in ("budget", "price_in", "price_out") if name in values
    }
    return {**values, **amounts}


def ask_judge_now(*, study: Study, **values: Any) -> Any:
    """Ask the model within the command, without a job."""
    check_asking(study, values.get("own_systems", []))
    return ask_model(study=study, **{"price_in": Decimal(0), "price_out": Decimal(0), **values})


class CompareJudgesRequest(Parameters):
    """The epsilon of the alternative annotator test, and the seed."""

    epsilon = serializers.FloatField(
        min_value=0,
        max_value=0.99,
        required=False,
        initial=EPSILON,
        label="Epsilon",
        help_text=f"Margin by which a judge can be worse than a person (default: {EPSILON}). Use 0.1 for a crowd, "
        "0.15 for skilled people, and 0.2 for experts.",
    )
    seed = serializers.IntegerField(
        min_value=0,
        max_value=MAX_SEED,
        required=False,
        initial=0,
        label="Seed",
        help_text="Seed of the random numbers (default: 0).",
    )


@background_operation(
    "compare-judges", "Compare judges with people", job="compare_judges", parameters=CompareJudgesRequest
)
def start_judge_comparison(*, study: Study, **values: Any) -> dict[str, Any]:
    """Compute agreement, biases, the alternative annotator test and prediction-powered estimates of every judge."""
    check_kind(kind_of(study))
    return values
