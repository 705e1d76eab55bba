"""GLAD: answers weighted by fitted abilities of workers and difficulties of units."""

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
from quorum.statistics.inputs import check_positive_float, check_positive_int

# Mean of the priors of alpha and of log beta; their variance is one.
PRIOR_MEAN = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GladResult(ClimbedModel):
    """The fitted model. `aggregation` documents the fields that are not listed here.

    ability: (W,) alpha; at zero answers are random, below zero they are mostly wrong. difficulty: (U,) 1 / beta.
    accuracy: (W,) mean probability of a right answer over the worker's units. objective: log posterior density up to
    a constant.
    """

    ability: Floats
    difficulty: Floats
    accuracy: Floats


@signed("glad")
def glad(
    units: Iterable[Any],
    workers: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    restarts: int = 5,
    seed: int = 0,
    max_iterations: int = 5000,
    tolerance: float = 1e-5,
) -> GladResult:
    """Fit the model to three (N,) columns.

    An answer is right with probability 1 / (1 + exp(-alpha beta)), with alpha of the worker and beta > 0 of the unit
    (eq. 1). Wrong labels are equally likely (section 3). Alpha and log beta have normal priors of mean and variance
    one, as in the authors' program. L-BFGS maximises the posterior density that the paper's EM maximises. The first of
    `restarts` starts is the mean of the priors, and the others are drawn from them. The highest maximum is returned.

    Source: Whitehill, Ruvolo, Wu, Bergsma, Movellan 2009, *Whose Vote Should Count More: Optimal Integration of Labels
    from Labelers of Unknown Expertise*.
    """
    check_positive_int(restarts, "restarts")
    check_positive_int(max_iterations, "max_iterations")
    check_positive_float(tolerance, "tolerance")
    answers = WorkerAnswers.from_columns(units, workers, values, labels)
    n_units, n_workers, n_labels = answers.shape
    log_wrong_count = np.log(n_labels - 1)

    def objective(point: Floats) -> tuple[float, Floats]:
        alpha, beta = point[:n_workers][answers.worker], np.exp(point[n_workers:])[answers.unit]
        logit = alpha * beta
        # log(p / ((1 - p) / number of wrong labels)), with the probability p of a right answer
        posterior, total = answers.posterior(logit + log_wrong_count)
        log_wrong = scipy.special.log_expit(-logit) - log_wrong_count
        deviation = point - PRIOR_MEAN
        log_posterior = float(
            total.sum() + log_wrong.sum() - n_units * np.log(n_labels) - 0.5 * (deviation * deviation).sum()
        )
        # The probability that the answer is right given all answers, minus that given alpha and beta alone.
        residual = posterior[answers.unit, answers.value] - scipy.special.expit(logit)
        alpha_gradient = np.bincount(answers.worker, weights=residual * beta, minlength=n_workers)
        log_beta_gradient = np.bincount(answers.unit, weights=residual * logit, minlength=n_units)
        return log_posterior, np.concatenate([alpha_gradient, log_beta_gradient]) - deviation

    generator = np.random.default_rng(seed)
    drawn_starts = (generator.normal(PRIOR_MEAN, 1.0, n_workers + n_units) for _ in range(restarts - 1))
    optimum = find_optimum(
        objective,
        [np.full(n_workers + n_units, PRIOR_MEAN), *drawn_starts],
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    judgments = np.bincount(answers.worker, minlength=n_workers)

    def solution_at(point: Floats) -> tuple[Floats, ...]:
        ability, easiness = point[:n_workers], np.exp(point[n_workers:])
        logit = ability[answers.worker] * easiness[answers.unit]
        n_right = np.bincount(answers.worker, weights=scipy.special.expit(logit), minlength=n_workers)
        return answers.posterior(logit + log_wrong_count)[0], n_right / judgments, ability, 1.0 / easiness

    # The first start has equal values. The data do not distinguish values still equal at `early`, a few steps later.
    (posterior, accuracy, ability, difficulty), has_several = average_equal_solutions(
        solution_at(optimum.point), solution_at(optimum.early)
    )
    return GladResult(
        ability=ability,
        difficulty=difficulty,
        accuracy=accuracy,
        **answers.result_fields(posterior, optimum, is_mean=has_several),
    )
