"""Agreement of every two raters on their common units."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled
from quorum.statistics.kernels.distances import ABSOLUTE, DIFFERENT, RATIO, SQUARED, distance

# Levels of alpha, and weights of kappa.
NOMINAL, ORDINAL, INTERVAL, RATIOS = range(4)
PLAIN, LINEAR, QUADRATIC = range(3)

# A sparse table by compressed rows: starts, columns, values.
Rows = tuple[Ints, Ints, Ints]


@compiled
def count_rater_pairs(by_unit: Rows, by_rater: Rows) -> Ints:
    unit_starts, unit_raters, _ = by_unit
    rater_starts, rater_units, _ = by_rater
    raters = len(rater_starts) - 1
    last_rater = np.full(raters, -1, dtype=np.int64)
    pairs = 0
    longest = 0
    for first in range(raters):
        rows = 0
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    rows += 1
                    if last_rater[second] != first:
                        last_rater[second] = first
                        pairs += 1
        longest = max(longest, rows)
    return np.array([pairs, longest])


@compiled
def pair_figures(
    by_unit: Rows,
    by_rater: Rows,
    longest: int,
    positions: Floats,
    weights: int,
    level: int,
    pairs: Ints,
    figures: Floats,
) -> None:
    """Compute percent agreement, kappa and alpha of all pairs of raters.

    Fill `pairs` (P, 3) with two raters and their number of common units, and `figures` (P, 3) with percent, kappa
    and alpha. by_unit: starts, raters and codes of judgments sorted by unit. by_rater: starts, units and codes,
    sorted by rater.
    """
    unit_starts, unit_raters, unit_codes = by_unit
    rater_starts, rater_units, rater_codes = by_rater
    raters = len(rater_starts) - 1
    shared = np.zeros(raters, dtype=np.int64)
    begin = np.zeros(raters, dtype=np.int64)
    partners = np.empty(raters, dtype=np.int64)
    values_left = np.empty(longest, dtype=np.int32)
    right = np.empty(longest, dtype=np.int32)
    scratch = np.zeros((2, len(positions)))
    out = 0
    for first in range(raters):
        # Find the raters after the first who share units with it, and count these units.
        met = 0
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    if shared[second] == 0:
                        partners[met] = second
                        met += 1
                    shared[second] += 1
        # Reserve a part of `left` and `right` for each of these raters.
        ordered = np.sort(partners[:met])
        end = 0
        for second in ordered:
            begin[second] = end
            end += shared[second]
            shared[second] = 0
        # Write both raters' codes of the common units into these parts.
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    values_left[begin[second] + shared[second]] = rater_codes[judgment]
                    right[begin[second] + shared[second]] = unit_codes[row]
                    shared[second] += 1
        for second in ordered:
            stop = begin[second] + shared[second]
            first_codes, second_codes = values_left[begin[second] : stop], right[begin[second] : stop]
            pairs[out, 0], pairs[out, 1], pairs[out, 2] = first, second, shared[second]
            figures[out] = two_raters(first_codes, second_codes, positions, weights, level, scratch)
            shared[second] = 0
            out += 1


@compiled
def two_raters(
    first_codes: NDArray[Any],
    second_codes: NDArray[Any],
    positions: Floats,
    weights: int,
    level: int,
    scratch: Floats,
) -> Floats:
    """Return percent agreement, kappa and alpha of two raters from their codes of common units.

    scratch: (2, V) buffer, zero before and after.
    """
    units = len(first_codes)
    first_counts, second_counts = scratch[0], scratch[1]
    occurring = np.empty(min(2 * units, len(positions)), dtype=np.int64)
    kinds = 0
    for code in first_codes:
        if first_counts[code] == 0:
            occurring[kinds] = code
            kinds += 1
        first_counts[code] += 1
    for code in second_codes:
        if first_counts[code] == 0 and second_counts[code] == 0:
            occurring[kinds] = code
            kinds += 1
        second_counts[code] += 1
    occurring = np.sort(occurring[:kinds])
    same = 0
    for unit in range(units):
        if first_codes[unit] == second_codes[unit]:
            same += 1
    figures = np.array([same / units, math.nan, math.nan])
    if kinds > 1:
        figures[1] = _kappa(first_codes, second_codes, occurring, first_counts, second_counts, weights)
        figures[2] = _alpha(
            first_codes, second_codes, occurring, first_counts, second_counts, positions, level
        )
    for code in occurring:
        first_counts[code] = 0
        second_counts[code] = 0
    return figures


@compiled
def _kappa(
    first_codes: NDArray[Any],
    second_codes: NDArray[Any],
    occurring: Ints,
    first_counts: Floats,
    second_counts: Floats,
    weights: int,
) -> float:
    n = float(len(first_codes))
    kind = DIFFERENT if weights == PLAIN else ABSOLUTE if weights == LINEAR else SQUARED
    observed = 0.0
    for unit in range(len(first_codes)):
        observed += distance(kind, float(first_codes[unit]), float(second_codes[unit]))
    expected = 0.0
    if weights == PLAIN:
        expected = n * n
        for code in occurring:
            expected -= first_counts[code] * second_counts[code]
    elif weights == LINEAR:
        below_first = below_second = 0.0
        for nth in range(len(occurring) - 1):
            below_first += first_counts[occurring[nth]]
            below_second += second_counts[occurring[nth]]
            gap = occurring[nth + 1] - occurring[nth]
            expected += gap * (below_first * (n - below_second) + below_second * (n - below_first))
    else:
        mean_first = mean_second = 0.0
        for code in occurring:
            mean_first += first_counts[code] * code / n
            mean_second += second_counts[code] * code / n
        for code in occurring:
            expected += n * first_counts[code] * (code - mean_first) ** 2
            expected += n * second_counts[code] * (code - mean_second) ** 2
        expected += (n * (mean_first - mean_second)) ** 2
    return 1.0 - n * observed / expected


@compiled
def _alpha(
    first_codes: NDArray[Any],
    second_codes: NDArray[Any],
    occurring: Ints,
    first_counts: Floats,
    second_counts: Floats,
    positions: Floats,
    level: int,
) -> float:
    n = 2.0 * len(first_codes)
    kind = DIFFERENT if level == NOMINAL else RATIO if level == RATIOS else SQUARED
    at = positions
    if level == ORDINAL:
        at = np.zeros(len(positions))
        below = 0.0
        for code in occurring:
            at[code] = below + (first_counts[code] + second_counts[code]) / 2.0
            below += first_counts[code] + second_counts[code]
    observed = 0.0
    for unit in range(len(first_codes)):
        observed += 2.0 * distance(kind, at[first_codes[unit]], at[second_codes[unit]])
    expected = 0.0
    if level == NOMINAL:
        expected = n * n
        for code in occurring:
            expected -= (first_counts[code] + second_counts[code]) ** 2
    elif level == RATIOS:
        for left in occurring:
            for right in occurring:
                both = (first_counts[left] + second_counts[left]) * (
                    first_counts[right] + second_counts[right]
                )
                expected += both * distance(RATIO, at[left], at[right])
    else:
        mean = 0.0
        for code in occurring:
            mean += (first_counts[code] + second_counts[code]) * (at[code] / n)
        for code in occurring:
            expected += 2.0 * n * (first_counts[code] + second_counts[code]) * (at[code] - mean) ** 2
    return 1.0 - (n - 1.0) * observed / expected if expected > 0 else math.nan
