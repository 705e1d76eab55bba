"""Compiled loops over the pairs of answers within units.

Codes (N,) are indices into `positions` (V,), the different values on the scale, ascending. Unit g has the codes
codes[starts[g]:starts[g + 1]]. `kind` says which `distance` is computed, such as SQUARED.
"""

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled
from quorum.statistics.kernels.distances import DIFFERENT, SQUARED, distance

# Number of units read at a time. Their keys stay in the processor's first cache from rater to rater.
_BLOCK = 2048


@compiled
def unit_keys(matrix: Floats, low: float, bits: int, keys: Ints, answers: Ints) -> bool:
    """Pack the counts of each unit's answers into `keys` (U,), and count each rater's answers in `answers` (R,).

    `bits` bits of a key count the answers equal to `low`, the next `bits` bits the answers equal to low + 1, and so on,
    so that units with equal counts have equal keys. `matrix` is (R, U), nan for missing answers. Keys and answers must
    be zero before the call. Return False if an answer is not a whole number.
    """
    raters, units = matrix.shape
    fractions = 0
    for start in range(0, units, _BLOCK):
        stop = min(start + _BLOCK, units)
        for rater in range(raters):
            answer_count = 0
            row = matrix[rater, start:stop]
            key = keys[start:stop]
            for unit in range(stop - start):
                # Use no branches, and 32-bit numbers, of which processors without AVX-512 can convert several at once.
                value = row[unit]
                is_answered = value == value
                digit = np.int32(value - low) if is_answered else np.int32(0)
                fractions += 1 if is_answered and low + digit != value else 0
                key[unit] += np.int64(is_answered) << np.int64(digit * bits)
                answer_count += 1 if is_answered else 0
            answers[rater] += answer_count
    return fractions == 0


@compiled
def fill_unit_disagreement(
    starts: Ints,
    codes: Ints,
    amounts: Floats,
    kind: int,
    positions: Floats,
    disagreement: Floats,
    sizes: Floats,
) -> None:
    """Fill `disagreement` and `sizes` (U,) with sum n_v n_w d(v, w) and sum n_v of each unit.

    Each row of a unit is one of its different values v, with its code in `codes` (N,) and its number n_v of answers in
    `amounts` (N,).
    """
    for unit in range(len(starts) - 1):
        rows = range(starts[unit], starts[unit + 1])
        size = 0.0
        for row in rows:
            size += amounts[row]
        total = 0.0
        # Sum the distances over all ordered pairs of answers.
        if kind == DIFFERENT:
            for row in rows:
                total += amounts[row] * (size - amounts[row])
        elif kind == SQUARED:
            mean = 0.0
            for row in rows:
                mean += amounts[row] * (positions[codes[row]] / size)
            if len(rows) > 1:  # the rounding error of the mean must not make equal answers differ
                for row in rows:
                    total += 2.0 * size * amounts[row] * (positions[codes[row]] - mean) ** 2
        else:
            for row in rows:
                for other_row in range(starts[unit], row):
                    gap = distance(kind, positions[codes[row]], positions[codes[other_row]])
                    total += 2.0 * amounts[row] * amounts[other_row] * gap
        disagreement[unit] = total
        sizes[unit] = size


@compiled
def fill_value_sums(
    starts: Ints, codes: Ints, amounts: Floats, kind: int, positions: Floats, sums: Floats
) -> None:
    """Fill `sums` (N,) with the sum of the distances of each row's value from all answers to the row's unit.

    Rows are as in `fill_unit_disagreement`.
    """
    for unit in range(len(starts) - 1):
        rows = range(starts[unit], starts[unit + 1])
        size = 0.0
        for row in rows:
            size += amounts[row]
        mean = 0.0
        squares = 0.0
        if kind == SQUARED:
            for row in rows:
                mean += amounts[row] * positions[codes[row]] / size
            for row in rows:
                squares += amounts[row] * (positions[codes[row]] - mean) ** 2
        for row in rows:
            if kind == DIFFERENT:
                sums[row] = size - amounts[row]
            elif kind == SQUARED:
                # The rounding error of the mean must not make equal answers differ.
                sums[row] = squares + size * (positions[codes[row]] - mean) ** 2 if len(rows) > 1 else 0.0
            else:
                sums[row] = 0.0
                for other_row in rows:
                    sums[row] += amounts[other_row] * distance(
                        kind, positions[codes[row]], positions[codes[other_row]]
                    )


@compiled
def fill_from_cells(
    starts: Ints,
    columns: Ints,
    values: Floats,
    unit_rows: Ints,
    unit: Ints,
    label_columns: Ints,
    label: Ints,
    results: Floats,
) -> None:
    """Fill `results` (N,) with values of cells of a sparse table: in row unit_rows[unit], column label_columns[label].

    Row r of the table has the columns columns[starts[r]:starts[r + 1]], ascending, with their `values`. All cells that
    are asked for must be in the table.
    """
    for index in range(len(unit)):
        row = unit_rows[unit[index]]
        column = label_columns[label[index]]
        low = starts[row]
        high = starts[row + 1] - 1
        while low < high:  # binary search
            middle = (low + high) // 2
            if columns[middle] < column:
                low = middle + 1
            else:
                high = middle
        results[index] = values[low]
