"""MACE: each worker either knows the answer, or guesses from a distribution of their own."""

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

# Parameters of Beta and Dirichlet, and the number that EM adds to counts, per label, as in the published program.
KNOWING, GUESSING = 0.5, 10.0
SMOOTHING = 0.01

# Standard deviation of the logits in a random start.
_START_DEVIATION = 1.0


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
    objective = _Variational(answers) if training == "variational" else _Smoothed(answers)
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

    def figures(point: Floats) -> tuple[Floats, ...]:
        return _expected_counts(answers, *objective.weights(point))[0], *objective.means(point)

    (posterior, competence, guesses), several = average_equal_solutions(
        figures(optimum.point), figures(optimum.early)
    )
    return MaceResult(
        entropy=scipy.special.entr(posterior).sum(axis=1),
        competence=competence,
        guesses=guesses,
        training=training,
        **answers.result_fields(posterior, optimum, several=several),
    )


def _expected_counts(
    answers: WorkerAnswers, knows: Floats, guesses: Floats
) -> tuple[Floats, float, Floats, Floats]:
    """Return the posterior, the log-likelihood, and expected numbers of known (W,) and of guessed (W, L) answers.

    `knows` (W,) and `guesses` (W, L) are logarithms of weights.
    """
    units, workers, width = answers.shape
    by_answer = answers.worker, answers.value
    lead = (knows[:, np.newaxis] - guesses)[by_answer]
    posterior, total = answers.posterior(-scipy.special.log_expit(-lead))
    known = posterior[answers.unit, answers.value] * scipy.special.expit(lead)
    objective = float(total.sum() + guesses[by_answer].sum() - units * np.log(width))
    knew = np.asarray(np.bincount(answers.worker, weights=known, minlength=workers), dtype=np.float64)
    return posterior, objective, knew, answers.by_worker(1.0 - known)


class _Smoothed:
    def __init__(self, answers: WorkerAnswers) -> None:
        self.answers = answers
        _, self.workers, self.width = answers.shape
        self.added = SMOOTHING / self.width

    def start(self, logits: Floats) -> Floats:
        return logits

    def _split_point(self, point: Floats) -> tuple[Floats, Floats]:
        return point[: self.workers], point[self.workers :].reshape(self.workers, self.width)

    def weights(self, point: Floats) -> tuple[Floats, Floats]:
        theta, xi = self._split_point(point)
        guessed = scipy.special.log_expit(-theta)[:, np.newaxis] + scipy.special.log_softmax(xi, axis=1)
        return scipy.special.log_expit(theta), guessed

    def means(self, point: Floats) -> tuple[Floats, Floats]:
        theta, xi = self._split_point(point)
        return scipy.special.expit(theta), scipy.special.softmax(xi, axis=1)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        theta, xi = self._split_point(point)
        logs = scipy.special.log_softmax(xi, axis=1)
        _, objective, knew, guessed = _expected_counts(self.answers, *self.weights(point))
        objective += self.added * float(
            scipy.special.log_expit(theta).sum() + scipy.special.log_expit(-theta).sum() + logs.sum()
        )
        knew, guessed_all = knew + self.added, guessed.sum(axis=1) + self.added
        guessed = guessed + self.added
        of_theta = knew - (knew + guessed_all) * scipy.special.expit(theta)
        of_xi = guessed - guessed.sum(axis=1, keepdims=True) * np.exp(logs)
        return objective, np.concatenate([of_theta, of_xi.ravel()])


class _Variational:
    def __init__(self, answers: WorkerAnswers) -> None:
        self.answers = answers
        _, self.workers, self.width = answers.shape
        self.judged = np.bincount(answers.worker, minlength=self.workers)[:, np.newaxis]

    def start(self, logits: Floats) -> Floats:
        share = scipy.special.expit(logits[: self.workers])[:, np.newaxis]
        habit = scipy.special.softmax(logits[self.workers :].reshape(self.workers, self.width), axis=1)
        beta = KNOWING + self.judged * np.hstack([share, 1 - share])
        dirichlet = GUESSING + self.judged * (1 - share) * habit
        return np.log(np.concatenate([beta.ravel(), dirichlet.ravel()]))

    def _split_point(self, point: Floats) -> tuple[Floats, Floats]:
        both = np.exp(point)
        cut = 2 * self.workers
        return both[:cut].reshape(-1, 2), both[cut:].reshape(self.workers, self.width)

    def weights(self, point: Floats) -> tuple[Floats, Floats]:
        beta, dirichlet = (_mean_logs(parameters) for parameters in self._split_point(point))
        return beta[:, 0], beta[:, 1:] + dirichlet

    def means(self, point: Floats) -> tuple[Floats, Floats]:
        beta, dirichlet = self._split_point(point)
        return beta[:, 0] / beta.sum(axis=1), dirichlet / dirichlet.sum(axis=1, keepdims=True)

    def evaluate(self, point: Floats) -> tuple[float, Floats]:
        beta, dirichlet = self._split_point(point)
        _, objective, knew, guessed = _expected_counts(self.answers, *self.weights(point))
        counts = np.stack([knew, guessed.sum(axis=1)], axis=1)
        parts = []
        for parameters, prior, count in ((beta, KNOWING, counts), (dirichlet, GUESSING, guessed)):
            objective -= _divergence(parameters, prior)
            miss = prior + count - parameters
            fisher = scipy.special.polygamma(1, parameters) * miss
            fisher -= scipy.special.polygamma(1, parameters.sum(axis=1, keepdims=True)) * miss.sum(
                axis=1, keepdims=True
            )
            parts.append((parameters * fisher).ravel())
        return objective, np.concatenate(parts)


def _mean_logs(dirichlet: Floats) -> Floats:
    return scipy.special.digamma(dirichlet) - scipy.special.digamma(dirichlet.sum(axis=1, keepdims=True))


def _divergence(parameters: Floats, prior: float) -> float:
    width = parameters.shape[1]
    constants = scipy.special.gammaln(parameters.sum(axis=1)) - scipy.special.gammaln(parameters).sum(axis=1)
    constants -= scipy.special.gammaln(prior * width) - width * scipy.special.gammaln(prior)
    return float(constants.sum() + ((parameters - prior) * _mean_logs(parameters)).sum())
