"""How well a metric agrees with people: accuracy on pairs, correlation, clusters of systems."""

from evaluation.statistics.accuracy import AccuracyResult, metric_winners, pair_accuracy, wilson_interval
from evaluation.statistics.clusters import ClusterResult, clusters_of_p_values, system_clusters
from evaluation.statistics.grouped_correlation import GroupedCorrelationResult, grouped_correlation
from evaluation.statistics.paired_correlation import PairedCorrelationResult, paired_correlation_test
from evaluation.statistics.references_curve import ReferenceCurve, accuracy_by_references, random_subsets
from evaluation.statistics.thresholds import KappaGrid, ThresholdAgreement, kappa_grid, threshold_kappa
from evaluation.statistics.tie_calibration import PairwiseAccuracyResult, pairwise_accuracy

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
