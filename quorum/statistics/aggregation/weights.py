"""Check counts and weights of judgments, so that their sums and products neither overflow nor lose digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.inputs import finite_vector, refuse_values

# Largest number of a unit's judgments, and largest denominator of the share of them that decides, such as 3 in 2/3.
# Their product must fit into 64 bits.
_MAX_COUNT, MAX_DENOMINATOR = 2**52, 2**10
# Sums of squares of such weights are finite.
_MAX_WEIGHT = 1e100
ZERO_WEIGHTS = "{} of {} units have only judgments of weight zero, which decide nothing"


def judgment_weights(weights: ArrayLike) -> Floats:
    """Return (N,) weights. Raise BadValue if one is negative or too large."""
    vector = finite_vector(weights, "weights")
    is_wrong = (vector < 0) | (vector > _MAX_WEIGHT)
    refuse_values(vector, is_wrong, "weights", f"a number from zero to {_MAX_WEIGHT:g}")
    return vector


def count_vector(values: ArrayLike, name: str) -> Ints:
    """Return (N,) counts. Raise BadValue if one is negative, too large, or not a whole number."""
    vector = finite_vector(values, name)
    is_wrong = (vector < 0) | (vector > _MAX_COUNT) | (vector != np.floor(vector))
    refuse_values(vector, is_wrong, name, "a whole number from zero on, 2^52 at most")
    return vector.astype(np.int64)
