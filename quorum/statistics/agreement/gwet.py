"""Percent agreement, and Gwet's AC1 and AC2.

Gwet 2008; 2014, *Handbook of Inter-Rater Reliability*:

    p_a = 1/n' sum_i sum_k r_ik (r*_ik - 1) / (r_i (r_i - 1)),  r*_ik = sum_l w_kl r_il
    AC = (p_a - p_e) / (1 - p_e),  p_e = T_w / (q (q - 1)) sum_k pi_k (1 - pi_k),  pi_k = 1/n sum_i r_ik / r_i

where r_ik of the r_i judgments of unit i are category k, n' is the number of units with r_i >= 2, n the number of all
units, q the number of categories, and T_w the sum of all weights w(k, l) = 1 - d(k, l) / D (Cohen 1968). d is a
distance of the positions of two categories (`kernels.distances`), and D the distance between the lowest and the highest
category. The position of a number is its value, and that of a text its place among the given categories. Ordinal
weights use the places of numbers, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, ratio
from quorum.statistics.agreement.coefficient import (
    NO_PAIRS,
    AgreementData,
    AgreementResult,
    UnitStatistic,
    agreement,
)
from quorum.statistics.agreement.influences import PatternInfluences, percent_influences
from quorum.statistics.agreement.patterns import PatternedRatings, UnitPatterns, patterns_of
from quorum.statistics.agreement.positions import exact_positions
from quorum.statistics.agreement.ratings import Data
from quorum.statistics.inference import RaterSampling, signed
from quorum.statistics.inputs import BadOption, BadValue, encode, encode_with

ONE_CATEGORY = "all judgments name the same category; pass the other categories in the argument “categories”"
WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "radical", "ratio")


def percent_agreement(
    reliability_data: Data, weights: str = "identity", *, categories: Sequence[Any] | None = None
) -> float:
    """Return the share of pairs of judgments of a unit that agree, averaged over units.

    `weights` other than "identity" give similar answers partial credit. `categories` is the whole scale, by default the
    values that occur.
    """
    return Percent(weights, categories).read(reliability_data).value()


@signed("percent-agreement")
def percent_interval(
    reliability_data: Data,
    weights: str = "identity",
    *,
    categories: Sequence[Any] | None = None,
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return `percent_agreement` with its interval."""
    return agreement(reliability_data, Percent(weights, categories), **options)


def gwet_ac(
    reliability_data: Data, weights: str = "identity", *, categories: Sequence[Any] | None = None
) -> float:
    """Return AC1 (identity weights) or AC2. Arguments are as in `percent_agreement`."""
    return Gwet(weights, categories).read(reliability_data).value()


@signed("gwet-ac")
def gwet_interval(
    reliability_data: Data,
    weights: str = "identity",
    *,
    categories: Sequence[Any] | None = None,
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return `gwet_ac` with its interval."""
    return agreement(reliability_data, Gwet(weights, categories), **options)


@dataclass(frozen=True, slots=True)
class Percent:
    """Percent agreement. `level` is one of WEIGHTS."""

    level: str = "identity"
    categories: Sequence[Any] | None = None
    name: ClassVar[str] = "percent-agreement"

    def read(self, data: Data | PatternedRatings) -> AgreementData:
        patterns = patterns_of(data, numeric=False).comparable_patterns()
        scale = _read_scale(patterns.labels, self.level, self.categories)
        return AgreementData.of_patterns(patterns, _percent_of_units(patterns, scale), NO_PAIRS)

    def pattern_influences(self, patterns: UnitPatterns) -> PatternInfluences | None:
        scale = _read_scale(patterns.labels, self.level, self.categories)
        return percent_influences(patterns, scale.distance_kind, scale.label_positions, scale.max_distance)


@dataclass(frozen=True, slots=True)
class Gwet:
    """Gwet's AC1 or AC2. `level` is one of WEIGHTS."""

    level: str = "identity"
    categories: Sequence[Any] | None = None

    @property
    def name(self) -> str:
        return "gwet-ac1" if self.level == "identity" else "gwet-ac2"

    def read(self, data: Data | PatternedRatings) -> AgreementData:
        patterns = patterns_of(data, numeric=False)
        scale = _read_scale(patterns.labels, self.level, self.categories)
        correct_for_chance = _make_chance_correction(scale)
        percent = _percent_of_units(patterns, scale)
        unit_shares = scipy.sparse.csr_array(patterns.counts.multiply(1 / patterns.sizes()[:, np.newaxis]))

        def gwet(frequency: Floats) -> Floats:
            shares = np.asarray(frequency @ unit_shares) / np.maximum(frequency.sum(axis=1), 1)[:, np.newaxis]
            return correct_for_chance(percent(frequency), shares)

        reason = ONE_CATEGORY if (patterns.sizes() >= 2).any() else NO_PAIRS
        return AgreementData.of_patterns(patterns, gwet, reason)

    def pattern_influences(self, patterns: UnitPatterns) -> PatternInfluences | None:
        scale = _read_scale(patterns.labels, self.level, self.categories)
        percent = percent_influences(patterns, scale.distance_kind, scale.label_positions, scale.max_distance)
        if percent is None or len(scale.positions) < 2:
            return None
        frequency = patterns.frequency.astype(np.float64)
        units = frequency.sum()  # not `patterns.units`: `BothOrdersCoefficient` counts each unit twice
        observed = float(_percent_of_units(patterns, scale)(frequency[np.newaxis])[0])
        pattern_weights = frequency / patterns.sizes() / units
        shares = np.asarray(pattern_weights @ patterns.counts)
        factor = _chance_factor(scale)
        expected = factor * float((shares * (1 - shares)).sum())
        # The effects of shares on p_e, centred so that a unit adds its mean slope minus that of all units.
        slopes = factor * (1 - 2 * shares)
        slopes -= float(slopes @ shares)
        pattern, label = patterns.cells()
        expected_effects = slopes[label] / patterns.sizes()[pattern] / units
        # The derivative of AC = (p_a - p_e) / (1 - p_e).
        values = percent.values / (1 - expected) - (1 - observed) / (1 - expected) ** 2 * expected_effects
        is_counted = np.ones(len(patterns.frequency), dtype=np.bool_)  # units judged once count in p_e, too
        return PatternInfluences(values, is_counted, percent.judges, chance_of_difference=1 - expected)


@dataclass(frozen=True, slots=True)
class _Scale:
    """The positions of the answers and the distance between them.

    distance_kind: one of the kinds of `kernels.distances`. label_positions: (V,) positions of the labels that occur.
    positions: (Q,) positions of all categories. max_distance: D of the formula, the distance between the lowest and the
    highest category; 1 if there are fewer than two categories.
    """

    distance_kind: int
    label_positions: Floats
    positions: Floats
    max_distance: float


def _read_scale(labels: NDArray[Any], weights: str, categories: Sequence[Any] | None) -> _Scale:
    """Return the scale of the labels. Raise BadOption or BadValue if the weights do not suit it."""
    from quorum.statistics.kernels import distances

    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected one of {', '.join(WEIGHTS)}")
    scale = labels
    if categories is not None:
        scale, codes = encode(categories, "categories")
        if len(scale) != len(codes):
            raise BadOption(f"categories names a value twice: {list(categories)}, expected distinct values")
    has_numbers = scale.dtype.kind in "biuf"
    if not has_numbers and categories is None and weights != "identity" and len(labels):
        raise BadOption(f"weights is {weights!r} and answers are text, expected their order in categories")
    # Numbers are in ascending order, texts in the given one.
    values = scale.tolist() if has_numbers or categories is None else list(categories)
    codes = encode_with(labels, values, "the data") if len(labels) else np.empty(0, dtype=np.int64)
    positions = np.arange(float(len(values)))
    if has_numbers and weights != "ordinal":
        positions = exact_positions(scale)
    distance_kind = {
        "identity": distances.DIFFERENT,
        "linear": distances.ABSOLUTE,
        "quadratic": distances.SQUARED,
        "ordinal": distances.STEPS,
        "radical": distances.ROOT,
        "ratio": distances.RATIO,
    }[weights]
    if weights == "ratio" and len(positions) and positions[0] < 0:
        raise BadValue(f"the scale holds {values[0]}, expected no negative number where weights are ratios")
    max_distance = (
        float(distances.distance(distance_kind, positions[0], positions[-1])) if len(positions) > 1 else 1.0
    )
    return _Scale(distance_kind, positions[codes], positions, max_distance)


def _percent_of_units(patterns: UnitPatterns, scale: _Scale) -> UnitStatistic:
    from quorum.statistics.kernels.agreement import fill_unit_disagreement

    counts = patterns.counts
    disagreement, sizes = np.empty((2, counts.shape[0]))
    starts, codes = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    fill_unit_disagreement(
        starts, codes, counts.data, scale.distance_kind, scale.label_positions, disagreement, sizes
    )
    is_comparable = (sizes >= 2).astype(np.float64)
    # A unit judged once has no pairs, so divide its zero by one.
    pairs = np.where(sizes >= 2, sizes * (sizes - 1), 1.0)
    unit_agreement = is_comparable * (1 - disagreement / pairs / scale.max_distance)

    def percent(frequency: Floats) -> Floats:
        return ratio(frequency @ unit_agreement, frequency @ is_comparable)

    return percent


def _chance_factor(scale: _Scale) -> float:
    """Return T_w / (q (q - 1)); nan for a single category."""
    from quorum.statistics.kernels.distances import all_distances

    size = len(scale.positions)
    if size < 2:
        return math.nan
    total_weight = (
        size**2 - all_distances(scale.distance_kind, scale.positions, np.ones(size)) / scale.max_distance
    )
    return float(total_weight / (size * (size - 1)))


def _make_chance_correction(scale: _Scale) -> Callable[[Floats, Floats], Floats]:
    """Return the function that computes AC of B resamples from (B,) percent agreements and (B, V) shares of labels."""
    factor = _chance_factor(scale)

    def correct_for_chance(observed: Floats, shares: Floats) -> Floats:
        expected = factor * (shares * (1 - shares)).sum(axis=1)
        return np.asarray((observed - expected) / (1 - expected))

    return correct_for_chance
