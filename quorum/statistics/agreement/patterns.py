"""Patterns of answers. Units with equal answers have one pattern, and resamples count them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints, parts_of
from quorum.numeric.packing import declare, declare_kind
from quorum.statistics.agreement.ratings import (
    INFINITE_MESSAGE,
    Data,
    Ratings,
    check_numeric,
    is_given,
    reliability_table,
)
from quorum.statistics.inputs import BadValue, encode

# Keys of up to this many bits are counted in a table, and longer keys by sorting.
_TABLE_BITS = 20

# A unit's counts of answers are packed into one number if they fit into this many bits.
KEY_BITS = 62

declare_kind(
    "scipy.sparse._csr:csr_array",
    lambda table: [table.data, table.indices, table.indptr, list(table.shape)],
    lambda parts: scipy.sparse.csr_array(tuple(parts[:3]), shape=parts[3]),
)


@declare
@dataclass(frozen=True, slots=True)
class UnitPatterns:
    """The distinct patterns of answers to a unit. If hardly any units share a pattern, each unit is a pattern.

    labels: (V,), ascending. counts: (P, V) sparse float64 number of answers by label. frequency: (P,) number of units
    with the pattern. units, raters, judgments: how many of them all the data have.
    """

    labels: NDArray[Any]
    counts: scipy.sparse.csr_array
    frequency: Ints
    units: int
    raters: int
    judgments: int

    def sizes(self) -> Floats:
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    def comparable_patterns(self) -> UnitPatterns:
        """Return the patterns with two judgments or more. `units`, `raters` and `judgments` still count all data."""
        pairable = np.flatnonzero(self.sizes() >= 2)
        counts = scipy.sparse.csr_array(self.counts[pairable])
        counts.sort_indices()
        return UnitPatterns(
            self.labels, counts, self.frequency[pairable], self.units, self.raters, self.judgments
        )


def patterns_of(data: Data | UnitPatterns, *, numeric: bool) -> UnitPatterns:
    if isinstance(data, UnitPatterns):
        return data
    if isinstance(data, Ratings):
        rows = check_numeric(data) if numeric else data
        raters = int((np.bincount(rows.rater) > 0).sum())
        return patterns_of_rows(rows.unit, rows.code, rows.labels, raters=raters)
    table = reliability_table(data, numeric=numeric)
    if table.dtype.kind == "f":
        return _patterns_of_numbers(table)
    answered = is_given(table)
    labels, codes = encode(table[answered], "reliability_data")
    rater, unit = np.nonzero(answered)
    return patterns_of_rows(unit, codes, labels, raters=len(np.unique(rater)))


def patterns_of_rows(units: Ints, values: Ints, labels: NDArray[Any], *, raters: int) -> UnitPatterns:
    sizes = np.bincount(units)
    bits = int(sizes.max(initial=0)).bit_length()
    if bits * len(labels) <= KEY_BITS:
        keys = np.zeros(len(sizes), dtype=np.int64)
        for part in parts_of(len(units)):
            np.add.at(keys, units[part], np.int64(1) << (values[part] * bits))
        return _patterns_of_keys(keys, bits, labels, raters)
    counts = scipy.sparse.csr_array((np.ones(len(units)), (units, values)), shape=(len(sizes), len(labels)))
    judged_units = np.flatnonzero(sizes)
    return UnitPatterns(
        labels,
        scipy.sparse.csr_array(counts[judged_units]),
        np.ones(len(judged_units), dtype=np.int64),
        len(judged_units),
        raters,
        len(units),
    )


def count_rows(table: Ints) -> tuple[Ints, Ints]:
    """Return the distinct rows of a (U, V) table, in an order given by their values, and how often each occurs."""
    if not len(table):
        return table, np.empty(0, dtype=np.int64)
    radix = table.max(axis=0) + 1
    if float(np.prod(radix.astype(np.float64))) >= 2.0**KEY_BITS:
        rows, frequency = np.unique(table, axis=0, return_counts=True)
        return rows, frequency
    # Use counts as digits of one number, because sorting numbers is many times faster than sorting rows.
    strides = np.concatenate([np.cumprod(radix[::-1])[::-1][1:], [1]])
    keys, frequency = np.unique(table @ strides, return_counts=True)
    return keys[:, np.newaxis] // strides % radix, frequency


def _patterns_of_numbers(matrix: Floats) -> UnitPatterns:
    low = float(np.fmin.reduce(matrix, axis=None, initial=np.inf))
    high = float(np.fmax.reduce(matrix, axis=None, initial=-np.inf))
    if low > high:  # no answers at all
        return _patterns_of_keys(np.empty(0, dtype=np.int64), 1, np.empty(0), 0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise BadValue(INFINITE_MESSAGE)
    bits = len(matrix).bit_length()
    max_values = KEY_BITS // bits  # values whose counts fit into one number
    if low.is_integer() and high - low < max_values and abs(low) + max_values < 2.0**53:
        keyed = _keys(matrix, low, bits)
        if keyed is not None:
            return _patterns_of_keys(keyed[0], bits, np.arange(low, high + 1), keyed[1])
    answered = ~np.isnan(matrix)
    labels, codes = encode(matrix[answered], "reliability_data")
    if len(labels) > max_values:
        return patterns_of_rows(
            np.nonzero(answered)[1], codes, labels, raters=int(answered.any(axis=1).sum())
        )
    numbered = np.full(matrix.shape, np.nan)
    numbered[answered] = codes
    keyed = _keys(numbered, 0.0, bits)
    assert keyed is not None, "positions are whole numbers"
    return _patterns_of_keys(keyed[0], bits, labels, keyed[1])


def _keys(matrix: Floats, low: float, bits: int) -> tuple[Ints, int] | None:
    from quorum.statistics.kernels.agreement import unit_keys

    keys = np.zeros(matrix.shape[1], dtype=np.int64)
    answers = np.zeros(len(matrix), dtype=np.int64)
    if not unit_keys(matrix, low, bits, keys, answers):
        return None
    return keys, int(np.count_nonzero(answers))


def _patterns_of_keys(keys: Ints, bits: int, labels: NDArray[Any], raters: int) -> UnitPatterns:
    # Sort by key, so that resamples do not depend on the order of the units.
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
    return UnitPatterns(labels[used], sparse, frequency, int(frequency.sum()), raters, judgments)
