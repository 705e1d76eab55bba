"""What is computed from a study's judgments when somebody asks for it. Who may look at a study may ask."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rest_framework import serializers

from common.parameters import KeysField, Parameters
from evaluation.results.meta_evaluation import DEFAULT_METRICS, DEFAULT_TOKENIZER
from judgments.models import Study
from judgments.study_operations import background_operation


@background_operation("aggregate", "Compute consensus and agreement", job="aggregate")
def aggregate(*, study: Study) -> dict[str, Any]:
    """In the background; follow the job."""
    return {}


class EvaluateRequest(Parameters):
    """Which metrics, on which tokens."""

    metrics = KeysField(required=False, min_length=1)
    tokenizer = serializers.CharField(required=False)


@background_operation(
    "evaluate", "Hold metrics against the consensus", job="evaluate", parameters=EvaluateRequest
)
def evaluate(
    *, study: Study, metrics: Collection[str] = DEFAULT_METRICS, tokenizer: str = DEFAULT_TOKENIZER
) -> dict[str, Any]:
    """In the background; what cannot be computed is said in the job."""
    return {"metrics": list(metrics), "tokenizer": tokenizer}
