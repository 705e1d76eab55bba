"""The operation that compares two metrics."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from common.parameters import Parameters
from evaluation.data.imported_scores import check_imported
from evaluation.models import DEFAULT_TOKENIZER, MAX_METRIC_LENGTH
from evaluation.results.operations import TokenizerField, metric_choices
from judgments.models import Study
from judgments.operations import background_operation

JOB_KIND = "compare_metrics"


class CompareMetricsRequest(Parameters):
    """Two metrics to compare, each computed or imported."""

    first = serializers.CharField(
        max_length=MAX_METRIC_LENGTH,
        label="First metric",
        help_text="Name of a computed or imported metric.",
        style={"choices": metric_choices, "kind": "select"},
    )
    second = serializers.CharField(
        max_length=MAX_METRIC_LENGTH,
        label="Second metric",
        help_text="Name of another metric.",
        style={"choices": metric_choices, "kind": "select"},
    )
    tokenizer = TokenizerField()


@background_operation(
    "compare-metrics", "Compare two metrics", job=JOB_KIND, parameters=CompareMetricsRequest
)
def start_metric_comparison(
    *, study: Study, first: str, second: str, tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, Any]:
    """Start a job that compares two metrics with the consensus. Its result has the difference with intervals."""
    check_imported(study.dataset, [first, second])
    return {"first": first, "second": second, "tokenizer": tokenizer}  # the job's arguments
