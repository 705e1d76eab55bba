"""Compiled loops of the statistics, imported where they are needed, because numba loads slowly.

Agreement: judgments are codes (N,) into ascending positions (V,) with amounts (V,) or (N,); starts bound each unit or
group. Expectation maximisation: the answers of unit u are starts[u] to starts[u + 1]; each is one number, worker * L +
given label. Randomisation and bootstrap: a coin is one bit, and eight items share a byte of coins: item 8 g + b is bit
b of byte g.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints, compiled

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
def unit_keys(matrix: Floats, low: float, bits: int, keys: Ints, answers: Ints) -> bool:
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
                digit = np.int32(value - low) if there else np.int32(0)
                fractions += 1 if there and low + digit != value else 0
                key[unit] += np.int64(there) << np.int64(digit * bits)
                answered += 1 if there else 0
            answers[rater] += answered
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
    for value in range(len(positions)):
        mean += amounts[value] * (positions[value] / size)
    total = 0.0
    for value in range(len(positions)):
        total += 2.0 * size * amounts[value] * (positions[value] - mean) ** 2
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
        for value in range(len(positions) - 1):
            below += amounts[value]
            total += 2.0 * below * (size - below) * (positions[value + 1] - positions[value])
        if kind == STEPS:
            total = (total + all_squares(positions, amounts, size)) / 2.0
    else:
        for higher in range(len(positions)):
            for lower in range(higher):
                apart = distance(kind, positions[higher], positions[lower])
                total += 2.0 * amounts[higher] * amounts[lower] * apart
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
    """Compare each unit's answers: starts (U + 1,) of its rows, and (N,) codes, none twice in a unit, with amounts.

    With n_v the amount of value v, disagreement, sizes and most (U,) get sum n_v n_w d(v, w), sum n_v, and max n_v.
    """
    for unit in range(len(starts) - 1):
        rows = range(starts[unit], starts[unit + 1])
        size = 0.0
        highest = 0.0
        for row in rows:
            size += amounts[row]
            highest = max(highest, amounts[row])
        total = 0.0
        # Sum the distances over all ordered pairs of answers.
        if kind == DIFFERENT:
            for row in rows:
                total += amounts[row] * (size - amounts[row])
        elif kind == SQUARED:
            mean = 0.0
            for row in rows:
                mean += amounts[row] * (positions[codes[row]] / size)
            if len(rows) > 1:  # rounding of the mean must not part equal answers
                for row in rows:
                    total += 2.0 * size * amounts[row] * (positions[codes[row]] - mean) ** 2
        else:
            for row in rows:
                for other in range(starts[unit], row):
                    apart = distance(kind, positions[codes[row]], positions[codes[other]])
                    total += 2.0 * amounts[row] * amounts[other] * apart
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
    occurring = np.empty(len(positions), dtype=np.int64)
    for group in range(len(starts) - 1):
        # Count how often each value occurs.
        kinds = 0
        for row in rows[starts[group] : starts[group + 1]]:
            code = codes[row]
            if counted[code] == 0:
                occurring[kinds] = code
                kinds += 1
            counted[code] += 1.0
        size = float(starts[group + 1] - starts[group])
        mean = 0.0
        squares = 0.0
        if kind == SQUARED:
            for code in occurring[:kinds]:
                mean += counted[code] * positions[code] / size
            for code in occurring[:kinds]:
                squares += counted[code] * (positions[code] - mean) ** 2
        # Sum each value's distances from all answers of the group.
        for code in occurring[:kinds]:
            if kind == DIFFERENT:
                sums[code] = size - counted[code]
            elif kind == SQUARED:
                sums[code] = squares + size * (positions[code] - mean) ** 2 if kinds > 1 else 0.0
            else:
                sums[code] = 0.0
                for other in occurring[:kinds]:
                    sums[code] += counted[other] * distance(kind, positions[code], positions[other])
        for row in rows[starts[group] : starts[group + 1]]:
            apart[row] = sums[codes[row]]
        for code in occurring[:kinds]:
            counted[code] = 0.0


@compiled
def value_distances(kind: int, positions: Floats, amounts: Floats, sums: Floats) -> None:
    """Fill sums (V,) with each value's distance from all values, times their amounts (V,)."""
    size = amounts.sum()
    mean = 0.0
    squares = 0.0
    if kind == SQUARED:
        for value in range(len(positions)):
            mean += amounts[value] * (positions[value] / size)
        for value in range(len(positions)):
            squares += amounts[value] * (positions[value] - mean) ** 2
    for code in range(len(positions)):
        if kind == DIFFERENT:
            sums[code] = size - amounts[code]
        elif kind == SQUARED:
            sums[code] = squares + size * (positions[code] - mean) ** 2
        else:
            sums[code] = 0.0
            for other in range(len(positions)):
                sums[code] += amounts[other] * distance(kind, positions[code], positions[other])


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
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
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
        # Find the later raters who share units with the first, and count those units.
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
        # Reserve a stretch of `left` and `right` for each partner.
        ordered = np.sort(partners[:met])
        end = 0
        for second in ordered:
            begin[second] = end
            end += shared[second]
            shared[second] = 0
        # Lay both raters' codes of the common units side by side.
        for judgment in range(rater_starts[first], rater_starts[first + 1]):
            unit = rater_units[judgment]
            for row in range(unit_starts[unit], unit_starts[unit + 1]):
                second = unit_raters[row]
                if second > first:
                    left[begin[second] + shared[second]] = rater_codes[judgment]
                    right[begin[second] + shared[second]] = unit_codes[row]
                    shared[second] += 1
        for second in ordered:
            stop = begin[second] + shared[second]
            first_codes, second_codes = left[begin[second] : stop], right[begin[second] : stop]
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
    """Return percent, kappa and alpha of two raters' codes; scratch (2, V) is zero before and after."""
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


# Sums of logarithms are taken as the logarithm of a product, as long as that cannot overflow.
_LARGE = 1e200


@compiled
def sort_answers(
    units: Ints,
    workers: Ints,
    codes: Ints,
    labels: int,
    starts: Ints,
    answers: Ints,
) -> None:
    """Fill `starts` (U + 1,), zeros at first, and `answers` (N,)."""
    for row in range(len(units)):
        starts[units[row] + 1] += 1
    for unit in range(len(starts) - 1):
        starts[unit + 1] += starts[unit]
    next_free = starts[:-1].copy()
    for row in range(len(units)):
        unit = units[row]
        answers[next_free[unit]] = workers[row] * labels + codes[row]
        next_free[unit] += 1


@compiled
def share_votes(
    starts: Ints,
    answers: Ints,
    posterior: Floats,
    prior: Floats,
    counts: Floats,
) -> None:
    """Fill `posterior` (U, L) with the shares of votes, `prior` (L,) and `counts` (W * L, L) with its sums.

    All are zeros at first; `counts` sums by answer.
    """
    labels = len(prior)
    for unit in range(len(posterior)):
        votes = starts[unit + 1] - starts[unit]
        for row in range(starts[unit], starts[unit + 1]):
            posterior[unit, answers[row] % labels] += 1.0
        for label in range(labels):
            posterior[unit, label] /= votes
            prior[label] += posterior[unit, label]
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                counts[answer, label] += posterior[unit, label]


@compiled
def expect(
    starts: Ints,
    answers: Ints,
    log_prior: Floats,
    log_errors: Floats,
    posterior: Floats,
    prior: Floats,
    counts: Floats,
) -> tuple[float, float]:
    """Do the E step in place; return the largest change of a probability, and the log-likelihood.

    log_errors: (W * L, L) log-probability of an answer by true label. Sums as in `share_votes`.
    """
    labels = len(log_prior)
    joint = np.empty(labels)
    change = 0.0
    log_likelihood = 0.0
    evidence = 1.0
    for unit in range(len(posterior)):
        for label in range(labels):
            joint[label] = log_prior[label]
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                joint[label] += log_errors[answer, label]
        # Relative to the most probable label, whose term is 1, no exponential overflows.
        best = 0
        for label in range(1, labels):
            if joint[label] > joint[best]:
                best = label
        largest = joint[best]
        total = 1.0
        for label in range(labels):
            if label != best:
                joint[label] = math.exp(joint[label] - largest)
                total += joint[label]
        joint[best] = 1.0
        log_likelihood += largest
        evidence *= total
        if evidence > _LARGE:
            log_likelihood += math.log(evidence)
            evidence = 1.0
        for label in range(labels):
            probability = joint[label] / total
            change = max(change, abs(probability - posterior[unit, label]))
            posterior[unit, label] = probability
            prior[label] += probability
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                counts[answer, label] += posterior[unit, label]
    return change, log_likelihood + math.log(evidence)


@compiled
def tally(first: Ints, second: Ints, outcomes: Ints, table: Ints) -> int:
    """Count each row's outcome, first and second item in `table` (3, K, K), zeros at first.

    Return the first row with an item against itself, or -1.
    """
    for row in range(len(first)):
        if first[row] == second[row]:
            return row
        table[outcomes[row], first[row], second[row]] += 1
    return -1


@compiled
def weight_below(tree: Floats, column: int) -> float:
    """Return the weight below a column of a binary indexed tree (Fenwick 1994)."""
    below = 0.0
    node = column
    while node > 0:
        below += tree[node]
        node -= node & -node
    return below


@compiled
def add_weight(tree: Floats, levels: int, column: int, weight: float) -> None:
    """Add a weight at column c of the tree, which is stored at c + 1."""
    node = column + 1
    while node <= levels:
        tree[node] += weight
        node += node & -node


@compiled
def kendall_sums(rows: Ints, columns: Ints, weights: Floats, starts: Ints, levels: Ints) -> Floats:
    """Return (G, 6) sums behind tau-b and tau-c of groups of weighted observations.

    Group g holds observations starts[g] to starts[g + 1], ascending by `rows`; `columns` are codes below levels[g].
    Sums: concordant less discordant pairs; weights; squared weights of equal rows, and of equal columns; different rows
    and columns with a weight.
    """
    groups = starts.shape[0] - 1
    sums = np.zeros((groups, 6))
    tree, totals = np.empty(levels.sum() + 1), np.empty(levels.sum())  # of a group, which has no more levels
    for group in range(groups):
        size = levels[group]
        tree[: size + 1] = 0.0
        totals[:size] = 0.0
        first, end = starts[group], starts[group + 1]
        seen = 0.0
        while first < end:
            # Compare a run of equal rows with all that came before it.
            stop = first
            run = 0.0
            while stop < end and rows[stop] == rows[first]:
                weight = weights[stop]
                if weight != 0.0:
                    below = weight_below(tree, columns[stop])
                    up_to = below + totals[columns[stop]]
                    sums[group, 0] += weight * (below - (seen - up_to))
                    run += weight
                stop += 1
            # Then enter the run itself.
            for observation in range(first, stop):
                weight = weights[observation]
                if weight != 0.0:
                    totals[columns[observation]] += weight
                    add_weight(tree, size, columns[observation], weight)
            seen += run
            sums[group, 2] += run * run
            if run > 0.0:
                sums[group, 4] += 1.0
            first = stop
        sums[group, 1] = seen
        for column in range(size):
            sums[group, 3] += totals[column] * totals[column]
            if totals[column] > 0.0:
                sums[group, 5] += 1.0
    return sums


@compiled
def gap_sums(scores: Floats, columns: Ints, starts: Ints, levels: Ints, epsilon: float) -> Floats:
    """Return (G, 3) pairs whose scores differ by more than epsilon: concordant, discordant, tied by people.

    Groups are as in `kendall_sums`, ascending by `scores`; `columns` are codes of people's scores.
    """
    groups = starts.shape[0] - 1
    sums = np.zeros((groups, 3))
    tree, totals = np.empty(levels.sum() + 1), np.empty(levels.sum())
    for group in range(groups):
        size = levels[group]
        tree[: size + 1] = 0.0
        totals[:size] = 0.0
        entering = starts[group]
        seen = 0.0
        for observation in range(starts[group], starts[group + 1]):
            while scores[observation] - scores[entering] > epsilon:  # it lies far enough below
                totals[columns[entering]] += 1.0
                add_weight(tree, size, columns[entering], 1.0)
                seen += 1.0
                entering += 1
            below = weight_below(tree, columns[observation])
            same = totals[columns[observation]]
            sums[group, 0] += below
            sums[group, 1] += seen - below - same
            sums[group, 2] += same
    return sums


@compiled
def balances(rows: Ints, columns: Ints, weights: Floats, levels: int) -> Floats:
    """Return (N,) the weights of the concordant less the discordant partners of each observation.

    rows ascend; columns lie between 0 and `levels`.
    """
    n = len(rows)
    balance = np.zeros(n)
    for side in (1, -1):
        tree = np.zeros(levels + 1)
        total = 0.0
        observation = 0 if side == 1 else n - 1
        while 0 <= observation < n:
            # Compare equal rows with all that came before, then enter them.
            end = observation
            while 0 <= end < n and rows[end] == rows[observation]:
                below, up_to = weight_below(tree, columns[end]), weight_below(tree, columns[end] + 1)
                balance[end] += side * (below - (total - up_to))
                end += side
            while observation != end:
                if weights[observation] != 0.0:
                    add_weight(tree, levels, columns[observation], weights[observation])
                    total += weights[observation]
                observation += side
    return balance


Bytes = NDArray[np.uint8]


@compiled
def signed_sums(differences: Floats, coins: Bytes) -> Floats:
    """Return (R,) sums of the (8 G,) differences, each with the sign of its coin; `coins` is (G, R) uint8.

    The 256 sums of eight items are tabled: a reassignment reads one number for them.
    """
    groups, resamples = coins.shape
    sums = np.zeros(resamples)
    table = np.empty(256)
    for group in range(groups):
        # Table the sums of all 256 patterns of signs of eight items.
        table[0] = 0.0
        for bit in range(8):
            table[0] -= differences[8 * group + bit]
        for bit in range(8):
            turned = 2 * differences[8 * group + bit]
            width = 1 << bit
            for pattern in range(width):
                table[width + pattern] = table[pattern] + turned
        for resample in range(resamples):
            sums[resample] += table[coins[group, resample]]
    return sums


@compiled
def median_differences(values: Floats, items: Ints, sides: Bytes, coins: Bytes) -> Floats:
    """Return (R,) differences of the sides' medians after the items that tossed 1 swapped their scores.

    `values` are the (2 N,) scores of both sides, ascending, of `items` and `sides`; `coins` is (R, bytes). A side's
    median is found where more than half of its scores have been passed.
    """
    resamples = coins.shape[0]
    n = values.shape[0] // 2
    upper = n // 2 + 1  # the median is the value at this rank, or its mean with the one before
    even = n % 2 == 0
    result = np.empty(resamples)
    seen = np.empty(2, dtype=np.int64)
    last = np.empty(2)
    median = np.empty(2)
    for resample in range(resamples):
        seen[:] = 0
        reached = 0
        rank = 0
        while reached < 2:
            item = items[rank]
            side = (coins[resample, item >> 3] >> (item & 7) & 1) ^ sides[rank]
            value = values[rank]
            seen[side] += 1
            if seen[side] == upper:
                median[side] = (last[side] + value) / 2 if even else value
                reached += 1
            last[side] = value
            rank += 1
        result[resample] = median[0] - median[1]
    return result


@compiled
def drawn_sums(values: Floats, drawn: NDArray[np.uint32]) -> Floats:
    resamples, n = drawn.shape
    sums = np.zeros(resamples)
    for resample in range(resamples):
        total = 0.0
        for draw in range(n):
            total += values[drawn[resample, draw]]
        sums[resample] = total
    return sums
