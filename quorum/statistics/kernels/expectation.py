"""Expectation maximisation of workers' errors.

The answers of unit u are starts[u] to starts[u + 1]; each is one number, worker * L + given label.
"""

import math

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled

# Sums of logarithms are taken as the logarithm of a product, as long as that cannot overflow.
_LARGE = 1e200


@compiled
def sort_answers(
    units: Ints,
    workers: Ints,
    codes: Ints,
    labels: int,
    starts: Ints,
    answers: Ints,
) -> None:
    """Fill `starts` (U + 1,), zeros at first, and `answers` (N,)."""
    for row in range(len(units)):
        starts[units[row] + 1] += 1
    for unit in range(len(starts) - 1):
        starts[unit + 1] += starts[unit]
    next_free = starts[:-1].copy()
    for row in range(len(units)):
        unit = units[row]
        answers[next_free[unit]] = workers[row] * labels + codes[row]
        next_free[unit] += 1


@compiled
def share_votes(
    starts: Ints,
    answers: Ints,
    posterior: Floats,
    prior: Floats,
    counts: Floats,
) -> None:
    """Fill `posterior` (U, L) with the shares of votes, `prior` (L,) and `counts` (W * L, L) with its sums.

    All are zeros at first; `counts` sums by answer.
    """
    labels = len(prior)
    for unit in range(len(posterior)):
        votes = starts[unit + 1] - starts[unit]
        for row in range(starts[unit], starts[unit + 1]):
            posterior[unit, answers[row] % labels] += 1.0
        for label in range(labels):
            posterior[unit, label] /= votes
            prior[label] += posterior[unit, label]
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                counts[answer, label] += posterior[unit, label]


@compiled
def expect(
    starts: Ints,
    answers: Ints,
    log_prior: Floats,
    log_errors: Floats,
    posterior: Floats,
    prior: Floats,
    counts: Floats,
) -> tuple[float, float]:
    """Do the E step in place; return the largest change of a probability, and the log-likelihood.

    log_errors: (W * L, L) log-probability of an answer by true label. Sums as in `share_votes`.
    """
    labels = len(log_prior)
    joint = np.empty(labels)
    change = 0.0
    log_likelihood = 0.0
    evidence = 1.0
    for unit in range(len(posterior)):
        for label in range(labels):
            joint[label] = log_prior[label]
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                joint[label] += log_errors[answer, label]
        # Relative to the most probable label, whose term is 1, no exponential overflows.
        best = 0
        for label in range(1, labels):
            if joint[label] > joint[best]:
                best = label
        largest = joint[best]
        total = 1.0
        for label in range(labels):
            if label != best:
                joint[label] = math.exp(joint[label] - largest)
                total += joint[label]
        joint[best] = 1.0
        log_likelihood += largest
        evidence *= total
        if evidence > _LARGE:
            log_likelihood += math.log(evidence)
            evidence = 1.0
        for label in range(labels):
            probability = joint[label] / total
            change = max(change, abs(probability - posterior[unit, label]))
            posterior[unit, label] = probability
            prior[label] += probability
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                counts[answer, label] += posterior[unit, label]
    return change, log_likelihood + math.log(evidence)
