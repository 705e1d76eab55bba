"""From judgments to a consensus: the one place to import aggregation from.

Each algorithm lives in a module of its own: `voting` (majority, weighted majority, relevance, mean grade),
`pairs` (triplets to a pair's winner), `dawid_skene`, `bradley_terry`, `borda` and `tournament`.
"""

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
    "BordaResult",
    "BradleyTerryResult",
    "DawidSkeneResult",
    "MajorityResult",
    "MeanResult",
    "PairResult",
    "RelevanceResult",
    "TournamentResult",
    "accuracy_weights",
    "borda_count",
    "borda_of_ranks",
    "bradley_terry",
    "bradley_terry_of_comparisons",
    "cumulative_shares",
    "dawid_skene",
    "is_relevant",
    "majority_vote",
    "mean_grade",
    "pair_winners",
    "relevance_vote",
    "tournament",
    "weighted_mean",
    "weighted_vote",
    "wins_and_ties",
    "wins_table",
]
