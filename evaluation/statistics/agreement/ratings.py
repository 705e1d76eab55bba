"""Answers of raters to units: a table or `Ratings`, and `Patterns` of units with equal answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.numeric.arrays import Flags, Floats, Ints
from evaluation.statistics.inputs import (
    BadShape,
    BadValue,
    DuplicateJudgment,
    encode,
    first_repeated,
    same_length,
)

INFINITE = "reliability_data holds an infinite number, expected finite numbers or nan"

# The counts of a unit's answers are bits of one number as long as they fit in so many.
_BITS = 62
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

    def judged_at_least(self, times: int) -> Ratings:
        return self.subset(self.answered(times))

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
    matrix = table_of(data, numeric=numeric)
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


def table_of(reliability: ArrayLike, *, numeric: bool) -> NDArray[Any]:
    """Return the (raters, units) table as float64, or as it is if it may hold text."""
    try:
        matrix = np.asarray(reliability)
    except ValueError as error:
        raise BadShape("reliability_data has rows of unequal length, expected raters by units") from error
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
    """Return the kind of `kernels.distance` at a level; the ordinal one is of mid-ranks."""
    from evaluation.statistics import kernels

    return {"nominal": kernels.DIFFERENT, "ratio": kernels.RATIO}.get(level, kernels.SQUARED)


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


def patterns_of(data: Data, *, numeric: bool) -> Patterns:
    if isinstance(data, Ratings):
        rows = check_numeric(data) if numeric else data
        raters = int((np.bincount(rows.rater) > 0).sum())
        return patterns_of_rows(rows.unit, rows.code, rows.labels, raters=raters)
    table = table_of(data, numeric=numeric)
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
        np.add.at(keys, units, np.int64(1) << (values * bits))
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
    from evaluation.statistics.kernels import unit_keys

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
