"""Operations: import, ask, remove and compare judges."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers

from common.parameters import FileText, KeysField, Parameters
from evaluation.errors import EvaluationError
from evaluation.models import Judge
from evaluation.results.judges.asking import LONGEST_MARKS, LONGEST_REPLY
from evaluation.results.judges.asking import ask_judge as ask_model
from evaluation.results.judges.asking import remove_judge as remove_answers
from evaluation.results.judges.endpoint import is_own_host
from evaluation.results.judges.importing import check_systems
from evaluation.results.judges.importing import import_judge as import_answers
from evaluation.results.judges.prompts import check_kind
from evaluation.statistics.judges import EPSILON
from judgments.access.roles import Right
from judgments.models import Study
from judgments.studies.studies import kind_of
from judgments.study_operations import Outcome, background_operation, operation, row_of

LONGEST_PROMPT = 10_000
LARGEST_SEED = 2**31 - 1


class JudgeName(Parameters):
    name = serializers.CharField(
        max_length=80,
        label="Name of the judge",
        help_text="What it is called in tables, such as small-model-1.",
    )
    model = serializers.CharField(
        max_length=200,
        required=False,
        label="Model",
        help_text="The model's name and version.",
    )
    own_systems = KeysField(
        required=False,
        label="Systems of its family",
        help_text="Systems of the study that come from the same family, which it may favour.",
    )


class JudgeFile(JudgeName):
    """Whose answers a file holds."""

    source = serializers.ChoiceField(  # type: ignore[assignment]  # a serializer's fields are no attributes of it
        choices=Judge.Source.choices,
        required=False,
        initial=Judge.Source.MODEL.value,
        label="It is",
        help_text="A model, or another crowd (default: model).",
    )


class ImportJudgeRequest(JudgeFile):
    """A judge and its answers."""

    answers = FileText(
        label="Answers",
        help_text="CSV with a header line, or JSON lines: unit, value or answer, and rater and order if known.",
    )


@operation("import-judge", "Import a judge's answers", parameters=ImportJudgeRequest)
def import_judge(*, study: Study, by: User | None, name: str, answers: str, **values: Any) -> Outcome:
    """Store a model's or another crowd's answers beside people's. The same again changes nothing."""
    return Outcome(import_answers(study=study, name=name, answers=answers, by=by, **values).describe())


@operation("remove-judge", "Remove a judge", row="judge")
def remove_judge(*, study: Study, by: User | None, judge: str) -> Outcome:
    """Remove a judge and its answers; what was computed with it stays, and says that it is gone."""
    return Outcome(remove_answers(judge=row_of(Judge.objects.filter(study=study), judge), by=by))


def _amount_field(label: Any, help_text: str, **options: Any) -> serializers.DecimalField:
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=Decimal(0), label=label, help_text=help_text, **options
    )


class AskJudgeRequest(JudgeName):
    """Which model, and for how much money."""

    model = serializers.CharField(max_length=200, label="Model", help_text="What the endpoint calls it.")
    budget = _amount_field(
        "Budget",
        "What may be spent in all, in the currency of the prices; 0 where it is free.",
    )
    price_in = _amount_field(
        "Price of a million tokens sent",
        "Price of a million tokens that are sent.",
        required=False,
    )
    price_out = _amount_field(
        "Price of a million tokens written",
        "Price of a million tokens that it writes.",
        required=False,
    )
    prompt = serializers.CharField(
        max_length=LONGEST_PROMPT,
        required=False,
        style={"base_template": "textarea.html"},
        label="Prompt",
        help_text="What stands before each item (default: the study's question, and what a reply may be).",
    )
    max_tokens = serializers.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        label="Longest reply",
        help_text=f"Tokens that a reply may have (default: {LONGEST_REPLY}, or {LONGEST_MARKS:,} where errors are "
        "marked); more where the model thinks aloud.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        prices = attrs.get("price_in", Decimal(0)), attrs.get("price_out", Decimal(0))
        if attrs["budget"] and not any(prices):
            raise serializers.ValidationError(
                {
                    "price_in": [
                        "A budget needs the prices; expected those of a million tokens, or a budget of 0."
                    ]
                }
            )
        return super().validate(attrs)


def check_asking(study: Study, own_systems: list[str]) -> None:
    """Raise EvaluationError if a model cannot be asked about the study."""
    check_kind(kind_of(study))
    check_systems(study, own_systems)


@background_operation(
    "ask-judge", "Ask a model", job="ask_judge", parameters=AskJudgeRequest, right=Right.CHANGE, scope="studies",
    once="always",
)  # fmt: skip
def ask_judge(*, study: Study, **values: Any) -> dict[str, Any]:
    """Ask a model at the installation's endpoint about every unit, in both orders, within the budget."""
    check_asking(study, values.get("own_systems", []))
    if not is_own_host() and not all(values.get(name) for name in ("budget", "price_in", "price_out")):
        raise EvaluationError(
            "The endpoint is another's, and its calls cost money; expected a budget and both prices above 0."
        )
    amounts: dict[str, Any] = {
        name: str(values.pop(name)) for name in ("budget", "price_in", "price_out") if name in values
    }
    return {**values, **amounts}


def ask_judge_now(*, study: Study, **values: Any) -> Any:
    """Run the job at once, for the command."""
    check_asking(study, values.get("own_systems", []))
    return ask_model(study=study, **{"price_in": Decimal(0), "price_out": Decimal(0), **values})


class CompareJudgesRequest(Parameters):
    """How strict the alternative annotator test is."""

    epsilon = serializers.FloatField(
        min_value=0,
        max_value=0.99,
        required=False,
        initial=EPSILON,
        label="Epsilon",
        help_text=f"What a judge may be worse by than a person: 0.1 beside a crowd, 0.15 beside skilled people, "
        f"0.2 beside experts (default: {EPSILON}).",
    )
    seed = serializers.IntegerField(
        min_value=0,
        max_value=LARGEST_SEED,
        required=False,
        initial=0,
        label="Seed",
        help_text="Seed of what is drawn (default: 0).",
    )


@background_operation(
    "compare-judges", "Hold judges against people", job="compare_judges", parameters=CompareJudgesRequest
)
def compare_judges(*, study: Study, **values: Any) -> dict[str, Any]:
    """Compute agreement, biases, the alternative annotator test and prediction-powered estimates of every judge."""
    check_kind(kind_of(study))
    return values
