"""Operations that start the computing of results, with their parameters.

Everybody who may view the study may start them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers

from common.parameters import KeysField, Parameters
from evaluation.errors import as_sentence
from evaluation.models import DEFAULT_METRICS, DEFAULT_TOKENIZER, ImportedMetric, ScoreKeys
from evaluation.results.consensus.clusters import CLUSTER_OPTIONS
from evaluation.results.worker_models import WORKER_MODELS
from judgments.kinds import KINDS
from judgments.models import Study
from judgments.operations import background_operation

MAX_SUBSET_SIZE = 1000  # largest size of a random subset of references
MAX_METRICS_OFFERED = 100  # imported metrics offered in a form
ROUGE_BY_RECALL = "rouge-1|measure:recall"
MAX_SEED = 2**31 - 1


class IntervalsRequest(Parameters):
    """How intervals and tests cluster rows."""

    clusters = serializers.ChoiceField(
        required=False,
        choices=CLUSTER_OPTIONS,
        help_text="Intervals and tests by item and by participant, or naive ones, which take rows as independent "
        f"(default: {CLUSTER_OPTIONS[0]})",
    )


class AggregateRequest(IntervalsRequest):
    """The clusters of intervals, and models of workers to fit in addition to the consensus (docs/disagreement.md)."""

    method = KeysField(
        required=False,
        child=serializers.ChoiceField(choices=list(WORKER_MODELS)),
        label="Models of participants",
        help_text=f"Models of participants to fit in addition to Dawid and Skene's: {', '.join(WORKER_MODELS)}.",
        style={"choices": lambda: [(name, _(label)) for name, label in WORKER_MODELS.items()]},
    )


@background_operation(
    "aggregate", "Compute consensus and agreement", job="aggregate", parameters=AggregateRequest
)
def start_aggregation(*, study: Study, **options: Any) -> dict[str, Any]:
    """Compute consensus and agreement in the background. Follow the job until it is done."""
    return options  # the job's arguments


def metric_choices(study: Study) -> list[tuple[str, str]]:
    """Return the metrics that a form offers, each with its label."""
    # Import late, because the metrics load a compiler that most pages do not need.
    from quorum.metrics.inputs import MetricsError
    from quorum.metrics.registry import METRICS, metric_named, package_metric_names

    choices = []
    for name in (*METRICS, *package_metric_names()):
        try:
            metric = metric_named(name)
            metric.check(metric.settings({}))
        except MetricsError:
            continue  # the form offers only metrics that can be computed; naming another gives an error
        choices.append((name, name))
        if name == "rouge-1":
            choices.append(
                (ROUGE_BY_RECALL, _("%(name)s by recall, as in Vedantam et al. (2015)") % {"name": name})
            )
    # Scores of whole systems cannot be compared with people's judgments of single texts.
    rows = ImportedMetric.objects.filter(dataset=study.dataset).exclude(per=ScoreKeys.Subject.SYSTEMS)
    for name in rows.values_list("name", flat=True)[:MAX_METRICS_OFFERED]:
        choices.append((name, _("%(name)s, imported") % {"name": name}))
    return choices


def tokenizer_choices(study: Study) -> list[tuple[str, str]]:
    from quorum.metrics.text.tokenizers import TOKENIZERS

    return [(name, name) for name in TOKENIZERS]


class CountsField(KeysField):
    """A list of whole numbers from 1."""

    child = serializers.IntegerField(min_value=1, max_value=MAX_SUBSET_SIZE)


class ThresholdsField(KeysField):
    child = serializers.FloatField()


class TokenizerField(serializers.CharField):
    """The name of a tokenizer, chosen from a list in forms."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            initial=DEFAULT_TOKENIZER,
            label="Tokenizer",
            help_text=f"Tokenizer: ptb, space, h13, rouge or v15 (default: {DEFAULT_TOKENIZER}).",
            style={"choices": tokenizer_choices, "kind": "select"},
        )


class MetricsRequest(Parameters):
    """Names of metrics, which must exist. Subclasses declare the field."""

    def validate_metrics(self, value: list[str]) -> list[str]:
        from quorum.metrics.inputs import MetricsError
        from quorum.metrics.registry import check_metrics

        try:
            check_metrics(value)
        except MetricsError as error:
            raise serializers.ValidationError(as_sentence(error)) from None
        return value


class AnyMetricsRequest(MetricsRequest):
    """Names of metrics, computed or imported. An imported metric is checked later, when the dataset is known."""

    def validate_metrics(self, value: list[str]) -> list[str]:
        imported_names = set(ImportedMetric.objects.filter(name__in=value).values_list("name", flat=True))
        computed_names = [name for name in value if name not in imported_names]
        if computed_names:
            super().validate_metrics(computed_names)
        return value


class EvaluateRequest(AnyMetricsRequest, IntervalsRequest):
    """The metrics, their tokenizer, and variants to compute in addition to the usual figures (docs/evaluation.md)."""

    metrics = KeysField(
        required=False,
        min_length=1,
        initial=list(DEFAULT_METRICS),
        help_text=f"Names of metrics (default: {', '.join(DEFAULT_METRICS)}).",
        style={"choices": metric_choices},
    )
    tokenizer = TokenizerField()
    all_pairs = serializers.BooleanField(
        required=False,
        label="Accuracy over all pairs",
        help_text="For pairs: also computes accuracy over all pairs. Pairs without a consensus count "
        "as half right.",
    )
    references = CountsField(
        required=False,
        label="Accuracy with fewer references",
        help_text="For pairs: also computes accuracy with random subsets of the references. Enter "
        "the sizes of the subsets, such as 1,5,20.",
    )
    ties = serializers.BooleanField(
        required=False,
        label="Accuracy with ties",
        help_text="For pairs: also computes accuracy with ties. A tie of a metric is right if people "
        "see no difference. The threshold of ties is chosen to give the best accuracy "
        "(Deutsch et al. 2023). Also computes soft pairwise accuracy (Thompson et al. "
        "2024).",
    )
    tau_c = serializers.BooleanField(
        required=False,
        label="Kendall's tau-c",
        help_text="For texts: also computes Kendall's tau-c with people.",
    )
    single_grades = serializers.BooleanField(
        required=False,
        label="Tau-b and tau-c with single judgments",
        help_text="For texts: also computes tau-b and tau-c with single judgments instead of their mean.",
    )
    own_kept = serializers.BooleanField(
        required=False,
        label="Use references that are equal to the text",
        help_text="For texts: also computes results with references that are equal to the text (H13 4.1.1).",
    )
    without_own = serializers.BooleanField(
        required=False,
        label="Leave out texts that are equal to a reference",
        help_text="For texts: leaves out texts that are equal to a reference, as in the figures of "
        "CLIPScore for Flickr8k-Expert.",
    )
    people_at_least = ThresholdsField(
        required=False,
        label="Thresholds of people’s scores",
        help_text="For texts: also computes kappa with these thresholds of people's scores.",
    )
    metric_at_least = ThresholdsField(
        required=False,
        label="Thresholds of metric scores",
        help_text="For texts: also computes kappa with these thresholds of metric scores.",
    )


@background_operation(
    "evaluate", "Compare metrics with the consensus", job="evaluate", parameters=EvaluateRequest
)
def start_evaluation(
    *,
    study: Study,
    metrics: Collection[str] = DEFAULT_METRICS,
    tokenizer: str = DEFAULT_TOKENIZER,
    clusters: str = CLUSTER_OPTIONS[0],
    **options: Any,
) -> dict[str, Any]:
    """Compute metrics in the background. The job says which results could not be computed."""
    from evaluation.data.imported_scores import check_imported
    from evaluation.results.metrics.options import EvaluationOptions

    EvaluationOptions(**options).check(compares_pairs=KINDS[study.protocol].compares_pairs)
    check_imported(study.dataset, metrics)
    # Settings and results have "clusters" only if it is not the default.
    job_options = {} if clusters == CLUSTER_OPTIONS[0] else {"clusters": clusters}
    return {"metrics": list(metrics), "tokenizer": tokenizer, **job_options, **options}  # the job's arguments
