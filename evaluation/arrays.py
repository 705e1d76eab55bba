"""Names for the types of the arrays that statistics and metrics are computed from, and what both do with them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def ratio(
    part: ArrayLike, whole: NDArray[Any], *, where: Flags | None = None, otherwise: float = math.nan
) -> Floats:
    """Return part / whole, elementwise; ``otherwise`` where whole is not above zero, or ``where`` is false."""
    result = np.full(np.broadcast(part, whole).shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0 if where is None else where)
    return result


def starts_of(lengths: Sequence[int] | NDArray[Any]) -> Ints:
    """Return (lists + 1,) int64: the starts of adjacent lists, and the end of the last one."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
