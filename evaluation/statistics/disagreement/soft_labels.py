"""Soft labels: people's answers to a unit as a distribution, and how well a metric or a judge predicts it.

Cross-entropy and Jensen-Shannon divergence: Uma et al. 2021, *Learning from Disagreement: A Survey*, section 5; soft
labels: Peterson et al. 2019, *Human uncertainty makes classification more robust*. All figures are in nats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # its parts load when they are first used
from numpy.typing import ArrayLike, NDArray

from evaluation.arrays import Floats, Ints
from evaluation.statistics.aggregation.latent import climb
from evaluation.statistics.inputs import (
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
from evaluation.statistics.results import Result, signed

CORRECTIONS = ("dirichlet", "miller-madow", "none")

# Standard deviation of the normal prior of a Dirichlet's log-parameters: it only keeps them finite.
_LOOSE = 3.0
# Standard deviation of the normal prior of logits: it only keeps them finite where a score parts all answers.
_LOGITS = 10.0
# Imagined answers that a judge's answer is met with, in the shares of all answers.
_IMAGINED = 1.0
# Probabilities of a row may miss one by so much.
_SUM = 1e-6


@dataclass(frozen=True, slots=True)
class SoftLabels(Result):
    """Answers to each unit as a distribution.

    counts, shares: (U, L). judgments: (U,). entropy: (U,) floor of any prediction's expected cross-entropy; nan where
    one judgment says nothing. floor: its mean. concentration: (L,) of the units' Dirichlet; nan unless `correction` is
    "dirichlet".
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
    """Count two (N,) columns, and estimate the entropy of what people in general would answer.

    The entropy of n answers is too low by about (L - 1) / 2n. `correction` is "miller-madow" (the labels that
    occurred, less one, over 2n: Miller 1955), "none", or "dirichlet": the expected entropy given the counts (Wolpert,
    Wolf 1995, Phys. Rev. E 52, 6841) under the Dirichlet that makes all units' counts likeliest.
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
        concentration = _concentration(counts)
        entropy = _expected_entropy(counts + concentration)
    else:
        entropy = scipy.special.entr(shares).sum(axis=1)
        if correction == "miller-madow":
            entropy = np.minimum(entropy + ((counts > 0).sum(axis=1) - 1) / (2 * judgments), np.log(width))
        entropy = np.where(judgments > 1, entropy, np.nan)
    known = entropy[~np.isnan(entropy)]
    return SoftLabels(
        units=names,
        labels=scale,
        counts=counts,
        shares=shares,
        judgments=judgments,
        entropy=entropy,
        floor=float(known.mean()) if known.size else np.nan,
        concentration=concentration,
        correction=correction,
    )


def _concentration(counts: Ints) -> Floats:
    patterns, times = np.unique(counts, axis=0, return_counts=True)
    totals = patterns.sum(axis=1)

    def height(point: Floats) -> tuple[float, Floats]:
        alpha = np.exp(point)
        whole = alpha.sum()
        gained = scipy.special.gammaln(patterns + alpha) - scipy.special.gammaln(alpha)
        found = times @ (
            gained.sum(axis=1) + scipy.special.gammaln(whole) - scipy.special.gammaln(totals + whole)
        )
        slope = times @ (scipy.special.digamma(patterns + alpha) - scipy.special.digamma(alpha))
        slope += times @ (scipy.special.digamma(whole) - scipy.special.digamma(totals + whole))
        off = point / _LOOSE
        return float(found - 0.5 * (off * off).sum()), alpha * slope - off / _LOOSE

    start = np.zeros(counts.shape[1])
    return np.exp(climb(height, [start], max_iterations=1000, tolerance=1e-5).point)


def _expected_entropy(alpha: Floats) -> Floats:
    whole = alpha.sum(axis=1)
    return np.asarray(
        scipy.special.digamma(whole + 1) - (alpha * scipy.special.digamma(alpha + 1)).sum(axis=1) / whole
    )


@dataclass(frozen=True, slots=True)
class DivergenceResult(Result):
    """Cross-entropy and Jensen-Shannon divergence (U,) of predictions from people's distributions, and their means.

    A prediction of zero where people answered so has an infinite cross-entropy.
    """

    cross_entropy: Floats
    jensen_shannon: Floats
    mean_cross_entropy: float
    mean_jensen_shannon: float


@signed("soft-label-divergence")
def divergence(shares: ArrayLike, predictions: ArrayLike) -> DivergenceResult:
    """Compare (U, L) distributions of answers with (U, L) predicted ones.

    Cross-entropy of shares is unbiased whatever the number of answers; the divergence of few answers is too high.
    """
    people, predicted = _distributions(shares, "shares"), _distributions(predictions, "predictions")
    if people.shape != predicted.shape:
        raise BadShape(f"predictions is {predicted.shape}, expected {people.shape} as shares is")
    with np.errstate(divide="ignore"):
        cross = -scipy.special.xlogy(people, predicted).sum(axis=1)
    middle = (people + predicted) / 2
    shannon = (scipy.special.rel_entr(people, middle) + scipy.special.rel_entr(predicted, middle)).sum(
        axis=1
    ) / 2
    return DivergenceResult(cross, shannon, float(cross.mean()), float(shannon.mean()))


def _distributions(given: ArrayLike, name: str) -> Floats:
    table = floats_of(given, name)
    if table.ndim != 2 or not table.size:
        raise BadShape(f"{name} has the shape {table.shape}, expected units x labels")
    wrong = ~((table >= 0).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= _SUM))
    if wrong.any():
        raise BadValue(
            f"{name}[{int(wrong.argmax())}] is no distribution, expected shares that add up to one"
        )
    return table


def metric_probabilities(
    scores: ArrayLike, counts: ArrayLike, folds: ArrayLike, *, symmetric: bool = False
) -> Floats:
    """Return (U, L) probabilities of people's answers by (U,) scores of a metric.

    A multinomial logit of the score is fitted to the (U, L) counts of answers of all other folds, never of the unit's
    own. `symmetric` is for a difference of two candidates' scores and two labels, the first for the first: without a
    constant, equal scores mean one half.
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
    found = np.empty_like(table)
    for one in range(int(fold.max()) + 1):
        own = fold == one
        middle = 0.0 if symmetric else float(score[~own].mean())
        spread = float(np.sqrt(((score[~own] - middle) ** 2).mean())) or 1.0
        scaled = (score - middle) / spread
        found[own] = scipy.special.softmax(
            _logits(_fit(scaled[~own], table[~own], symmetric), scaled[own]), axis=1
        )
    return found


def _fit(score: Floats, counts: Floats, symmetric: bool) -> Floats:
    """Return (2, L) constants and slopes; the last label's are zero, as are constants where symmetric."""
    free = counts.shape[1] - 1

    def table(point: Floats) -> Floats:
        both = np.zeros((2, free + 1))
        both[1 if symmetric else 0 :, :free] = point.reshape(-1, free)
        return both

    def height(point: Floats) -> tuple[float, Floats]:
        logs = scipy.special.log_softmax(_logits(table(point), score), axis=1)
        surplus = (counts - counts.sum(axis=1, keepdims=True) * np.exp(logs))[:, :free]
        slopes = [score @ surplus] if symmetric else [surplus.sum(axis=0), score @ surplus]
        off = point / _LOGITS
        found = float((counts * logs).sum() - 0.5 * (off * off).sum())
        return found, np.concatenate(slopes) - off / _LOGITS

    start = np.zeros(free if symmetric else 2 * free)
    return table(climb(height, [start], max_iterations=1000, tolerance=1e-5).point)


def _logits(table: Floats, score: Floats) -> Floats:
    return table[0] + score[:, np.newaxis] * table[1]


def judge_probabilities(answers: Iterable[int], counts: ArrayLike) -> Floats:
    """Return (U, L) probabilities of people's answers by a judge's single answers, (U,) positions 0 to L - 1.

    They are people's shares on the other units that the judge answered alike, with one imagined answer in the shares
    of all others.
    """
    table = floats_of(counts, "counts")
    said = np.asarray(list(answers))
    if table.ndim != 2 or said.ndim != 1:
        raise BadShape(f"counts has the shape {table.shape}, expected units x labels")
    same_length(answers=said, counts=table)
    if said.dtype.kind not in "iu" or (said < 0).any() or (said >= table.shape[1]).any():
        raise BadValue(f"answers holds other than 0 to {table.shape[1] - 1}, expected positions of labels")
    met = np.zeros((table.shape[1], table.shape[1]))
    np.add.at(met, said, table)
    others = table.sum(axis=0) - table
    usual = (others + 1) / (others + 1).sum(axis=1, keepdims=True)
    alike = met[said] - table + _IMAGINED * usual
    return np.asarray(alike / alike.sum(axis=1, keepdims=True))
