"""Patterns of answers to units, so that units with equal answers are counted together.

A pattern is the number of answers with each label, such as two "yes" and one "no". Coefficients of agreement depend
only on how many units have each pattern, so resamples need only draw these numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
    ratings_of,
    reliability_table,
)
from quorum.statistics.inputs import BadValue, encode

# A key is a pattern as one number: `bits` bits count the answers with the first label, the next ones those with the
# second label, and so on. Keys of up to this many bits are counted in a table, and longer keys by sorting.
_TABLE_BITS = 20

# Patterns are written as keys if they fit into this many bits.
KEY_BITS = 62

# Other processes may compute resamples of patterns, so say how a sparse table is written and read.
declare_kind(
    "scipy.sparse._csr:csr_array",
    lambda table: [table.data, table.indices, table.indptr, list(table.shape)],
    lambda parts: scipy.sparse.csr_array(tuple(parts[:3]), shape=parts[3]),
)


@declare
@dataclass(frozen=True, slots=True)
class UnitPatterns:
    """The distinct patterns of answers to a unit. If a pattern does not fit into a key, each unit is a pattern.

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
        """Return the (P,) numbers of judgments of a unit."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64)

    def cells(self) -> tuple[Ints, Ints]:
        """Return the (C,) patterns and the (C,) indices of labels of the cells of `counts` that are not 0."""
        pattern = np.repeat(np.arange(self.counts.shape[0]), np.diff(self.counts.indptr))
        return pattern, self.counts.indices.astype(np.int64)

    def values_at(
        self, values: Floats, unit_rows: Ints, unit: Ints, label_columns: Ints, label: Ints
    ) -> Floats:
        """Return the (N,) values at rows unit_rows[unit] and columns label_columns[label] of `counts`.

        values: (C,) values of all cells. unit, label: (N,).
        """
        from quorum.statistics.kernels.agreement import fill_from_cells

        result, starts = np.empty(len(unit)), self.counts.indptr.astype(np.int64)
        fill_from_cells(starts, self.cells()[1], values, unit_rows, unit, label_columns, label, result)
        return result

    def comparable_patterns(self) -> UnitPatterns:
        """Return the patterns with two judgments or more. `units`, `raters` and `judgments` still count all data."""
        pairable_rows = np.flatnonzero(self.sizes() >= 2)
        counts = scipy.sparse.csr_array(self.counts[pairable_rows])
        counts.sort_indices()
        return replace(self, counts=counts, frequency=self.frequency[pairable_rows])


@dataclass(frozen=True, slots=True)
class PatternedRatings:
    """N judgments of U units, with P patterns of units, which several coefficients can share.

    unit_pattern: (U,) index of each unit's pattern; of no meaning for a unit without judgments. label_index: (V,)
    index in `patterns.labels` of each label of the ratings; of no meaning for a label without judgments.
    """

    ratings: Ratings
    patterns: UnitPatterns
    unit_pattern: Ints
    label_index: Ints

    @classmethod
    def from_ratings(cls, ratings: Ratings) -> PatternedRatings:
        raters = int((np.bincount(ratings.rater) > 0).sum())
        patterns, unit_pattern = _patterns_of_units(
            ratings.unit, ratings.code, ratings.labels, raters, len(ratings.units)
        )
        occurs = np.bincount(ratings.code, minlength=len(ratings.labels)) > 0
        if len(patterns.labels) == len(occurs):  # without keys, labels that do not occur stay
            occurs[:] = True
        # Count the labels up to each one, minus 1, for its index.
        return cls(ratings, patterns, unit_pattern, np.cumsum(occurs) - 1)

    def judgment_values(self, values: Floats) -> Floats:
        """Return the (N,) values of judgments, from the (C,) values of their cells in `patterns.counts`."""
        rows, columns = self.unit_pattern, self.label_index
        return self.patterns.values_at(values, rows, self.ratings.unit, columns, self.ratings.code)


def patterned_ratings(data: Data | PatternedRatings) -> PatternedRatings:
    """Return the data as `PatternedRatings`, without computing the patterns again."""
    return data if isinstance(data, PatternedRatings) else PatternedRatings.from_ratings(ratings_of(data))


def patterns_of(data: Data | PatternedRatings | UnitPatterns, *, numeric: bool) -> UnitPatterns:
    """Return the patterns of the units. Raise BadValue if answers must be `numeric` and are not."""
    if isinstance(data, UnitPatterns):
        return data
    if isinstance(data, PatternedRatings | Ratings):
        patterned_data = patterned_ratings(data)
        if numeric:
            check_numeric(patterned_data.ratings)
        return patterned_data.patterns
    table = reliability_table(data, numeric=numeric)
    if table.dtype.kind == "f":
        return _patterns_of_numbers(table)
    has_answer = is_given(table)
    labels, codes = encode(table[has_answer], "reliability_data")
    rater, unit = np.nonzero(has_answer)
    return patterns_of_rows(unit, codes, labels, raters=len(np.unique(rater)))


def patterns_of_rows(units: Ints, values: Ints, labels: NDArray[Any], *, raters: int) -> UnitPatterns:
    """Return the patterns of (N,) judgments, given as codes of units and of labels."""
    return _patterns_of_units(units, values, labels, raters, int(units.max(initial=-1)) + 1)[0]


def _patterns_of_units(
    units: Ints, values: Ints, labels: NDArray[Any], raters: int, unit_count: int
) -> tuple[UnitPatterns, Ints]:
    """Return the patterns of (N,) judgments, and the index of each unit's pattern."""
    sizes = np.bincount(units, minlength=unit_count)
    bits = int(sizes.max(initial=0)).bit_length()
    if bits * len(labels) <= KEY_BITS:
        keys = np.zeros(len(sizes), dtype=np.int64)
        for block in parts_of(len(units)):
            np.add.at(keys, units[block], np.int64(1) << (values[block] * bits))
        distinct_keys, frequency = _count_keys(keys, bits * len(labels))
        patterns = _patterns_of_keys(distinct_keys, frequency, bits, labels, raters)
        return patterns, np.searchsorted(distinct_keys, keys)
    counts = scipy.sparse.csr_array((np.ones(len(units)), (units, values)), shape=(len(sizes), len(labels)))
    judged_units = np.flatnonzero(sizes)
    patterns = UnitPatterns(
        labels,
        scipy.sparse.csr_array(counts[judged_units]),
        np.ones(len(judged_units), dtype=np.int64),
        len(judged_units),
        raters,
        len(units),
    )
    return patterns, np.cumsum(sizes > 0) - 1


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
    """Return the patterns of the units of a (raters, units) table of numbers, faster than `patterns_of_rows`."""
    low = float(np.fmin.reduce(matrix, axis=None, initial=np.inf))
    high = float(np.fmax.reduce(matrix, axis=None, initial=-np.inf))
    if low > high:  # no answers at all
        no_keys = np.empty(0, dtype=np.int64)
        return _patterns_of_keys(no_keys, no_keys, 1, np.empty(0), 0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise BadValue(INFINITE_MESSAGE)
    # Pack the counts of each unit into a key, if the values are few whole numbers, or if their codes are.
    bits = len(matrix).bit_length()  # enough to count one answer of each rater
    max_values = KEY_BITS // bits  # values whose counts fit into one number
    is_exact = abs(low) + max_values < 2.0**53  # as float64
    if low.is_integer() and high - low < max_values and is_exact:
        packed_counts = _pack_counts(matrix, low, bits)
        if packed_counts is not None:
            scale = np.arange(low, high + 1)
            keys, raters = packed_counts
            return _patterns_of_keys(*_count_keys(keys, bits * len(scale)), bits, scale, raters)
    has_answer = ~np.isnan(matrix)
    labels, codes = encode(matrix[has_answer], "reliability_data")
    if len(labels) > max_values:
        return patterns_of_rows(
            np.nonzero(has_answer)[1], codes, labels, raters=int(has_answer.any(axis=1).sum())
        )
    code_matrix = np.full(matrix.shape, np.nan)
    code_matrix[has_answer] = codes
    packed_counts = _pack_counts(code_matrix, 0.0, bits)
    assert packed_counts is not None, "codes are whole numbers"
    keys, raters = packed_counts
    return _patterns_of_keys(*_count_keys(keys, bits * len(labels)), bits, labels, raters)


def _pack_counts(matrix: Floats, low: float, bits: int) -> tuple[Ints, int] | None:
    """Return the (U,) keys of `unit_keys`, and the number of raters; None if an answer is not a whole number."""
    from quorum.statistics.kernels.agreement import unit_keys

    keys = np.zeros(matrix.shape[1], dtype=np.int64)
    answer_counts = np.zeros(len(matrix), dtype=np.int64)  # by rater
    if not unit_keys(matrix, low, bits, keys, answer_counts):
        return None
    return keys, int(np.count_nonzero(answer_counts))


def _count_keys(keys: Ints, bits: int) -> tuple[Ints, Ints]:
    """Return the distinct keys of units with answers, ascending, and how often each occurs. Keys have `bits` bits."""
    if bits > _TABLE_BITS:
        distinct_keys, frequency = np.unique(keys[keys > 0], return_counts=True)
        return distinct_keys, frequency
    table = np.bincount(keys, minlength=1)
    table[0] = 0  # units without an answer
    distinct_keys = np.flatnonzero(table)
    return distinct_keys, table[distinct_keys]


def _patterns_of_keys(
    keys: Ints, frequency: Ints, bits: int, labels: NDArray[Any], raters: int
) -> UnitPatterns:
    """Return the patterns in the order of their keys, so that resamples do not depend on the order of the units."""
    counts = (keys[:, np.newaxis] >> (np.arange(len(labels)) * bits)) & ((1 << bits) - 1)
    occurs = counts.any(axis=0)
    judgments = int(counts.sum(axis=1) @ frequency)
    sparse = scipy.sparse.csr_array(counts[:, occurs].astype(np.float64))
    return UnitPatterns(labels[occurs], sparse, frequency, int(frequency.sum()), raters, judgments)
