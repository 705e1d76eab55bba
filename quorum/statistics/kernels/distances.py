"""Distances between answers. The V different values have ascending `positions` (V,), and weights `amounts` (V,)."""

import math

from quorum.numeric.arrays import Floats
from quorum.numeric.compiling import compiled

# Kinds of distance between two answers, used by the levels of alpha and the weights of `gwet` (STEPS: "ordinal").
DIFFERENT, SQUARED, ABSOLUTE, ROOT, RATIO, STEPS = range(6)


@compiled
def distance(kind: int, first: float, second: float) -> float:
    """Return the distance of two numbers. For the kind STEPS, they are ranks on the scale."""
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
    # Opposite numbers count as equal, as in other programs.
    return (gap / total) ** 2 if total != 0 else 0.0


@compiled
def all_squares(positions: Floats, amounts: Floats, size: float) -> float:
    """Return the sum of `all_distances` for squared distances, where `size` is the sum of the amounts."""
    mean = 0.0
    for value in range(len(positions)):
        mean += amounts[value] * (positions[value] / size)
    total = 0.0
    for value in range(len(positions)):
        total += 2.0 * size * amounts[value] * (positions[value] - mean) ** 2
    return total


@compiled
def all_distances(kind: int, positions: Floats, amounts: Floats) -> float:
    """Return the sum of a_i a_j d(i, j) over all ordered pairs of positions, where a_i is the amount of position i."""
    size = amounts.sum()
    total = 0.0
    if kind == DIFFERENT:
        for amount in amounts:
            total += amount * (size - amount)
    elif kind == SQUARED:
        total = all_squares(positions, amounts, size)
    elif kind in (ABSOLUTE, STEPS):
        # A gap between neighbours is in every distance from a lower to a higher position. The distance of s steps is
        # s (s + 1) / 2, which is half of s plus half of the square of s.
        lower_amounts = 0.0
        for value in range(len(positions) - 1):
            lower_amounts += amounts[value]
            total += 2.0 * lower_amounts * (size - lower_amounts) * (positions[value + 1] - positions[value])
        if kind == STEPS:
            total = (total + all_squares(positions, amounts, size)) / 2.0
    else:
        for higher in range(len(positions)):
            for lower in range(higher):
                gap = distance(kind, positions[higher], positions[lower])
                total += 2.0 * amounts[higher] * amounts[lower] * gap
    return total


@compiled
def fill_value_distances(kind: int, positions: Floats, amounts: Floats, sums: Floats) -> None:
    """Fill `sums` (V,) with the sum of each value's distances from all values, each times the other value's amount."""
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
            for other_code in range(len(positions)):
                sums[code] += amounts[other_code] * distance(kind, positions[code], positions[other_code])
