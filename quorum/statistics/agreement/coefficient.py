"""Answers of raters to units, and agreement coefficients with intervals.

A table or `Ratings` holds the answers, `Patterns` the units with equal answers. A coefficient reads the data,
`agreement` resamples them.

The influence of a judgment is the derivative of the coefficient by the judgment's weight. Over a unit or a rater,
influences add up to its part in the coefficient; intervals by item and by rater are made of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Flags, Floats, Ints, parts_of, starts_of
from quorum.numeric.packing import declare, declare_kind
from quorum.statistics.crossed import (
    BOTH,
    CONFIDENCE,
    ITEM,
    NAIVE,
    RATER,
    ClusterColumns,
    Clusters,
    coefficient_interval,
    renumbered,
    share_interval,
)
from quorum.statistics.inference import Inference, Options, Result
from quorum.statistics.inputs import (
    BadOption,
    BadShape,
    BadValue,
    DuplicateJudgment,
    encode,
    first_repeated,
    one_of,
    refuse_nan_texts,
    same_length,
)
from quorum.statistics.resampling import RESAMPLES, Seed

ALPHA = "krippendorff-alpha"
CARELESS = 0.15  # the share of people who answer at random that a study should reckon with
INFINITE = "reliability_data holds an infinite number, expected finite numbers or nan"

# Keys of so many bits are counted in a table, longer ones by sorting.
_TABLE_BITS = 20


@dataclass(frozen=True, slots=True)
class Ratings:
    """One judgment a row, at most one of a unit by a rater.

    units (U,), raters (R,), labels (V,): names, ascending. unit, rater, code: (N,) int64 positions among them.
    """

    units: NDArray[Any]
    raters: NDArray[Any]
    labels: NDArray[Any]
    unit: Ints
    rater: Ints
    code: Ints

    def answered(self, times: int) -> Flags:
        """Return (N,) bool: the judgments of units with at least `times`."""
        return np.asarray((np.bincount(self.unit) >= times)[self.unit])

    def subset(self, rows: Flags) -> Ratings:
        units, unit = encode(self.unit[rows], "units")
        raters, rater = encode(self.rater[rows], "raters")
        return Ratings(self.units[units], self.raters[raters], self.labels, unit, rater, self.code[rows])

    def by_unit(self) -> tuple[Ints, Ints, Ints]:
        """Return starts (U + 1,), raters (N,), codes (N,), unit by unit."""
        return _grouped(self.unit, self.rater, self.code, len(self.units), len(self.raters))

    def by_rater(self) -> tuple[Ints, Ints, Ints]:
        """Return starts (R + 1,), units (N,), codes (N,), rater by rater."""
        return _grouped(self.rater, self.unit, self.code, len(self.raters), len(self.units))


Data = ArrayLike | Ratings


def ratings_of_judgments(units: Iterable[Any], workers: Iterable[Any], values: Iterable[Any]) -> Ratings:
    """Number three (N,) columns. Raise DuplicateJudgment if a worker judged a unit twice."""
    unit_names, unit_codes = encode(units, "units")
    worker_names, worker_codes = encode(workers, "workers")
    labels, codes = encode(values, "values")
    same_length(units=unit_codes, workers=worker_codes, values=codes)
    twice = first_repeated(unit_codes, worker_codes)
    if twice is not None:
        unit, worker = twice
        raise DuplicateJudgment(
            f"worker {worker_names[worker]} judged unit {unit_names[unit]} more than once, "
            "expected one judgment per worker and unit"
        )
    return Ratings(unit_names, worker_names, labels, unit_codes, worker_codes, codes)


def ratings_of(data: Data, *, numeric: bool = False) -> Ratings:
    if isinstance(data, Ratings):
        return check_numeric(data) if numeric else data
    matrix = _table_of(data, numeric=numeric)
    answered = is_given(matrix)
    if matrix.dtype.kind == "f" and np.isinf(matrix).any():
        raise BadValue(INFINITE)
    rater, unit = np.nonzero(answered)
    labels, codes = encode(matrix[answered], "reliability_data")
    return Ratings(np.arange(matrix.shape[1]), np.arange(matrix.shape[0]), labels, unit, rater, codes)


def check_numeric(ratings: Ratings) -> Ratings:
    if len(ratings.labels) and ratings.labels.dtype.kind not in "biuf":
        raise BadValue(
            f"values hold {ratings.labels[0]!r}, expected numbers at the ordinal, interval and ratio level"
        )
    return ratings


def _table_of(reliability: ArrayLike, *, numeric: bool) -> NDArray[Any]:
    """Return the (raters, units) table as float64, or as it is if it may hold text."""
    try:
        matrix = np.asarray(reliability)
    except ValueError as error:
        raise BadShape("reliability_data has rows of unequal length, expected raters by units") from error
    if matrix.dtype.kind == "U":
        refuse_nan_texts(reliability, "reliability_data")
        matrix = np.asarray(reliability, dtype=object)  # where a nan among texts is still one
    if matrix.ndim != 2:
        raise BadShape(f"reliability_data has {matrix.ndim} dimensions, expected two: raters by units")
    if matrix.dtype.kind in "biuf":
        return matrix.astype(np.float64, copy=False)
    if matrix.dtype.kind not in "OUS":
        raise BadValue(f"reliability_data is of type {matrix.dtype}, expected numbers or text")
    if matrix.dtype.kind == "O" and _only_numbers(matrix):
        return matrix.astype(np.float64)
    if numeric:
        raise BadValue(
            "reliability_data holds text, expected numbers at the ordinal, interval and ratio level"
        )
    return matrix


def is_given(matrix: NDArray[Any]) -> Flags:
    if matrix.dtype.kind == "f":
        return ~np.isnan(matrix)
    return np.array([_answers(cell) for cell in matrix.ravel().tolist()], dtype=bool).reshape(matrix.shape)


def _answers(cell: Any) -> bool:
    return cell is not None and cell == cell


def _only_numbers(matrix: NDArray[Any]) -> bool:
    return all(
        not _answers(cell) or isinstance(cell, (int, float, np.number)) for cell in matrix.ravel().tolist()
    )


def _grouped(rows: Ints, columns: Ints, codes: Ints, height: int, width: int) -> tuple[Ints, Ints, Ints]:
    # A sparse table is built by counting, which is quicker than sorting; no cell is met twice.
    table = scipy.sparse.csr_array((codes, (rows, columns)), shape=(height, width))
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data


def exact_positions(labels: NDArray[Any]) -> Floats:
    """Return (V,) float64, scaled by a power of two so that no square overflows."""
    values = labels.astype(np.float64)
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent)


def positions_at(level: str, labels: NDArray[Any]) -> Floats:
    if level in ("interval", "ratio"):
        return exact_positions(labels)
    return np.arange(float(len(labels)))


def distance_at(level: str) -> int:
    """Return the kind of `distances.distance` at a level; the ordinal one is of mid-ranks."""
    from quorum.statistics.kernels import distances

    return {"nominal": distances.DIFFERENT, "ratio": distances.RATIO}.get(level, distances.SQUARED)


declare_kind(
    "scipy.sparse._csr:csr_array",
    lambda table: [table.data, table.indices, table.indptr, list(table.shape)],
    lambda parts: scipy.sparse.csr_array(tuple(parts[:3]), shape=parts[3]),
)


@declare
@dataclass(frozen=True, slots=True)
class Patterns:
    """The distinct ways in which units were answered; where hardly two units share one, each unit is a pattern.

    labels: (V,), ascending. counts: (P, V) sparse float64 answers. frequency: (P,) units. `units`, `raters`
    and `judgments` count all data.
    """

    labels: NDArray[Any]
    counts: scipy.sparse.csr_array
    frequency: Ints
    units: int
    raters: int
    judgments: int

    def sizes(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    def comparable(self) -> Patterns:
        """Return the patterns of units with two judgments or more; counts of all data stay."""
        pairable = np.flatnonzero(self.sizes() >= 2)
        counts = scipy.sparse.csr_array(self.counts[pairable])
        counts.sort_indices()
        return Patterns(
            self.labels, counts, self.frequency[pairable], self.units, self.raters, self.judgments
        )


def patterns_of(data: Data | Patterns, *, numeric: bool) -> Patterns:
    if isinstance(data, Patterns):
        return data
    if isinstance(data, Ratings):
        rows = check_numeric(data) if numeric else data
        raters = int((np.bincount(rows.rater) > 0).sum())
        return patterns_of_rows(rows.unit, rows.code, rows.labels, raters=raters)
    table = _table_of(data, numeric=numeric)
    if table.dtype.kind == "f":
        return _of_numbers(table)
    answered = is_given(table)
    labels, codes = encode(table[answered], "reliability_data")
    rater, unit = np.nonzero(answered)
    return patterns_of_rows(unit, codes, labels, raters=len(np.unique(rater)))


def patterns_of_rows(units: Ints, values: Ints, labels: NDArray[Any], *, raters: int) -> Patterns:
    sizes = np.bincount(units)
    bits = int(sizes.max(initial=0)).bit_length()
    if bits * len(labels) <= _BITS:
        keys = np.zeros(len(sizes), dtype=np.int64)
        for part in parts_of(len(units)):
            np.add.at(keys, units[part], np.int64(1) << (values[part] * bits))
        return _of_keys(keys, bits, labels, raters)
    counts = scipy.sparse.csr_array((np.ones(len(units)), (units, values)), shape=(len(sizes), len(labels)))
    judged = np.flatnonzero(sizes)
    return Patterns(
        labels,
        scipy.sparse.csr_array(counts[judged]),
        np.ones(len(judged), dtype=np.int64),
        len(judged),
        raters,
        len(units),
    )


def count_rows(table: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of a (U, V) table, in a fixed order, and how often each occurs."""
    if not len(table):
        return table, np.empty(0, dtype=np.int64)
    radix = table.max(axis=0) + 1
    if float(np.prod(radix.astype(np.float64))) >= 2.0**_BITS:
        rows, frequency = np.unique(table, axis=0, return_counts=True)
        return rows, frequency
    # Counts as digits of one number: sorting numbers is many times faster than sorting rows.
    strides = np.concatenate([np.cumprod(radix[::-1])[::-1][1:], [1]])
    keys, frequency = np.unique(table @ strides, return_counts=True)
    return keys[:, np.newaxis] // strides % radix, frequency


def _of_numbers(matrix: Floats) -> Patterns:
    low = float(np.fmin.reduce(matrix, axis=None, initial=np.inf))
    high = float(np.fmax.reduce(matrix, axis=None, initial=-np.inf))
    if low > high:  # nothing was given
        return _of_keys(np.empty(0, dtype=np.int64), 1, np.empty(0), 0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise BadValue(INFINITE)
    bits = len(matrix).bit_length()
    most = _BITS // bits  # values whose counts fit into one number
    if low.is_integer() and high - low < most and abs(low) + most < 2.0**53:
        keyed = _keys(matrix, low, bits)
        if keyed is not None:
            return _of_keys(keyed[0], bits, np.arange(low, high + 1), keyed[1])
    answered = ~np.isnan(matrix)
    labels, codes = encode(matrix[answered], "reliability_data")
    if len(labels) > most:
        return patterns_of_rows(
            np.nonzero(answered)[1], codes, labels, raters=int(answered.any(axis=1).sum())
        )
    numbered = np.full(matrix.shape, np.nan)
    numbered[answered] = codes
    keyed = _keys(numbered, 0.0, bits)
    assert keyed is not None, "positions are whole numbers"
    return _of_keys(keyed[0], bits, labels, keyed[1])


def _keys(matrix: Floats, low: float, bits: int) -> tuple[Ints, int] | None:
    from quorum.statistics.kernels.agreement import unit_keys

    keys = np.zeros(matrix.shape[1], dtype=np.int64)
    answers = np.zeros(len(matrix), dtype=np.int64)
    if not unit_keys(matrix, low, bits, keys, answers):
        return None
    return keys, int(np.count_nonzero(answers))


def _of_keys(keys: Ints, bits: int, labels: NDArray[Any], raters: int) -> Patterns:
    # In ascending order of their keys, so that resamples do not depend on the units' order.
    if bits * len(labels) <= _TABLE_BITS:
        table = np.bincount(keys, minlength=1)
        table[0] = 0  # units without an answer
        occurring = np.flatnonzero(table)
        frequency = table[occurring]
    else:
        occurring, frequency = np.unique(keys[keys > 0], return_counts=True)
    counts = (occurring[:, np.newaxis] >> (np.arange(len(labels)) * bits)) & ((1 << bits) - 1)
    used = counts.any(axis=0)
    judgments = int(counts.sum(axis=1) @ frequency)
    sparse = scipy.sparse.csr_array(counts[:, used].astype(np.float64))
    return Patterns(labels[used], sparse, frequency, int(frequency.sum()), raters, judgments)


NO_PAIRS = "no unit has two judgments"
CLUSTERED = (ITEM, RATER, BOTH, NAIVE)

# A unit's answers, rater by rater, are digits of one number as long as they fit in so many bits.
_BITS = 62

# A figure of many weightings of the same patterns of units: (B, P) weights to (B,) values.
OfUnits = Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True)
class Influences:
    """values (N,) of the judgments that count; `counts` (M,) marks these among all.

    items, raters: (N,) codes, raters None where they are two. judges: judgments a unit. chance_of_difference: of two
    judgments at random. share: the coefficient is a mean from 0 to 1.
    """

    values: Floats
    counts: Flags
    items: Ints | None
    raters: Ints | None
    judges: float
    chance_of_difference: float = 1.0
    share: bool = False

    def interval(self, value: float, clusters: Clusters, confidence: float) -> tuple[float, float]:
        """Return the interval of the coefficient over the clusters' kinds."""
        spread = clusters.spread(self.values)
        if self.share:
            return share_interval(value, spread, clusters.number, confidence)
        return coefficient_interval(
            value,
            spread,
            clusters.number,
            confidence,
            judges=self.judges,
            chance_of_difference=self.chance_of_difference,
        )


@dataclass(frozen=True, slots=True)
class _Compared:
    """The judgments of units judged twice or more.

    counts: (M,) which of all judgments these are. unit, rater, code: (N,). apart: (N,) summed distances from the unit's
    others. sizes, disagreement: (U,) judgments, and summed distances over ordered pairs.
    """

    counts: Flags
    unit: Ints
    rater: Ints
    code: Ints
    apart: Floats
    sizes: Floats
    disagreement: Floats

    @classmethod
    def of(cls, ratings: Ratings, kind: int, positions: Floats) -> _Compared:
        several = np.bincount(ratings.unit, minlength=len(ratings.units)) >= 2
        counts = several[ratings.unit]
        compared = ratings if several.all() else ratings.subset(counts)
        apart = distances_within(compared.unit, compared.code, kind, positions)
        sizes = np.bincount(compared.unit).astype(np.float64)
        disagreement = np.bincount(compared.unit, weights=apart).astype(np.float64)
        return cls(counts, compared.unit, compared.rater, compared.code, apart, sizes, disagreement)

    def influences(self, values: Floats) -> Influences:
        values -= values.mean()
        return Influences(values, self.counts, self.unit, self.rater, float(self.sizes.mean()))


def distances_within(groups: Ints, codes: Ints, kind: int, positions: Floats) -> Floats:
    from quorum.statistics.kernels.agreement import group_rows, judgment_distances

    groups = np.ascontiguousarray(groups)  # kernels are compiled once for each layout
    starts, apart = starts_of(np.bincount(groups)), np.empty(len(codes))
    judgment_distances(starts, group_rows(groups, starts), codes, kind, positions, apart)
    return apart


def alpha_influences(ratings: Ratings, level: str) -> Influences | None:
    """Return the influences on alpha = 1 - (n - 1) O / E, None where it is undefined.

    A judgment changes O by 2 D / (m - 1) - P / (m (m - 1)), with its distances D from the unit's other judgments, and
    all of the unit's distances P. At the ordinal level it also moves the ranks of the values above it.
    """
    from quorum.statistics.kernels.distances import value_distances

    kind = distance_at(level)
    values = len(ratings.labels)
    totals = np.bincount(ratings.code[ratings.answered(2)], minlength=values).astype(np.float64)
    positions = np.cumsum(totals) - totals / 2 if level == "ordinal" else positions_at(level, ratings.labels)
    if np.count_nonzero(totals) < 2:
        return None
    compared = _Compared.of(ratings, kind, positions)
    # alpha = 1 - (n - 1) O / E
    n, less = totals.sum(), compared.sizes - 1
    observed = float((compared.disagreement / less).sum())
    from_all = np.empty(values)
    value_distances(kind, positions, totals, from_all)
    expected = float(totals @ from_all)
    if not expected > 0:
        return None
    # What a value changes in O by the ranks, which move at the ordinal level, and in E.
    of_ranks, of_expected = np.zeros(values), 2 * from_all
    if level == "ordinal":
        of_ranks = _of_ranks(_observed_slopes(compared, positions))
        mean = float(totals @ positions) / n
        of_expected += _of_ranks(4 * n * totals * (positions - mean))
    of_unit = compared.disagreement / compared.sizes
    of_value = (n - 1) * observed / expected**2 * of_expected - observed / expected
    rows = compared.apart
    for part in parts_of(len(rows)):
        unit, code = compared.unit[part], compared.code[part]
        # What a judgment changes in O, and the derivative of the quotient.
        of_observed = (2 * rows[part] - of_unit[unit]) / less[unit] + of_ranks[code]
        rows[part] = of_observed * ((1 - n) / expected) + of_value[code]
    chance = float(totals @ (n - totals)) / (n * (n - 1))
    return replace(compared.influences(rows), chance_of_difference=chance)


def _observed_slopes(compared: _Compared, positions: Floats) -> Floats:
    at = positions[compared.code]
    sums = np.bincount(compared.unit, weights=at)
    moves = (
        4 * (compared.sizes[compared.unit] * at - sums[compared.unit]) / (compared.sizes - 1)[compared.unit]
    )
    return np.bincount(compared.code, weights=moves, minlength=len(positions)).astype(np.float64)


def _of_ranks(slopes: Floats) -> Floats:
    """Return (V,) effects of one more judgment of a value on mid-ranks: half its own, all above."""
    above = np.cumsum(slopes[::-1])[::-1]
    return np.asarray(above - slopes / 2, dtype=np.float64)


def percent_influences(ratings: Ratings, kind: int, positions: Floats, longest: float) -> Influences | None:
    """Return the influences on percent agreement, the mean over units of 1 - P / (m (m - 1) longest)."""
    compared = _Compared.of(ratings, kind, positions)
    if not len(compared.sizes):
        return None
    pairs = compared.sizes * (compared.sizes - 1)
    share = 1 - compared.disagreement / pairs / longest
    of_unit = share
    of_unit -= share.mean()
    of_unit /= len(share) * compared.sizes
    of_unit += 2 / longest / len(share) * (compared.disagreement / (compared.sizes * pairs))
    rows = compared.apart
    for part in parts_of(len(rows)):
        unit = compared.unit[part]
        rows[part] = rows[part] / pairs[unit] * (-2 / longest / len(share)) + of_unit[unit]
    return replace(compared.influences(rows), share=True)


@dataclass(frozen=True, slots=True)
class ReadData:
    """Data as a coefficient reads them: (P,) patterns of units, and the coefficient of any weights of theirs.

    `width` numbers are made per resample. For the other fields see `AgreementResult`.
    """

    of_units: OfUnits
    frequency: Ints
    width: int
    units: int
    pairable: int
    raters: int
    judgments: int
    reason: str
    note: str = ""

    @classmethod
    def of_patterns(cls, patterns: Patterns, of_units: OfUnits, reason: str, note: str = "") -> ReadData:
        return cls(
            of_units=of_units,
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
        if not len(self.frequency):
            return math.nan
        return float(self.of_units(self.frequency[np.newaxis].astype(np.float64))[0])


class Coefficient(Protocol):
    """A coefficient with its settings; `level` names the distance of two answers."""

    @property
    def name(self) -> str: ...

    @property
    def level(self) -> str: ...

    def sample(self, data: Any) -> ReadData: ...


@runtime_checkable
class ClusteredCoefficient(Coefficient, Protocol):
    def influences(self, data: Any) -> Influences | None: ...


@dataclass(frozen=True, slots=True)
class AgreementResult(Inference):
    """An agreement coefficient with its interval.

    `pairable` units have two judgments or more. `clusters` is empty where units were resampled.
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
    """Return a coefficient with its interval.

    `clusters` is "both" for the data's own units and raters, "item" or "rater", columns with one entry a judgment, or
    `Clusters` that serve several coefficients. With "naive" units are resampled, as if raters were these alone.
    `control_items`: whether these keep careless raters out, who else may be missing by chance (`careless_note`).
    """
    naive = isinstance(clusters, str) and clusters == NAIVE
    options = Options.of(confidence=confidence, resamples=resamples if naive else 0, seed=seed)
    sample = coefficient.sample(data)
    value = sample.value()
    inference = options.undefined(sample.reason if math.isnan(value) else "")
    careless = ""
    if not naive:
        if not isinstance(coefficient, ClusteredCoefficient):
            raise BadOption(
                f"clusters is given, expected {NAIVE!r}: {coefficient.name} has no other interval"
            )
        influences = None if math.isnan(value) else coefficient.influences(data)
        if influences is not None:
            grouped = _clusters_of(influences, clusters).for_agreement()
            ends = influences.interval(value, grouped, options.confidence)
            inference = options.clustered(grouped, ends)
            if coefficient.name == ALPHA and RATER in grouped.used and not control_items:
                careless = careless_note(value, ends[0], grouped.counts[RATER], options.confidence)
    elif not math.isnan(value):  # nothing is drawn for a figure that is undefined
        inference = options.resampled(sample.of_units, sample.frequency, sample.width)
    note = "; ".join(filter(None, (sample.note, inference.note, careless)))
    return AgreementResult(
        statistic=coefficient.name,
        value=value,
        units=sample.units,
        pairable=sample.pairable,
        raters=sample.raters,
        judgments=sample.judgments,
        level=coefficient.level,
        **{**inference.shared(), "note": note},
    )


def careless_note(value: float, low: float, raters: int, confidence: float) -> str:
    """Return the note on an interval of alpha that would be too high if nobody careless came by chance; "" for none.

    Where a share c of people answers at random, none of R does so with chance (1 - c)^R, and both judgments of a pair
    are by others with chance (1 - c)^2: about that part of alpha is left.
    """
    none_careless, alpha = (1 - CARELESS) ** raters, value * (1 - CARELESS) ** 2
    if none_careless <= 1 - confidence or not low > alpha:
        return ""
    return (
        f"if {CARELESS:.0%} of people answer at random, {none_careless:.0%} of groups of {raters} have none of them, "
        f"as this one may, and alpha is about {alpha:.2f}, below the interval; control items keep them out"
    ).replace("%", " %")


def _clusters_of(influences: Influences, clusters: ClusterColumns | Clusters) -> Clusters:
    if isinstance(clusters, Clusters):
        return clusters.subset(influences.counts)
    if not isinstance(clusters, str):
        return Clusters.of(clusters, len(influences.counts), influences.counts)
    by_name = {ITEM: influences.items, RATER: influences.raters}
    names = (ITEM, RATER) if clusters == BOTH else (one_of(clusters, CLUSTERED, "clusters"),)
    codes = {name: labels for name in names if (labels := by_name[name]) is not None}
    if not codes:
        raise BadOption(f"clusters is {clusters!r}, expected columns: the data have no such clusters")
    return Clusters.of_codes({name: renumbered(labels) for name, labels in codes.items()})


Exchange = Callable[[Floats], Floats]


def _labels_of_orders(labels: NDArray[Any], exchange: Exchange) -> tuple[Floats, Ints, Ints]:
    """Return the (L,) labels of both orders, and (V,) positions of the labels and of their exchanges."""
    values = labels.astype(np.float64)
    every, places = np.unique(np.stack([values, exchange(values)]), return_inverse=True)
    first, second = places.reshape(2, -1)
    return every, first, second


def in_both_orders(data: Data, exchange: Exchange) -> Ratings:
    """Return the judgments, and after them those of the other order of texts, of units of their own."""
    ratings = ratings_of(data, numeric=True)
    labels, unit, code = _columns_of_orders(ratings, exchange)
    units, rater = np.tile(ratings.units, 2), np.tile(ratings.rater, 2)
    return Ratings(units, ratings.raters, labels, unit, rater, code)


def _columns_of_orders(ratings: Ratings, exchange: Exchange) -> tuple[Floats, Ints, Ints]:
    """Return the labels, and (2 N,) units and codes, first of the order given."""
    n = len(ratings.code)
    labels, *orders = _labels_of_orders(ratings.labels, exchange)
    unit, code = np.empty((2, 2 * n), dtype=np.int64)
    unit[:n], unit[n:] = ratings.unit, ratings.unit
    unit[n:] += len(ratings.units)
    for start, places in zip((0, n), orders, strict=True):
        np.take(places, ratings.code, out=code[start : start + n])
    return labels, unit, code


@dataclass(frozen=True, slots=True)
class BothOrders:
    """A coefficient of choices between the two texts of a unit, where each unit counts in both orders of its texts.

    Which text is called the first is arbitrary, but moves the expected disagreement. Here both labels are equally
    frequent, and exchanging the texts of any unit changes nothing. Without ties, and with equally many judgments a
    unit, Fleiss' kappa is the coefficient of agreement of paired comparisons, 1 - 2 D_o (Kendall and Babington Smith
    1940). `exchange` maps (V,) answers to those of the other order.
    """

    coefficient: ClusteredCoefficient
    exchange: Exchange

    @property
    def name(self) -> str:
        return self.coefficient.name

    @property
    def level(self) -> str:
        return self.coefficient.level

    def sample(self, data: Data) -> ReadData:
        patterns = patterns_of(data, numeric=True)
        labels, *orders = _labels_of_orders(patterns.labels, self.exchange)
        row, column = patterns.counts.nonzero()
        size = len(patterns.frequency), len(labels)
        tables = [
            scipy.sparse.csr_array((patterns.counts.data, (row, places[column])), shape=size)
            for places in orders
        ]
        counts = scipy.sparse.csr_array(scipy.sparse.vstack(tables))
        counts.sort_indices()
        sample = self.coefficient.sample(
            replace(patterns, labels=labels, counts=counts, frequency=np.tile(patterns.frequency, 2))
        )
        # A resample draws both orders of a unit.
        return replace(
            sample,
            of_units=lambda weights: sample.of_units(np.tile(weights, 2)),
            frequency=sample.frequency[: len(sample.frequency) // 2],
            pairable=sample.pairable // 2,
        )

    def influences(self, data: Data) -> Influences | None:
        ratings = ratings_of(data, numeric=True)
        # Names of units and raters change nothing, nor does who judged; views of one number take no memory.
        nobody, units = (np.broadcast_to(np.int64(0), 2 * len(of)) for of in (ratings.code, ratings.units))
        labels, unit, code = _columns_of_orders(ratings, self.exchange)
        influences = self.coefficient.influences(Ratings(units, ratings.raters, labels, unit, nobody, code))
        if influences is None:
            return None
        n, counts = len(influences.values) // 2, influences.counts[: len(ratings.code)]
        values = influences.values[:n] + influences.values[n:]
        return replace(
            influences, values=values, counts=counts, items=ratings.unit[counts], raters=ratings.rater[counts]
        )


ONE_KIND = "no item has judgments of several raters, or no rater judged several items, so the two cannot be told apart"
ONE_ANSWER = "all answers are the same"


@dataclass(frozen=True, slots=True)
class VarianceComponents(Result):
    """Variances between items, between raters, and of the rest; `standard_error` is that of the mean answer.

    `residual` is within an item and a rater: the noise of one answer, and how much raters differ by item.
    """

    mean: float
    item: float
    rater: float
    residual: float
    standard_error: float
    items: int
    raters: int
    judgments: int

    def shares(self) -> tuple[float, float, float]:
        """Return the shares of items, raters and the rest in the variance of an answer."""
        total = self.item + self.rater + self.residual
        return self.item / total, self.rater / total, self.residual / total

    def error_with(self, *, items: float, raters: float, judgments: float) -> float:
        """Return the standard error of the mean of so many judgments, even over items and raters."""
        return math.sqrt(self.item / items + self.rater / raters + self.residual / judgments)


def components_of_clusters(value: Floats, clusters: Clusters) -> VarianceComponents:
    """Return the components as `variance_components`, unsigned, of (N,) values by item and by rater."""
    variances = np.full(3, math.nan)
    reason = clusters.reason or clusters.note
    if not reason and len(clusters.sizes[-1]) in clusters.counts.values():  # a cell is an item, or a rater
        reason = ONE_KIND
    error = math.nan
    if not reason and np.all(value == value[0]):
        reason = ONE_ANSWER
    if not reason:
        variances = clusters.components(value)
        error = math.sqrt(clusters.spread((value - value.mean()) / len(value)).variance)
    return VarianceComponents(
        mean=float(value.mean()) if len(value) else math.nan,
        item=float(variances[0]),
        rater=float(variances[1]),
        residual=float(variances[2]),
        standard_error=error,
        items=clusters.counts[ITEM],
        raters=clusters.counts[RATER],
        judgments=len(value),
        reason=reason,
        clusters=clusters.counts,
    )
