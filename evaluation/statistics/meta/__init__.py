"""How well a metric agrees with people: accuracy on pairs, correlation, clusters of systems."""

from evaluation.statistics.agreement.thresholds import (
    KappaGrid,
    ThresholdAgreement,
    kappa_grid,
    threshold_kappa,
)
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
    metric_winners,
    pair_accuracy,
    random_subsets,
)
from evaluation.statistics.meta.tie_calibration import PairwiseAccuracyResult, pairwise_accuracy
from evaluation.statistics.significance.intervals import wilson_interval
from evaluation.statistics.significance.multiple import ClusterResult, clusters_of_p_values, system_clusters

__all__ = [
    "AccuracyResult",
    "ClusterResult",
    "GroupedCorrelationResult",
    "KappaGrid",
    "PairedCorrelationResult",
    "PairwiseAccuracyResult",
    "ReferenceCurve",
    "ThresholdAgreement",
    "accuracy_by_references",
    "clusters_of_p_values",
    "grouped_correlation",
    "kappa_grid",
    "metric_winners",
    "pair_accuracy",
    "paired_correlation_test",
    "pairwise_accuracy",
    "random_subsets",
    "system_clusters",
    "threshold_kappa",
    "wilson_interval",
]
