"""The order of whole numbers."""

import numpy as np

from quorum.numeric.arrays import Ints

MIN_COMPILED_LENGTH = (
    1 << 14
)  # number of codes from which a compiled sort is several times as fast as numpy's


def order_of(codes: Ints) -> Ints:
    """Return the (N,) positions that sort ``codes`` (N,), whole numbers from 0 on. Equal codes keep their order."""
    if len(codes) < MIN_COMPILED_LENGTH:
        return np.argsort(codes, kind="stable")
    from quorum.statistics.kernels.sorting import radix_order  # imported late, because numba loads slowly

    return radix_order(np.ascontiguousarray(codes))  # kernels are compiled once for each layout
