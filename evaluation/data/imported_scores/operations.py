"""Operations: import scores, and compare two metrics."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.parameters import KeysField, Parameters
from evaluation.data.imported_scores.storing import UNKNOWN, check_imported
from evaluation.models import LONGEST_METRIC, ImportedMetric
from evaluation.results.meta_evaluation import DEFAULT_TOKENIZER
from evaluation.results.operations import TokenizerField, metric_names
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.study_operations import background_operation

JOB_KIND = "compare_metrics"


class ScoresRequest(Parameters):
    """Of which metrics the scores are, and how they are read."""

    metric = KeysField(
        required=False,
        help_text="Name of the metric, or names of several, each with its own column (default: those of the folder).",
    )
    better = serializers.ChoiceField(
        choices=ImportedMetric.Better.choices,
        required=False,
        default=ImportedMetric.Better.HIGHER.value,
        help_text="Which scores are better (default: higher).",
    )
    unknown = serializers.ChoiceField(
        choices=UNKNOWN,
        required=False,
        default=UNKNOWN[0],
        help_text="What becomes of rows about images, captions or systems that the dataset lacks (default: refuse).",
    )
    replace = serializers.BooleanField(
        required=False, default=False, help_text="Store them in place of earlier scores of the same metric."
    )


class CompareMetricsRequest(Parameters):
    """Two metrics, computed or imported."""

    first = serializers.CharField(
        max_length=LONGEST_METRIC,
        label="First metric",
        help_text="Name of a metric, computed or imported.",
        style={"choices": metric_names, "kind": "select"},
    )
    second = serializers.CharField(
        max_length=LONGEST_METRIC,
        label="Second metric",
        help_text="Name of another.",
        style={"choices": metric_names, "kind": "select"},
    )
    tokenizer = TokenizerField()


@background_operation(
    "compare-metrics", "Compare two metrics", job=JOB_KIND, parameters=CompareMetricsRequest
)
def compare(*, study: Study, first: str, second: str, tokenizer: str = DEFAULT_TOKENIZER) -> dict[str, Any]:
    """Starts a job that holds two metrics against the consensus; its result has the difference with intervals."""
    check_imported(study.dataset, [first, second])
    return {"first": first, "second": second, "tokenizer": tokenizer}


def can_compare(study: Study) -> bool:
    return not KINDS[study.protocol].comparison.refusal
