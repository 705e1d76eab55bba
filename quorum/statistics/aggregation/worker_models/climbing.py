"""Maximise a smooth objective by L-BFGS from several starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats

# After so many steps, parameters that can be exchanged without changing the objective are still equal, by which
# callers recognise them (`Optimum.early`). Rounding separates them later.
EARLY_STEPS = 6
# A start reaches the highest optimum if its value has a smaller relative difference from the highest value. Of values
# with a relative difference below the second number, the first is taken as the highest.
_SAME_VALUE_TOLERANCE = 1e-6
_EQUAL_VALUE_TOLERANCE = 1e-9

# Corrections that L-BFGS stores; more than the usual ten save steps in long valleys.
_CORRECTIONS = 30


@dataclass(frozen=True, slots=True)
class Optimum:
    """The highest optimum that was found.

    point: its parameters. objective, gradient: the value there, and the largest absolute partial derivative. early: the
    point EARLY_STEPS after the first start. starts_at_optimum: number of starts that led to this value.
    """

    point: Floats
    early: Floats
    objective: float
    gradient: float
    iterations: int
    converged: bool
    starts_at_optimum: int


def find_optimum(
    objective: Callable[[Floats], tuple[float, Floats]],
    starts: Iterable[Floats],
    *,
    max_iterations: int,
    tolerance: float,
) -> Optimum:
    """Maximise a smooth function by L-BFGS from each start; of equal optima, return the first.

    `objective` returns the value and its (P,) gradient. The result has converged if no partial derivative exceeds
    `tolerance`. If L-BFGS ends because values no longer differ in their last digit, Newton-Krylov steps continue, using
    only the gradient.
    """
    max_derivative = tolerance / 10  # where the methods stop: safely within the tolerance

    def negative_objective(point: Any) -> tuple[float, Floats]:
        value, gradient = objective(point)
        return -value, -gradient

    def gradient_at(point: Any) -> Any:
        return objective(point)[1]

    options: Any = {
        "maxiter": max_iterations,
        "maxfun": 10 * max_iterations,
        "maxcor": _CORRECTIONS,
        "ftol": 0.0,
        "gtol": max_derivative,
    }
    starts = list(starts)
    ends = [
        scipy.optimize.minimize(negative_objective, start, jac=True, method="L-BFGS-B", options=options)
        for start in starts
    ]
    options["maxiter"] = min(EARLY_STEPS, max_iterations)
    early_end = scipy.optimize.minimize(
        negative_objective, starts[0], jac=True, method="L-BFGS-B", options=options
    )
    best_end = min(ends, key=lambda end: float(end.fun))
    scale = max(1.0, abs(best_end.fun))
    first_best_end = next(end for end in ends if end.fun <= best_end.fun + _EQUAL_VALUE_TOLERANCE * scale)
    point = first_best_end.x
    if np.abs(first_best_end.jac).max() > max_derivative and first_best_end.nit < max_iterations:
        krylov_options: Any = {"fatol": max_derivative, "maxiter": 20}
        newton_end = scipy.optimize.root(gradient_at, point, method="krylov", options=krylov_options)
        point = min((point, newton_end.x), key=lambda candidate: float(np.abs(gradient_at(candidate)).max()))
    optimum, derivatives = objective(point)
    gradient = float(np.abs(derivatives).max())
    return Optimum(
        point=point,
        early=early_end.x,
        objective=optimum,
        gradient=gradient,
        iterations=int(first_best_end.nit),
        converged=gradient <= tolerance,
        starts_at_optimum=sum(bool(end.fun <= best_end.fun + _SAME_VALUE_TOLERANCE * scale) for end in ends),
    )
