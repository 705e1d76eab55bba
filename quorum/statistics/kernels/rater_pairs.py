"""The compiled loops that compute the agreement of every two raters on their common units."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled
from quorum.statistics.kernels.distances import ABSOLUTE, DIFFERENT, RATIO, SQUARED, distance

# Levels of alpha, and weights of kappa, in the order of `alpha.LEVELS` and `cohen.WEIGHTS`.
NOMINAL, ORDINAL, INTERVAL, RATIOS = range(4)
PLAIN, LINEAR, QUADRATIC = range(3)

# A sparse table by compressed rows: starts, columns, values.
Rows = tuple[Ints, Ints, Ints]


@compiled
def count_rater_pairs(by_unit: Rows, by_rater: Rows) -> Ints:
    """Return the number of pairs of raters with common units, and the largest number of common units of one rater.

    by_unit, by_rater: as in `pair_figures`. A rater's common units are those with each later rater, added up.
    """
    unit_starts, unit_raters, _ = by_unit
    rater_starts, rater_units, _ = by_rater
    raters = len(rater_starts) - 1
    last_rater = np.full(raters, -1, dtype=np.int64)  # by rater: the last earlier rater paired with them
    pairs = 0
    max_rows = 0
    for first in range(raters):
        row_count = 0
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    row_count += 1
                    if last_rater[second] != first:
                        last_rater[second] = first
                        pairs += 1
        max_rows = max(max_rows, row_count)
    return np.array([pairs, max_rows])


@compiled
def pair_figures(
    by_unit: Rows,
    by_rater: Rows,
    max_rows: int,
    positions: Floats,
    weights: int,
    level: int,
    pairs: Ints,
    figures: Floats,
) -> None:
    """Compute percent agreement, kappa and alpha of all pairs of raters.

    Fill `pairs` (P, 3) with two raters and their number of common units, and `figures` (P, 3) with percent, kappa
    and alpha. by_unit: starts, raters and codes of judgments sorted by unit. by_rater: starts, units and codes,
    sorted by rater. max_rows: the second number of `count_rater_pairs`. positions: (V,) of the labels, for alpha.
    """
    unit_starts, unit_raters, unit_codes = by_unit
    rater_starts, rater_units, rater_codes = by_rater
    raters = len(rater_starts) - 1
    common_units = np.zeros(raters, dtype=np.int64)
    starts = np.zeros(raters, dtype=np.int64)
    partners = np.empty(raters, dtype=np.int64)
    firsts = np.empty(max_rows, dtype=np.int32)
    seconds = np.empty(max_rows, dtype=np.int32)
    label_counts = np.zeros((2, len(positions)))
    pair = 0
    for first in range(raters):
        # Find the raters after the first who share units with it, and count these units.
        partner_count = 0
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    if common_units[second] == 0:
                        partners[partner_count] = second
                        partner_count += 1
                    common_units[second] += 1
        # Reserve a block of `firsts` and `seconds`, which hold codes, for each of these raters.
        sorted_partners = np.sort(partners[:partner_count])
        end = 0
        for second in sorted_partners:
            starts[second] = end
            end += common_units[second]
            common_units[second] = 0
        # Write both raters' codes of the common units into these blocks.
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    firsts[starts[second] + common_units[second]] = rater_codes[judgment]
                    seconds[starts[second] + common_units[second]] = unit_codes[row]
                    common_units[second] += 1
        for second in sorted_partners:
            stop = starts[second] + common_units[second]
            first_codes, second_codes = firsts[starts[second] : stop], seconds[starts[second] : stop]
            pairs[pair, 0], pairs[pair, 1], pairs[pair, 2] = first, second, common_units[second]
            figures[pair] = figures_of_pair(
                first_codes, second_codes, positions, weights, level, label_counts
            )
            common_units[second] = 0
            pair += 1


@compiled
def figures_of_pair(
    first_codes: NDArray[Any],
    second_codes: NDArray[Any],
    positions: Floats,
    weights: int,
    level: int,
    label_counts: Floats,
) -> Floats:
    """Return percent agreement, kappa and alpha of two raters from their codes of common units.

    label_counts: (2, V) buffer for both raters' numbers of judgments by label, zero before and after.
    """
    units = len(first_codes)
    first_counts, second_counts = label_counts[0], label_counts[1]
    occurring_codes = np.empty(min(2 * units, len(positions)), dtype=np.int64)
    code_count = 0
    for code in first_codes:
        if first_counts[code] == 0:
            occurring_codes[code_count] = code
            code_count += 1
        first_counts[code] += 1
    for code in second_codes:
        if first_counts[code] == 0 and second_counts[code] == 0:
            occurring_codes[code_count] = code
            code_count += 1
        second_counts[code] += 1
    occurring_codes = np.sort(occurring_codes[:code_count])
    equal_count = 0
    for unit in range(units):
        if first_codes[unit] == second_codes[unit]:
            equal_count += 1
    figures = np.array([equal_count / units, math.nan, math.nan])
    if code_count > 1:
        figures[1] = _kappa(first_codes, second_codes, occurring_codes, first_counts, second_counts, weights)
        figures[2] = _alpha(
            first_codes, second_codes, occurring_codes, first_counts, second_counts, positions, level
        )
    for code in occurring_codes:
        first_counts[code] = 0
        second_counts[code] = 0
    return figures


@compiled
def _kappa(
    first_codes: NDArray[Any],
    second_codes: NDArray[Any],
    occurring_codes: Ints,
    first_counts: Floats,
    second_counts: Floats,
    weights: int,
) -> float:
    """Return kappa of two raters, from their codes of units and their numbers of judgments by code."""
    n = float(len(first_codes))
    kind = DIFFERENT if weights == PLAIN else ABSOLUTE if weights == LINEAR else SQUARED
    observed = 0.0
    for unit in range(len(first_codes)):
        observed += distance(kind, float(first_codes[unit]), float(second_codes[unit]))
    expected = 0.0
    if weights == PLAIN:
        expected = n * n
        for code in occurring_codes:
            expected -= first_counts[code] * second_counts[code]
    elif weights == LINEAR:  # n^2 times the mean difference: gaps, times the pairs of judgments around them
        below_first = below_second = 0.0
        for index in range(len(occurring_codes) - 1):
            below_first += first_counts[occurring_codes[index]]
            below_second += second_counts[occurring_codes[index]]
            gap = occurring_codes[index + 1] - occurring_codes[index]
            expected += gap * (below_first * (n - below_second) + below_second * (n - below_first))
    else:  # n^2 times the mean squared difference, which is both variances plus the squared difference of the means
        mean_first = mean_second = 0.0
        for code in occurring_codes:
            mean_first += first_counts[code] * code / n
            mean_second += second_counts[code] * code / n
        for code in occurring_codes:
            expected += n * first_counts[code] * (code - mean_first) ** 2
            expected += n * second_counts[code] * (code - mean_second) ** 2
        expected += (n * (mean_first - mean_second)) ** 2
    return 1.0 - n * observed / expected


@compiled
def _alpha(
    first_codes: NDArray[Any],
    second_codes: NDArray[Any],
    occurring_codes: Ints,
    first_counts: Floats,
    second_counts: Floats,
    positions: Floats,
    level: int,
) -> float:
    """Return alpha of two raters, from their codes of units and their numbers of judgments by code."""
    n = 2.0 * len(first_codes)
    kind = DIFFERENT if level == NOMINAL else RATIO if level == RATIOS else SQUARED
    scale = positions
    if level == ORDINAL:
        scale = np.zeros(len(positions))
        lower_count = 0.0
        for code in occurring_codes:
            scale[code] = lower_count + (first_counts[code] + second_counts[code]) / 2.0
            lower_count += first_counts[code] + second_counts[code]
    observed = 0.0
    for unit in range(len(first_codes)):
        observed += 2.0 * distance(kind, scale[first_codes[unit]], scale[second_codes[unit]])
    expected = 0.0
    if level == NOMINAL:
        expected = n * n
        for code in occurring_codes:
            expected -= (first_counts[code] + second_counts[code]) ** 2
    elif level == RATIOS:
        for lower in occurring_codes:
            for higher in occurring_codes:
                count_product = (first_counts[lower] + second_counts[lower]) * (
                    first_counts[higher] + second_counts[higher]
                )
                expected += count_product * distance(RATIO, scale[lower], scale[higher])
    else:
        mean = 0.0
        for code in occurring_codes:
            mean += (first_counts[code] + second_counts[code]) * (scale[code] / n)
        for code in occurring_codes:
            expected += 2.0 * n * (first_counts[code] + second_counts[code]) * (scale[code] - mean) ** 2
    return 1.0 - (n - 1.0) * observed / expected if expected > 0 else math.nan
