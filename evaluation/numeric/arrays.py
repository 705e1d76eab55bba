"""Array types of the numeric packages, and operations both need."""

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
    """Return part / whole elementwise, or ``otherwise`` where whole <= 0 or ``where`` is false."""
    result = np.full(np.broadcast(part, whole).shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0 if where is None else where)
    return result


def places_in(known: Ints, wanted: Ints) -> Ints:
    """Return the positions of ``wanted`` among the distinct ``known``; -1 if absent."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    low, high = int(known.min()), int(known.max())
    if high - low < 4 * len(known):  # row ids lie close together
        position = np.full(high - low + 2, -1, dtype=np.int64)  # the last one is for what lies outside
        position[known - low] = np.arange(len(known))
        return position[np.where((wanted >= low) & (wanted <= high), wanted - low, -1)]
    order = np.argsort(known)
    nearest = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[nearest] == wanted, nearest, -1)


def starts_of(lengths: Sequence[int] | NDArray[Any]) -> Ints:
    """Return (lists + 1,) int64: the starts of adjacent lists, and the last end."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
