"""Krippendorff's alpha, percent agreement, and Gwet's AC1 and AC2.

Alpha = 1 - D_o / D_e (H13 section 4.2.1 reports it). Krippendorff, *Computing Krippendorff's Alpha-Reliability* (2011).
With n_uv the count of value v in unit u and m_u its judgments, units with m_u < 2 are dropped, and

    alpha = 1 - (n - 1) sum_u sum_vw n_uv n_uw d(v, w) / (m_u - 1)  /  sum_vw n_v n_w d(v, w)

with d the squared distance of the level. The ordinal distance is the interval distance of mid-ranks.

Alpha of parts compares answers of several values (links of words to boxes, best and worst options) part by
part. Resamples draw whole units, as their parts depend on each other.

Gwet 2008; 2014, *Handbook of Inter-Rater Reliability*:

    p_a = 1/n' sum_i sum_k r_ik (r*_ik - 1) / (r_i (r_i - 1)),  r*_ik = sum_l w_kl r_il
    AC = (p_a - p_e) / (1 - p_e),  p_e = T_w / (q (q - 1)) sum_k pi_k (1 - pi_k),  pi_k = 1/n sum_i r_ik / r_i

with r_ik of the r_i judges of unit i in category k, n' the units with r_i >= 2, n all units, q the categories, and
T_w the sum of all weights w(k, l) = 1 - d(k, l) / D (Cohen 1968), with d one of `distances.distance` and D that of the
lowest and the highest category. Numbers count by value, text by its position in the given categories; ordinal weights
always take positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Unpack

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints, parts_of, ratio
from quorum.numeric.packing import declare
from quorum.statistics.agreement.coefficient import (
    ALPHA,
    NO_PAIRS,
    AgreementResult,
    Data,
    Influences,
    OfUnits,
    Patterns,
    Ratings,
    ReadData,
    agreement,
    alpha_influences,
    check_numeric,
    exact_positions,
    patterns_of,
    percent_influences,
    ratings_of,
    ratings_of_judgments,
)
from quorum.statistics.inference import RaterSampling, signed
from quorum.statistics.inputs import (
    BadOption,
    BadValue,
    DuplicateJudgment,
    encode,
    encode_with,
    first_repeated,
    one_of,
    same_length,
)

# Columns of units, parts, workers and values.
Parts = tuple[Iterable[Any], Iterable[Any], Iterable[Any], Iterable[Any]]
LEVELS = ("nominal", "ordinal", "interval", "ratio")

# Distances of the ratio level are made for this many pairs of values at once.
_PAIRS = 1 << 22
NO_VARIATION = "every judgment that can be compared has the same value"
NEGATIVE_RATIO = "the ratio level has no meaning for negative numbers; two opposite numbers count as equal"


def krippendorff_alpha(reliability_data: Data, level: str = "nominal") -> float:
    """Return Krippendorff's alpha at one of LEVELS."""
    return Alpha(level).sample(reliability_data).value()


@signed("krippendorff-alpha", input="table")
def alpha_interval(
    reliability_data: Data,
    level: str = "nominal",
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return `krippendorff_alpha` with its interval."""
    return agreement(reliability_data, Alpha(level), **options)


@signed("krippendorff-alpha", input="rows")
def alpha_of_judgments(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    level: str = "nominal",
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return alpha of (N,) columns, one judgment a row; nominal values need not be numbers.

    Raise DuplicateJudgment if a worker judged a unit twice.
    """
    one_of(level, LEVELS, "level")
    ratings = ratings_of_judgments(units, workers, values)
    return agreement(ratings, Alpha(level), **options)


@signed("krippendorff-alpha", input="parts")
def alpha_of_parts(
    units: Iterable[Any],
    parts: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    level: str = "nominal",
    **options: Unpack[RaterSampling],
) -> AgreementResult:
    """Return alpha of (N,) columns with one value of one part a row; the result counts whole units and answers.

    Raise DuplicateJudgment if a worker gave a part two values.
    """
    return agreement((units, parts, workers, values), AlphaOfParts(level), **options)


@dataclass(frozen=True, slots=True)
class Alpha:
    level: str = "nominal"
    name: ClassVar[str] = ALPHA

    def sample(self, data: Data) -> ReadData:
        one_of(self.level, LEVELS, "level")
        patterns = patterns_of(data, numeric=self.level != "nominal").comparable()
        return ReadData.of_patterns(
            patterns,
            AlphaOfWeights(patterns, self.level),
            NO_VARIATION if len(patterns.frequency) else NO_PAIRS,
            NEGATIVE_RATIO if self.level == "ratio" and (patterns.labels < 0).any() else "",
        )

    def influences(self, data: Data) -> Influences | None:
        return alpha_influences(ratings_of(data, numeric=self.level != "nominal"), self.level)


@dataclass(frozen=True, slots=True)
class AlphaOfParts:
    """Alpha over parts, of (N,) units, parts, workers and values."""

    level: str = "nominal"
    name: ClassVar[str] = ALPHA

    def sample(self, data: Parts) -> ReadData:
        one_of(self.level, LEVELS, "level")
        units, unit, cells = _cells(data)
        if self.level != "nominal":
            check_numeric(cells)
        cell, parts, workers = cells.unit, len(cells.units), len(cells.raters)
        owner = np.zeros(parts, dtype=np.int64)
        owner[cell] = unit
        if first_repeated(cell, cells.rater) is not None:
            raise DuplicateJudgment(
                "a worker gave a part of a unit two values, expected one value a part and worker"
            )
        counts = scipy.sparse.csr_array(
            (np.ones(len(cell)), (cell, cells.code)), shape=(parts, len(cells.labels))
        )
        every_part = np.ones(parts, dtype=np.int64)
        patterns = Patterns(cells.labels, counts, every_part, units, workers, len(cell))
        compared, group = np.unique(owner[patterns.sizes() >= 2], return_inverse=True)
        comparable = patterns.comparable()
        alpha = AlphaOfWeights(comparable, self.level)
        return ReadData(
            of_units=lambda weights: alpha(weights[:, group]),
            frequency=np.ones(len(compared), dtype=np.int64),
            width=max(counts.shape[1], len(group)),
            units=units,
            pairable=len(compared),
            raters=workers,
            judgments=len(np.unique(unit * max(workers, 1) + cells.rater)),
            reason=NO_VARIATION if len(compared) else NO_PAIRS,
        )

    def influences(self, data: Parts) -> Influences | None:
        _, unit, cells = _cells(data)
        influences = alpha_influences(cells, self.level)
        # The parts of a unit are answered together.
        return influences and replace(influences, items=unit[influences.counts])


def _cells(data: Parts) -> tuple[int, Ints, Ratings]:
    """Return the number of units, the (N,) unit of each row, and ratings of the parts of units."""
    units, unit = encode(data[0], "units")
    _, part = encode(data[1], "parts")
    workers, worker = encode(data[2], "workers")
    labels, code = encode(data[3], "values")
    same_length(units=unit, parts=part, workers=worker, values=code)
    cells, cell = np.unique(unit * (int(part.max(initial=0)) + 1) + part, return_inverse=True)
    return len(units), unit, Ratings(cells, workers, labels, cell, worker, code)


@declare
class AlphaOfWeights:
    def __init__(self, patterns: Patterns, level: str) -> None:
        self._counts = patterns.counts
        self._size = np.asarray(patterns.counts.sum(axis=1), dtype=np.float64)
        self._level = level
        if level == "interval" or level == "ratio":
            self._values = exact_positions(patterns.labels)
        if level == "nominal":
            squares = np.asarray(patterns.counts.power(2).sum(axis=1))
            self._observed = (self._size**2 - squares) / (self._size - 1)
        elif level == "interval":
            # Centred values keep the moments small where the values lie far from zero.
            totals = patterns.frequency @ patterns.counts
            self._values = self._values - totals @ self._values / max(totals.sum(), 1)
            mean = self._counts @ self._values / self._size
            self._observed = 2 * self._size * self._within(mean) / (self._size - 1)
        elif level == "ratio":
            self._observed = _ratio_within(patterns, self._values) / (self._size - 1)

    def __call__(self, weights: Floats) -> Floats:
        if self._level == "ordinal":
            observed, expected, n = self._ordinal(weights)
        else:
            observed = weights @ self._observed
            n = weights @ self._size
            expected = self._expected(weights, n)
        return 1 - ratio((n - 1) * observed, expected)

    def _within(self, mean: Floats) -> Floats:
        counts = self._counts
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        deviations = counts.data * (self._values[counts.indices] - mean[rows]) ** 2
        return np.bincount(rows, weights=deviations, minlength=counts.shape[0]).astype(np.float64)

    def _expected(self, weights: Floats, n: Floats) -> Floats:
        if self._level == "interval":
            first = weights @ (self._counts @ self._values)
            second = weights @ (self._counts @ self._values**2)
            spread = 2 * (n * second - first**2)
            # What is left of equal values after rounding is no variation.
            return np.where(spread > 1e-12 * n * second, spread, 0.0)
        totals = weights @ self._counts
        if self._level == "nominal":
            return n**2 - (totals**2).sum(axis=1)
        return _ratio_between(totals, self._values)

    def _ordinal(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        totals = weights @ self._counts
        n = totals.sum(axis=1)
        ranks = np.cumsum(totals, axis=1) - totals / 2 - n[:, np.newaxis] / 2
        first = self._counts @ ranks.T
        second = self._counts @ (ranks**2).T
        size = self._size[:, np.newaxis]
        within = 2 * (size * second - first**2) / (size - 1)
        observed = np.einsum("bp,pb->b", weights, within)
        # Mid-ranks weighted by their totals sum to zero around n / 2, so the second moment is enough.
        expected = 2 * n * (totals * ranks**2).sum(axis=1)
        return observed, expected, n


def _ratio_distance(first: Floats, second: Floats) -> Floats:
    """Return ((v - w) / (v + w))^2, by convention 0 for opposite numbers."""
    total = first + second
    return ratio(first - second, total, where=total != 0, otherwise=0.0) ** 2


def _ratio_within(patterns: Patterns, values: Floats) -> Floats:
    counts = patterns.counts
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    total = np.zeros(counts.shape[0])
    for step in range(1, int(np.diff(counts.indptr).max(initial=0))):
        left = np.flatnonzero(rows[:-step] == rows[step:])
        right = left + step
        distance = _ratio_distance(values[counts.indices[left]], values[counts.indices[right]])
        total += np.bincount(
            rows[left], weights=2 * distance * counts.data[left] * counts.data[right], minlength=len(total)
        )
    return total


def _ratio_between(totals: Floats, values: Floats) -> Floats:
    expected = np.zeros(len(totals))
    step = max(1, _PAIRS // max(len(values), 1))
    for start in range(0, len(values), step):
        block = slice(start, start + step)
        distance = _ratio_distance(values[block, np.newaxis], values[np.newaxis, :])
        expected += ((totals[:, block] @ distance) * totals).sum(axis=1)
    return expected


ONE_CATEGORY = "every judgment names the same category; name the others in categories"
WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "radical", "ratio")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Positions of the labels that occur (V,), and of the whole scale (Q,).

    kind is one of `kernels.distances`; longest is D, or 1 without a distance.
    """

    kind: int
    occurring: Floats
    positions: Floats
    longest: float


def _scale_of(labels: NDArray[Any], weights: str, categories: Sequence[Any] | None) -> _Scale:
    from quorum.statistics.kernels import distances

    if weights not in WEIGHTS:
        raise BadOption(f"weights is {weights!r}, expected one of {', '.join(WEIGHTS)}")
    scale = labels
    if categories is not None:
        scale, codes = encode(categories, "categories")
        if len(scale) != len(codes):
            raise BadOption(f"categories names a value twice: {list(categories)}, expected distinct values")
    numbers = scale.dtype.kind in "biuf"
    if not numbers and categories is None and weights != "identity" and len(labels):
        raise BadOption(f"weights is {weights!r} and answers are text, expected their order in categories")
    order = scale.tolist() if numbers or categories is None else list(categories)
    places = encode_with(labels, order, "the data") if len(labels) else np.empty(0, dtype=np.int64)
    positions = exact_positions(scale) if numbers and weights != "ordinal" else np.arange(float(len(order)))
    kind = {
        "identity": distances.DIFFERENT,
        "linear": distances.ABSOLUTE,
        "quadratic": distances.SQUARED,
        "ordinal": distances.STEPS,
        "radical": distances.ROOT,
        "ratio": distances.RATIO,
    }[weights]
    if weights == "ratio" and len(positions) and positions[0] < 0:
        raise BadValue(f"the scale holds {order[0]}, expected no negative number where weights are ratios")
    longest = float(distances.distance(kind, positions[0], positions[-1])) if len(positions) > 1 else 1.0
    return _Scale(kind, positions[places], positions, longest)


def percent_agreement(
    reliability_data: Data, weights: str = "identity", *, categories: Sequence[Any] | None = None
) -> float:
    """Return the share of agreeing pairs of judges.

    `weights` other than identity give near misses partial credit. `categories` is the whole scale, by default
    what occurs.
    """
    return Percent(weights, categories).sample(reliability_data).value()


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
    """Return AC1 (identity weights) or AC2; arguments as in `percent_agreement`."""
    return Gwet(weights, categories).sample(reliability_data).value()


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
    level: str = "identity"
    categories: Sequence[Any] | None = None
    name: ClassVar[str] = "percent-agreement"

    def sample(self, data: Data) -> ReadData:
        patterns = patterns_of(data, numeric=False).comparable()
        scale = _scale_of(patterns.labels, self.level, self.categories)
        return ReadData.of_patterns(patterns, _percent_of_units(patterns, scale), NO_PAIRS)

    def influences(self, data: Data) -> Influences | None:
        ratings = ratings_of(data)
        scale = _scale_of(ratings.labels, self.level, self.categories)
        return percent_influences(ratings, scale.kind, scale.occurring, scale.longest)


@dataclass(frozen=True, slots=True)
class Gwet:
    level: str = "identity"
    categories: Sequence[Any] | None = None

    @property
    def name(self) -> str:
        return "gwet-ac1" if self.level == "identity" else "gwet-ac2"

    def sample(self, data: Data) -> ReadData:
        patterns = patterns_of(data, numeric=False)
        scale = _scale_of(patterns.labels, self.level, self.categories)
        corrected = _chance_corrected(scale)
        observed = _percent_of_units(patterns, scale)
        each = scipy.sparse.csr_array(patterns.counts.multiply(1 / patterns.sizes()[:, np.newaxis]))

        def gwet(weights: Floats) -> Floats:
            shares = np.asarray(weights @ each) / np.maximum(weights.sum(axis=1), 1)[:, np.newaxis]
            return corrected(observed(weights), shares)

        reason = ONE_CATEGORY if (patterns.sizes() >= 2).any() else NO_PAIRS
        return ReadData.of_patterns(patterns, gwet, reason)

    def influences(self, data: Data) -> Influences | None:
        ratings = ratings_of(data)
        scale = _scale_of(ratings.labels, self.level, self.categories)
        observed = percent_agreement(ratings, self.level, categories=self.categories)
        on_percent = percent_influences(ratings, scale.kind, scale.occurring, scale.longest)
        if on_percent is None or len(scale.positions) < 2:
            return None
        sizes = np.bincount(ratings.unit, minlength=len(ratings.units))
        each = 1 / np.maximum(sizes, 1)
        units = np.count_nonzero(sizes)
        shares = np.bincount(ratings.code, weights=each[ratings.unit], minlength=len(ratings.labels)) / units
        factor = _chance_factor(scale)
        expected = factor * float((shares * (1 - shares)).sum())
        slopes = factor * (1 - 2 * shares)
        slopes -= float(slopes @ shares)
        rows = on_percent.values
        rows /= 1 - expected
        if len(rows) < len(ratings.code):
            rows = np.zeros(len(ratings.code))
            rows[on_percent.counts] = on_percent.values
        for part in parts_of(len(rows)):
            of_expected = slopes[ratings.code[part]] * each[ratings.unit[part]] / units
            rows[part] += -(1 - observed) / (1 - expected) ** 2 * of_expected
        every = np.ones(len(rows), dtype=np.bool_)
        return Influences(rows, every, ratings.unit, ratings.rater, on_percent.judges, 1 - expected)


def _percent_of_units(patterns: Patterns, scale: _Scale) -> OfUnits:
    from quorum.statistics.kernels.agreement import unit_disagreement

    counts = patterns.counts
    apart, sizes, most = np.empty((3, counts.shape[0]))
    starts, codes = counts.indptr.astype(np.int64), counts.indices.astype(np.int64)
    unit_disagreement(starts, codes, counts.data, scale.kind, scale.occurring, apart, sizes, most)
    comparable = (sizes >= 2).astype(np.float64)
    # A unit judged once has no pair; any divisor but zero leaves it at nothing.
    pairs = np.where(sizes >= 2, sizes * (sizes - 1), 1.0)
    agreeing = comparable * (1 - apart / pairs / scale.longest)

    def percent(weights: Floats) -> Floats:
        return ratio(weights @ agreeing, weights @ comparable)

    return percent


def _chance_factor(scale: _Scale) -> float:
    """Return T_w / (q (q - 1)); nan for a single category, whatever was observed."""
    from quorum.statistics.kernels.distances import all_distances

    size = len(scale.positions)
    if size < 2:
        return math.nan
    total_weight = size**2 - all_distances(scale.kind, scale.positions, np.ones(size)) / scale.longest
    return float(total_weight / (size * (size - 1)))


def _chance_corrected(scale: _Scale) -> Callable[[Floats, Floats], Floats]:
    factor = _chance_factor(scale)

    def corrected(observed: Floats, shares: Floats) -> Floats:
        expected = factor * (shares * (1 - shares)).sum(axis=1)
        return np.asarray((observed - expected) / (1 - expected))

    return corrected
