"""How much judges agree beyond chance: the one place to import agreement figures from.

Each statistic lives in a module of its own: `alpha` (Krippendorff) and `alpha_of_parts`, `kappa` (Cohen,
Fleiss), `gwet` (AC1, AC2), `percent` (no chance taken off), `by_unit` and `by_pair` (where and between
whom), and `thresholds` (two sources of scores, cut at thresholds).
"""

from evaluation.statistics.agreement_result import AgreementResult
from evaluation.statistics.agreement_weights import WEIGHTS
from evaluation.statistics.alpha import LEVELS, alpha_interval, alpha_of_judgments, krippendorff_alpha
from evaluation.statistics.alpha_of_parts import alpha_of_parts
from evaluation.statistics.by_pair import PairAgreement, agreement_by_pair
from evaluation.statistics.by_unit import UnitAgreement, agreement_by_unit
from evaluation.statistics.gwet import gwet_ac, gwet_interval
from evaluation.statistics.kappa import cohen_kappa, fleiss_interval, fleiss_kappa, kappa_interval
from evaluation.statistics.percent import percent_agreement, percent_interval
from evaluation.statistics.ratings import Ratings, ratings_of_judgments
from evaluation.statistics.thresholds import (
    KappaGrid,
    ThresholdAgreement,
    at_least,
    kappa_grid,
    threshold_kappa,
)

__all__ = [
    "LEVELS",
    "WEIGHTS",
    "AgreementResult",
    "KappaGrid",
    "PairAgreement",
    "Ratings",
    "ThresholdAgreement",
    "UnitAgreement",
    "agreement_by_pair",
    "agreement_by_unit",
    "alpha_interval",
    "alpha_of_judgments",
    "alpha_of_parts",
    "at_least",
    "cohen_kappa",
    "fleiss_interval",
    "fleiss_kappa",
    "gwet_ac",
    "gwet_interval",
    "kappa_grid",
    "kappa_interval",
    "krippendorff_alpha",
    "percent_agreement",
    "percent_interval",
    "ratings_of_judgments",
    "threshold_kappa",
]
