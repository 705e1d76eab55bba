"""Read columns of scores, and find the observations without a missing score and why a coefficient is undefined."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quorum.numeric.arrays import Flags, Floats
from quorum.statistics.inputs import (
    BadValue,
    finite_vector,
    one_of,
    same_length,
    score_vector,
    score_vector_with_gaps,
)

TOO_FEW_OBSERVATIONS = "there are fewer than two observations"
CONSTANT = "{} has the same value throughout"


def read_observations(missing: str, **columns: ArrayLike) -> tuple[list[Floats], Flags]:
    """Return the columns as (N,) float64, and (N,) flags of the complete rows, in which no column has nan.

    Raise BadValue if a column has nan and `missing` is "refuse".
    """
    one_of(missing, ("refuse", "leave-out"), "missing")
    read_vector = score_vector if missing == "refuse" else score_vector_with_gaps
    vectors = {name: read_vector(values, name) for name, values in columns.items()}
    same_length(**vectors)
    is_complete: Flags = ~np.any([np.isnan(vector) for vector in vectors.values()], axis=0)
    return list(vectors.values()), is_complete


def observation_weights(weights: ArrayLike | None, complete: Flags) -> Floats:
    """Return the weights of the complete observations, by default ones. Raise BadValue if one is not positive."""
    if weights is None:
        return np.ones(int(complete.sum()))
    vector = finite_vector(weights, "weights")
    same_length(weights=vector, observations=complete)
    if not (vector > 0).all():
        raise BadValue(f"the smallest of the weights is {vector.min():g}, expected positive ones")
    return vector[complete]


def undefined_reason(x: Floats, y: Floats) -> str:
    """Return the reason why a coefficient of two (N,) vectors is undefined, or ""."""
    if len(x) < 2:
        return TOO_FEW_OBSERVATIONS
    if np.all(x == x[0]):
        return CONSTANT.format("the first variable")
    if np.all(y == y[0]):
        return CONSTANT.format("the second variable")
    return ""
