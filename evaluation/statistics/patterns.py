"""Count which answers units got; units that got the same answers form one pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.statistics.errors import BadValue
from evaluation.statistics.ratings import INFINITE, Data, Ratings, check_numeric, is_given, table_of
from evaluation.statistics.tables import Codes, Floats, encode

# The counts of a unit's answers are bits of one number as long as they fit in so many.
_BITS = 62
# Keys of so many bits are counted in a table, longer ones by sorting.
_TABLE_BITS = 20


@dataclass(frozen=True, slots=True)
class Patterns:
    """The distinct ways in which units were answered.

    labels: (V,) distinct values, ascending. counts: (P, V) sparse float64, how often each value stands in
    the pattern. frequency: (P,) int64, the units that show it. units and judgments count all that was
    given, raters those who judged at all. Where patterns are so many that hardly two units would share
    one, every unit is a pattern of its own.
    """

    labels: NDArray[Any]
    counts: csr_array
    frequency: NDArray[np.int64]
    units: int
    raters: int
    judgments: int

    def sizes(self) -> Floats:
        """(P,) judgments of a unit of each pattern."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    def comparable(self) -> Patterns:
        """The patterns of units with two judgments or more; what was given stays counted."""
        pairable = np.flatnonzero(self.sizes() >= 2)
        counts = csr_array(self.counts[pairable])
        counts.sort_indices()
        return Patterns(
            self.labels, counts, self.frequency[pairable], self.units, self.raters, self.judgments
        )


def patterns_of(data: Data, *, numeric: bool) -> Patterns:
    """Patterns of a (raters, units) table, where nan or None is missing, or of ratings.

    Raises BadShape, BadValue (infinite numbers; text where `numeric`).
    """
    if isinstance(data, Ratings):
        rows = check_numeric(data) if numeric else data
        raters = int((np.bincount(rows.rater) > 0).sum())
        return patterns_of_rows(rows.unit, rows.code, rows.labels, raters=raters)
    table = table_of(data, numeric=numeric)
    if table.dtype.kind == "f":
        return _of_numbers(table)
    given = is_given(table)
    labels, codes = encode(table[given], "reliability_data")
    rater, unit = np.nonzero(given)
    return patterns_of_rows(unit, codes, labels, raters=len(np.unique(rater)))


def patterns_of_rows(units: Codes, values: Codes, labels: NDArray[Any], *, raters: int) -> Patterns:
    """Patterns of (N,) unit codes and (N,) value codes, one judgment a row; codes count from 0."""
    sizes = np.bincount(units)
    bits = int(sizes.max(initial=0)).bit_length()
    if bits * len(labels) <= _BITS:
        keys = np.zeros(len(sizes), dtype=np.int64)
        np.add.at(keys, units, np.int64(1) << (values * bits))
        return _of_keys(keys, bits, labels, raters)
    counts = csr_array((np.ones(len(units)), (units, values)), shape=(len(sizes), len(labels)))
    judged = np.flatnonzero(sizes)
    return Patterns(
        labels,
        csr_array(counts[judged]),
        np.ones(len(judged), dtype=np.int64),
        len(judged),
        raters,
        len(units),
    )


def count_rows(table: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct rows of a (U, V) table of counts, in a fixed order, and how often each occurs."""
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
    """Patterns of a (raters, units) float64 table with nan for missing."""
    low = float(np.fmin.reduce(matrix, axis=None, initial=np.inf))
    high = float(np.fmax.reduce(matrix, axis=None, initial=-np.inf))
    if low > high:  # nothing was given
        return _of_keys(np.empty(0, dtype=np.int64), 1, np.empty(0), 0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise BadValue(INFINITE)
    bits = len(matrix).bit_length()
    most = _BITS // bits  # values whose counts fit into one number
    if low.is_integer() and high - low < most and abs(low) + most < 2.0**53:
        found = _keys(matrix, low, bits)
        if found is not None:
            return _of_keys(found[0], bits, np.arange(low, high + 1), found[1])
    given = ~np.isnan(matrix)
    labels, codes = encode(matrix[given], "reliability_data")
    if len(labels) > most:
        return patterns_of_rows(np.nonzero(given)[1], codes, labels, raters=int(given.any(axis=1).sum()))
    numbered = np.full(matrix.shape, np.nan)
    numbered[given] = codes
    found = _keys(numbered, 0.0, bits)
    assert found is not None, "positions are whole numbers"
    return _of_keys(found[0], bits, labels, found[1])


def _keys(matrix: Floats, low: float, bits: int) -> tuple[Codes, int] | None:
    """The key of each unit and the raters who judged, or None where an answer is not whole."""
    from evaluation.statistics.agreement_kernels import unit_keys

    keys = np.zeros(matrix.shape[1], dtype=np.int64)
    given = np.zeros(len(matrix), dtype=np.int64)
    if not unit_keys(matrix, low, bits, keys, given):
        return None
    return keys, int(np.count_nonzero(given))


def _of_keys(keys: Codes, bits: int, labels: NDArray[Any], raters: int) -> Patterns:
    """Patterns in ascending order of their keys, so that a resample does not depend on the units' order."""
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
    sparse = csr_array(counts[:, used].astype(np.float64))
    return Patterns(labels[used], sparse, frequency, int(frequency.sum()), raters, judgments)
