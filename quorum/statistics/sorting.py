"""Sort whole numbers, by a compiled sort if there are many of them."""

import numpy as np

from quorum.numeric.arrays import Ints

# Number of codes from which a compiled sort is several times as fast as numpy's.
MIN_COMPILED_LENGTH = 1 << 14


def order_of(codes: Ints) -> Ints:
    """Return the (N,) positions that sort ``codes`` (N,), whole numbers from 0 on. Equal codes keep their order."""
    if len(codes) < MIN_COMPILED_LENGTH:
        return np.argsort(codes, kind="stable")
    from quorum.statistics.kernels.sorting import radix_order  # imported late, because numba loads slowly

    return radix_order(np.ascontiguousarray(codes))  # kernels are compiled once for each layout
