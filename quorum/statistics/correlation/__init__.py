"""Correlation of columns of scores: Pearson, Spearman and Kendall, with intervals and tests.

Spearman's rho is Pearson's r of mid-ranks; `coefficients.taus` defines Kendall's tau. The correlations of two metrics
with people on the same observations are compared through the influences of observations.
"""

from quorum.statistics.correlation.coefficients import COEFFICIENTS, group_coefficients
from quorum.statistics.correlation.differences import CorrelationDifference, correlation_difference
from quorum.statistics.correlation.influences import correlation_influences
from quorum.statistics.correlation.intervals import (
    CorrelationResult,
    correlation,
    kendall_tau_b,
    pearson,
    spearman,
)
from quorum.statistics.correlation.observations import CONSTANT, observation_weights, read_observations
from quorum.statistics.correlation.raters_of_means import means_without_raters
from quorum.statistics.correlation.value_pairs import ValuePairs
