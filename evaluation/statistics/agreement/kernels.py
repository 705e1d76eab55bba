"""Compiled loops of the agreement figures, imported where they are needed, because numba loads slowly.

Judgments are codes (N,) into ascending positions (V,) with amounts (V,) or (N,); starts bound each unit or group.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.arrays import Floats, Ints
from evaluation.compiled import compiled

# How far apart two answers are; the levels of alpha and the weights of `gwet` are made of them.
DIFFERENT, SQUARED, ABSOLUTE, ROOT, RATIO, STEPS = range(6)

# Levels of alpha, and weights of kappa.
NOMINAL, ORDINAL, INTERVAL, RATIOS = range(4)
PLAIN, LINEAR, QUADRATIC = range(3)

# Compressed rows: starts, columns, values.
Rows = tuple[Ints, Ints, Ints]

# Units read at a time: their keys stay in the processor's nearest memory from rater to rater.
_BLOCK = 2048


@compiled
def unit_keys(matrix: Floats, low: float, bits: int, keys: Ints, given: Ints) -> bool:
    """Add 1 << (v - low) * bits to keys (U,), and 1 to given (R,), for each answer v of a (R, U) matrix.

    Both are zero at first. Return False if an answer is not whole.
    """
    raters, units = matrix.shape
    fractions = 0
    for start in range(0, units, _BLOCK):
        stop = min(start + _BLOCK, units)
        for rater in range(raters):
            answered = 0
            row = matrix[rater, start:stop]
            key = keys[start:stop]
            for unit in range(stop - start):
                # Without branches, and in 32 bits, as processors without AVX-512 convert several of those at once.
                value = row[unit]
                there = value == value
                place = np.int32(value - low) if there else np.int32(0)
                fractions += 1 if there and low + place != value else 0
                key[unit] += np.int64(there) << np.int64(place * bits)
                answered += 1 if there else 0
            given[rater] += answered
    return fractions == 0


@compiled
def distance(kind: int, first: float, second: float) -> float:
    gap = abs(first - second)
    if gap == 0:
        return 0.0
    if kind == DIFFERENT:
        return 1.0
    if kind == SQUARED:
        return gap * gap
    if kind == ABSOLUTE:
        return gap
    if kind == ROOT:
        return math.sqrt(gap)
    if kind == STEPS:
        return gap * (gap + 1.0) / 2.0
    total = first + second
    # Two opposite numbers count as equal, as the usual program has it.
    return (gap / total) ** 2 if total != 0 else 0.0


@compiled
def all_squares(positions: Floats, amounts: Floats, size: float) -> float:
    mean = 0.0
    for place in range(len(positions)):
        mean += amounts[place] * (positions[place] / size)
    total = 0.0
    for place in range(len(positions)):
        total += 2.0 * size * amounts[place] * (positions[place] - mean) ** 2
    return total


@compiled
def all_distances(kind: int, positions: Floats, amounts: Floats) -> float:
    """Sum distances over all ordered pairs of positions, times both amounts."""
    size = amounts.sum()
    total = 0.0
    if kind == DIFFERENT:
        for amount in amounts:
            total += amount * (size - amount)
    elif kind == SQUARED:
        total = all_squares(positions, amounts, size)
    elif kind in (ABSOLUTE, STEPS):
        # Each gap between neighbours parts what lies below it from what lies above; s (s + 1) / 2 steps are
        # half of s and half of its square.
        below = 0.0
        for place in range(len(positions) - 1):
            below += amounts[place]
            total += 2.0 * below * (size - below) * (positions[place + 1] - positions[place])
        if kind == STEPS:
            total = (total + all_squares(positions, amounts, size)) / 2.0
    else:
        for one in range(len(positions)):
            for other in range(one):
                apart = distance(kind, positions[one], positions[other])
                total += 2.0 * amounts[one] * amounts[other] * apart
    return total


@compiled
def unit_disagreement(
    starts: Ints,
    codes: Ints,
    amounts: Floats,
    kind: int,
    positions: Floats,
    disagreement: Floats,
    sizes: Floats,
    most: Floats,
) -> None:
    """Compare each unit's answers, with starts (U + 1,) and amounts (N,).

    With n_v the amount of value v, disagreement, sizes and most (U,) get sum n_v n_w d(v, w), sum n_v, and max n_v.
    """
    counted = np.zeros(len(positions))
    found = np.empty(len(positions), dtype=np.int64)
    for unit in range(len(starts) - 1):
        kinds = 0
        size = 0.0
        for row in range(starts[unit], starts[unit + 1]):
            if amounts[row] > 0:
                code = codes[row]
                if counted[code] == 0:
                    found[kinds] = code
                    kinds += 1
                counted[code] += amounts[row]
                size += amounts[row]
        total = 0.0
        highest = 0.0
        if kind == DIFFERENT:
            for one in range(kinds):
                total += counted[found[one]] * (size - counted[found[one]])
        elif kind == SQUARED:
            mean = 0.0
            for one in range(kinds):
                mean += counted[found[one]] * (positions[found[one]] / size)
            if kinds > 1:  # rounding of the mean must not part equal answers
                for one in range(kinds):
                    total += 2.0 * size * counted[found[one]] * (positions[found[one]] - mean) ** 2
        else:
            for one in range(kinds):
                for other in range(one):
                    apart = distance(kind, positions[found[one]], positions[found[other]])
                    total += 2.0 * counted[found[one]] * counted[found[other]] * apart
        for one in range(kinds):
            highest = max(highest, counted[found[one]])
            counted[found[one]] = 0.0
        disagreement[unit] = total
        sizes[unit] = size
        most[unit] = highest


@compiled
def group_rows(groups: Ints, starts: Ints) -> Ints:
    """Return (N,) ascending rows, group by group: those of group g from starts[g] (G + 1,) on."""
    free = starts.copy()
    rows = np.empty(len(groups), dtype=np.int64)
    for row in range(len(groups)):
        rows[free[groups[row]]] = row
        free[groups[row]] += 1
    return rows


@compiled
def judgment_distances(
    starts: Ints, rows: Ints, codes: Ints, kind: int, positions: Floats, apart: Floats
) -> None:
    """Fill apart (N,) with each judgment's summed distance from its group; starts and rows as in `group_rows`."""
    counted = np.zeros(len(positions))
    sums = np.empty(len(positions))
    found = np.empty(len(positions), dtype=np.int64)
    for group in range(len(starts) - 1):
        kinds = 0
        for row in rows[starts[group] : starts[group + 1]]:
            code = codes[row]
            if counted[code] == 0:
                found[kinds] = code
                kinds += 1
            counted[code] += 1.0
        size = float(starts[group + 1] - starts[group])
        mean = 0.0
        squares = 0.0
        if kind == SQUARED:
            for one in range(kinds):
                mean += counted[found[one]] * positions[found[one]] / size
            for one in range(kinds):
                squares += counted[found[one]] * (positions[found[one]] - mean) ** 2
        for one in range(kinds):
            code = found[one]
            if kind == DIFFERENT:
                sums[code] = size - counted[code]
            elif kind == SQUARED:
                sums[code] = squares + size * (positions[code] - mean) ** 2 if kinds > 1 else 0.0
            else:
                sums[code] = 0.0
                for other in range(kinds):
                    apart_by = distance(kind, positions[code], positions[found[other]])
                    sums[code] += counted[found[other]] * apart_by
        for row in rows[starts[group] : starts[group + 1]]:
            apart[row] = sums[codes[row]]
        for one in range(kinds):
            counted[found[one]] = 0.0


@compiled
def value_distances(kind: int, positions: Floats, amounts: Floats, sums: Floats) -> None:
    """Fill sums (V,) with each value's distance from all values, times their amounts (V,)."""
    size = amounts.sum()
    mean = 0.0
    squares = 0.0
    if kind == SQUARED:
        for place in range(len(positions)):
            mean += amounts[place] * (positions[place] / size)
        for place in range(len(positions)):
            squares += amounts[place] * (positions[place] - mean) ** 2
    for one in range(len(positions)):
        if kind == DIFFERENT:
            sums[one] = size - amounts[one]
        elif kind == SQUARED:
            sums[one] = squares + size * (positions[one] - mean) ** 2
        else:
            sums[one] = 0.0
            for other in range(len(positions)):
                sums[one] += amounts[other] * distance(kind, positions[one], positions[other])


@compiled
def value_sums(starts: Ints, codes: Ints, amounts: Floats, unit_weights: Floats, sums: Floats) -> None:
    """Add amounts (N,) times the weight of their unit (U,) to sums (V,)."""
    for unit in range(len(starts) - 1):
        weight = unit_weights[unit]
        if weight != 0:
            for row in range(starts[unit], starts[unit + 1]):
                sums[codes[row]] += weight * amounts[row]


@compiled
def count_pairs(by_unit: Rows, by_rater: Rows) -> Ints:
    unit_starts, unit_raters, _ = by_unit
    rater_starts, rater_units, _ = by_rater
    raters = len(rater_starts) - 1
    seen = np.full(raters, -1, dtype=np.int64)
    pairs = 0
    longest = 0
    for first in range(raters):
        rows = 0
        for place in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[place]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    rows += 1
                    if seen[second] != first:
                        seen[second] = first
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
    """Fill pairs (P, 3) with two raters and their common units, and figures (P, 3) with percent, kappa, alpha.

    by_unit: starts, raters, codes; by_rater: starts, units, codes.
    """
    unit_starts, unit_raters, unit_codes = by_unit
    rater_starts, rater_units, rater_codes = by_rater
    raters = len(rater_starts) - 1
    shared = np.zeros(raters, dtype=np.int64)
    begin = np.zeros(raters, dtype=np.int64)
    partners = np.empty(raters, dtype=np.int64)
    left = np.empty(longest, dtype=np.int32)
    right = np.empty(longest, dtype=np.int32)
    scratch = np.zeros((2, len(positions)))
    out = 0
    for first in range(raters):
        met = 0
        for place in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[place]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    if shared[second] == 0:
                        partners[met] = second
                        met += 1
                    shared[second] += 1
        ordered = np.sort(partners[:met])
        end = 0
        for second in ordered:
            begin[second] = end
            end += shared[second]
            shared[second] = 0
        for place in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[place]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    left[begin[second] + shared[second]] = rater_codes[place]
                    right[begin[second] + shared[second]] = unit_codes[row]
                    shared[second] += 1
        for second in ordered:
            stop = begin[second] + shared[second]
            one, other = left[begin[second] : stop], right[begin[second] : stop]
            pairs[out, 0], pairs[out, 1], pairs[out, 2] = first, second, shared[second]
            figures[out] = two_raters(one, other, positions, weights, level, scratch)
            shared[second] = 0
            out += 1


@compiled
def two_raters(
    one: NDArray[Any], other: NDArray[Any], positions: Floats, weights: int, level: int, scratch: Floats
) -> Floats:
    """Return percent, kappa and alpha of two raters' codes; scratch (2, V) is zero before and after."""
    units = len(one)
    first, second = scratch[0], scratch[1]
    found = np.empty(min(2 * units, len(positions)), dtype=np.int64)
    kinds = 0
    for code in one:
        if first[code] == 0:
            found[kinds] = code
            kinds += 1
        first[code] += 1
    for code in other:
        if first[code] == 0 and second[code] == 0:
            found[kinds] = code
            kinds += 1
        second[code] += 1
    found = np.sort(found[:kinds])
    same = 0
    for unit in range(units):
        if one[unit] == other[unit]:
            same += 1
    figures = np.array([same / units, math.nan, math.nan])
    if kinds > 1:
        figures[1] = _kappa(one, other, found, first, second, weights)
        figures[2] = _alpha(one, other, found, first, second, positions, level)
    for code in found:
        first[code] = 0
        second[code] = 0
    return figures


@compiled
def _kappa(
    one: NDArray[Any], other: NDArray[Any], found: Ints, first: Floats, second: Floats, weights: int
) -> float:
    n = float(len(one))
    kind = DIFFERENT if weights == PLAIN else ABSOLUTE if weights == LINEAR else SQUARED
    observed = 0.0
    for unit in range(len(one)):
        observed += distance(kind, float(one[unit]), float(other[unit]))
    expected = 0.0
    if weights == PLAIN:
        expected = n * n
        for code in found:
            expected -= first[code] * second[code]
    elif weights == LINEAR:
        below_first = below_second = 0.0
        for place in range(len(found) - 1):
            below_first += first[found[place]]
            below_second += second[found[place]]
            gap = found[place + 1] - found[place]
            expected += gap * (below_first * (n - below_second) + below_second * (n - below_first))
    else:
        mean_first = mean_second = 0.0
        for code in found:
            mean_first += first[code] * code / n
            mean_second += second[code] * code / n
        for code in found:
            expected += n * first[code] * (code - mean_first) ** 2
            expected += n * second[code] * (code - mean_second) ** 2
        expected += (n * (mean_first - mean_second)) ** 2
    return 1.0 - n * observed / expected


@compiled
def _alpha(
    one: NDArray[Any],
    other: NDArray[Any],
    found: Ints,
    first: Floats,
    second: Floats,
    positions: Floats,
    level: int,
) -> float:
    n = 2.0 * len(one)
    kind = DIFFERENT if level == NOMINAL else RATIO if level == RATIOS else SQUARED
    place = positions
    if level == ORDINAL:
        place = np.zeros(len(positions))
        below = 0.0
        for code in found:
            place[code] = below + (first[code] + second[code]) / 2.0
            below += first[code] + second[code]
    observed = 0.0
    for unit in range(len(one)):
        observed += 2.0 * distance(kind, place[one[unit]], place[other[unit]])
    expected = 0.0
    if level == NOMINAL:
        expected = n * n
        for code in found:
            expected -= (first[code] + second[code]) ** 2
    elif level == RATIOS:
        for left in found:
            for right in found:
                both = (first[left] + second[left]) * (first[right] + second[right])
                expected += both * distance(RATIO, place[left], place[right])
    else:
        mean = 0.0
        for code in found:
            mean += (first[code] + second[code]) * (place[code] / n)
        for code in found:
            expected += 2.0 * n * (first[code] + second[code]) * (place[code] - mean) ** 2
    return 1.0 - (n - 1.0) * observed / expected if expected > 0 else math.nan
