"""From judgments to a consensus: the one place to import aggregation from.

Each algorithm lives in a module of its own: `voting` (majority, weighted majority, relevance, mean grade),
`pairs` (triplets to a pair's winner), `standardised` (z by rater), `dawid_skene`, `bradley_terry`, `best_worst`,
`borda` and `tournament`.
"""

from evaluation.statistics.best_worst import (
    BestWorstResult,
    SplitHalfResult,
    best_worst_scores,
    implied_comparisons,
    split_half_reliability,
)
from evaluation.statistics.borda import BordaResult, borda_count, borda_of_ranks
from evaluation.statistics.bradley_terry import (
    BradleyTerryResult,
    bradley_terry,
    bradley_terry_of_comparisons,
    wins_and_ties,
    wins_table,
)
from evaluation.statistics.dawid_skene import DawidSkeneResult, dawid_skene
from evaluation.statistics.pairs import PairResult, pair_winners
from evaluation.statistics.standardised import StandardisedResult, standardised_mean
from evaluation.statistics.tournament import TournamentResult, tournament
from evaluation.statistics.voting import (
    GRADE_THRESHOLDS,
    MajorityResult,
    MeanResult,
    RelevanceResult,
    accuracy_weights,
    cumulative_shares,
    is_relevant,
    majority_vote,
    mean_grade,
    relevance_vote,
    weighted_mean,
    weighted_vote,
)

__all__ = [
    "GRADE_THRESHOLDS",
    "BestWorstResult",
    "BordaResult",
    "BradleyTerryResult",
    "DawidSkeneResult",
    "MajorityResult",
    "MeanResult",
    "PairResult",
    "RelevanceResult",
    "SplitHalfResult",
    "StandardisedResult",
    "TournamentResult",
    "accuracy_weights",
    "best_worst_scores",
    "borda_count",
    "borda_of_ranks",
    "bradley_terry",
    "bradley_terry_of_comparisons",
    "cumulative_shares",
    "dawid_skene",
    "implied_comparisons",
    "is_relevant",
    "majority_vote",
    "mean_grade",
    "pair_winners",
    "relevance_vote",
    "split_half_reliability",
    "standardised_mean",
    "tournament",
    "weighted_mean",
    "weighted_vote",
    "wins_and_ties",
    "wins_table",
]
