"""Shared parts of models of workers with unknown true labels: columns, posterior, optimiser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import NDArray

from evaluation.arrays import Floats, Ints
from evaluation.statistics.aggregation.voting import WorkerModel
from evaluation.statistics.inputs import (
    BadOption,
    check_cells,
    encode,
    encode_on_scale,
    same_length,
)

ONE_EACH = "no unit has two judgments, so nothing tells a worker's errors from the truth"
ONE_WORKER = "there is one worker, so nothing tells their errors from the truth"

# Labels whose probabilities differ by less are equally likely.
_ALIKE = 1e-9
# Two optima whose heights differ by less than this part are one.
_SAME_HEIGHT = 1e-6
# Corrections that L-BFGS keeps; more than its usual ten shorten long valleys.
_CORRECTIONS = 30


@dataclass(frozen=True, slots=True)
class Answers:
    """Names of units, workers and labels, and the (N,) codes of each judgment."""

    units: NDArray[Any]
    workers: NDArray[Any]
    labels: NDArray[Any]
    unit: Ints
    worker: Ints
    value: Ints

    @classmethod
    def of(
        cls,
        units: Iterable[Any],
        workers: Iterable[Any],
        values: Iterable[Any],
        labels: Sequence[Any] | None,
    ) -> Answers:
        """Encode three (N,) columns. Raise BadOption without judgments or with a single label."""
        unit_names, unit = encode(units, "units")
        worker_names, worker = encode(workers, "workers")
        scale, value = encode_on_scale(values, labels)
        same_length(units=unit, workers=worker, values=value)
        if not len(unit):
            raise BadOption("there are no judgments, expected one or more")
        if len(scale) < 2:
            raise BadOption("there is one label, expected two or more (labels names the scale)")
        for names, what in ((unit_names, "units"), (worker_names, "workers")):
            check_cells(len(names), what, len(scale), len(names) * len(scale))
        return cls(unit_names, worker_names, scale, unit, worker, value)

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.units), len(self.workers), len(self.labels)

    @property
    def note(self) -> str:
        return note_of(len(self.workers), int(np.bincount(self.unit).max()))

    def fitted(self, posterior: Floats, optimum: Optimum) -> dict[str, Any]:
        """Return the fields of a `ClimbedModel`."""
        return {
            "units": self.units,
            "workers": self.workers,
            "labels": self.labels,
            "posterior": posterior,
            "winner": winners(posterior),
            "judgments": np.bincount(self.worker, minlength=len(self.workers)),
            "note": self.note,
            "height": optimum.height,
            "gradient": optimum.gradient,
            "iterations": optimum.iterations,
            "converged": optimum.converged,
            "reached": optimum.reached,
        }

    def by_worker(self, weights: Floats) -> Floats:
        _, workers, width = self.shape
        cells = np.bincount(self.worker * width + self.value, weights=weights, minlength=workers * width)
        return np.asarray(cells, dtype=np.float64).reshape(workers, width)

    def posterior(self, evidence: Floats) -> tuple[Floats, Floats]:
        """Return (U, L) probabilities of true labels, equally likely before, and the (U,) logarithms of their sums.

        `evidence`: (N,) log-ratio of the answer's probability if it is the true label to that if it is not.
        """
        units, _, width = self.shape
        cells = np.bincount(self.unit * width + self.value, weights=evidence, minlength=units * width)
        joint = cells.reshape(units, width)
        total = scipy.special.logsumexp(joint, axis=1)
        return np.exp(joint - total[:, np.newaxis]), total


def note_of(workers: int, most: int) -> str:
    if workers == 1:
        return ONE_WORKER
    return ONE_EACH if most == 1 else ""


def winners(posterior: Floats) -> Ints:
    best = posterior.max(axis=1, keepdims=True)
    alike = (posterior >= best - _ALIKE).sum(axis=1) > 1
    return np.where(alike, -1, posterior.argmax(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClimbedModel(WorkerModel):
    height: float
    gradient: float
    reached: int


@dataclass(frozen=True, slots=True)
class Optimum:
    """The highest optimum found; fields as in the packages."""

    point: Floats
    height: float
    gradient: float
    iterations: int
    converged: bool
    reached: int


def climb(
    objective: Callable[[Floats], tuple[float, Floats]],
    starts: Iterable[Floats],
    *,
    max_iterations: int,
    tolerance: float,
) -> Optimum:
    """Maximise a smooth function by L-BFGS from each start; of equal heights the first counts.

    `objective` returns the height and its (P,) gradient. Converged if no partial derivative exceeds `tolerance`.
    Where L-BFGS ends because heights no longer differ in their last digit, Newton-Krylov steps go on by the gradient
    alone.
    """

    def downhill(point: Any) -> tuple[float, Floats]:
        height, gradient = objective(point)
        return -height, -gradient

    def uphill(point: Any) -> Any:
        return objective(point)[1]

    options: Any = {
        "maxiter": max_iterations,
        "maxfun": 10 * max_iterations,
        "maxcor": _CORRECTIONS,
        "ftol": 0.0,
        "gtol": tolerance / 10,
    }
    ends = [
        scipy.optimize.minimize(downhill, start, jac=True, method="L-BFGS-B", options=options)
        for start in starts
    ]
    best = min(ends, key=lambda end: float(end.fun))
    near = _SAME_HEIGHT * max(1.0, abs(best.fun))
    first = next(end for end in ends if end.fun <= best.fun + near * 1e-3)
    point = first.x
    if np.abs(first.jac).max() > tolerance / 10 and first.nit < max_iterations:
        polish: Any = {"fatol": tolerance / 10, "maxiter": 20}
        flat = scipy.optimize.root(uphill, point, method="krylov", options=polish)
        point = min((point, flat.x), key=lambda at: float(np.abs(uphill(at)).max()))
    height, slope = objective(point)
    gradient = float(np.abs(slope).max())
    return Optimum(
        point=point,
        height=height,
        gradient=gradient,
        iterations=int(first.nit),
        converged=gradient <= tolerance,
        reached=sum(bool(end.fun <= best.fun + near) for end in ends),
    )
