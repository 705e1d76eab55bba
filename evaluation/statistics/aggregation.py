"""From judgments to a consensus: the one place to import aggregation from.

Each algorithm lives in a module of its own: `voting` (majority, relevance, mean grade), `pairs`
(triplets to a pair's winner), `dawid_skene`, `bradley_terry` and `borda`.
"""

from evaluation.statistics.pairs import PairResult, pair_winners
from evaluation.statistics.voting import (
    GRADE_THRESHOLDS,
    MajorityResult,
    MeanResult,
    RelevanceResult,
    cumulative_shares,
    is_relevant,
    majority_vote,
    mean_grade,
    relevance_vote,
)

__all__ = [
    "GRADE_THRESHOLDS",
    "MajorityResult",
    "MeanResult",
    "PairResult",
    "RelevanceResult",
    "cumulative_shares",
    "is_relevant",
    "majority_vote",
    "mean_grade",
    "pair_winners",
    "relevance_vote",
]
