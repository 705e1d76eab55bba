"""Whether a difference between two systems could be chance (H13 sections 4.2.1 and 4.2.2).

McNemar's test for binary outcomes, Fisher's randomisation test for means and medians, bootstrap
intervals, Williams' test between two metrics, and corrections for many tests. Results hold p, never a
verdict; `stars` is for tables.
"""

from evaluation.statistics.mcnemar import McNemarResult, mcnemar_counts, mcnemar_test
from evaluation.statistics.multiple import (
    AdjustedPValues,
    adjusted_p_values,
    benjamini_hochberg,
    holm,
    stars,
)
from evaluation.statistics.randomization import RandomizationResult, randomization_test
from evaluation.statistics.sample_intervals import BootstrapResult, bootstrap_interval
from evaluation.statistics.williams import WilliamsResult, williams_correlations, williams_test

__all__ = [
    "AdjustedPValues",
    "BootstrapResult",
    "McNemarResult",
    "RandomizationResult",
    "WilliamsResult",
    "adjusted_p_values",
    "benjamini_hochberg",
    "bootstrap_interval",
    "holm",
    "mcnemar_counts",
    "mcnemar_test",
    "randomization_test",
    "stars",
    "williams_correlations",
    "williams_test",
]
