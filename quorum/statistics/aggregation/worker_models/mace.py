"""MACE: a model in which each worker either knows the true label, or guesses from a distribution of their own.

Both objectives of the model, `_SmoothedLikelihood` and `_VariationalBound`, have the same methods. A point is the
vector of parameters that the optimiser changes. `start` returns the first point, `evaluate` the objective and its
gradient, `weights` the arguments of `_expected_counts`, and `means` the competence and the guesses of the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use

from quorum.numeric.arrays import Floats
from quorum.statistics.aggregation.worker_models.answers import (
    ClimbedModel,
    WorkerAnswers,
    average_equal_solutions,
)
from quorum.statistics.aggregation.worker_models.climbing import find_optimum
from quorum.statistics.inference import signed
from quorum.statistics.inputs import check_positive_float, check_positive_int, one_of

TRAININGS = ("variational", "em")

# Parameters of the priors Beta and Dirichlet of variational Bayes, as in the published program.
KNOWING_PRIOR, GUESSING_PRIOR = 0.5, 10.0

# EM adds this number, divided by the number of labels, to each expected count, as the published program does.
SMOOTHING = 0.01

_START_DEVIATION = 1.0  # standard deviation of the logits in a random start


@dataclass(frozen=True, slots=True, kw_only=True)
class MaceResult(ClimbedModel):
    """The fitted model. `aggregation` documents the fields that are not listed here.

    entropy: (U,) entropy of the posterior, in nats. competence: (W,) probability that the worker knows an answer; if
    `training` is "variational", its posterior mean. guesses: (W, L) probability of each label when the worker guesses.
    """

    entropy: Floats
    competence: Floats
    guesses: Floats
    training: str


@signed("mace")
def mace(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    training: str = "variational",
    restarts: int = 10,
    seed: int = 0,
    max_iterations: int = 5000,
    tolerance: float = 1e-5,
) -> MaceResult:
    """Fit the model to three (N,) columns. `training` is "variational" or "em".

    A worker knows the true label with probability theta, and otherwise draws a label from a distribution xi. All
    true labels are equally likely. L-BFGS maximises the objectives of section 3: EM with smoothed counts, or
    variational Bayes with Beta(0.5, 0.5) on theta and Dirichlet(10) on xi. The first of `restarts` starts is near
    the votes, and the others are random. The highest maximum is returned.

    Source: Hovy, Berg-Kirkpatrick, Vaswani, Hovy 2013, *Learning Whom to Trust with MACE*.
    """
    one_of(training, TRAININGS, "training")
    check_positive_int(restarts, "restarts")
    check_positive_int(max_iterations, "max_iterations")
    check_positive_float(tolerance, "tolerance")
    answers = WorkerAnswers.from_columns(units, workers, values, labels)
    objective = _VariationalBound(answers) if training == "variational" else _SmoothedLikelihood(answers)
    _, n_workers, width = answers.shape
    generator = np.random.default_rng(seed)
    drawn_starts = (
        generator.normal(0.0, _START_DEVIATION, n_workers * (width + 1)) for _ in range(restarts - 1)
    )
    optimum = find_optimum(
        objective.evaluate,
        [objective.start(logits) for logits in (np.zeros(n_workers * (width + 1)), *drawn_starts)],
        max_iterations=max_iterations,
        tolerance=tolerance,
    )

    def solution_at(point: Floats) -> tuple[Floats, ...]:
        return _expected_counts(answers, *objective.weights(point))[0], *objective.means(point)

    # The first start treats all labels and all workers alike. If the probabilities of some are still equal a few steps
    # later, the answers do not distinguish these, and exchanging them gives another solution that is as good. If they
    # nevertheless differ at the optimum, return the mean over all such solutions.
    (posterior, competence, guesses), has_several = average_equal_solutions(
        solution_at(optimum.point), solution_at(optimum.early)
    )
    return MaceResult(
        entropy=scipy.special.entr(posterior).sum(axis=1),
        competence=competence,
        guesses=guesses,
        training=training,
        **answers.result_fields(posterior, optimum, is_mean=has_several),
    )


def _expected_counts(
    answers: WorkerAnswers, log_knowing: Floats, log_guesses: Floats
) -> tuple[Floats, float, Floats, Floats]:
    """Return the posterior, the log-likelihood, and expected numbers of known (W,) and of guessed (W, L) answers.

    `log_knowing` (W,) has the log probabilities that the worker knows, and `log_guesses` (W, L) those that the worker
    guesses and then gives the label. In variational Bayes, they are expected logarithms.
    """
    units, workers, width = answers.shape
    answer_cells = answers.worker, answers.value
    log_odds = (log_knowing[:, np.newaxis] - log_guesses)[answer_cells]
    # If an answer is the true label, it was known or guessed, else it was guessed. So the ratio of its probabilities
    # is 1 + exp(log_odds). `total` lacks the probabilities of guesses, and 1 / L for each true label.
    posterior, total = answers.posterior(-scipy.special.log_expit(-log_odds))
    known_probability = posterior[answers.unit, answers.value] * scipy.special.expit(log_odds)
    objective = float(total.sum() + log_guesses[answer_cells].sum() - units * np.log(width))
    known_counts = np.bincount(answers.worker, known_probability, workers).astype(np.float64)
    return posterior, objective, known_counts, answers.sum_by_worker(1.0 - known_probability)


class _SmoothedLikelihood:
    """The likelihood with smoothed counts. A point has a logit of theta for each worker, then (W, L) logits of xi."""

    def __init__(self, answers: WorkerAnswers) -> None:
        self.answers = answers
        _, self.workers, self.width = answers.shape
        self.smoothing = SMOOTHING / self.width

    def start(self, logits: Floats) -> Floats:
        return logits

    def _split_point(self, point: Floats) -> tuple[Floats, Floats]:
        return point[: self.workers], point[self.workers :].reshape(self.workers, self.width)

    def weights(self, point: Floats) -> tuple[Floats, Floats]:
        theta, xi = self._split_point(point)
        log_guessing, log_guesses = scipy.special.log_expit(-theta), scipy.special.log_softmax(xi, axis=1)
        return scipy.special.log_expit(theta), log_guessing[:, np.newaxis] + log_guesses

    def means(self, point: Floats) -> tuple[Floats, Floats]:
        theta, xi = self._split_point(point)
        return scipy.special.expit(theta), scipy.special.softmax(xi, axis=1)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        theta, xi = self._split_point(point)
        log_guesses = scipy.special.log_softmax(xi, axis=1)
        _, objective, known_counts, guessed_counts = _expected_counts(self.answers, *self.weights(point))
        # Add the smoothing to the number of known answers, to that of guesses, and to that of each guessed label: in
        # the objective times their log probabilities, then in the gradient.
        objective += self.smoothing * float(
            scipy.special.log_expit(theta).sum() + scipy.special.log_expit(-theta).sum() + log_guesses.sum()
        )
        known_counts = known_counts + self.smoothing
        guessed_totals = guessed_counts.sum(axis=1) + self.smoothing
        guessed_counts = guessed_counts + self.smoothing
        theta_gradient = known_counts - (known_counts + guessed_totals) * scipy.special.expit(theta)
        xi_gradient = guessed_counts - guessed_counts.sum(axis=1, keepdims=True) * np.exp(log_guesses)
        return objective, np.concatenate([theta_gradient, xi_gradient.ravel()])


class _VariationalBound:
    """The variational lower bound of the likelihood.

    A point has the logarithms of the (W, 2) parameters of Beta, then those of the (W, L) parameters of Dirichlet.
    """

    def __init__(self, answers: WorkerAnswers) -> None:
        self.answers = answers
        _, self.workers, self.width = answers.shape
        self.judgment_counts = np.bincount(answers.worker, minlength=self.workers)[:, np.newaxis]

    def start(self, logits: Floats) -> Floats:
        knowing_share = scipy.special.expit(logits[: self.workers])[:, np.newaxis]
        guess_shares = scipy.special.softmax(logits[self.workers :].reshape(self.workers, self.width), axis=1)
        beta = KNOWING_PRIOR + self.judgment_counts * np.hstack([knowing_share, 1 - knowing_share])
        dirichlet = GUESSING_PRIOR + self.judgment_counts * (1 - knowing_share) * guess_shares
        return np.log(np.concatenate([beta.ravel(), dirichlet.ravel()]))

    def _split_point(self, point: Floats) -> tuple[Floats, Floats]:
        parameters = np.exp(point)
        beta_size = 2 * self.workers
        return parameters[:beta_size].reshape(-1, 2), parameters[beta_size:].reshape(self.workers, self.width)

    def weights(self, point: Floats) -> tuple[Floats, Floats]:
        beta, dirichlet = (_mean_logs(parameters) for parameters in self._split_point(point))
        return beta[:, 0], beta[:, 1:] + dirichlet

    def means(self, point: Floats) -> tuple[Floats, Floats]:
        beta, dirichlet = self._split_point(point)
        return beta[:, 0] / beta.sum(axis=1), dirichlet / dirichlet.sum(axis=1, keepdims=True)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        beta, dirichlet = self._split_point(point)
        _, objective, known_counts, guessed_counts = _expected_counts(self.answers, *self.weights(point))
        counts = np.stack([known_counts, guessed_counts.sum(axis=1)], axis=1)
        gradients = []
        priors = (beta, KNOWING_PRIOR, counts), (dirichlet, GUESSING_PRIOR, guessed_counts)
        for parameters, prior, count in priors:
            objective -= _divergence(parameters, prior)
            # The gradient is Fisher's information times the difference from the parameters that would be best.
            surplus = prior + count - parameters
            total, total_surplus = (table.sum(axis=1, keepdims=True) for table in (parameters, surplus))
            slope = scipy.special.polygamma(1, parameters) * surplus
            slope -= scipy.special.polygamma(1, total) * total_surplus
            gradients.append((parameters * slope).ravel())  # by the logarithms of the parameters
        return objective, np.concatenate(gradients)


def _mean_logs(dirichlet: Floats) -> Floats:
    """Return the expected log probabilities under Dirichlet distributions, one in each row of parameters."""
    return scipy.special.digamma(dirichlet) - scipy.special.digamma(dirichlet.sum(axis=1, keepdims=True))


def _divergence(parameters: Floats, prior: float) -> float:
    """Return the sum over rows of the Kullback-Leibler divergence of a Dirichlet distribution from a symmetric one."""
    width = parameters.shape[1]
    constants = scipy.special.gammaln(parameters.sum(axis=1)) - scipy.special.gammaln(parameters).sum(axis=1)
    constants -= scipy.special.gammaln(prior * width) - width * scipy.special.gammaln(prior)
    return float(constants.sum() + ((parameters - prior) * _mean_logs(parameters)).sum())
