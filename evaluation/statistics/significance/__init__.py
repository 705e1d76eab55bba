"""Whether a difference between two systems could be chance (H13 sections 4.2.1 and 4.2.2)."""

from evaluation.statistics.correlation.vectors import WilliamsResult, williams_correlations, williams_test
from evaluation.statistics.significance.intervals import BootstrapResult, bootstrap_interval, wilson_interval
from evaluation.statistics.significance.paired_tests import (
    AdjustedPValues,
    McNemarResult,
    RandomizationResult,
    adjusted_p_values,
    benjamini_hochberg,
    holm,
    mcnemar_counts,
    mcnemar_test,
    randomization_test,
    stars,
    stouffer_wilcoxon,
)
