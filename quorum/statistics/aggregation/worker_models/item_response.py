"""The two-parameter logistic model of item response theory.

A person of ability theta answers an item correctly with probability 1 / (1 + exp(-a (theta - b))), where a > 0 is the
item's discrimination and b its difficulty (Birnbaum 1968, in Lord, Novick, *Statistical Theories of Mental Test
Scores*). The fit is by marginal maximum likelihood (Bock, Aitkin 1981): abilities are standard normal and integrated
out. Weak priors follow Mislevy 1986.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its submodules load at first use
from numpy.typing import ArrayLike, NDArray

from quorum.numeric.arrays import Floats, Ints
from quorum.statistics.aggregation.worker_models.climbing import find_optimum
from quorum.statistics.inference import Result, signed
from quorum.statistics.inputs import (
    BadOption,
    check_positive_float,
    check_positive_int,
    encode,
    finite_column,
    finite_vector,
    one_of,
    refuse_values,
    same_length,
)

PRIORS = ("weak", "none")

# Standard deviations of the weak normal priors of log a and of the intercept -a b.
SLOPE_DEVIATION, INTERCEPT_DEVIATION = 0.5, 2.0

# Abilities at which the integrand is evaluated; equal steps are accurate for so smooth a function.
_NODES = np.linspace(-6.0, 6.0, 61)
# Logarithms of the standard normal density at the nodes, scaled so that the weights sum to 1.
_LOG_WEIGHTS = -0.5 * _NODES**2 - np.logaddexp.reduce(-0.5 * _NODES**2)


@dataclass(frozen=True, slots=True)
class ResponseResult(Result):
    """The fitted model for K items and P persons.

    discrimination, difficulty: (K,). ability, deviation: (P,) posterior mean and standard deviation of a person's
    ability. objective: log posterior up to a constant. gradient: its largest absolute partial derivative. answers: (P,)
    number of answers. note: says how many items were answered correctly by all persons, or by none.
    """

    items: NDArray[Any]
    persons: NDArray[Any]
    discrimination: Floats
    difficulty: Floats
    ability: Floats
    deviation: Floats
    log_likelihood: float
    objective: float
    gradient: float
    iterations: int
    converged: bool
    answers: Ints

    def information(self, abilities: ArrayLike) -> Floats:
        """Return the items' (K, T) Fisher information at (T,) abilities, a^2 p (1 - p)."""
        theta = finite_vector(abilities, "abilities")
        chance = scipy.special.expit(
            self.discrimination[:, np.newaxis] * (theta - self.difficulty[:, np.newaxis])
        )
        return self.discrimination[:, np.newaxis] ** 2 * chance * (1 - chance)


@signed("item-response")
def item_response(
    items: Iterable[Any],
    persons: Iterable[Any],
    right: Iterable[Any],
    *,
    prior: str = "weak",
    max_iterations: int = 5000,
    tolerance: float = 1e-5,
) -> ResponseResult:
    """Fit the model to three (N,) columns, of which `right` holds 0 and 1.

    `prior` is "weak" or "none". "weak" is for small data: log a and -a b are normal around 0 with standard deviations
    0.5 and 2. "none" is maximum likelihood.
    """
    one_of(prior, PRIORS, "prior")
    check_positive_int(max_iterations, "max_iterations")
    check_positive_float(tolerance, "tolerance")
    item_names, item = encode(items, "items")
    person_names, person = encode(persons, "persons")
    is_right = finite_column(right, "right")
    same_length(items=item, persons=person, right=is_right)
    refuse_values(is_right, (is_right != 0) & (is_right != 1), "right", "0 or 1")
    if not len(item):
        raise BadOption("there are no answers, expected one or more")
    item_count, person_count = len(item_names), len(person_names)
    shape = (person_count, item_count)
    answers = _AnswerTables(
        right=scipy.sparse.csr_array((is_right, (person, item)), shape=shape),
        wrong=scipy.sparse.csr_array((1.0 - is_right, (person, item)), shape=shape),
    )
    is_weak = prior == "weak"

    def objective(point: Floats) -> tuple[float, Floats]:
        return answers.log_posterior(point[:item_count], point[item_count:], is_weak)

    # Start at log slopes of 0, and at the log-odds of right answers, with half a right and half a wrong answer added.
    answer_counts = np.bincount(item, minlength=item_count)
    right_counts = np.bincount(item, weights=is_right, minlength=item_count)
    right_share = (right_counts + 0.5) / (answer_counts + 1)
    start = np.concatenate([np.zeros(item_count), np.log(right_share / (1 - right_share))])
    optimum = find_optimum(objective, [start], max_iterations=max_iterations, tolerance=tolerance)
    slope, intercept = np.exp(optimum.point[:item_count]), optimum.point[item_count:]
    _, posterior, log_likelihoods = answers.expect(slope, intercept)
    ability = posterior @ _NODES
    uniform_count = int(((right_counts == 0) | (right_counts == answer_counts)).sum())
    bound = "only the prior bounds their difficulty" if is_weak else "their difficulty has no bound"
    uniform_note = f"{uniform_count:,} of {item_count:,} items were answered alike by all; {bound}"
    return ResponseResult(
        items=item_names,
        persons=person_names,
        discrimination=slope,
        difficulty=-intercept / slope,
        ability=ability,
        deviation=np.sqrt(np.maximum(posterior @ _NODES**2 - ability**2, 0.0)),
        log_likelihood=float(log_likelihoods.sum()),
        objective=optimum.objective,
        gradient=optimum.gradient,
        iterations=optimum.iterations,
        converged=optimum.converged,
        answers=np.bincount(person, minlength=person_count),
        note=uniform_note if uniform_count else "",
    )


@dataclass(frozen=True, slots=True)
class _AnswerTables:
    """(P, K) numbers of right and of wrong answers of persons to items."""

    right: scipy.sparse.csr_array
    wrong: scipy.sparse.csr_array

    def expect(self, slope: Floats, intercept: Floats) -> tuple[Floats, Floats, Floats]:
        """Return (K, Q) chances of right answers at Q nodes, (P, Q) posteriors of abilities, and (P,) log-likelihoods.

        `slope` (K,) is a, and `intercept` (K,) is -a b.
        """
        logits = slope[:, np.newaxis] * _NODES + intercept[:, np.newaxis]
        log_joint = self.right @ scipy.special.log_expit(logits) + self.wrong @ scipy.special.log_expit(
            -logits
        )
        log_joint += _LOG_WEIGHTS
        log_likelihoods = scipy.special.logsumexp(log_joint, axis=1)
        posterior = np.exp(log_joint - log_likelihoods[:, np.newaxis])
        return scipy.special.expit(logits), posterior, log_likelihoods

    def log_posterior(self, log_slope: Floats, intercept: Floats, is_weak: bool) -> tuple[float, Floats]:
        """Return the log posterior up to a constant, and its (2K,) gradient by log slopes and intercepts.

        Without the weak prior, this is the log-likelihood.
        """
        slope = np.exp(log_slope)
        chance, posterior, log_likelihoods = self.expect(slope, intercept)
        # The gradient of the marginal likelihood is the expected one: at each node, the right answers less the expected
        # number of them (Bock, Aitkin 1981).
        hits, misses = self.right.T @ posterior, self.wrong.T @ posterior
        surplus = np.asarray(hits - (hits + misses) * chance)
        slope_gradient, intercept_gradient = slope * (surplus @ _NODES), surplus.sum(axis=1)
        value = float(log_likelihoods.sum())
        if is_weak:
            value -= 0.5 * float(
                ((log_slope / SLOPE_DEVIATION) ** 2).sum() + ((intercept / INTERCEPT_DEVIATION) ** 2).sum()
            )
            slope_gradient -= log_slope / SLOPE_DEVIATION**2
            intercept_gradient -= intercept / INTERCEPT_DEVIATION**2
        return value, np.concatenate([slope_gradient, intercept_gradient])
