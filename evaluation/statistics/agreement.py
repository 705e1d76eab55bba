"""How much judges agree beyond chance: the one place to import agreement figures from.

Each statistic lives in a module of its own: `alpha` (Krippendorff), `kappa` (Cohen, Fleiss) and
`thresholds` (two sources of scores, cut at thresholds).
"""

from evaluation.statistics.alpha import (
    LEVELS,
    AgreementResult,
    alpha_interval,
    alpha_of_judgments,
    krippendorff_alpha,
)
from evaluation.statistics.kappa import cohen_kappa, fleiss_interval, fleiss_kappa, kappa_interval
from evaluation.statistics.thresholds import (
    KappaGrid,
    ThresholdAgreement,
    at_least,
    kappa_grid,
    threshold_kappa,
)

__all__ = [
    "LEVELS",
    "AgreementResult",
    "KappaGrid",
    "ThresholdAgreement",
    "alpha_interval",
    "alpha_of_judgments",
    "at_least",
    "cohen_kappa",
    "fleiss_interval",
    "fleiss_kappa",
    "kappa_grid",
    "kappa_interval",
    "krippendorff_alpha",
    "threshold_kappa",
]
