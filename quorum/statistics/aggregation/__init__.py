"""Aggregation of judges' answers: votes, means, models of workers, and rankings of items.

Models of workers (Dawid-Skene, GLAD, MACE) count every judgment, even a worker's second judgment of a unit. Their
results share these fields:

posterior: (U, L) probabilities of the labels. winner: (U,) position in `labels`, -1 for a tie. judgments: (W,) number
of each worker's judgments. note: a warning if the data do not distinguish errors from true labels. GLAD and MACE also
have objective: the maximum of what the fit maximises; gradient: the largest partial derivative there, in absolute
value; starts_at_optimum: the number of starts that reached the maximum.
"""

from quorum.statistics.aggregation.best_worst import (
    best_worst_scores,
    implied_comparisons,
    split_half_reliability,
)
from quorum.statistics.aggregation.borda import borda_count
from quorum.statistics.aggregation.bradley_terry.fitting import bradley_terry, bradley_terry_of_comparisons
from quorum.statistics.aggregation.confidence import accuracy_weights, confidence_vote
from quorum.statistics.aggregation.luce import LuceResult, luce_choice
from quorum.statistics.aggregation.means import (
    GRADE_THRESHOLDS,
    mean_grade,
    standardised_mean,
    unit_medians,
    weighted_mean,
)
from quorum.statistics.aggregation.pair_winners import pair_winners
from quorum.statistics.aggregation.preferences.strengths import StrengthResult, preference_strengths
from quorum.statistics.aggregation.rank_bands import RankBands, rank_bands
from quorum.statistics.aggregation.relevance import is_relevant, relevance_vote
from quorum.statistics.aggregation.tournament import TournamentResult, tournament
from quorum.statistics.aggregation.votes import agrees_with_others, majority_vote, weighted_vote
from quorum.statistics.aggregation.worker_models.dawid_skene import dawid_skene
from quorum.statistics.aggregation.worker_models.glad import glad
from quorum.statistics.aggregation.worker_models.item_response import item_response
from quorum.statistics.aggregation.worker_models.mace import mace
