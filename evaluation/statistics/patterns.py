"""Count which answers units got; units that got the same answers form one pattern."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from evaluation.statistics.errors import BadShape, BadValue
from evaluation.statistics.tables import Codes, encode

# Up to this many answers (raters to the power of values) a unit's answers are read as one number.
_KEYS = 1 << 20
# Up to this many values, and cells in all, a full table of units by values is made.
_DENSE_VALUES = 64
_DENSE_CELLS = 20_000_000


@dataclass(frozen=True, slots=True)
class Patterns:
    """The distinct ways in which units with two judgments or more were answered.

    labels: (V,) distinct values, ascending. counts: (P, V) sparse float64, how often each value stands
    in the pattern. frequency: (P,) int64, the units that show it. units, raters and judgments count
    everything given, judged once or more.
    """

    labels: NDArray[Any]
    counts: csr_array
    frequency: NDArray[np.int64]
    units: int
    raters: int
    judgments: int


def patterns_of_matrix(reliability: ArrayLike, *, numeric: bool) -> Patterns:
    """Patterns of a (raters, units) array; nan or None is missing. Raises BadShape, BadValue."""
    matrix = np.asarray(reliability)
    if matrix.ndim != 2:
        raise BadShape(f"reliability_data has {matrix.ndim} dimensions, expected two: raters by units")
    if matrix.dtype.kind in "OUS":
        matrix = _as_numbers(matrix) if numeric or _is_numeric(matrix) else matrix
    if matrix.dtype.kind in "biuf":
        return _of_numbers(matrix)
    if matrix.dtype.kind not in "OUS":
        raise BadValue(f"reliability_data is of type {matrix.dtype}, expected numbers or text")
    given = np.array([[_is_given(cell) for cell in row] for row in matrix.tolist()], dtype=bool)
    return _of_cells(matrix, given.reshape(matrix.shape))


def patterns_of_rows(units: Codes, values: Codes, labels: NDArray[Any], *, raters: int) -> Patterns:
    """Patterns of (N,) unit codes and (N,) value codes, one judgment a row; codes count from 0."""
    unit_count = int(units.max(initial=-1)) + 1
    value_count = len(labels)
    if value_count <= _DENSE_VALUES and unit_count * value_count <= _DENSE_CELLS:
        table = np.bincount(units * value_count + values, minlength=unit_count * value_count)
        table = table.reshape(unit_count, value_count)
        counts, frequency = _merge(table, np.ones(unit_count, dtype=np.int64))
    else:
        counts, frequency = _sparse(units, values, unit_count, value_count)
    judged = int((np.bincount(units) > 0).sum()) if len(units) else 0
    return Patterns(labels, counts, frequency, judged, raters, len(units))


def count_rows(table: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows of a (U, V) table of counts, in a fixed order, and how often each occurs."""
    return _distinct(table, np.ones(len(table), dtype=np.int64))


def _is_given(cell: Any) -> bool:
    return cell is not None and cell == cell


def _is_numeric(matrix: NDArray[Any]) -> bool:
    return all(
        not _is_given(cell) or isinstance(cell, (int, float, np.number)) for cell in matrix.ravel().tolist()
    )


def _as_numbers(matrix: NDArray[Any]) -> NDArray[np.float64]:
    if matrix.dtype.kind == "O" and _is_numeric(matrix):
        return matrix.astype(np.float64)
    raise BadValue("reliability_data holds text, expected numbers at the ordinal, interval and ratio level")


def _of_numbers(matrix: NDArray[Any]) -> Patterns:
    raters, units = matrix.shape
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float64)
    given = ~np.isnan(matrix)
    if not matrix.size or not given.any():
        return _of_cells(matrix, given)
    # These two pass over nan.
    low = float(np.fmin.reduce(matrix, axis=None))
    high = float(np.fmax.reduce(matrix, axis=None))
    if not (np.isfinite(low) and np.isfinite(high)):
        raise BadValue("reliability_data holds an infinite number, expected finite numbers or nan")
    span = int(high - low) + 1 if high - low < _DENSE_VALUES else _DENSE_VALUES + 1
    if low != int(low) or span > _DENSE_VALUES or (span + 1) ** raters > _KEYS:
        return _of_cells(matrix, given)
    # A unit's answers, rater by rater, are the digits of one number; 0 stands for a missing answer.
    keys = np.zeros(units, dtype=np.int64)
    for row, present in zip(matrix, given, strict=True):
        digits = np.where(present, row - low + 1, 0.0)
        whole = digits.astype(np.int64)
        if not np.array_equal(whole, digits):
            return _of_cells(matrix, given)
        keys *= span + 1
        keys += whole
    occurrences = np.bincount(keys, minlength=1)
    occurring = np.flatnonzero(occurrences)
    table = np.zeros((len(occurring), span), dtype=np.int64)
    rest = occurring.copy()
    for _ in range(raters):
        rest, digit = np.divmod(rest, span + 1)
        rows = np.flatnonzero(digit)
        table[rows, digit[rows] - 1] += 1
    used = table.any(axis=0)
    labels = np.arange(span)[used] + low
    judged = units - int(occurrences[0])
    counts, frequency = _merge(table[:, used], occurrences[occurring])
    return Patterns(labels, counts, frequency, judged, _active(given), int(given.sum()))


def _of_cells(matrix: NDArray[Any], given: NDArray[np.bool_]) -> Patterns:
    units, _ = np.nonzero(given.T)
    labels, codes = encode(matrix.T[given.T], "reliability_data")
    return patterns_of_rows(units.astype(np.int64), codes, labels, raters=_active(given))


def _active(given: NDArray[np.bool_]) -> int:
    """Raters with one judgment or more."""
    return int(given.any(axis=1).sum())


def _merge(table: NDArray[np.int64], frequency: NDArray[np.int64]) -> tuple[csr_array, NDArray[np.int64]]:
    pairable = table.sum(axis=1) >= 2
    rows, occurrences = _distinct(table[pairable], frequency[pairable])
    return csr_array(rows.astype(np.float64)), occurrences


def _distinct(
    table: NDArray[np.int64], frequency: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows in a fixed order (so a resample does not depend on the order of units)."""
    if not len(table):
        return table, frequency
    radix = table.max(axis=0) + 1
    if float(np.prod(radix.astype(np.float64))) < 2.0**62:
        # Counts as digits of one number: sorting numbers is many times faster than sorting rows.
        strides = np.concatenate([np.cumprod(radix[::-1])[::-1][1:], [1]])
        keys, inverse = np.unique(table @ strides, return_inverse=True)
        rows = keys[:, np.newaxis] // strides % radix
    else:
        rows, inverse = np.unique(table, axis=0, return_inverse=True)
    occurrences = np.bincount(inverse.ravel(), weights=frequency, minlength=len(rows))
    return rows, occurrences.astype(np.int64)


def _sparse(
    units: Codes, values: Codes, unit_count: int, value_count: int
) -> tuple[csr_array, NDArray[np.int64]]:
    """Every unit its own pattern: with many values hardly two units are alike."""
    ones = np.ones(len(units))
    counts = csr_array((ones, (units, values)), shape=(unit_count, value_count))
    counts.sum_duplicates()
    pairable = np.flatnonzero(np.bincount(units, minlength=unit_count) >= 2)
    kept = csr_array(counts[pairable])
    kept.sort_indices()
    return kept, np.ones(len(pairable), dtype=np.int64)
