"""Soft labels: the distributions of people's answers to units, and how well judges and metrics predict them.

A soft label is the share of each label among the answers to a unit (Peterson et al. 2019, *Human uncertainty makes
classification more robust*). Cross-entropy and Jensen-Shannon divergence are as in Uma et al. 2021, *Learning from
Disagreement: A Survey*, section 5. All figures are in nats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    BadShape,
    BadValue,
    check_cells,
    encode,
    encode_on_scale,
    finite_vector,
    floats_of,
    one_of,
    same_length,
)

CORRECTIONS = ("dirichlet", "miller-madow", "none")

# Standard deviation of the normal prior on log-parameters of a Dirichlet distribution. The prior keeps them finite.
_PRIOR_DEVIATION = 3.0
# Standard deviation of the normal prior on logits. The prior keeps them finite if a score separates all answers.
_LOGIT_DEVIATION = 10.0
# Number of answers that `judge_probabilities` adds to people's answers.
_PRIOR_COUNT = 1.0
# Largest difference from 1 of the sum of a row of probabilities.
_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class SoftLabels(Result):
    """The distribution of answers to each of U units over L labels.

    units, labels: names, ascending. counts, shares: (U, L) numbers and shares of answers. judgments: (U,) numbers of
    answers. entropy: (U,) estimated entropy of the population's answers, in nats, which is the lowest expected
    cross-entropy that a prediction can reach; nan if a single judgment allows no estimate. floor: mean entropy.
    concentration: (L,) Dirichlet parameters of units' probabilities of labels; nan unless `correction` is "dirichlet".
    """

    units: NDArray[Any]
    labels: NDArray[Any]
    counts: Ints
    shares: Floats
    judgments: Ints
    entropy: Floats
    floor: float
    concentration: Floats
    correction: str


@signed("soft-labels")
def soft_labels(
    units: Iterable[Any],
    values: Iterable[Any],
    *,
    labels: Sequence[Any] | None = None,
    correction: str = "dirichlet",
) -> SoftLabels:
    """Count the answers in two (N,) columns of units and answers, and estimate the entropy of the population's answers.

    The entropy of n observed answers is too low by about (L - 1) / 2n, with L labels. `correction` is one of:

    - "none";
    - "miller-madow", which adds (labels that occurred - 1) / 2n (Miller 1955);
    - "dirichlet", the expected entropy given the counts (Wolpert, Wolf 1995, Phys. Rev. E 52, 6841) under the Dirichlet
      distribution for which the counts of all units have the highest likelihood.
    """
    one_of(correction, CORRECTIONS, "correction")
    names, unit = encode(units, "units")
    scale, value = encode_on_scale(values, labels)
    same_length(units=unit, values=value)
    if not len(unit):
        raise BadOption("there are no judgments, expected one or more")
    width = len(scale)
    check_cells(len(names), "units", width, len(names) * width)
    counts = np.bincount(unit * width + value, minlength=len(names) * width).reshape(-1, width)
    judgments = counts.sum(axis=1)
    shares = counts / judgments[:, np.newaxis]
    concentration = np.full(width, np.nan)
    if correction == "dirichlet":
        concentration = _fit_concentration(counts)
        entropy = _expected_entropy(counts + concentration)
    else:
        entropy = scipy.special.entr(shares).sum(axis=1)
        if correction == "miller-madow":
            entropy = np.minimum(entropy + ((counts > 0).sum(axis=1) - 1) / (2 * judgments), np.log(width))
        entropy = np.where(judgments > 1, entropy, np.nan)
    known_entropies = entropy[~np.isnan(entropy)]
    mean_entropy = float(known_entropies.mean()) if known_entropies.size else np.nan
    return SoftLabels(
        units=names,
        labels=scale,
        counts=counts,
        shares=shares,
        judgments=judgments,
        entropy=entropy,
        floor=mean_entropy,
        concentration=concentration,
        correction=correction,
    )


def _fit_concentration(counts: Ints) -> Floats:
    """Return the (L,) parameters of the Dirichlet distribution that fits (U, L) counts best.

    They maximise the posterior of the Dirichlet-multinomial distribution, with a weak prior on their logarithms.
    """
    patterns, frequency = np.unique(counts, axis=0, return_counts=True)
    totals = patterns.sum(axis=1)

    def objective(point: Floats) -> tuple[float, Floats]:
        alpha = np.exp(point)
        total_alpha = alpha.sum()
        log_ratios = scipy.special.gammaln(patterns + alpha) - scipy.special.gammaln(alpha)
        log_posterior = frequency @ (
            log_ratios.sum(axis=1)
            + scipy.special.gammaln(total_alpha)
            - scipy.special.gammaln(totals + total_alpha)
        )
        digamma = scipy.special.digamma
        slope = frequency @ (digamma(patterns + alpha) - digamma(alpha))
        slope += frequency @ (digamma(total_alpha) - digamma(totals + total_alpha))
        deviation = point / _PRIOR_DEVIATION
        log_posterior -= 0.5 * (deviation * deviation).sum()
        return float(log_posterior), alpha * slope - deviation / _PRIOR_DEVIATION

    start = np.zeros(counts.shape[1])
    return np.exp(find_optimum(objective, [start], max_iterations=1000, tolerance=1e-5).point)


def _expected_entropy(alpha: Floats) -> Floats:
    """Return the (U,) expected entropies under Dirichlet distributions with (U, L) parameters."""
    total = alpha.sum(axis=1)
    return np.asarray(
        scipy.special.digamma(total + 1) - (alpha * scipy.special.digamma(alpha + 1)).sum(axis=1) / total
    )


@dataclass(frozen=True, slots=True)
class DivergenceResult(Result):
    """Cross-entropy and Jensen-Shannon divergence of predictions from people's distributions, in nats.

    cross_entropy, jensen_shannon: (U,) values, and their means over units. The cross-entropy is infinite if people gave
    an answer whose predicted probability is zero.
    """

    cross_entropy: Floats
    jensen_shannon: Floats
    mean_cross_entropy: float
    mean_jensen_shannon: float


@signed("soft-label-divergence")
def divergence(shares: ArrayLike, predictions: ArrayLike) -> DivergenceResult:
    """Compare (U, L) distributions of people's answers with (U, L) predictions.

    The cross-entropy is unbiased for any number of answers. The divergence is too high for few answers.
    """
    people_shares = _distributions(shares, "shares")
    predicted_shares = _distributions(predictions, "predictions")
    if people_shares.shape != predicted_shares.shape:
        raise BadShape(
            f"predictions is {predicted_shares.shape}, expected {people_shares.shape} as shares is"
        )
    with np.errstate(divide="ignore"):
        cross_entropy = -scipy.special.xlogy(people_shares, predicted_shares).sum(axis=1)
    # Jensen-Shannon: the mean of the relative entropies of both distributions from their mean
    mean_shares = (people_shares + predicted_shares) / 2
    people_entropy = scipy.special.rel_entr(people_shares, mean_shares)
    predicted_entropy = scipy.special.rel_entr(predicted_shares, mean_shares)
    jensen_shannon = (people_entropy + predicted_entropy).sum(axis=1) / 2
    return DivergenceResult(
        cross_entropy=cross_entropy,
        jensen_shannon=jensen_shannon,
        mean_cross_entropy=float(cross_entropy.mean()),
        mean_jensen_shannon=float(jensen_shannon.mean()),
    )


def _distributions(values: ArrayLike, name: str) -> Floats:
    """Return (U, L) distributions. Raise BadShape or BadValue if a row is no distribution."""
    table = floats_of(values, name)
    if table.ndim != 2 or not table.size:
        raise BadShape(f"{name} has the shape {table.shape}, expected units x labels")
    is_wrong = ~((table >= 0).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= _SUM_TOLERANCE))
    if is_wrong.any():
        raise BadValue(
            f"{name}[{int(is_wrong.argmax())}] is no distribution, expected shares that add up to one"
        )
    return table


def metric_probabilities(
    scores: ArrayLike, counts: ArrayLike, folds: ArrayLike, *, symmetric: bool = False
) -> Floats:
    """Return the (U, L) probabilities of people's answers that (U,) scores of a metric predict.

    A multinomial logit model of the score is fitted to the (U, L) counts of answers in all folds except the unit's own.
    `symmetric` is for scores that are the first candidate's minus the second's. `counts` then has two columns: how
    often people chose the first candidate, and how often the second. The model has no constant, so that equal scores
    give one half.
    """
    score, table = finite_vector(scores, "scores"), floats_of(counts, "counts")
    fold = encode(np.asarray(folds), "folds")[1]
    if table.ndim != 2 or table.shape[1] < 2:
        raise BadShape(f"counts has the shape {table.shape}, expected units x two labels or more")
    same_length(scores=score, counts=table, folds=fold)
    if symmetric and table.shape[1] != 2:
        raise BadShape(f"counts has {table.shape[1]} labels, expected two where a difference is symmetric")
    if not fold.any():
        raise BadOption("there is one fold, expected two or more")
    probabilities = np.empty_like(table)
    for number in range(int(fold.max()) + 1):
        is_held_out = fold == number
        # Standardise the scores. A symmetric difference keeps its zero; equal scores are not scaled.
        centre = 0.0 if symmetric else float(score[~is_held_out].mean())
        spread = float(np.sqrt(((score[~is_held_out] - centre) ** 2).mean())) or 1.0
        scaled_scores = (score - centre) / spread
        coefficients = _fit_logistic(scaled_scores[~is_held_out], table[~is_held_out], symmetric)
        logits = _logits(coefficients, scaled_scores[is_held_out])
        probabilities[is_held_out] = scipy.special.softmax(logits, axis=1)
    return probabilities


def _fit_logistic(score: Floats, counts: Floats, symmetric: bool) -> Floats:
    """Return the (2, L) coefficients of a multinomial logit model: the constants, and the slopes of the (U,) scores.

    `counts` (U, L) are people's answers. The coefficients of the last label are zero; if the model is `symmetric`, so
    are all constants.
    """
    free_label_count = counts.shape[1] - 1

    def coefficients(point: Floats) -> Floats:
        """Return the table of coefficients, from the vector of those that are not zero by definition."""
        table = np.zeros((2, free_label_count + 1))
        free_rows = table[1:] if symmetric else table
        free_rows[:, :free_label_count] = point.reshape(-1, free_label_count)
        return table

    def objective(point: Floats) -> tuple[float, Floats]:
        log_probabilities = scipy.special.log_softmax(_logits(coefficients(point), score), axis=1)
        expected_counts = counts.sum(axis=1, keepdims=True) * np.exp(log_probabilities)
        surplus = (counts - expected_counts)[:, :free_label_count]
        gradient = [score @ surplus] if symmetric else [surplus.sum(axis=0), score @ surplus]
        deviation = point / _LOGIT_DEVIATION
        log_posterior = float((counts * log_probabilities).sum() - 0.5 * (deviation * deviation).sum())
        return log_posterior, np.concatenate(gradient) - deviation / _LOGIT_DEVIATION

    start = np.zeros(free_label_count if symmetric else 2 * free_label_count)
    return coefficients(find_optimum(objective, [start], max_iterations=1000, tolerance=1e-5).point)


def _logits(coefficients: Floats, score: Floats) -> Floats:
    """Return the (U, L) logits of (U,) scores, from (2, L) constants and slopes."""
    constants, slopes = coefficients
    return constants + score[:, np.newaxis] * slopes


def judge_probabilities(answers: Iterable[int], counts: ArrayLike) -> Floats:
    """Return the (U, L) probabilities of people's answers that a judge's single answers predict.

    Let the judge give a unit the label j. Its probabilities are the shares of people's answers to the other units with
    j, together with one more answer. This answer is divided among the labels in the shares of people's answers to all
    other units, after one is added to the count of each label.

    Args:
        answers: (U,) the judge's labels, from 0 to L - 1.
        counts: (U, L) people's answers.
    """
    table = floats_of(counts, "counts")
    answer = np.asarray(list(answers))
    if table.ndim != 2 or answer.ndim != 1:
        raise BadShape(f"counts has the shape {table.shape}, expected units x labels")
    same_length(answers=answer, counts=table)
    if answer.dtype.kind not in "iu" or (answer < 0).any() or (answer >= table.shape[1]).any():
        raise BadValue(f"answers holds other than 0 to {table.shape[1] - 1}, expected positions of labels")
    # People's answers to all units to which the judge gave each answer, as (judge's answer, people's answer).
    counts_by_answer = np.zeros((table.shape[1], table.shape[1]))
    np.add.at(counts_by_answer, answer, table)
    other_counts = table.sum(axis=0) - table
    overall_shares = (other_counts + 1) / (other_counts + 1).sum(axis=1, keepdims=True)
    # Leave out the unit itself.
    expected_counts = counts_by_answer[answer] - table + _PRIOR_COUNT * overall_shares
    return np.asarray(expected_counts / expected_counts.sum(axis=1, keepdims=True))
