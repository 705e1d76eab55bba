"""Joint answers of judges: votes, means, models of workers, and rankings of items.

Models of workers (Dawid-Skene, GLAD, MACE) count a repeated judgment twice. Their results share these fields:

posterior: (U, L). winner: (U,) position in `labels`, -1 for a tie. judgments: (W,).
objective: its maximum. starts_at_optimum: starts that ended as high. note: a warning if the data cannot tell errors
from truth.
"""

from quorum.statistics.aggregation.bradley_terry import (
    bradley_terry,
    bradley_terry_of_comparisons,
    wins_table,
)
from quorum.statistics.aggregation.rankings import (
    LuceResult,
    TournamentResult,
    best_worst_scores,
    borda_count,
    implied_comparisons,
    luce_choice,
    split_half_reliability,
    tournament,
)
from quorum.statistics.aggregation.strengths import (
    RankBands,
    StrengthResult,
    preference_strengths,
    rank_bands,
)
from quorum.statistics.aggregation.votes_and_means import (
    GRADE_THRESHOLDS,
    accuracy_weights,
    agrees_with_others,
    confidence_vote,
    is_relevant,
    majority_vote,
    mean_grade,
    pair_winners,
    relevance_vote,
    standardised_mean,
    unit_medians,
    weighted_mean,
    weighted_vote,
)
from quorum.statistics.aggregation.worker_models import (
    dawid_skene,
    glad,
    item_response,
    mace,
)
