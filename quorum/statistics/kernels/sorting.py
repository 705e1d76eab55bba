"""The kernel that sorts whole numbers."""

import numpy as np

from quorum.numeric.arrays import Ints
from quorum.numeric.compiling import compiled

_DIGIT_BITS = 16  # bits of a digit; the counts of all digits fit into the processor's cache


@compiled
def radix_order(codes: Ints) -> Ints:
    """Return the (N,) positions that sort ``codes`` (N,), whole numbers from 0 on. Equal codes keep their order.

    Sort by the lowest 16 bits, then by the next ones (radix sort), which takes half the time of a sort by comparison.
    """
    order, sorted_order = np.arange(len(codes)), np.empty(len(codes), dtype=np.int64)
    highest_code = codes.max() if len(codes) else 0
    for shift in range(0, 64, _DIGIT_BITS):
        if not highest_code >> shift:
            break
        starts = np.zeros((1 << _DIGIT_BITS) + 1, dtype=np.int64)
        # Counts are stored one place up, so that their running sums are the positions where each digit's codes begin.
        for code in codes:
            starts[((code >> shift) & ((1 << _DIGIT_BITS) - 1)) + 1] += 1
        for digit in range(1 << _DIGIT_BITS):
            starts[digit + 1] += starts[digit]
        for row in order:
            digit = (codes[row] >> shift) & ((1 << _DIGIT_BITS) - 1)
            sorted_order[starts[digit]] = row
            starts[digit] += 1
        order, sorted_order = sorted_order, order
    return order
