"""The operations that import a judge's answers, ask a model, remove a judge, and compare judges with people.

Each operation has a class of parameters, which is also its form in the pages and its command-line options.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers

from common.parameters import FileText, KeysField, Parameters
from contrib.judges.asking import ask_model, delete_judge
from contrib.judges.endpoint import is_on_this_machine
from contrib.judges.importing import check_systems, store_answers
from contrib.judges.models import Judge
from contrib.judges.prompts import MAX_MARKS_TOKENS, MAX_REPLY_TOKENS, check_kind
from evaluation.errors import EvaluationError
from judgments.access.rights import Right
from judgments.models import Study
from judgments.operations import Outcome, background_operation, find_row, operation
from judgments.studies.designs import kind_of
from quorum.statistics.judges import EPSILON

MAX_PROMPT_LENGTH = 10_000  # characters
MAX_SEED = 2**31 - 1


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


class ImportJudgeOptions(JudgeDescription):
    """The options of an import, without the file itself. The command takes the file as an argument."""

    source = serializers.ChoiceField(  # type: ignore[assignment]  # a serializer's fields are no attributes of it
        choices=Judge.Source.choices,
        required=False,
        initial=Judge.Source.MODEL.value,
        label="Type",
        help_text="Whether the judge is a model or another crowd (default: model).",
    )


class ImportJudgeRequest(ImportJudgeOptions):
    """The parameters of an import: the judge, and the file of its answers."""

    answers = FileText(
        label="Answers",
        help_text="CSV with a header line, or JSON lines. Required columns: “unit”, and “value” or "
        "“answer”. Optional columns: “rater” and “order”.",
    )


@operation("import-judge", "Import a judge's answers", parameters=ImportJudgeRequest)
def import_judge(*, study: Study, by: User | None, name: str, answers: str, **options: Any) -> Outcome:
    """Store a model's or another crowd's answers in addition to people's. Repeating changes nothing."""
    return Outcome(store_answers(study=study, name=name, answers=answers, by=by, **options).describe())


@operation("remove-judge", "Remove a judge", row="judge")
def remove_judge(*, study: Study, by: User | None, judge: str) -> Outcome:
    """Remove a judge and its answers. Results that were computed with it stay, and say that it was removed."""
    return Outcome(delete_judge(judge=find_row(Judge.objects.filter(study=study), judge), by=by))


def _amount_field(label: Any, help_text: str, **options: Any) -> serializers.DecimalField:
    """Return a field for an amount of money with six decimals, as a ``Judge`` stores millionths."""
    return serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=Decimal(0), label=label, help_text=help_text, **options
    )


class AskJudgeRequest(JudgeDescription):
    """The parameters of asking a model: the model, its budget and prices, and the prompt."""

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
    once="always",  # two jobs would spend one budget
)  # fmt: skip
def start_judge_run(*, study: Study, **values: Any) -> dict[str, Any]:
    """Ask a model at the installation's endpoint about every unit, in both orders, within the budget."""
    check_asking(study, values.get("own_systems", []))
    if not is_on_this_machine() and not all(values.get(name) for name in ("budget", "price_in", "price_out")):
        raise EvaluationError(
            "The endpoint is another's, and its calls cost money; expected a budget and both prices above 0."
        )
    # The job stores amounts as text, since JSON has no decimals.
    amounts: dict[str, Any] = {
        name: str(values.pop(name)) for name in ("budget", "price_in", "price_out") if name in values
    }
    return {**values, **amounts}  # the job's arguments


def ask_judge_now(*, study: Study, **values: Any) -> Any:
    """Ask the model within the command, without a job. Its user pays the endpoint, so a budget of 0 is allowed."""
    check_asking(study, values.get("own_systems", []))
    return ask_model(study=study, **{"price_in": Decimal(0), "price_out": Decimal(0), **values})


class CompareJudgesRequest(Parameters):
    """The parameters of a comparison: the epsilon of the alternative annotator test, and the seed."""

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
    return values  # the job's arguments
