"""Operations that compute results. Who may look at a study may ask for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rest_framework import serializers

from common.parameters import KeysField, Parameters
from evaluation.errors import as_sentence
from evaluation.results.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER
from evaluation.results.readings import Readings
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.study_operations import background_operation

MOST_REFERENCES = 1000
ROUGE_BY_RECALL = "rouge-1|measure:recall"


@background_operation("aggregate", "Compute consensus and agreement", job="aggregate")
def aggregate(*, study: Study) -> dict[str, Any]:
    """Compute consensus and agreement in the background; follow the job."""
    return {}


# The names are looked up late: the metrics bring a compiler along, which pages of workers never need.
def _metric_names() -> list[tuple[str, str]]:
    from evaluation.metrics.errors import MissingTables
    from evaluation.metrics.registry import METRICS

    names = []
    for name, metric in METRICS.items():
        try:
            metric.check(metric.settings({}))
        except MissingTables:
            continue  # a form offers what can be computed; whoever names it is told how to get its tables
        names.append((name, name))
        if name == "rouge-1":
            names.append((ROUGE_BY_RECALL, f"{name} by recall, as V15 has it"))
    return names


def _tokenizer_names() -> list[tuple[str, str]]:
    from evaluation.metrics.text import TOKENIZERS

    return [(name, name) for name in TOKENIZERS]


class CountsField(KeysField):
    """Whole numbers from 1."""

    child = serializers.IntegerField(min_value=1, max_value=MOST_REFERENCES)


class ThresholdsField(KeysField):
    child = serializers.FloatField()


class EvaluateRequest(Parameters):
    """Which metrics, on which tokens, and what is read besides the usual figures (docs/evaluation.md)."""

    metrics = KeysField(
        required=False,
        min_length=1,
        initial=list(DEFAULT_METRICS),
        help_text=f"Names of metrics (default: {', '.join(DEFAULT_METRICS)}).",
        style={"choices": _metric_names},
    )
    tokenizer = serializers.CharField(
        required=False,
        initial=DEFAULT_TOKENIZER,
        label="Words are cut as in",
        help_text=f"ptb, space, h13, rouge or v15 (default: {DEFAULT_TOKENIZER}).",
        style={"choices": _tokenizer_names, "kind": "select"},
    )

    all_pairs = serializers.BooleanField(
        required=False,
        label="Also over all pairs",
        help_text="Pairs: also accuracy over all pairs; one without a consensus is right by half.",
    )
    references = CountsField(
        required=False,
        label="Also with fewer references",
        help_text="Pairs: also accuracy with random subsets of so many references, as in 1,5,20.",
    )
    tau_c = serializers.BooleanField(
        required=False, label="Also tau-c", help_text="Captions: also Kendall's tau-c with people."
    )
    single_grades = serializers.BooleanField(
        required=False,
        label="Also single judgments",
        help_text="Captions: also tau-b and tau-c with every single judgment instead of the mean.",
    )
    own_kept = serializers.BooleanField(
        required=False,
        label="Also with own captions",
        help_text="Captions: also with references that are equal to the caption (H13 4.1.1).",
    )
    people_at_least = ThresholdsField(
        required=False,
        label="Thresholds of people",
        help_text="Captions: also kappa at these scores of people.",
    )
    metric_at_least = ThresholdsField(
        required=False,
        label="Thresholds of metrics",
        help_text="Captions: also kappa at these scores of metrics.",
    )

    def validate_metrics(self, value: list[str]) -> list[str]:
        from evaluation.metrics.errors import MetricsError
        from evaluation.metrics.scoring import check_metrics

        try:
            check_metrics(value)
        except MetricsError as error:
            raise serializers.ValidationError(as_sentence(error)) from None
        return value


@background_operation(
    "evaluate", "Hold metrics against the consensus", job="evaluate", parameters=EvaluateRequest
)
def evaluate(
    *,
    study: Study,
    metrics: Collection[str] = DEFAULT_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    **readings: Any,
) -> dict[str, Any]:
    """Compute metrics in the background; what cannot be computed is said in the job."""
    Readings(**readings).check(compares_pairs=KINDS[study.protocol].compares_pairs)
    return {"metrics": list(metrics), "tokenizer": tokenizer, **readings}
