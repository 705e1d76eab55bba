"""Array types of the numeric packages, and operations that several of them need."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]  # numbers of words, which are positions in a vocabulary
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROWS_PER_BATCH = 1 << 16


def ratio(
    part: ArrayLike, whole: NDArray[Any], *, where: Flags | None = None, otherwise: float = math.nan
) -> Floats:
    """Return part / whole elementwise, and ``otherwise`` where whole <= 0 or ``where`` is false."""
    result = np.full(np.broadcast(part, whole).shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0 if where is None else where)
    return result


def pairs_of_equal(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the positions, in ``left`` and in ``right``, of all pairs of equal values, in the order of ``left``."""
    order = np.argsort(right, kind="stable")
    start, end = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    first = np.repeat(np.arange(len(left)), end - start)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(end - start) - (end - start), end - start)
    return first, order[start[first] + offset]


def places_in(known: Ints, wanted: Ints) -> Ints:
    """Return the positions of the values ``wanted`` among the distinct values ``known``; -1 if a value is absent."""
    if not len(known):
        return np.full(len(wanted), -1, dtype=np.int64)
    low, high = int(known.min()), int(known.max())
    if high - low < 4 * len(known):  # values are close together, as row ids are
        position = np.full(high - low + 2, -1, dtype=np.int64)  # the last entry is for values outside
        position[known - low] = np.arange(len(known))
        places = np.empty(len(wanted), dtype=np.int64)
        for part in parts_of(len(wanted)):
            # As unsigned numbers, negative ones are very large.
            offset = np.minimum((wanted[part] - low).view(np.uint64), np.uint64(high - low + 1))
            np.take(position, offset.view(np.int64), out=places[part])
        return places
    order = np.argsort(known)
    nearest = order[np.minimum(np.searchsorted(known, wanted, sorter=order), len(known) - 1)]
    return np.where(known[nearest] == wanted, nearest, -1)


def parts_of(rows: int, size: int = ROWS_PER_BATCH) -> Iterator[slice]:
    """Yield slices of ``rows`` rows, of ``size`` rows each.

    The usual size is so small that arrays computed from one slice fit into the processor's cache.
    """
    yield from (slice(start, start + size) for start in range(0, rows, size))


def starts_of(lengths: Sequence[int] | NDArray[Any]) -> Ints:
    """Return (lists + 1,) int64: the starts of concatenated lists with these lengths, and the end of the last list."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
