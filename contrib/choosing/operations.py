"""The operations that choose items, estimate results for all items, and measure what choosing saves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from rest_framework import serializers

from common.parameters import KeysField
from contrib.choosing.loading import check_items_can_be_chosen
from contrib.choosing.savings import DRAWS
from contrib.choosing.selecting import (
    ALL_ITEMS,
    UNIFORM,
    USUAL_METRICS,
    check_draft_for_choosing,
    compute_choice,
    describe_choice,
    store_choice,
)
from contrib.choosing.weighing import choice_of_study
from evaluation.data.imported_scores import check_imported
from evaluation.models import DEFAULT_TOKENIZER
from evaluation.results.operations import AnyMetricsRequest, TokenizerField, metric_choices
from judgments.models import Study
from judgments.operations import CommandHelp, Outcome, background_operation, operation
from judgments.studies.generation.progress import Progress
from quorum.statistics.choosing import FLOOR, METHODS

MAX_METRICS = 12


class SeedField(serializers.IntegerField):
    """An optional seed, which is 0 by default."""

    def __init__(self, help_text: str) -> None:
        super().__init__(
            min_value=0, max_value=2**53, required=False, initial=0, label="Seed", help_text=help_text
        )


class ScoresRequest(AnyMetricsRequest):
    """The metrics whose scores are used, and the tokenizer."""

    metrics = KeysField(
        required=False,
        min_length=1,
        max_length=MAX_METRICS,
        initial=list(USUAL_METRICS),
        help_text=f"Names of computed or imported metrics (default: {', '.join(USUAL_METRICS)}).",
        style={"choices": metric_choices},
    )
    tokenizer = TokenizerField()

    def validate_metrics(self, value: list[str]) -> list[str]:
        return list(dict.fromkeys(super().validate_metrics(value)))


class SelectItemsRequest(ScoresRequest):
    """The method that says how useful an item is, and the number of items to choose (docs/choosing.md)."""

    method = serializers.ChoiceField(
        choices=[*METHODS, UNIFORM, ALL_ITEMS],
        label="Method of selection",
        help_text="“disagreement” and “information” choose items by metric scores. “even” samples items "
        "uniformly. “all” undoes an earlier selection.",
    )
    budget = serializers.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        label="Number of items",
        help_text="Number of items to select. In a study of pairs: number of candidate pairs to select.",
    )
    floor = serializers.FloatField(
        min_value=0.01,
        max_value=1,
        required=False,
        label="Minimum probability of an item",
        help_text=f"As a fraction of the probability in a uniform sample (default: {FLOOR}). Without a "
        "minimum, a rare item could have a very large weight in the estimates.",
    )
    seed = SeedField("Seed of the sample (default: 0).")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["method"] != ALL_ITEMS and "budget" not in attrs:
            raise serializers.ValidationError({"budget": ["Say how many items are chosen."]})
        return super().validate(attrs)


@operation(
    "select-items",
    "Choose the items",
    parameters=SelectItemsRequest,
    job="select_items",
    check=check_draft_for_choosing,
    command=CommandHelp(
        "Choose the items of a draft at random, useful items with a higher probability. Results are weighted by these "
        "probabilities, so that they are about all items (docs/choosing.md). --method all undoes the choice.",
        "arena --method disagreement --metrics cider-d,rouge-l --budget 200 --seed 1",
    ),
)
def choose_items(
    *, study: Study, by: User | None, progress: Progress, method: str, **options: Any
) -> Outcome:
    """Choose items for the draft's design, at random, with probabilities that grow with their usefulness.

    A job does this. Its state says when it has ended.
    """
    choice = None
    if method != ALL_ITEMS:
        choice = compute_choice(study=study, method=method, **options, progress=progress)
    store_choice(study=study, choice=choice, by=by)
    return Outcome(describe_choice(choice), choice)


@background_operation(
    "weigh-back", "Weigh answers back to all items", job="weigh_back", parameters=ScoresRequest
)
def start_weighing(
    *, study: Study, metrics: Collection[str] = USUAL_METRICS, tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, Any]:
    """Start a job that estimates the results of metrics and systems on all items from the answers to chosen items."""
    choice_of_study(study)  # refuses a study that judges all items
    check_imported(study.dataset, metrics)
    return {"metrics": list(metrics), "tokenizer": tokenizer}  # the job's arguments


class SavingsRequest(ScoresRequest):
    """The metrics whose scores are used, and the number of samples."""

    draws = serializers.IntegerField(
        min_value=20,
        max_value=2000,
        required=False,
        initial=DRAWS,
        label="Number of samples",
        help_text=f"Number of samples for each method and budget (default: {DRAWS}).",
    )
    seed = SeedField("Seed of the samples (default: 0).")


@background_operation(
    "choice-savings", "What choosing items would have saved", job="choice_savings", parameters=SavingsRequest
)
def start_savings_estimate(
    *,
    study: Study,
    metrics: Collection[str] = USUAL_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Any]:
    """Start a job that samples items of a judged study by each method, and compares the errors of the results."""
    check_items_can_be_chosen(study)
    check_imported(study.dataset, metrics)
    # the job's arguments
    return {"metrics": list(metrics), "tokenizer": tokenizer, "draws": draws, "seed": seed}
