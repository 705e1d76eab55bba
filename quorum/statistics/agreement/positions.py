"""The positions of labels and the kind of distance from which alpha is computed at a level of measurement."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats


def exact_positions(labels: NDArray[Any]) -> Floats:
    """Return the (V,) labels as float64, scaled by a power of two so that no square overflows."""
    values = labels.astype(np.float64)
    _, exponent = np.frexp(np.abs(values).max(initial=0.0))
    return np.ldexp(values, -exponent)


def positions_at(level: str, labels: NDArray[Any]) -> Floats:
    """Return the (V,) positions of labels: their values at "interval" and "ratio", and their order otherwise.

    At "ordinal", callers replace the order by mid-ranks, which depend on how often each label occurs.
    """
    if level in ("interval", "ratio"):
        return exact_positions(labels)
    return np.arange(float(len(labels)))


def distance_kind(level: str) -> int:
    """Return the constant of `distances` for the distance at a level."""
    from quorum.statistics.kernels import distances

    return {"nominal": distances.DIFFERENT, "ratio": distances.RATIO}.get(level, distances.SQUARED)
