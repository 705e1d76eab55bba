"""How well a metric agrees with people: accuracy on pairs, correlation, clusters of systems."""

from evaluation.statistics.correlation.grouped import (
    GroupedCorrelationResult,
    PairedCorrelationResult,
    grouped_correlation,
    paired_correlation_test,
)
from evaluation.statistics.meta.accuracy import (
    AccuracyResult,
    ReferenceCurve,
    accuracy_by_references,
    kinds_of,
    metric_winners,
    pair_accuracy,
    random_subsets,
)
from evaluation.statistics.meta.halves import Halves, halves_of_votes
from evaluation.statistics.meta.tie_calibration import PairwiseAccuracyResult, pairwise_accuracy
from evaluation.statistics.significance.intervals import wilson_interval
from evaluation.statistics.significance.paired_tests import (
    ClusterResult,
    clusters_of_p_values,
    system_clusters,
)

__all__ = [
    "AccuracyResult",
    "ClusterResult",
    "GroupedCorrelationResult",
    "Halves",
    "PairedCorrelationResult",
    "PairwiseAccuracyResult",
    "ReferenceCurve",
    "accuracy_by_references",
    "clusters_of_p_values",
    "grouped_correlation",
    "halves_of_votes",
    "kinds_of",
    "metric_winners",
    "pair_accuracy",
    "paired_correlation_test",
    "pairwise_accuracy",
    "random_subsets",
    "system_clusters",
    "wilson_interval",
]
