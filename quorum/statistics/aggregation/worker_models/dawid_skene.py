"""Dawid-Skene's model: true labels and each worker's errors, by expectation maximisation.

Source: Dawid, Skene 1979, *Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm*, eq. 2.3 to
2.5. In the one-coin variant a worker has a single accuracy, and wrong labels are equally likely (Zhang, Chen, Zhou,
Jordan 2016). Extrapolation from successive EM steps accelerates the algorithm (Varadhan, Roland 2008, scheme SqS3). It
is used only if the likelihood rises.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quorum.numeric.arrays import Floats, ratio
from quorum.statistics.aggregation.aggregated_labels import WorkerModel
from quorum.statistics.aggregation.worker_models.answers import (
    SEVERAL_SOLUTIONS,
    average_equal_solutions,
    note_of,
    winners,
)
from quorum.statistics.aggregation.worker_models.climbing import EARLY_STEPS
from quorum.statistics.inference import signed
from quorum.statistics.inputs import (
    BadOption,
    check_cells,
    check_non_negative,
    check_positive_int,
    encode,
    encode_on_scale,
    one_of,
    same_length,
)

MODELS = ("full", "one-coin")

# Smaller probabilities are replaced by this before their logarithm is taken. It is too small to change a posterior.
_MIN_PROBABILITY = 1e-300

# Number of EM steps before the first extrapolation.
_STEPS_BEFORE_EXTRAPOLATION = 50

# An extrapolation reduces a probability at most to this share of its value, because a probability of zero could never
# rise again.
_MIN_PRIOR_RATIO = 0.1

# Smaller changes of probabilities are rounding errors.
_ROUNDING = 8 * float(np.finfo(np.float64).eps)

# A change by a smaller share of the log-likelihood is a rounding error, which matters near the maximum.
_LIKELIHOOD_TOLERANCE = 1e-12

# Steps shrink at a steady rate r if 1 - r changes by at most this share from step to step.
_RATIO_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class DawidSkeneResult(WorkerModel):
    """The fitted model. `aggregation` documents the fields that are not listed here.

    prior: (L,) shares of the true labels. confusion: (W, L, L) probability of the given label (last axis) by true
    label; uniform for a true label that never occurs. accuracy: (W,) probability of a right answer, if labels have
    the shares `prior`. change: largest change of a probability in the last step. The fit has converged if neither
    `change` nor the expected sum of further changes exceeds `tolerance`.
    """

    prior: Floats
    confusion: Floats
    log_likelihood: float
    tolerance: float
    model: str
    smoothing: float
    accuracy: Floats
    change: float


@signed("dawid-skene")
def dawid_skene(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    model: str = "full",
    smoothing: float = 0.0,
    max_iterations: int = 2000,
    tolerance: float = 1e-10,
) -> DawidSkeneResult:
    """Fit the model to three (N,) columns, by finding a local maximum of the likelihood from the shares of votes.

    `model` is "full" (a confusion table for each worker) or "one-coin". `smoothing` is added to every cell of a
    worker's table of answers by true label; for "one-coin", to the right answers and to each wrong label.
    """
    from quorum.statistics.kernels.expectation import expect, share_votes, sort_answers

    one_of(model, MODELS, "model")
    check_positive_int(max_iterations, "max_iterations")
    check_non_negative(tolerance, "tolerance")
    check_non_negative(smoothing, "smoothing")
    unit_names, unit_codes = encode(units, "units")
    worker_names, worker_codes = encode(workers, "workers")
    scale, codes = encode_on_scale(values, labels)
    same_length(units=unit_codes, workers=worker_codes, values=codes)
    if not len(unit_codes):
        raise BadOption("there are no judgments, expected one or more")
    width = len(scale)
    check_cells(len(unit_names), "units", width, len(unit_names) * width)
    check_cells(len(worker_names), "workers", width, len(worker_names) * width**2)

    starts = np.zeros(len(unit_names) + 1, dtype=np.int64)
    answers = np.empty(len(codes), dtype=np.int64)
    sort_answers(unit_codes, worker_codes, codes, width, starts, answers)
    judgments = np.bincount(worker_codes, minlength=len(worker_names))
    del unit_codes, worker_codes, codes  # free their memory: they are as large as all that follows
    posterior = np.zeros((len(unit_names), width))
    prior, counts = np.zeros(width), np.zeros((len(worker_names) * width, width))
    share_votes(starts, answers, posterior, prior, counts)

    def maximise_parameters() -> _Parameters:
        errors = _maximise_errors(counts.reshape(-1, width, width), model, smoothing)
        return _Parameters(prior / len(unit_names), errors)

    def update_expectations(parameters: _Parameters) -> tuple[float, float]:
        """Fill `posterior`, `prior` and `counts`; return the posterior's largest change, and the log-likelihood."""
        prior.fill(0.0)
        counts.fill(0.0)
        tables = parameters.prior, parameters.errors
        log_prior, log_errors = (np.log(np.maximum(table, _MIN_PROBABILITY)) for table in tables)
        return expect(starts, answers, log_prior, log_errors.reshape(-1, width), posterior, prior, counts)

    converged = False
    iterations = 0
    change, log_likelihood = math.inf, math.nan
    # The parameters of the last EM steps, at most four, and the changes of at most three steps since the last
    # extrapolation.
    path: list[_Parameters] = []
    changes: list[float] = []
    seems_converged = False
    early_solution: tuple[Floats, ...] = ()

    def solution() -> tuple[Floats, ...]:
        shares, errors = path[-1].prior, path[-1].errors
        confusion = errors.transpose(0, 2, 1)
        return posterior, np.diagonal(confusion, axis1=1, axis2=2) @ shares, confusion, shares

    while not converged and iterations < max_iterations:
        path = [*path[-3:], maximise_parameters()]
        # An extrapolation takes one iteration, and a second one to return if the likelihood falls.
        if (
            len(path) == 4
            and not seems_converged
            and _STEPS_BEFORE_EXTRAPOLATION <= iterations < max_iterations - 2
        ):
            # The log-likelihood is still that of path[2], because path[3] has not been evaluated.
            value_before = log_likelihood + _log_prior(path[2], model, smoothing)
            extrapolated = _extrapolate(*path[1:])
            iterations += 1
            _, log_likelihood = update_expectations(extrapolated)
            changes = []
            value_after = log_likelihood + _log_prior(extrapolated, model, smoothing)
            if value_after >= value_before - _LIKELIHOOD_TOLERANCE * abs(value_before):
                path = [extrapolated]
            else:
                path = path[3:]
                iterations += 1
                _, log_likelihood = update_expectations(path[0])
            continue
        iterations += 1
        change, log_likelihood = update_expectations(path[-1])
        if iterations == EARLY_STEPS:
            early_solution = (posterior.copy(), *solution()[1:])
        changes = [*changes[-2:], change]
        seems_converged = _has_converged(changes, tolerance)
        converged = change <= _ROUNDING or (seems_converged and _is_steady(changes))
    (posterior, accuracy, confusion, shares), has_several = (
        average_equal_solutions(solution(), early_solution) if early_solution else (solution(), False)
    )
    note = note_of(len(worker_names), int(np.diff(starts).max()))
    return DawidSkeneResult(
        units=unit_names,
        workers=worker_names,
        labels=scale,
        posterior=posterior,
        winner=winners(posterior),
        prior=shares,
        confusion=confusion,
        log_likelihood=log_likelihood,
        iterations=iterations,
        converged=converged,
        tolerance=float(tolerance),
        model=model,
        smoothing=float(smoothing),
        accuracy=accuracy,
        judgments=judgments,
        change=change,
        note="; ".join(filter(None, [note, SEVERAL_SOLUTIONS if has_several else ""])),
    )


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Parameters of the model: `prior` (L,), and `errors` (W, given label, true label)."""

    prior: Floats
    errors: Floats


def _extrapolate(first: _Parameters, second: _Parameters, third: _Parameters) -> _Parameters:
    """Return parameters extrapolated from three successive ones (Varadhan, Roland 2008, eq. 8)."""
    prior_step, errors_step = second.prior - first.prior, second.errors - first.errors
    prior_bend = third.prior - second.prior - prior_step
    errors_bend = third.errors - second.errors - errors_step
    step_length = math.sqrt(float((prior_step**2).sum()) + float((errors_step**2).sum()))
    bend_length = math.sqrt(float((prior_bend**2).sum()) + float((errors_bend**2).sum()))
    # Go at least as far as the two steps. If they have the same direction and length, the equation gives no distance.
    factor = max(step_length / bend_length, 1.0) if bend_length > 0 else 1.0
    prior = first.prior + 2 * factor * prior_step + factor**2 * prior_bend
    errors = first.errors + 2 * factor * errors_step + factor**2 * errors_bend
    prior = np.maximum(prior, _MIN_PRIOR_RATIO * third.prior)
    errors = np.maximum(errors, _MIN_PRIOR_RATIO * third.errors)
    return _Parameters(prior / prior.sum(), errors / errors.sum(axis=1, keepdims=True))


def _log_prior(parameters: _Parameters, model: str, smoothing: float) -> float:
    """Return the log density of the prior that corresponds to the smoothing, up to a constant."""
    if not smoothing:
        return 0.0
    # A worker's one-coin table has the right probability in L cells, and the wrong one in L (L - 1) cells.
    added_count = smoothing if model == "full" else smoothing / len(parameters.prior)
    return added_count * float(np.log(np.maximum(parameters.errors, _MIN_PROBABILITY)).sum())


def _maximise_errors(counts: Floats, model: str, smoothing: float) -> Floats:
    """Return the (W, given label, true label) error rates that maximise the likelihood of expected counts."""
    width = counts.shape[-1]
    if model == "full":
        # Equation 2.3. A label that is never true says nothing about the worker.
        smoothed = counts + smoothing
        totals = smoothed.sum(axis=1, keepdims=True)
        return ratio(smoothed, totals, otherwise=1 / width)
    total = counts.sum(axis=(1, 2)) + smoothing * width
    right = (np.trace(counts, axis1=1, axis2=2) + smoothing) / total
    # With a single label there is no wrong label, so do not divide by zero.
    wrong = (1 - right) / max(width - 1, 1)
    same = np.eye(width)
    return right[:, np.newaxis, np.newaxis] * same + wrong[:, np.newaxis, np.newaxis] * (1 - same)


def _has_converged(changes: list[float], tolerance: float) -> bool:
    """Return whether neither the last change nor the expected sum of further changes exceeds the tolerance.

    Near the maximum, EM's steps shrink like a geometric series of ratio r = change / previous, so that further changes
    sum to change r / (1 - r). If the steps grow, EM is leaving a saddle.
    """
    if len(changes) < 2:
        return False
    *_, previous, change = changes
    return change <= tolerance and change < previous and change * change <= tolerance * (previous - change)


def _is_steady(changes: list[float]) -> bool:
    """Return whether the last three changes shrink at a steady rate."""
    if len(changes) < 3:
        return False
    first, second, third = changes
    return third / second - second / first <= _RATIO_TOLERANCE * (1 - third / second)
