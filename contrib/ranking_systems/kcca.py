"""Regularised kernel canonical correlation analysis (Hardoon, Szedmak, Shawe-Taylor 2004).

Hodosh et al. 2013 (H13) use it in section 3.2.

For the kernel matrices X and Y of N training pairs, this finds the weights a and b that maximise

    a'XYb / sqrt((a'X^2a + k a'Xa) (b'Y^2b + k b'Yb))

which is the eigenproblem (X + kI)^-1 Y (Y + kI)^-1 X a = r^2 a. With the eigendecompositions X = U D U' and
Y = V E V', a is U (D^2 + k D)^-1/2 times a left singular vector of (D / (D + k))^1/2 U'V (E / (E + k))^1/2, and b is
V (E^2 + k E)^-1/2 times the right one. H13 used Hardoon's program, which approximates the solution by partial
Gram-Schmidt orthogonalisation. This is the exact solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evaluation.errors import EvaluationError
from quorum.numeric.arrays import Floats

# Smallest eigenvalue that is used, as a fraction of the largest. Smaller ones come from rounding, or from equal items.
MIN_EIGENVALUE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class Projections:
    """The learned projections of both sides, with C dimensions, from N training items.

    Attributes:
        first, second: (N, C) weights of both sides.
        correlations: (C,) correlations, largest first.
        first_means, second_means: the (N,) column means of both training kernels, which centring subtracts; None
            without centring.
    """

    first: Floats
    second: Floats
    correlations: Floats
    first_means: Floats | None
    second_means: Floats | None

    def project_first(self, kernel: Floats) -> Floats:
        """Return the (K, C) projections of items of the first side from their (K, N) kernel values."""
        return _centre_kernel(kernel, self.first_means) @ self.first

    def project_second(self, kernel: Floats) -> Floats:
        """Return the (K, C) projections of items of the second side from their (K, N) kernel values."""
        return _centre_kernel(kernel, self.second_means) @ self.second


def _centre_kernel(kernel: Floats, means: Floats | None) -> Floats:
    """Return (K, N) kernel values after the training items are moved to a mean of 0, unless ``means`` is None."""
    if means is None:
        return kernel
    return np.asarray(kernel - kernel.mean(axis=1, keepdims=True) - means + means.mean())


def fit_kcca(first: Floats, second: Floats, regularisation: float, *, centred: bool = True) -> Projections:
    """Learn projections from two symmetric (N, N) kernel matrices of the same N pairs.

    Args:
        regularisation: k in the module's docstring.
        centred: whether to move the training items of each space to a mean of 0, as canonical correlation requires.

    Raises:
        EvaluationError: the matrices have other shapes, or all items are alike to a kernel.
    """
    if first.ndim != 2 or first.shape != second.shape or first.shape[0] != first.shape[1]:
        raise EvaluationError(
            f"The kernel matrices are {first.shape} and {second.shape}; expected two of N by N training pairs."
        )
    if not regularisation >= 0:  # nan is refused, too
        raise EvaluationError(f"The regularisation is {regularisation}; expected 0 or more.")
    sides = []
    for kernel in (first, second):
        if centred:
            means = kernel.mean(axis=0)
            kernel = kernel - means - means[:, None] + means.mean()
        values, vectors = np.linalg.eigh(kernel)
        is_positive = values > MIN_EIGENVALUE * max(values[-1], 0.0)  # eigh returns the largest value last
        sides.append((values[is_positive], vectors[:, is_positive]))
    (d, u), (e, v) = sides  # as in the module's docstring
    if not (d.size and e.size):
        raise EvaluationError("All training items are alike to a kernel; expected some that differ.")
    product = np.sqrt(d / (d + regularisation))[:, None] * (u.T @ v) * np.sqrt(e / (e + regularisation))
    left, correlations, right = np.linalg.svd(product, full_matrices=False)
    return Projections(
        u @ (left / np.sqrt(d**2 + regularisation * d)[:, None]),
        v @ (right.T / np.sqrt(e**2 + regularisation * e)[:, None]),
        correlations,
        first_means=first.mean(axis=0) if centred else None,
        second_means=second.mean(axis=0) if centred else None,
    )
