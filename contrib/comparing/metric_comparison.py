"""The operation that compares two metrics, and its result in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.amounts import coefficient, p_in_text, percent, thousands
from common.parameters import Parameters
from contrib.comparing.metrics import LEVEL
from evaluation.data.imported_scores import check_imported
from evaluation.models import DEFAULT_TOKENIZER, MAX_METRIC_LENGTH
from evaluation.results.consensus.clusters import scope_sentence
from evaluation.results.operations import TokenizerField, metric_names
from judgments.models import Study
from judgments.operations import background_operation

JOB_KIND = "compare_metrics"


def describe_comparison(result: Mapping[str, Any]) -> str:
    rows = result["rows"]
    row = next((row for row in rows if row.get("kind", "all") == "all"), None)
    first, second = result["metrics"]
    if row is None or row["difference"] is None:
        return _("%(first)s and %(second)s cannot be compared item by item.") % {
            "first": first,
            "second": second,
        }
    shown = percent if result["what"] == "pairs" else coefficient
    p = row["p"]
    ahead, behind = (first, second) if row["difference"] >= 0 else (second, first)
    values = {
        "ahead": ahead,
        "behind": behind,
        "better": shown(max(row["first"], row["second"])),
        "worse": shown(min(row["first"], row["second"])),
        "n": thousands(row["n"]),
        "p": "–" if p is None else p_in_text(p),
    }
    if p is None or p > LEVEL:
        sentence = _(
            "No significant difference between %(ahead)s and %(behind)s: %(better)s and %(worse)s, n = %(n)s (%(p)s)."
        )
    else:
        sentence = _(
            "%(ahead)s agrees with people better than %(behind)s does: %(better)s against "
            "%(worse)s, n = %(n)s (%(p)s)."
        )
    # Results of earlier versions do not have the population to which they generalise.
    return f"{sentence % values} {scope_sentence(result) if 'scope' in result else ''}".strip()


class CompareMetricsRequest(Parameters):
    """Two metrics to compare, each computed or imported."""

    first = serializers.CharField(
        max_length=MAX_METRIC_LENGTH,
        label="First metric",
        help_text="Name of a computed or imported metric.",
        style={"choices": metric_names, "kind": "select"},
    )
    second = serializers.CharField(
        max_length=MAX_METRIC_LENGTH,
        label="Second metric",
        help_text="Name of another metric.",
        style={"choices": metric_names, "kind": "select"},
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
    return {"first": first, "second": second, "tokenizer": tokenizer}
