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
    """Return part / whole elementwise where ``where`` is true, and ``otherwise`` elsewhere.

    Without ``where``, divide where whole > 0.
    """
    result = np.full(np.broadcast(part, whole).shape, otherwise)
    np.divide(part, whole, out=result, where=whole > 0 if where is None else where)
    return result


def pairs_of_equal(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the positions, in ``left`` and in ``right``, of all pairs of equal values, in the order of ``left``."""
    order = np.argsort(right, kind="stable")
    starts, ends = (np.searchsorted(right[order], left, side) for side in ("left", "right"))
    match_counts = ends - starts
    left_positions = np.repeat(np.arange(len(left)), match_counts)
    return left_positions, order[joined_ranges(starts, match_counts)]


def places_in(distinct: Ints, values: Ints) -> Ints:
    """Return the positions of ``values`` among the ``distinct`` values; -1 if a value is absent."""
    if not len(distinct):
        return np.full(len(values), -1, dtype=np.int64)
    low, high = int(distinct.min()), int(distinct.max())
    if high - low < 4 * len(distinct):  # values are close together, as row ids are: look them up in a table
        place_of_offset = np.full(high - low + 2, -1, dtype=np.int64)  # the last entry is for values outside
        place_of_offset[distinct - low] = np.arange(len(distinct))
        places = np.empty(len(values), dtype=np.int64)
        for part in parts_of(len(values)):
            # As unsigned numbers, negative ones are very large.
            offsets = np.minimum((values[part] - low).view(np.uint64), np.uint64(high - low + 1))
            np.take(place_of_offset, offsets.view(np.int64), out=places[part])
        return places
    order = np.argsort(distinct)
    nearest = order[np.minimum(np.searchsorted(distinct, values, sorter=order), len(distinct) - 1)]
    return np.where(distinct[nearest] == values, nearest, -1)


def parts_of(row_count: int, size: int = ROWS_PER_BATCH) -> Iterator[slice]:
    """Yield slices of ``row_count`` rows, of ``size`` rows each.

    The usual size is so small that arrays computed from one slice fit into the processor's cache.
    """
    yield from (slice(start, start + size) for start in range(0, row_count, size))


def starts_of(lengths: Sequence[int] | NDArray[Any]) -> Ints:
    """Return (lists + 1,) int64: the starts of concatenated lists with these lengths, and the end of the last list."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def joined_ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the ranges starts[i] to starts[i] + lengths[i] - 1, one after another."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
