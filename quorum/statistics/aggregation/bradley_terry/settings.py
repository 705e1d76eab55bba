"""The checked options of a Bradley-Terry fit."""

from __future__ import annotations

from dataclasses import dataclass

from quorum.statistics.crossed import check_confidence
from quorum.statistics.inputs import check_non_negative, check_positive_int, one_of

TIE_MODELS = ("half", "davidson")


@dataclass(frozen=True, slots=True)
class FitSettings:
    """The options of `bradley_terry_of_comparisons`, which documents them."""

    tie_model: str
    order_effect: bool
    prior: float
    confidence: float
    max_iterations: int
    tolerance: float

    def __post_init__(self) -> None:
        check_confidence(self.confidence)
        check_positive_int(self.max_iterations, "max_iterations")
        one_of(self.tie_model, TIE_MODELS, "tie_model")
        check_non_negative(self.prior, "prior")
        check_non_negative(self.tolerance, "tolerance")
