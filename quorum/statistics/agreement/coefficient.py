"""Coefficients of agreement with their intervals.

A `Coefficient` reads the data, and says how it is computed from them (`AgreementData`). `agreement` adds the interval:
by resampling units, or over items and raters by the influences of judgments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.agreement.influences import Influences, PatternInfluences
from quorum.statistics.agreement.patterns import UnitPatterns, patterned_ratings
from quorum.statistics.agreement.ratings import Ratings
from quorum.statistics.crossed import (
    BOTH,
    CONFIDENCE,
    ITEM,
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    renumber_codes,
)
from quorum.statistics.inference import Inference, Options
from quorum.statistics.inputs import BadOption, one_of
from quorum.statistics.resampling import RESAMPLES, Seed

ALPHA = "krippendorff-alpha"
CARELESS_SHARE = 0.15  # our assumption of how many people answer at random (docs/statistics.md)
CARELESS_NOTE = (
    "if %(careless)s of people answer at random, %(missed)s of groups of %(raters)s have none of them, as this one "
    "may, and alpha is about %(alpha)s, below the interval; check questions keep them out"
)
NO_PAIRS = "no item has two judgments"
CLUSTER_OPTIONS = (ITEM, RATER, BOTH, NAIVE)

# A function of (B, P) weights of patterns of units in B resamples, which returns (B,) values of a coefficient.
UnitStatistic = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class AgreementData:
    """Data as read by a coefficient, in which units with equal answers share one of P patterns.

    statistic: the function that computes the coefficient from weights of patterns. frequency: (P,) number of units with
    each pattern. width: number of floats in memory for one resample, besides its weights. reason: why the coefficient
    is undefined, if it is. The other fields are as in `AgreementResult`.
    """

    statistic: UnitStatistic
    frequency: Ints
    width: int
    units: int
    pairable: int
    raters: int
    judgments: int
    reason: str
    note: str = ""

    @classmethod
    def of_patterns(
        cls, patterns: UnitPatterns, statistic: UnitStatistic, reason: str, note: str = ""
    ) -> AgreementData:
        return cls(
            statistic=statistic,
            frequency=patterns.frequency,
            width=patterns.counts.shape[1],
            units=patterns.units,
            pairable=int(patterns.frequency[patterns.sizes() >= 2].sum()),
            raters=patterns.raters,
            judgments=patterns.judgments,
            reason=reason,
            note=note,
        )

    def value(self) -> float:
        """Return the coefficient of all units, or nan if there are none."""
        if not len(self.frequency):
            return math.nan
        return float(self.statistic(self.frequency[np.newaxis].astype(np.float64))[0])


class Coefficient(Protocol):
    """A coefficient of agreement with its settings. `level` names the distance between two answers."""

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> str: ...

    def read(self, data: Any) -> AgreementData:
        """Read the data. Raise BadShape, BadValue or BadOption if the coefficient cannot be computed from them."""


@runtime_checkable
class ClusteredCoefficient(Coefficient, Protocol):
    """A coefficient with intervals over items and raters."""

    def influences(self, data: Any) -> Influences | None:
        """Return the influences of the judgments; None if the coefficient is undefined."""


@runtime_checkable
class PatternCoefficient(Coefficient, Protocol):
    """A coefficient with intervals over items and raters, whose influences are the same for equal patterns."""

    def pattern_influences(self, patterns: UnitPatterns) -> PatternInfluences | None:
        """Return the influences by pattern; None if the coefficient is undefined."""


def influences_of(coefficient: ClusteredCoefficient | PatternCoefficient, data: Any) -> Influences | None:
    if isinstance(coefficient, ClusteredCoefficient):
        return coefficient.influences(data)
    ratings_by_pattern = patterned_ratings(data)
    influences = coefficient.pattern_influences(ratings_by_pattern.patterns)
    return None if influences is None else influences.of_judgments(ratings_by_pattern)


@dataclass(frozen=True, slots=True)
class AgreementResult(Inference):
    """An agreement coefficient with its interval.

    statistic: the coefficient's name. level: the distance between answers that it uses. units, raters, judgments: their
    numbers. pairable: number of units with two judgments or more. clusters: empty if units were resampled.
    """

    statistic: str
    value: float
    units: int
    pairable: int
    raters: int
    judgments: int
    level: str


def agreement(
    data: Any,
    coefficient: Coefficient,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: Seed = 0,
    clusters: ClusterColumns | Clusters = BOTH,
    control_items: bool = False,
) -> AgreementResult:
    """Return a coefficient of the data, which are in a form that the coefficient reads, with its interval.

    `clusters` is "both" (the data's units and raters), "item" or "rater" (one of them), columns with one entry for each
    judgment, or `Clusters` shared by several coefficients. With "naive" units are resampled, and the interval holds
    only for these raters. `control_items` says whether the study has control items, which show careless raters. If not,
    CARELESS_NOTE may be added to the note of an alpha.

    Raise BadOption if the coefficient has only the naive interval, and `clusters` is another one, as the default is.
    """
    is_naive = isinstance(clusters, str) and clusters == NAIVE
    options = Options.from_sampling(confidence=confidence, resamples=resamples if is_naive else 0, seed=seed)
    if isinstance(data, Ratings) and isinstance(coefficient, PatternCoefficient):
        data = patterned_ratings(data)  # so that the patterns are computed once
    agreement_data = coefficient.read(data)
    value = agreement_data.value()
    inference = options.undefined_inference(agreement_data.reason if math.isnan(value) else "")
    careless_note = ""
    if not is_naive:
        if not isinstance(coefficient, ClusteredCoefficient | PatternCoefficient):
            raise BadOption(
                f"clusters is given, expected {NAIVE!r}: {coefficient.name} has no other interval"
            )
        influences = None if math.isnan(value) else influences_of(coefficient, data)
        if influences is not None:
            # Two raters alone are not used as clusters (`for_agreement`).
            row_clusters = _clusters_of(influences, clusters).for_agreement()
            limits = influences.interval(value, row_clusters, options.confidence)
            inference = options.interval_of_clusters(row_clusters, limits)
            if coefficient.name == ALPHA and RATER in row_clusters.columns_used and not control_items:
                numbers = careless_numbers(value, limits[0], row_clusters.counts[RATER], options.confidence)
                careless_note = CARELESS_NOTE % numbers if numbers else ""
    elif not math.isnan(value):  # resample only if the coefficient is defined
        inference = options.bootstrap(
            agreement_data.statistic, agreement_data.frequency, agreement_data.width
        )
    note = "; ".join(filter(None, (agreement_data.note, inference.note, careless_note)))
    return AgreementResult(
        statistic=coefficient.name,
        value=value,
        units=agreement_data.units,
        pairable=agreement_data.pairable,
        raters=agreement_data.raters,
        judgments=agreement_data.judgments,
        level=coefficient.level,
        **{**inference.fields_by_name(), "note": note},
    )


def careless_numbers(value: float, low: float, raters: int, confidence: float) -> dict[str, Any] | None:
    """Return the values to insert into CARELESS_NOTE, or None if alpha does not need the note.

    `low` is the lower limit of alpha. The note warns that the interval may be too high because, by chance, none of
    these raters is careless. If a share c of people answers at random, the probability that none of R raters does so is
    (1 - c)^R. The probability that both judgments of a pair are by careful raters is (1 - c)^2, so alpha would be about
    (1 - c)^2 of its value.
    """
    chance_of_none = (1 - CARELESS_SHARE) ** raters
    alpha_with_careless = value * (1 - CARELESS_SHARE) ** 2
    # The note is not needed if so many raters hardly lack a careless one, or if the interval reaches that low.
    if chance_of_none <= 1 - confidence or not low > alpha_with_careless:
        return None
    return {
        "careless": f"{CARELESS_SHARE * 100:.0f} %",
        "missed": f"{chance_of_none * 100:.0f} %",
        "raters": raters,
        "alpha": f"{alpha_with_careless:.2f}",
    }


def _clusters_of(influences: Influences, clusters: ClusterColumns | Clusters) -> Clusters:
    """Return the clusters of the judgments that count. Raise BadOption if the data name none."""
    if isinstance(clusters, Clusters):
        return clusters.subset(influences.is_counted)
    if not isinstance(clusters, str):
        return Clusters.from_columns(clusters, len(influences.is_counted), influences.is_counted)
    codes_by_name = {ITEM: influences.items, RATER: influences.raters}  # of the judgments that count
    names = (ITEM, RATER) if clusters == BOTH else (one_of(clusters, CLUSTER_OPTIONS, "clusters"),)
    codes = {name: column for name in names if (column := codes_by_name[name]) is not None}
    if not codes:
        raise BadOption(f"clusters is {clusters!r}, expected columns: the data have no such clusters")
    return Clusters.of_codes({name: renumber_codes(column) for name, column in codes.items()})
