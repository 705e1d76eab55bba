"""Whether columns of scores rise together: Pearson, Spearman and Kendall, with intervals and tests."""

from evaluation.statistics.correlation.coefficients import COEFFICIENTS
from evaluation.statistics.correlation.vectors import (
    CorrelationResult,
    correlation,
    kendall_tau_b,
    kendall_tau_c,
    pearson,
    spearman,
)
