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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from quorum.numeric.arrays import Floats, Ints, ratio
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

_STEPS_BEFORE_EXTRAPOLATION = 50

# An extrapolation reduces a probability at most to this share of its value, because a probability of zero could never
# rise again.
_MIN_PROBABILITY_RATIO = 0.1

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
    """Fit the model to three (N,) columns with one judgment in each row.

    The fit is a local maximum of the likelihood, which is found from the shares of votes. `model` is "full" (a
    confusion table for each worker) or "one-coin". `smoothing` is added to every cell of a worker's table of answers by
    true label; for "one-coin", to the right answers and to each wrong label.
    """
    one_of(model, MODELS, "model")
    check_positive_int(max_iterations, "max_iterations")
    check_non_negative(tolerance, "tolerance")
    check_non_negative(smoothing, "smoothing")
    answers = _Answers.from_columns(units, workers, values, labels)
    fit = _Fit(answers, model, smoothing)
    fit.climb(max_iterations, tolerance)
    solution, has_several = fit.solution(), False
    # Only rounding errors can tell apart labels or workers that were equal early, so take the mean over such ones.
    if fit.early_solution is not None:
        (posterior, accuracy, confusion, prior), has_several = average_equal_solutions(
            solution, fit.early_solution
        )
        solution = _Solution(posterior, accuracy, confusion, prior)
    note = note_of(len(answers.workers), int(np.diff(answers.starts).max()))  # if accuracy is unknown
    return DawidSkeneResult(
        units=answers.units,
        workers=answers.workers,
        labels=answers.labels,
        posterior=solution.posterior,
        winner=winners(solution.posterior),
        prior=solution.prior,
        confusion=solution.confusion,
        log_likelihood=fit.log_likelihood,
        iterations=fit.iterations,
        converged=fit.converged,
        tolerance=float(tolerance),
        model=model,
        smoothing=float(smoothing),
        accuracy=solution.accuracy,
        judgments=answers.judgments,
        change=fit.change,
        note="; ".join(filter(None, [note, SEVERAL_SOLUTIONS if has_several else ""])),
    )


@dataclass(frozen=True, slots=True)
class _Answers:
    """Judgments sorted by unit.

    units, workers, labels: names, ascending. starts: (U + 1,) bounds of the units in `sorted_answers` (N,), which has a
    code of the worker and the label of each judgment (`sort_answers`). judgments: (W,) numbers of judgments.
    """

    units: NDArray[Any]
    workers: NDArray[Any]
    labels: NDArray[Any]
    starts: Ints
    sorted_answers: Ints
    judgments: Ints

    @classmethod
    def from_columns(
        cls, units: Iterable[Any], workers: Iterable[Any], values: Iterable[Any], labels: Sequence[Any] | None
    ) -> _Answers:
        from quorum.statistics.kernels.expectation import sort_answers

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
        sorted_answers = np.empty(len(codes), dtype=np.int64)
        sort_answers(unit_codes, worker_codes, codes, width, starts, sorted_answers)
        judgments = np.bincount(worker_codes, minlength=len(worker_names))
        return cls(unit_names, worker_names, scale, starts, sorted_answers, judgments)


class _Solution(NamedTuple):
    """What the model says: the fields of `DawidSkeneResult` with these names."""

    posterior: Floats
    accuracy: Floats
    confusion: Floats
    prior: Floats


class _Fit:
    """The state of the EM algorithm.

    posterior: (U, L) probabilities of true labels. prior_sums: (L,) sums of the posterior over units. error_counts:
    (W * L, L) expected numbers of answers of each worker, by given and by true label. path: the parameters of the last
    EM steps, at most four. changes: the largest changes of the posterior in the steps since the last extrapolation, at
    most three. early_solution: the solution after EARLY_STEPS steps, or None before that.
    """

    def __init__(self, answers: _Answers, model: str, smoothing: float) -> None:
        from quorum.statistics.kernels.expectation import share_votes

        self.answers, self.model, self.smoothing = answers, model, smoothing
        self.width = len(answers.labels)
        self.posterior = np.zeros((len(answers.units), self.width))
        self.prior_sums = np.zeros(self.width)
        self.error_counts = np.zeros((len(answers.workers) * self.width, self.width))
        # Fill the three arrays from the shares of votes, with which EM starts.
        share_votes(
            answers.starts, answers.sorted_answers, self.posterior, self.prior_sums, self.error_counts
        )
        self.path: list[_Parameters] = []
        self.changes: list[float] = []
        self.iterations = 0
        self.converged = False
        self.change, self.log_likelihood = math.inf, math.nan
        self.early_solution: _Solution | None = None

    def climb(self, max_iterations: int, tolerance: float) -> None:
        """Take EM steps and extrapolations, until the fit has converged or has used up the iterations."""
        seems_converged = False
        while not self.converged and self.iterations < max_iterations:
            self.path = [*self.path[-3:], self.maximise()]
            # An extrapolation takes one iteration, and a second one to return if the likelihood falls.
            may_extrapolate = _STEPS_BEFORE_EXTRAPOLATION <= self.iterations < max_iterations - 2
            if len(self.path) == 4 and not seems_converged and may_extrapolate:
                self.extrapolate()
                continue
            self.change = self.expect(self.path[-1])
            if self.iterations == EARLY_STEPS:  # copy the posterior, which later steps overwrite
                self.early_solution = self.solution()._replace(posterior=self.posterior.copy())
            self.changes = [*self.changes[-2:], self.change]
            seems_converged = _has_converged(self.changes, tolerance)
            self.converged = self.change <= _ROUNDING or (seems_converged and _is_steady(self.changes))

    def maximise(self) -> _Parameters:
        """Return the parameters that maximise the likelihood of the expected counts (the M step)."""
        errors = _maximise_errors(
            self.error_counts.reshape(-1, self.width, self.width), self.model, self.smoothing
        )
        return _Parameters(self.prior_sums / len(self.answers.units), errors)

    def expect(self, parameters: _Parameters) -> float:
        """Fill the posterior and the expected counts (the E step), and return the posterior's largest change."""
        from quorum.statistics.kernels.expectation import expect

        self.iterations += 1
        self.prior_sums.fill(0.0)
        self.error_counts.fill(0.0)
        log_prior = np.log(np.maximum(parameters.prior, _MIN_PROBABILITY))
        log_errors = np.log(np.maximum(parameters.errors, _MIN_PROBABILITY))
        change, self.log_likelihood = expect(
            self.answers.starts,
            self.answers.sorted_answers,
            log_prior,
            log_errors.reshape(-1, self.width),
            self.posterior,
            self.prior_sums,
            self.error_counts,
        )
        return change

    def extrapolate(self) -> None:
        """Extrapolate from the last three parameters in `path`. Return to the last ones if the likelihood falls."""
        # The log-likelihood is still that of path[2], because path[3] has not been evaluated.
        value_before = self.log_likelihood + _log_smoothing(self.path[2], self.model, self.smoothing)
        new_parameters = _extrapolate(*self.path[1:])
        self.changes = []
        self.expect(new_parameters)
        value_after = self.log_likelihood + _log_smoothing(new_parameters, self.model, self.smoothing)
        if value_after >= value_before - _LIKELIHOOD_TOLERANCE * abs(value_before):
            self.path = [new_parameters]
        else:
            self.path = self.path[3:]
            self.expect(self.path[0])

    def solution(self) -> _Solution:
        prior, errors = self.path[-1].prior, self.path[-1].errors
        confusion = errors.transpose(0, 2, 1)
        accuracy = np.diagonal(confusion, axis1=1, axis2=2) @ prior
        return _Solution(self.posterior, accuracy, confusion, prior)


@dataclass(frozen=True, slots=True)
class _Parameters:
    """Parameters of the model.

    prior: (L,) shares of true labels. errors: (W, given label, true label) probability of the given label.
    """

    prior: Floats
    errors: Floats


def _extrapolate(first: _Parameters, second: _Parameters, third: _Parameters) -> _Parameters:
    """Return parameters extrapolated from three successive ones (Varadhan, Roland 2008, eq. 8)."""
    prior_step, errors_step = second.prior - first.prior, second.errors - first.errors
    # A step is a first difference, and a bend a second difference.
    prior_bend = third.prior - second.prior - prior_step
    errors_bend = third.errors - second.errors - errors_step
    step_length = math.sqrt(float((prior_step**2).sum()) + float((errors_step**2).sum()))
    bend_length = math.sqrt(float((prior_bend**2).sum()) + float((errors_bend**2).sum()))
    # The factor is -alpha of the equation. With 1, the result is the third parameters, so go at least as far. If both
    # steps have the same direction and length, the equation gives no factor.
    factor = max(step_length / bend_length, 1.0) if bend_length > 0 else 1.0
    prior = first.prior + 2 * factor * prior_step + factor**2 * prior_bend
    errors = first.errors + 2 * factor * errors_step + factor**2 * errors_bend
    prior = np.maximum(prior, _MIN_PROBABILITY_RATIO * third.prior)
    errors = np.maximum(errors, _MIN_PROBABILITY_RATIO * third.errors)
    return _Parameters(prior / prior.sum(), errors / errors.sum(axis=1, keepdims=True))


def _log_smoothing(parameters: _Parameters, model: str, smoothing: float) -> float:
    """Return the log density of the distribution of `errors` to which the smoothing amounts, up to a constant."""
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
        smoothed_counts = counts + smoothing
        totals = smoothed_counts.sum(axis=1, keepdims=True)
        return ratio(smoothed_counts, totals, otherwise=1 / width)
    total = counts.sum(axis=(1, 2)) + smoothing * width
    p_right = (np.trace(counts, axis1=1, axis2=2) + smoothing) / total
    # With a single label there is no wrong label, so do not divide by zero.
    p_wrong = (1 - p_right) / max(width - 1, 1)
    is_right = np.eye(width)
    return p_right[:, np.newaxis, np.newaxis] * is_right + p_wrong[:, np.newaxis, np.newaxis] * (1 - is_right)


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
    """Return whether the last three changes shrink at a steady rate, or faster and faster."""
    if len(changes) < 3:
        return False
    first, second, third = changes
    return third / second - second / first <= _RATIO_TOLERANCE * (1 - third / second)
