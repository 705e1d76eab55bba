"""Dawid-Skene: the true labels and each worker's confusions, by expectation maximisation.

Dawid, Skene 1979, *Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm*,
equations 2.3 to 2.5. Starts from the shares of votes; every step is an M step, then an E step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from evaluation.statistics.errors import BadOption
from evaluation.statistics.tables import Floats, encode, encode_with, positive, same_length

# A probability of zero would rule a label out for ever on the word of one worker.
_FLOOR = 1e-10


@dataclass(frozen=True, slots=True)
class DawidSkeneResult:
    """What the model says of U units, W workers and L labels.

    posterior: (U, L) probability of each label. winner: (U,) position in `labels` of the most likely
    one, -1 where two are equally likely. prior: (L,) share of each label. confusion: (W, L, L)
    probability that the worker gives the label of the last axis when the middle one is true; a label that
    the model sees nowhere has an even row. log_likelihood belongs to the posterior's parameters.
    `converged` is whether the last step changed no probability by more than `tolerance`.
    """

    units: NDArray[Any]
    workers: NDArray[Any]
    labels: NDArray[Any]
    posterior: Floats
    winner: NDArray[np.int64]
    prior: Floats
    confusion: Floats
    log_likelihood: float
    iterations: int
    converged: bool
    tolerance: float

    def values(self) -> list[Any]:
        """The most likely label of each unit; None where two are equally likely."""
        labels = self.labels.tolist()
        return [labels[place] if place >= 0 else None for place in self.winner.tolist()]


def dawid_skene(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    max_iterations: int = 2000,
    tolerance: float = 1e-10,
) -> DawidSkeneResult:
    """Fit the model to one judgment a row: three (N,) columns.

    `labels` fixes the scale (default: the answers that occur, ascending). EM slows down towards its
    goal, so the default tolerance is small. A worker who judged a unit twice counts twice. Raises
    BadShape, BadValue, BadOption.
    """
    positive(max_iterations, "max_iterations")
    if not tolerance >= 0:
        raise BadOption(f"tolerance is {tolerance}, expected a number from zero on")
    unit_names, unit_codes = encode(units, "units")
    worker_names, worker_codes = encode(workers, "workers")
    if labels is None:
        scale, codes = encode(values, "values")
    else:
        codes = encode_with(values if isinstance(values, np.ndarray) else list(values), labels, "values")
        scale = np.empty(len(labels), dtype=object)
        scale[:] = list(labels)
    same_length(units=unit_codes, workers=worker_codes, values=codes)
    if not len(unit_codes):
        raise BadOption("there are no judgments, expected one or more")
    width = len(scale)
    answers = csr_array(
        (np.ones(len(codes)), (unit_codes, worker_codes * width + codes)),
        shape=(len(unit_names), len(worker_names) * width),
    )
    by_worker = csr_array(answers.T)
    votes = np.bincount(unit_codes * width + codes, minlength=len(unit_names) * width)
    posterior = votes.reshape(-1, width) / votes.reshape(-1, width).sum(axis=1, keepdims=True)

    converged = False
    iterations = 0
    while not converged and iterations < max_iterations:
        iterations += 1
        prior, confusion = _maximise(by_worker, posterior, width)
        updated, log_likelihood = _expect(answers, prior, confusion)
        converged = bool(np.abs(updated - posterior).max() <= tolerance)
        posterior = updated
    best = posterior.max(axis=1, keepdims=True)
    alike = posterior >= best - 1e-9
    winner = np.where(alike.sum(axis=1) > 1, -1, posterior.argmax(axis=1))
    return DawidSkeneResult(
        units=unit_names,
        workers=worker_names,
        labels=scale,
        posterior=posterior,
        winner=winner,
        prior=prior,
        confusion=confusion.transpose(0, 2, 1),
        log_likelihood=log_likelihood,
        iterations=iterations,
        converged=converged,
        tolerance=tolerance,
    )


def _maximise(by_worker: csr_array, posterior: Floats, width: int) -> tuple[Floats, Floats]:
    """Equations 2.3 and 2.4: (L,) priors and (W, given label, true label) error rates."""
    prior = posterior.mean(axis=0)
    counts = np.asarray(by_worker @ posterior).reshape(-1, width, width)
    totals = counts.sum(axis=1, keepdims=True)
    confusion = np.full_like(counts, 1 / width)
    np.divide(counts, totals, out=confusion, where=totals > 0)
    return prior, confusion


def _expect(answers: csr_array, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    """Equation 2.5: (U, L) posteriors, and the log-likelihood of the parameters."""
    width = len(prior)
    log_errors = np.log(np.maximum(confusion, _FLOOR)).reshape(-1, width)
    joint = np.asarray(answers @ log_errors) + np.log(np.maximum(prior, _FLOOR))
    largest = joint.max(axis=1, keepdims=True)
    likelihood = np.exp(joint - largest)
    evidence = likelihood.sum(axis=1, keepdims=True)
    return likelihood / evidence, float((np.log(evidence) + largest).sum())
