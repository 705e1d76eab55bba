"""Joint answers of judges: votes, means, models of workers, and rankings of items.

Models of workers (Dawid-Skene, GLAD, MACE) count a repeated judgment twice. Their results share these fields:

posterior: (U, L). winner: (U,) position in `labels`, -1 for a tie. judgments: (W,).
objective: its maximum. starts_at_optimum: starts that ended as high. note: a warning if the data cannot tell errors
from truth.
"""

from evaluation.statistics.aggregation.best_worst import (
    BestWorstResult,
    LuceResult,
    SplitHalfResult,
    best_worst_scores,
    implied_comparisons,
    luce_choice,
    split_half_reliability,
)
from evaluation.statistics.aggregation.bradley_terry import (
    BradleyTerryResult,
    bradley_terry,
    bradley_terry_of_comparisons,
    wins_table,
)
from evaluation.statistics.aggregation.dawid_skene import DawidSkeneResult, dawid_skene
from evaluation.statistics.aggregation.means import (
    GRADE_THRESHOLDS,
    MeanResult,
    StandardisedResult,
    cumulative_shares,
    mean_grade,
    standardised_mean,
    unit_medians,
    weighted_mean,
)
from evaluation.statistics.aggregation.rankings import BordaResult, TournamentResult, borda_count, tournament
from evaluation.statistics.aggregation.response import ResponseResult, item_response
from evaluation.statistics.aggregation.strengths import (
    RankBands,
    StrengthResult,
    preference_strengths,
    rank_bands,
)
from evaluation.statistics.aggregation.voting import (
    ConfidenceResult,
    MajorityResult,
    PairResult,
    RelevanceResult,
    accuracy_weights,
    agrees_with_others,
    confidence_vote,
    is_relevant,
    majority_vote,
    pair_winners,
    relevance_vote,
    weighted_vote,
)
from evaluation.statistics.aggregation.worker_models import GladResult, MaceResult, glad, mace
