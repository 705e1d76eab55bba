"""Scores as vectors: finite numbers of a size whose sums and squares are numbers too."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evaluation.statistics.errors import BadValue
from evaluation.statistics.tables import Floats, finite_vector, float_vector

# Sums of squares of a million numbers of this size are far from the largest double.
LARGEST = 1e100


def score_vector(values: ArrayLike, name: str) -> Floats:
    """(N,) float64 of finite scores. Raises BadShape, BadValue."""
    return _moderate(finite_vector(values, name), name)


def gappy_vector(values: ArrayLike, name: str) -> Floats:
    """(N,) float64 of scores where nan means missing. Raises BadShape, BadValue."""
    return _moderate(float_vector(values, name), name)


def _moderate(vector: Floats, name: str) -> Floats:
    wrong = np.flatnonzero(np.abs(vector) > LARGEST)
    if wrong.size:
        raise BadValue(
            f"{name}[{wrong[0]}] is {vector[wrong[0]]}, expected a number of size {LARGEST:g} at most"
        )
    return vector
