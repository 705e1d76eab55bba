"""Agreement of a metric with people: accuracy on pairs, correlation within groups, pairwise accuracy."""

from quorum.statistics.correlation import CorrelationDifference, correlation_difference
from quorum.statistics.meta.accuracy import (
    AccuracyDifference,
    PeoplesWinners,
    accuracy_difference,
    kinds_of,
    metric_winners,
    pair_accuracy,
    pair_credits,
    winners_without_raters,
)
from quorum.statistics.meta.grouped import GroupedCorrelationResult, grouped_correlation
from quorum.statistics.meta.pairwise import pairwise_accuracy
from quorum.statistics.meta.reference_curve import ReferenceCurve, accuracy_by_references, random_subsets
from quorum.statistics.meta.soft_pairwise import soft_accuracy_of_comparisons, soft_pairwise_accuracy
from quorum.statistics.meta.vote_halves import Halves, halves_of_votes
from quorum.statistics.significance import clusters_of_p_values, compare_with_best, wilson_interval
