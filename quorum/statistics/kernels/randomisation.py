"""Compiled loops of randomisation tests.

Coins are bits: bit b of byte g is the coin of item 8 g + b.
"""

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled

Bytes = NDArray[np.uint8]


@compiled
def signed_sums(differences: Floats, coins: Bytes) -> Floats:
    """Return R sums of the (8 G,) `differences` of items, with random signs: plus for the coin 1, minus for 0.

    `coins` (G, R) has a byte with the coins of eight items in each cell. The 256 possible sums of eight items are
    computed once, and looked up by the byte.
    """
    groups, resamples = coins.shape
    sums = np.zeros(resamples)
    table = np.empty(256)
    for group in range(groups):
        # Compute the sums of eight items for all 256 patterns of signs.
        table[0] = 0.0
        for bit in range(8):
            table[0] -= differences[8 * group + bit]
        for bit in range(8):
            change = 2 * differences[8 * group + bit]
            width = 1 << bit
            for pattern in range(width):
                table[width + pattern] = table[pattern] + change
        for resample in range(resamples):
            sums[resample] += table[coins[group, resample]]
    return sums


@compiled
def median_differences(values: Floats, items: Ints, sides: Bytes, coins: Bytes) -> Floats:
    """Return the (R,) differences of the medians of two sides, after items whose coin is 1 swapped their scores.

    values, items, sides: (2 N,) scores of both sides, ascending, with their item and side (0 or 1). coins: (R, bytes),
    each row with the coins of all items. In ascending order of scores, a side reaches its median at its (N // 2 + 1)-th
    score, so the scores after it need not be read.
    """
    resamples = coins.shape[0]
    n = values.shape[0] // 2
    median_rank = n // 2 + 1  # the median is the value at this rank, or its mean with the value before
    is_even = n % 2 == 0
    result = np.empty(resamples)
    seen_counts = np.empty(2, dtype=np.int64)
    last_values = np.empty(2)
    medians = np.empty(2)
    for resample in range(resamples):
        seen_counts[:] = 0
        median_count = 0
        rank = 0
        while median_count < 2:
            item = items[rank]
            side = (coins[resample, item >> 3] >> (item & 7) & 1) ^ sides[rank]
            value = values[rank]
            seen_counts[side] += 1
            if seen_counts[side] == median_rank:
                medians[side] = (last_values[side] + value) / 2 if is_even else value
                median_count += 1
            last_values[side] = value
            rank += 1
        result[resample] = medians[0] - medians[1]
    return result


@compiled
def drawn_sums(values: Floats, positions: NDArray[np.uint32]) -> Floats:
    """Return the (R,) sums of the values at (R, N) positions."""
    resamples, n = positions.shape
    sums = np.zeros(resamples)
    for resample in range(resamples):
        total = 0.0
        for column in range(n):
            total += values[positions[resample, column]]
        sums[resample] = total
    return sums
