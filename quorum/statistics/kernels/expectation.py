"""Compiled steps of expectation maximisation for workers' errors.

The answers of unit u are answers[starts[u]:starts[u + 1]]. Each is encoded as worker * L + given label.
"""

import math

import numpy as np

from quorum.numeric.arrays import Floats, Ints
from quorum.numeric.compiling import compiled

# Numbers are multiplied until the product exceeds this limit, which is faster than adding their logarithms.
_MAX_PRODUCT = 1e200


@compiled
def sort_answers(
    units: Ints,
    workers: Ints,
    codes: Ints,
    label_count: int,
    starts: Ints,
    answers: Ints,
) -> None:
    """Fill `answers` (N,), and `starts` (U + 1,), which must be zeros, from three columns of (N,) codes."""
    for row in range(len(units)):
        starts[units[row] + 1] += 1
    for unit in range(len(starts) - 1):
        starts[unit + 1] += starts[unit]
    next_free = starts[:-1].copy()
    for row in range(len(units)):
        unit = units[row]
        answers[next_free[unit]] = workers[row] * label_count + codes[row]
        next_free[unit] += 1


@compiled
def share_votes(
    starts: Ints,
    answers: Ints,
    posterior: Floats,
    prior: Floats,
    counts: Floats,
) -> None:
    """Fill `posterior` (U, L) with shares of votes, and `prior` (L,) and `counts` (W * L, L) with sums of these shares.

    `prior` has the sums over all units, `counts` the sums over the units with each encoded answer. All arrays must be
    zeros before the call.
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
def _expect_of_two(
    starts: Ints,
    answers: Ints,
    log_prior: Floats,
    log_errors: Floats,
    posterior: Floats,
    prior: Floats,
    counts: Floats,
) -> tuple[float, float]:
    """Perform the E step for two labels. Without arrays and loops over labels, it takes two thirds of the time."""
    change = 0.0
    log_likelihood = 0.0
    product = 1.0
    for unit in range(len(posterior)):
        first, second = log_prior[0], log_prior[1]
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            first += log_errors[answer, 0]
            second += log_errors[answer, 1]
        log_likelihood += max(first, second)
        # The chance of the less probable label, divided by that of the more probable one.
        ratio = math.exp(-abs(first - second))
        total = 1.0 + ratio
        product *= total
        if product > _MAX_PRODUCT:
            log_likelihood += math.log(product)
            product = 1.0
        first, second = (1.0 / total, ratio / total) if first >= second else (ratio / total, 1.0 / total)
        change = max(change, abs(first - posterior[unit, 0]), abs(second - posterior[unit, 1]))
        posterior[unit, 0] = first
        posterior[unit, 1] = second
        prior[0] += first
        prior[1] += second
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            counts[answer, 0] += first
            counts[answer, 1] += second
    return change, log_likelihood + math.log(product)


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
    """Perform the E step.

    Overwrite `posterior`, and return the largest change of a probability, and the log-likelihood.

    log_errors: (W * L, L) log-probability of an encoded answer by true label. prior, counts: zeros, to be filled with
    sums as in `share_votes`.
    """
    labels = len(log_prior)
    if labels == 2:
        return _expect_of_two(starts, answers, log_prior, log_errors, posterior, prior, counts)
    joint = np.empty(labels)
    change = 0.0
    log_likelihood = 0.0
    product = 1.0
    for unit in range(len(posterior)):
        for label in range(labels):
            joint[label] = log_prior[label]
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                joint[label] += log_errors[answer, label]
        # Divide by the term of the most probable label, so that no exponential overflows.
        best_label = 0
        for label in range(1, labels):
            if joint[label] > joint[best_label]:
                best_label = label
        largest_term = joint[best_label]
        total = 1.0
        for label in range(labels):
            if label != best_label:
                joint[label] = math.exp(joint[label] - largest_term)
                total += joint[label]
        joint[best_label] = 1.0
        log_likelihood += largest_term
        product *= total
        if product > _MAX_PRODUCT:
            log_likelihood += math.log(product)
            product = 1.0
        for label in range(labels):
            probability = joint[label] / total
            change = max(change, abs(probability - posterior[unit, label]))
            posterior[unit, label] = probability
            prior[label] += probability
        for row in range(starts[unit], starts[unit + 1]):
            answer = answers[row]
            for label in range(labels):
                counts[answer, label] += posterior[unit, label]
    return change, log_likelihood + math.log(product)
