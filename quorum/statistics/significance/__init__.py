"""Tests of the difference between two systems, and intervals of one sample.

The tests are those of Hodosh et al. 2013 (H13), sections 4.2.1 and 4.2.2, and some more. To compare two correlations
with people, use `quorum.statistics.correlation.correlation_difference`.
"""

from quorum.statistics.significance.bootstrap import BootstrapResult, bootstrap_interval
from quorum.statistics.significance.mcnemar import McNemarResult, mcnemar_counts, mcnemar_test
from quorum.statistics.significance.randomization import RandomizationResult, randomization_test
from quorum.statistics.significance.score_summary import ScoreSummary, deviation_of, summary_of_scores
from quorum.statistics.significance.several_systems import (
    LEVEL,
    BestResult,
    ClusterResult,
    clusters_of_p_values,
    compare_with_best,
)
from quorum.statistics.significance.several_tests import (
    AdjustedPValues,
    adjusted_p_values,
    holm,
    significance_stars,
    stouffer_wilcoxon,
)
from quorum.statistics.significance.wilson import wilson_interval
